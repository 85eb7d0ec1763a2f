"""Counters of one value each, on tracks of their own: for formats whose counters are so."""

from support.traces.small_traces import event_class, events_of, projected, trace_of

from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import TrackScope
from converter.registry import format_named

TEXT, I64 = StringClass(), IntegerClass(64, True)
CLASSES = [
    event_class(Kind.COUNTER, name=(TEXT, Role.NAME), value=(I64, Role.VALUE)),
    event_class(Kind.COUNTER, value=(I64, Role.VALUE)),
    event_class(Kind.COUNTER, name=(TEXT, Role.NAME), a=(I64, Role.VALUE), b=(I64, Role.VALUE)),
    event_class(Kind.COUNTER, name=(TEXT, Role.NAME)),
]


def test_each_value_has_a_track_of_the_process_or_of_all():
    trace = trace_of(
        CLASSES,
        [(0, 1, -1, -1, (b"c", 1)), (0, 2, -1, 0, (b"c", 2)), (0, 3, -1, 1, (b"c", 3))],
        [(1, 4, -1, 0, (5,)), (2, 5, -1, 0, (b"t", 6, 7)), (3, 6, -1, 0, (b"n",))],
    )
    target, losses = projected(trace, format_named("perfetto")[0].capabilities(""))
    tracks = [
        (track.name, track.scope, track.owner)
        for batch in target.batches()
        for track in (target.tracks[at] for at in batch.track)
    ]
    process = TrackScope.PROCESS
    assert tracks == [
        *(("c", TrackScope.GLOBAL, -1), ("c", process, 0), ("c", process, 1)),
        *(("", process, 0), ("t a", process, 0), ("t b", process, 0)),
    ]
    assert [fields["value"] for *_, fields in events_of(target)] == [1, 2, 3, 5, 6, 7]
    assert "counter-without-number-dropped (1)" in losses

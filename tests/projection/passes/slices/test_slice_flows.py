"""Flows whose ids slices say, in formats that have events of flows."""

from support.traces.losses import line_of
from support.traces.small_traces import event_class, trace_of
from support.viewers.trace_processor import answer, errors, needs_trace_processor

import converter
from converter.ir.collect import collect
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.project import project
from converter.projection.timeline_fields import FLOW_IDS, TERMINATING_FLOW_IDS
from converter.registry import format_named

NAME = {"name": (StringClass(), Role.NAME)}
IDS = {"flow_ids": (FLOW_IDS.type, Role.CONTEXT)}
LAST = {"terminating_flow_ids": (TERMINATING_FLOW_IDS.type, Role.CONTEXT)}
CLASSES = [
    event_class(Kind.SLICE_BEGIN, **NAME, **IDS),
    event_class(Kind.SLICE_END),
    event_class(Kind.SLICE_BEGIN, **NAME, **LAST),
    event_class(Kind.INSTANT, **NAME, **IDS, **LAST),
    event_class(Kind.SLICE_BEGIN, **NAME),
]
HIGH = 1 << 63


def slice_of(number, ts, thread, name, *ids):
    return [(number, ts, -1, thread, (name, *map(list, ids))), (1, ts + 400, -1, thread, ())]


EVENTS = [
    *slice_of(0, 1000, 1, b"a", [5, 6]),
    *slice_of(0, 2000, 0, b"b", [5]),
    (3, 2500, -1, 0, (b"i", [6], [5])),
    # Of a flow that never began.
    (3, 2500, -1, 0, (b"j", [], [9])),
    # The same id once more, as another flow.
    *slice_of(0, 3000, 1, b"c", [5, HIGH]),
    *slice_of(2, 4000, 0, b"d", [6, 5]),
    *slice_of(2, 5000, 1, b"e", [HIGH]),
    *slice_of(4, 6000, 1, b"f"),
]
ARROWS = "select a.name, b.name from flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in"


def trace():
    # An instant comes behind the slice before it has ended.
    return trace_of(CLASSES, EVENTS[:5], EVENTS[5:])


@needs_trace_processor
def test_arrows_are_the_same_in_all_formats(tmp_path):
    found = {}
    for name in ("perfetto", "chrome", "fxt"):
        path = tmp_path / f"trace.{name}"
        converter.write(trace(), path, name)
        found[name] = sorted(map(tuple, answer(path, ARROWS)))
        assert not errors(path).keys() - {"flow_end_without_start"}
    wanted = [("a", "b"), ("a", "i"), ("b", "i"), ("c", "d"), ("c", "e"), ("i", "d")]
    assert found == dict.fromkeys(found, wanted)


def test_flows_are_events_behind_their_slices():
    held, losses = project(trace(), format_named("chrome")[0].capabilities(""), "chrome")
    kinds = []
    for batch in held.batches():
        kinds += [held.event_classes[number].kind for number in batch.class_id.tolist()]
    assert kinds[:3] == [Kind.SLICE_BEGIN, Kind.FLOW_BEGIN, Kind.FLOW_BEGIN]
    assert kinds.count(Kind.FLOW_BEGIN) == 4
    assert kinds.count(Kind.FLOW_STEP) == 2
    assert kinds.count(Kind.FLOW_END) == 4
    assert "flow-ids-as-events (10)" in map(line_of, losses)
    assert not any("arrow" in loss.code for loss in losses)


def test_formats_that_have_ids_keep_them():
    held, losses = project(trace(), format_named("perfetto")[0].capabilities(""), "perfetto")
    assert any(FLOW_IDS in one.fields for one in collect(held).event_classes)
    assert not any("flow" in loss.code for loss in losses)

"""Events without a time of their own do not move the start of a trace to 0."""

from dataclasses import replace

import pytest
from support.fxt.files import (
    argument,
    event,
    initialization,
    kernel_object,
    large_blob,
    magic,
    provider,
    record,
    unknown,
)
from support.traces.small_traces import event_class, trace_of
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.formats.fxt.record_types import ArgumentType, EventType, RecordType
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.passes.untimed import since_first_time

ORDER = "little"
#: Since the start of the machine, in ns.
START = 500_000 * 10**9
OF_TEN = [argument(ArgumentType.KOID, b"process", 10)]
#: Records of FXT that have no time.
UNTIMED = {
    "the name again": kernel_object(ORDER, 1, 10, b"app"),
    "another name": kernel_object(ORDER, 1, 10, b"other"),
    "vmo": kernel_object(ORDER, 3, 77, b"vmo"),
    "thread of no process": kernel_object(ORDER, 2, 12, b"t"),
    "thread again": kernel_object(ORDER, 2, 11, b"main", OF_TEN) * 2,
    "userspace object": record(
        ORDER, RecordType.USERSPACE_OBJECT, {"thread": 0, "name": 0}, pointer=5, process=10
    ),
    "blob": record(
        ORDER, RecordType.BLOB, {"name": 0, "length": 8, "blob_type": 1}, payload=b"12345678"
    ),
    "large blob": large_blob(ORDER, 1, b"12345678"),
    "lost records": (1 << 20 | 3 << 16 | 1 << 4).to_bytes(8, ORDER),
    "unknown": unknown(ORDER, 14, b"12345678"),
}
NAME = {"name": (StringClass(), Role.NAME)}


def fxt_file(path, *untimed):
    path.write_bytes(
        magic(ORDER)
        + provider(ORDER, 1, b"p")
        + initialization(ORDER, 10**9)
        + kernel_object(ORDER, 1, 10, b"app")
        + b"".join(untimed)
        + event(
            ORDER,
            EventType.DURATION_COMPLETE,
            START,
            thread=(10, 11),
            name=b"a",
            tail=START + 1_000_000,
        )
    )
    return path


def times_of(path):
    return {int(ts) for batch in converter.read(path).batches() for ts in batch.ts}


@pytest.mark.parametrize(
    ("target", "untimed"),
    [("dat", name) for name in UNTIMED]
    + [(target, None) for target in ("pftrace", "json", "ctf", "uftrace", "lttng", "aix")],
)
def test_records_without_a_time_do_not_begin_the_trace_at_0(tmp_path, untimed, target):
    records = [UNTIMED[untimed]] if untimed else UNTIMED.values()
    source = fxt_file(tmp_path / "a.fxt", *records)
    output = tmp_path / f"b.{target}"
    converter.convert(source, output)
    trace = converter.read(output)
    timed = [
        int(ts)
        for batch in trace.batches()
        for ts, number in zip(batch.ts, batch.class_id, strict=True)
        if trace.event_classes[number].timed
    ]
    assert min(timed) == START


@needs_trace_processor
def test_trace_processor_shows_the_same_bounds(tmp_path):
    source = fxt_file(tmp_path / "a.fxt", *UNTIMED.values())
    bounds = "select start_ts, end_ts from trace_bounds"
    for target in ("pftrace", "json"):
        output = tmp_path / f"b.{target}"
        converter.convert(source, output)
        assert answer(output, bounds) == [[str(START), str(START + 1_000_000)]]


def test_events_at_the_start_get_the_first_time_and_others_keep_theirs():
    untimed = replace(event_class(Kind.BLOB, **NAME), timed=False)
    timed = event_class(Kind.INSTANT, **NAME)
    blob, instant = (0, 0, -1, -1, (b"b",)), (1, 7, -1, -1, (b"i",))
    classes = [untimed, timed]

    def times(*batches):
        trace = since_first_time(trace_of(classes, *batches))
        # A second pass gives the same.
        first = [batch.ts.tolist() for batch in trace.batches()]
        assert first == [batch.ts.tolist() for batch in trace.batches()]
        return first

    assert times([blob, blob, instant, blob]) == [[7, 7, 7, 0]]
    assert times([blob], [], [blob, instant], [blob]) == [[7], [], [7, 7], [0]]
    assert times([instant, blob]) == [[7, 0]]
    assert times([blob], [blob]) == [[0], [0]]
    assert times() == []
    for count in (63, 64, 65):
        many = times(*([[blob]] * count), [instant])
        assert many == [[7 if count < 64 else 0]] * count + [[7]]

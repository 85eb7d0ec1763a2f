"""Samples of call stacks as Perfetto has them: counters by event, stacks once each, and what does not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.perfetto.files import File
from support.perfetto.writing import (
    CAPABILITIES,
    events_of,
    opened,
    parsed,
    projected,
    trace_of,
    written,
)
from support.traces.losses import line_of
from support.traces.strategies import batch_of
from support.viewers import trace_processor

from converter.formats.perfetto import mapping
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind
from converter.ir.trace import Process, Thread, Trace
from converter.projection.passes.sample_weights import with_weights
from converter.projection.project import project
from converter.projection.timeline_fields import CPU_MODE, FRAMES, FUNCTIONS, weight


def frame(function: str = "", mapping: str = "", rel_pc: int = 0) -> list[tuple[str, object]]:
    return [
        ("function", function.encode()),
        ("mapping", mapping.encode()),
        ("rel_pc", rel_pc),
        ("source", b""),
        ("line", 0),
    ]


STACK = [frame("leaf", "/bin/app", 0x1198), frame("main", "/bin/app", 0x1201)]
CYCLES = EventClass(Kind.SAMPLE, "cycles", fields=(FRAMES, weight(""), CPU_MODE))
CLOCK = EventClass(Kind.SAMPLE, "cpu-clock", fields=(FRAMES, weight("ns")))


def recording(*events: tuple[int, int, int, int, tuple[object, ...]]) -> Trace:
    """Samples of two events: (class, time, CPU, thread, values)."""
    trace = Trace(
        format="other",
        processes=[Process(10, "app")],
        threads=[Thread(10, 0, "app"), Thread(11, 0, "worker")],
        event_classes=[CYCLES, CLOCK],
    )
    rows = [(number, ts, cpu, thread, -1, row) for number, ts, cpu, thread, row in events]
    return with_batches(trace, [batch_of(trace, rows)])


def two_events() -> Trace:
    return recording(
        (0, 100, 1, 0, (STACK, 1000, 2)),
        (
            1,
            110,
            1,
            1,
            (
                STACK[1:],
                7,
            ),
        ),
        (0, 120, 1, 0, (STACK[1:], 500, 1)),
        (0, 130, 2, 1, ([], 10, 1)),
    )


def test_each_event_is_a_counter_of_its_own_sequence():
    target = projected(two_events())
    out = written(target)
    names = {
        packet.trusted_packet_sequence_id: packet.trace_packet_defaults.perf_sample_defaults.timebase.name
        for packet in parsed(out).packet
        if packet.HasField("trace_packet_defaults")
        and packet.trace_packet_defaults.HasField("perf_sample_defaults")
    }
    assert sorted(names.values()) == ["cpu-clock", "cycles"]
    found = [
        (names[p.trusted_packet_sequence_id], p.perf_sample.cpu, p.perf_sample.timebase_count)
        for p in parsed(out).packet
        if p.HasField("perf_sample")
    ]
    # Counters of importers are totals: what perf counted up to the sample, on its CPU.
    assert found == [
        ("cycles", 1, 1000),
        ("cpu-clock", 1, 7),
        ("cycles", 1, 1500),
        ("cycles", 2, 10),
    ]
    assert difference(target, opened(out)) is None


def test_weights_come_back_with_their_units():
    back = collect(with_weights(opened(written(projected(two_events())))))
    classes = {one.name: one.fields[2] for one in back.event_classes}
    assert classes == {"cycles": weight(""), "cpu-clock": weight("ns")}
    assert [event["weight"] for event in events_of(back)] == [1000, 7, 500, 10]
    assert events_of(back)[0]["frames"] == STACK


def test_a_counter_that_starts_again_has_no_negative_weight():
    samples = [(0, ts, 0, 0, (STACK, 0, 0)) for ts in (1, 2, 3)]
    trace = opened(written(projected(recording(*samples))))
    (batch,) = trace.batches()
    number = int(batch.class_id[0])
    table = batch.tables[number]
    totals = np.array([5, 3, 4], np.uint64)
    columns = [table.column(0), table.column(1), totals]
    batch.tables[number] = type(table)(len(table), columns)
    back = with_weights(with_batches(trace, [batch]))
    assert [event["weight"] for event in events_of(back)] == [5, 3, 1]


def test_further_fields_of_a_sample_are_losses_and_no_instants():
    fields = (FUNCTIONS, Field("addr", IntegerClass(64)))
    trace = trace_of(EventClass(Kind.SAMPLE, "faults", fields=fields), ([b"f"], 5), cpu=0)
    target, report = project(trace, CAPABILITIES, "perfetto")
    target = collect(target)
    lines = [line_of(loss) for loss in report]
    assert [one.name for one in target.event_classes] == ["faults"]
    assert [one.kind for one in target.event_classes] == [Kind.SAMPLE]
    assert "field-dropped event=faults field=addr (1)" in lines
    assert difference(target, opened(written(target))) is None


def test_the_mode_of_the_cpu_follows_from_the_address_of_perf():
    fields = (FRAMES, Field("ip", IntegerClass(64)))
    rows = ((STACK, 0x1198), (STACK, 0xFFFFFFFF81000000))
    trace = trace_of(EventClass(Kind.SAMPLE, "cycles", fields=fields), *rows, cpu=0)
    target = projected(trace)
    assert [event["cpu_mode"] for event in events_of(target)] == [2, 1]
    assert difference(target, opened(written(target))) is None


def test_a_sample_on_no_thread_and_no_cpu_is_reported():
    target, report = project(recording((1, 5, -1, -1, (STACK, 1))), CAPABILITIES, "perfetto")
    collect(target)
    lines = [line_of(loss) for loss in report]
    assert "sample-without-thread event=cpu-clock (1)" in lines
    assert "cpu-unknown-shown-on-0 event=cpu-clock (1)" in lines


@pytest.mark.parametrize("depth", [0, 1, 1023, 1024, 1025])
def test_stacks_of_any_depth_come_back(depth: int):
    stack = [frame(f"f{i}") for i in range(depth)]
    target = projected(recording(*((1, ts, 0, 0, (stack, 1)) for ts in (1, 2))))
    out = written(target)
    assert difference(target, opened(out)) is None
    stacks = [s for p in parsed(out).packet for s in p.interned_data.callstacks]
    assert [len(one.frame_ids) for one in stacks] == [depth] * bool(depth)


def test_the_reason_why_unwinding_ended_is_kept():
    file = File()
    for ts, error in ((1, 0), (2, 3)):
        sample = file.packet(ts, 9, sequence_flags=1).perf_sample
        sample.cpu, sample.pid, sample.tid = 0, 1, 1
        if error:
            sample.unwind_error = error
    trace = collect(opened(file.bytes()))
    assert [event.get("unwind_error") for event in events_of(trace)] == [None, 3]
    target = projected(trace)
    samples = [p.perf_sample for p in parsed(written(target)).packet if p.HasField("perf_sample")]
    assert [one.unwind_error for one in samples] == [0, 3]
    assert difference(trace, opened(written(target))) is None


def test_what_says_that_there_is_no_sample_stays_a_packet():
    file = File()
    file.packet(1, 9).perf_sample.kernel_records_lost = 2
    file.packet(2, 9).perf_sample.sample_skipped_reason = 1
    file.packet(3, 9).perf_sample.producer_event.source_stop_reason = 1
    file.packet(4, 9).perf_sample.follower_counts.append(3)
    trace = collect(opened(file.bytes()))
    assert {one.kind for one in trace.event_classes} == {Kind.NATIVE}


def counters_of_all_kinds() -> bytes:
    """A sample of each counter that importers know by number, and of a tracepoint."""
    file = File()
    for number in (*mapping.COUNTER_NAMES, 0):
        sequence = 100 + number
        defaults = file.packet(sequence=sequence, sequence_flags=1).trace_packet_defaults
        timebase = defaults.perf_sample_defaults.timebase
        if number:
            timebase.counter = number
        else:
            timebase.tracepoint.name = "sched:sched_switch"
        file.packet(5, sequence, sequence_flags=2).perf_sample.cpu = 0
    return file.bytes()


def test_counters_have_the_names_of_importers():
    trace = collect(opened(counters_of_all_kinds()))
    names = {one.name for one in trace.event_classes}
    assert names == {*mapping.COUNTER_NAMES.values(), "sched:sched_switch"}


NAMES = "select distinct name from perf_counter_track order by 1"
SAMPLES = """
    select s.ts, t.tid, s.cpu, s.cpu_mode, f.name, f.rel_pc, m.name, c.depth from perf_sample s
    left join thread t using (utid) left join stack_profile_callsite c on c.id = s.callsite_id
    left join stack_profile_frame f on f.id = c.frame_id
    left join stack_profile_mapping m on m.id = f.mapping order by s.ts
"""
TOTALS = """
    select c.ts, t.name, t.cpu, cast(c.value as int) from counter c
    join perf_counter_track t on t.id = c.track_id order by c.ts
"""


@trace_processor.needs_trace_processor
def test_trace_processor_names_counters_so(tmp_path: Path):
    path = tmp_path / "counters.pftrace"
    path.write_bytes(counters_of_all_kinds())
    shown = {name for (name,) in trace_processor.answer(path, NAMES)}
    assert shown == {*mapping.COUNTER_NAMES.values(), "sched:sched_switch"}


def texts(*rows: list[object]) -> list[list[str]]:
    """Rows as trace_processor prints them."""
    return [["[NULL]" if one is None else str(one) for one in row] for row in rows]


@trace_processor.needs_trace_processor
def test_trace_processor_shows_samples_and_totals(tmp_path: Path):
    path = tmp_path / "samples.pftrace"
    path.write_bytes(written(projected(two_events())))
    assert not trace_processor.errors(path)
    # (time, tid, CPU, mode, innermost function, offset, mapping, its depth)
    assert trace_processor.answer(path, SAMPLES) == texts(
        [100, 10, 1, "user", "leaf", 0x1198, "/bin/app", 1],
        [110, 11, 1, "unknown", "main", 0x1201, "/bin/app", 0],
        [120, 10, 1, "kernel", "main", 0x1201, "/bin/app", 0],
        [130, 11, 2, "kernel", None, None, None, None],
    )
    assert trace_processor.answer(path, TOTALS) == texts(
        [100, "cycles", 1, 1000],
        [110, "cpu-clock", 1, 7],
        [120, "cycles", 1, 1500],
        [130, "cycles", 2, 10],
    )

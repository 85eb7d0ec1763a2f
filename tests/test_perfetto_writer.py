"""The Perfetto writer: what is written reads back as it was, and is what protobuf itself would write."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from perfetto_files import FILES, INSTANT, File
from strategies import batch_of, fitted_traces, traces

from converter.errors import UnsupportedError
from converter.filters.thread_states import THREAD_STATES, ThreadState
from converter.formats.perfetto import FORMAT, mapping, tracepoints
from converter.formats.perfetto.descriptors import typed_event, typed_event_numbers
from converter.formats.perfetto.metadata import TRACE_ATTRIBUTE
from converter.formats.perfetto.reader import read
from converter.formats.perfetto.writer import write
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.columns import value
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track, TrackScope
from converter.projection import project
from converter.sink import BufferSink
from converter.source import open_source

CAPABILITIES = FORMAT.capabilities("")
KINDS = CAPABILITIES.kinds.keys() - {Kind.NATIVE}

NAME, CATEGORY = mapping.NAME, mapping.CATEGORY
SWITCH = tracepoints.tracepoint_class("sched", "sched_switch", typed_event(4).fields)


def written(trace: Trace) -> bytes:
    sink = BufferSink()
    write(trace, sink, "")
    return sink.getvalue()


def opened(data: bytes) -> Trace:
    return read(open_source(data))


def parsed(data: bytes) -> pb.Trace:
    return pb.Trace.FromString(data)


def projected(trace: Trace) -> Trace:
    return collect(project(trace, CAPABILITIES, "perfetto")[0])


def with_own_tids(trace: Trace) -> Trace:
    """A fitted trace in which no two threads share a tid and each event is in one place."""
    trace.threads = [
        dataclasses.replace(thread, tid=number + 1) for number, thread in enumerate(trace.threads)
    ]
    return projected(trace)


def trace_of(
    event_class: EventClass, *rows: tuple, thread: int = 0, cpu: int = -1, track: int = -1
):
    """A trace with events of one class, a nanosecond apart, by process 10 with thread 11."""
    trace = Trace(
        format="other",
        processes=[Process(10, "proc")],
        threads=[Thread(11, 0, "main")],
        event_classes=[event_class],
    )
    events = [(0, 100 + i, cpu, thread, track, row) for i, row in enumerate(rows)]
    return with_batches(trace, [batch_of(trace, events)])


def events_of(trace: Trace) -> list[dict]:
    found = []
    for batch in trace.batches():
        for place in range(len(batch)):
            number = int(batch.class_id[place])
            table, row = batch.tables[number], int(batch.row[place])
            fields = trace.event_classes[number].fields
            found.append(
                {
                    field.name: value(table.column(k), field.type, row, trace.strings)
                    for k, field in enumerate(fields)
                }
            )
    return found


def kernel_events(data: bytes) -> list[pb.FtraceEvent]:
    return [event for packet in parsed(data).packet for event in packet.ftrace_events.event]


def track_events(data: bytes) -> list[pb.TrackEvent]:
    return [p.track_event for p in parsed(data).packet if p.HasField("track_event")]


# The laws


@given(data=st.data())
def test_what_the_format_holds_survives(data):
    trace = with_own_tids(data.draw(fitted_traces(CAPABILITIES, kinds=KINDS)))
    out = written(trace)
    again = opened(out)
    assert difference(trace, again) is None
    assert not again.warnings
    kinds = {event_class.kind for event_class in trace.event_classes}
    if not kinds & {Kind.LOG, Kind.SAMPLE}:
        # Those have enumerations, of which protobuf puts numbers that it does not know behind all else.
        assert parsed(out).SerializeToString() == out


@given(trace=traces())
def test_what_is_projected_survives(trace):
    target = projected(trace)
    assert difference(target, opened(written(target))) is None


@pytest.mark.parametrize("name", FILES)
def test_a_file_survives_its_own_round_trip(name):
    out = written(opened(FILES[name]()))
    assert difference(opened(FILES[name]()), opened(out)) is None


@pytest.mark.parametrize("name", FILES)
def test_a_file_survives_projected(name):
    trace = projected(opened(FILES[name]()))
    assert difference(trace, opened(written(trace))) is None


# Kernel events


def drawn(kind: FieldClass) -> st.SearchStrategy:
    match kind:
        case IntegerClass(bits, True):
            return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
        case IntegerClass(bits):
            return st.integers(0, (1 << bits) - 1)
        case BooleanClass():
            return st.booleans()
        case ArrayClass(element):
            return st.lists(drawn(element), max_size=3)
        case StringClass():
            return st.text(max_size=5).map(str.encode)
    return st.just(b"")


@given(data=st.data())
def test_typed_events_are_what_protobuf_writes(data):
    number = data.draw(st.sampled_from(typed_event_numbers()))
    event = typed_event(number)
    event_class = tracepoints.tracepoint_class(*tracepoints.tracepoint_of(number), event.fields)
    row = tuple(data.draw(drawn(field.type)) for field in event_class.fields)
    expected = pb.FtraceEvent(timestamp=100, pid=11)
    if row[0]:
        expected.common_flags = row[0]
    message = getattr(expected, event.field_name)
    message.SetInParent()
    for item, held in zip(event.fields, row[1:], strict=True):
        if item.repeated:
            getattr(message, item.name).extend(held)
        elif isinstance(item.field_class, StringClass):
            setattr(message, item.name, held.decode())
        elif isinstance(item.field_class, IntegerClass | BooleanClass):
            if item.field_class.labels if isinstance(item.field_class, IntegerClass) else False:
                return  # closed enumerations keep only their own values
            setattr(message, item.name, held)
        else:
            return  # messages within messages are bytes here
    (found,) = kernel_events(written(trace_of(event_class, row, cpu=3)))
    assert found.SerializeToString() == expected.SerializeToString()


def test_events_begin_as_the_importer_reads_them_fast():
    row = (0, b"a", 1, 120, 0, b"b", 2, 120)
    out = written(trace_of(SWITCH, row, cpu=0))
    event = kernel_events(out)[0].SerializeToString()
    assert event[0] == 1 << 3
    assert b"\x10\x0b\x22" in event  # pid 11, then field 4
    assert event in out


def test_bundles_are_of_one_cpu_and_limited():
    rows = [(0, b"a", 1, 120, 0, b"b", 2, 120)] * 3000
    trace = trace_of(SWITCH, *rows, cpu=0)
    batch = next(iter(trace.batches()))
    cpu = (np.arange(3000) % 2).astype(np.int32)
    moved = with_batches(trace, [_with_cpu(batch, cpu)])
    bundles = [p.ftrace_events for p in parsed(written(moved)).packet if p.ftrace_events.event]
    assert [(b.cpu, len(b.event)) for b in bundles] == [(0, 1024), (0, 476), (1, 1024), (1, 476)]
    assert difference(moved, opened(written(moved))) is None


def _with_cpu(batch, cpu):
    return type(batch)(
        ts=batch.ts,
        class_id=batch.class_id,
        row=batch.row,
        tables=batch.tables,
        thread=batch.thread,
        cpu=cpu,
    )


@pytest.mark.parametrize("cpu", [-1, 1024])
def test_a_kernel_event_needs_a_cpu_that_bundles_can_have(cpu):
    with pytest.raises(UnsupportedError, match="CPU"):
        written(trace_of(SWITCH, (0, b"a", 1, 120, 0, b"b", 2, 120), cpu=cpu))


def test_other_tracepoints_are_described():
    fields = (
        Field("common_flags", IntegerClass(8), Role.CONTEXT_FLAGS),
        Field("comm", StringClass()),
        Field("runtime", IntegerClass(32)),
        Field("delta", IntegerClass(16, signed=True)),
    )
    event_class = EventClass(Kind.TYPED, "sched_stat_runtime", "sched", fields)
    target = projected(trace_of(event_class, (1, b"x", 7, -2), cpu=0))
    out = written(target)
    (again,) = events_of(opened(out))
    assert again == {"common_flags": 1, "comm": b"x", "runtime": 7, "delta": -2}
    packets = parsed(out).packet
    (described,) = [d for p in packets for d in p.ftrace_events.generic_event_descriptors]
    assert (described.field_id, described.group_name) == (65536, "sched")


def test_more_fields_than_a_generic_event_has_go_to_instants():
    fields = tuple(Field(f"f{i}", IntegerClass(64)) for i in range(40))
    event_class = EventClass(Kind.TYPED, "big", "test", fields)
    target = projected(trace_of(event_class, tuple(range(40)), cpu=0))
    assert [one.kind for one in target.event_classes] == [Kind.TYPED, Kind.INSTANT]
    assert difference(target, opened(written(target))) is None


def test_functions_get_their_names_once():
    event_class = tracepoints.tracepoint_class("ftrace", "funcgraph_entry", typed_event(437).fields)
    trace = trace_of(event_class, (0, 0, 0x1000), (0, 1, 0x1008), (0, 1, 0x1000), cpu=0)
    table = (np.array([0x1000, 0x2000], np.uint64), [b"do_work", b"other"])
    trace.symbols = SymbolTable(lambda: table)
    out = written(trace)
    symbols = [s for p in parsed(out).packet for s in p.interned_data.kernel_symbols]
    assert [(s.iid, s.str) for s in symbols] == [(0x1000, b"do_work"), (0x1008, b"do_work")]
    assert opened(out).symbols.lookup(0x1008) == (b"do_work", 0)


def test_lost_events_are_in_front_of_their_bundle():
    trace = trace_of(SWITCH, (0, b"a", 1, 120, 0, b"b", 2, 120), cpu=1)
    trace.event_classes.append(mapping.LOST_EVENTS)
    row = (0, b"a", 1, 120, 0, b"b", 2, 120)
    events = [(0, 100, 1, 0, -1, row), (1, 110, 1, -1, -1, ()), (0, 120, 1, 0, -1, row)]
    trace = with_batches(trace, [batch_of(trace, events)])
    out = written(trace)
    bundles = [p.ftrace_events for p in parsed(out).packet if p.HasField("ftrace_events")]
    assert [(b.lost_events, b.previous_bundle_end_timestamp) for b in bundles] == [
        (False, 0),
        (True, 110),
    ]
    assert difference(trace, opened(out)) is None


def test_the_kernel_is_named_for_the_importer():
    trace = trace_of(SWITCH)
    trace.environment = {"machine": "x86_64", "kernel_release": "6.18", "cpu_count": 2}
    out = written(trace)
    (system,) = [p.system_info for p in parsed(out).packet if p.HasField("system_info")]
    assert (system.utsname.machine, system.utsname.release) == ("x86_64", "6.18")
    assert opened(out).environment == trace.environment


def test_tracepoints_of_single_system_calls_become_raw_ones():
    fields = (
        Field("__syscall_nr", IntegerClass(32, signed=True), Role.SYSCALL_NUMBER),
        Field("fd", IntegerClass(64)),
        Field("count", IntegerClass(64)),
    )
    event_class = EventClass(Kind.SYSCALL_ENTRY, "sys_enter_read", "syscalls", fields)
    target = projected(trace_of(event_class, (0, 3, 512), cpu=0))
    assert events_of(opened(written(target))) == [{"id": 0, "args": [3, 512, 0, 0, 0, 0]}]


def test_context_switches_of_other_systems_are_the_kernels():
    fields = (
        Field("outgoing", IntegerClass(64), Role.PREV_TID),
        Field("incoming", IntegerClass(64), Role.NEXT_TID),
    )
    trace = trace_of(EventClass(Kind.SCHED_SWITCH, fields=fields), (11, 0), cpu=2)
    target = projected(trace)
    (event,) = kernel_events(written(target))
    assert (event.sched_switch.prev_pid, event.sched_switch.next_pid) == (11, 0)


def test_states_of_other_systems_are_the_kernels():
    fields = (
        Field("state", THREAD_STATES, Role.PREV_STATE),
        Field("outgoing", IntegerClass(64), Role.PREV_TID),
        Field("incoming", IntegerClass(64), Role.NEXT_TID),
    )
    rows = [(int(state), 11, 0) for state in ThreadState]
    trace = trace_of(EventClass(Kind.SCHED_SWITCH, fields=fields), *rows, thread=-1, cpu=2)
    target = projected(trace)
    found = kernel_events(written(target))
    # TASK_RUNNING twice, __TASK_STOPPED, TASK_INTERRUPTIBLE, EXIT_ZOMBIE, EXIT_DEAD.
    assert [event.sched_switch.prev_state for event in found] == [0, 0, 4, 1, 0x20, 0x10]
    assert {event.pid for event in found} == {11}
    assert difference(target, opened(written(target))) is None


def test_threads_that_share_a_tid_are_one_to_the_kernel():
    trace = trace_of(SWITCH, (0, b"a", 1, 120, 0, b"b", 2, 120), thread=1, cpu=0)
    trace.processes.append(Process(20))
    trace.threads.append(Thread(11, 1))
    target, report = project(trace, CAPABILITIES, "perfetto")
    target = collect(target)
    assert "changed: threads of kernel events that share a tid (1)" in [str(x) for x in report]
    assert difference(target, opened(written(target))) is None


# The timeline


def test_annotations_nest():
    inner = StructureClass((Member("x", IntegerClass(64)), Member("", StructureClass(()))))
    kinds: dict[str, tuple[FieldClass, object]] = {
        "dictionary": (inner, [("x", 5), ("", [])]),
        "array": (ArrayClass(StringClass()), [b"a", b"b", b""]),
        "mixed": (
            ArrayClass(VariantClass((Member("0", FloatClass()), Member("1", BooleanClass())))),
            [("0", 1.5), ("1", True)],
        ),
        "nothing": (NullClass(), None),
        "absent": (OptionalClass(IntegerClass(64)), None),
        "there": (OptionalClass(IntegerClass(64)), 7),
        "pointer": (IntegerClass(64, style=Style.POINTER), 0xFFFF),
    }
    fields = tuple(Field(name, kind) for name, (kind, _) in kinds.items())
    event_class = EventClass(Kind.INSTANT, fields=(NAME, CATEGORY, *fields))
    row = (b"tick", b"cat", *(held for _, held in kinds.values()))
    out = written(trace_of(event_class, row))
    (event,) = track_events(out)
    found = {a.name_iid: a for a in event.debug_annotations}
    assert len(found) == len(kinds)
    (again,) = events_of(opened(out))
    assert again["dictionary"] == [("x", 5), ("", [])]
    assert again["array"] == [b"a", b"b", b""]
    assert [held for _, held in again["mixed"]] == [1.5, True]
    assert (again["nothing"], again["absent"], again["there"]) == (None, None, 7)
    assert again["pointer"] == 0xFFFF


def test_texts_are_interned_by_the_packet_that_uses_them_first():
    event_class = EventClass(Kind.INSTANT, fields=(NAME, CATEGORY))
    out = written(trace_of(event_class, (b"a", b"c"), (b"b", b"c"), (b"a", b"c")))
    packets = [p for p in parsed(out).packet if p.HasField("track_event")]
    assert [[n.name for n in p.interned_data.event_names] for p in packets] == [["a"], ["b"], []]
    assert [len(p.interned_data.event_categories) for p in packets] == [1, 0, 0]
    assert all(p.sequence_flags == 2 for p in packets)
    first = next(p for p in parsed(out).packet if p.trusted_packet_sequence_id)
    assert first.sequence_flags == 1


def test_counters_are_on_tracks_of_counters():
    fields = (
        NAME,
        Field("used", IntegerClass(64), Role.VALUE),
        Field("free", FloatClass(64), Role.VALUE),
    )
    trace = trace_of(EventClass(Kind.COUNTER, fields=fields), (b"memory", 5, 1.5))
    target = projected(trace)
    out = written(target)
    described = [p.track_descriptor for p in parsed(out).packet if p.HasField("track_descriptor")]
    counters = {d.name: d for d in described if d.HasField("counter")}
    assert sorted(counters) == ["memory free", "memory used"]
    processes = {d.uuid: d.process.pid for d in described if d.HasField("process")}
    assert {processes[d.parent_uuid] for d in counters.values()} == {10}
    assert {e.track_uuid for e in track_events(out)} == {d.uuid for d in counters.values()}
    assert difference(target, opened(out)) is None


def test_tracks_keep_scope_parent_unit_and_identity():
    trace = trace_of(EventClass(Kind.INSTANT, fields=(NAME, CATEGORY)))
    trace.tracks = [
        Track("outer", TrackScope.CPU, 3),
        Track("inner", TrackScope.THREAD, 0, 0, "", 9),
        Track("inner", TrackScope.THREAD, 0, 0, "", 10),
        Track("bytes", TrackScope.PROCESS, 0, -1, "bytes"),
        Track("free", TrackScope.GLOBAL, -1, 3),
    ]
    events = [(0, 100 + i, -1, -1, i, (b"x", b"")) for i in range(5)]
    trace = with_batches(trace, [batch_of(trace, events)])
    out = written(trace)
    assert difference(trace, opened(out)) is None
    described = [p.track_descriptor for p in parsed(out).packet if p.HasField("track_descriptor")]
    assert len({d.uuid for d in described}) == len(described)
    assert written(trace) == out


# Switches of kernels other than Linux

DISPATCH = EventClass(
    Kind.SCHED_SWITCH,
    "DISPATCH",
    "aix",
    (
        Field("pid", IntegerClass(64), Role.NEXT_PID),
        Field("tid", IntegerClass(64), Role.NEXT_TID),
        Field("priority", IntegerClass(64, True), Role.NEXT_PRIORITY),
        Field("old_tid", IntegerClass(64), Role.PREV_TID),
        Field("old_priority", IntegerClass(64, True), Role.PREV_PRIORITY),
    ),
)


def states_of(data: bytes) -> list[pb.GenericKernelTaskStateEvent]:
    name = "generic_kernel_task_state_event"
    return [getattr(p, name) for p in parsed(data).packet if p.HasField(name)]


def test_switches_of_other_kernels_are_states_of_two_tasks():
    trace = trace_of(DISPATCH, (10, 5_000_000_001, 60, 11, 70), cpu=2, thread=-1)
    target, report = project(trace, CAPABILITIES, "perfetto")
    target = collect(target)
    out = written(target)
    left, got = states_of(out)
    assert (left.cpu, left.tid, left.prio, left.state) == (2, 11, 70, left.TASK_STATE_UNKNOWN)
    assert (got.cpu, got.tid, got.prio) == (2, 5_000_000_001, 60)
    assert got.state == got.TASK_STATE_RUNNING
    assert kernel_events(out) == []
    assert difference(target, opened(out)) is None
    assert parsed(out).SerializeToString() == out
    assert "changed: name of the class aix:DISPATCH (1)" in [str(loss) for loss in report]


def test_states_of_other_kernels_are_those_that_generic_packets_have():
    fields = (*DISPATCH.fields, Field("state", THREAD_STATES, Role.PREV_STATE))
    rows = [(10, 5, 60, 11, 70, int(state)) for state in ThreadState]
    target = projected(trace_of(dataclasses.replace(DISPATCH, fields=fields), *rows, cpu=0))
    out = written(target)
    name = pb.GenericKernelTaskStateEvent.TaskStateEnum.Name
    assert [name(state.state).removeprefix("TASK_STATE_") for state in states_of(out)[::2]] == [
        "RUNNABLE",
        "RUNNABLE",
        "STOPPED",
        "INTERRUPTIBLE_SLEEP",
        "DEAD",
        "DESTROYED",
    ]
    assert difference(target, opened(out)) is None


@given(data=st.data())
def test_switches_of_other_kernels_survive(data):
    classes = data.draw(st.permutations([mapping.SWITCH, mapping.SWITCH_WITH_STATE]))
    trace = trace_of(classes[0])
    trace.event_classes.append(classes[1])
    events = []
    for number in range(data.draw(st.integers(0, 6))):
        kind = data.draw(st.integers(0, 1))
        row = tuple(data.draw(drawn(field.type)) for field in classes[kind].fields)
        cpu = data.draw(st.integers(0, 1023))
        events.append((kind, 100 * number, cpu, -1, -1, row))
    trace = with_batches(trace, [batch_of(trace, events)])
    assert difference(trace, opened(written(trace))) is None


def test_the_state_of_one_task_is_kept_as_its_packet():
    file = File()
    alone = file.packet(5).generic_kernel_task_state_event
    alone.cpu, alone.tid, alone.state = 1, 7, alone.TASK_STATE_RUNNABLE
    trace = opened(file.bytes())
    assert [event["field"] for event in events_of(trace)] == [117]
    assert states_of(written(trace)) == [alone]


# Log entries and samples

MESSAGE = Field("message", StringClass(), Role.MESSAGE)


def test_log_entries_are_androids_on_the_wall_clock():
    trace = trace_of(EventClass(Kind.LOG, "tracef", "app", (MESSAGE,)), (b"hello",))
    trace.clock = ClockDomain("boottime", epoch_ns=1_700_000_000_000_000_000)
    target, report = project(trace, CAPABILITIES, "perfetto")
    target = collect(target)
    out = written(target)
    (entry,) = [e for p in parsed(out).packet for e in p.android_log.events]
    assert (entry.pid, entry.tid, entry.message) == (10, 11, "hello")
    assert (entry.tag, entry.prio) == ("app:tracef", 4)
    assert entry.timestamp == trace.clock.epoch_ns + 100
    assert difference(target, opened(out)) is None
    assert "dropped: name of the class app:tracef (1)" in [str(loss) for loss in report]


def test_log_entries_of_an_unknown_time_have_a_clock_to_be_on():
    target = projected(trace_of(EventClass(Kind.LOG, fields=(MESSAGE,)), (b"hello",)))
    out = written(target)
    snapshots = [p.clock_snapshot for p in parsed(out).packet if p.HasField("clock_snapshot")]
    assert [{clock.clock_id: clock.timestamp for clock in s.clocks} for s in snapshots] == [
        {1: 0, 6: 0}
    ]
    assert opened(out).clock.epoch_ns is None
    assert difference(target, opened(out)) is None


def test_log_entries_with_arguments_are_instants():
    extra = Field("logger", StringClass())
    target = projected(trace_of(EventClass(Kind.LOG, fields=(MESSAGE, extra)), (b"hi", b"root")))
    (event,) = events_of(opened(written(target)))
    assert event == {"name": b"log", "category": b"", "message": b"hi", "logger": b"root"}


def test_log_entries_are_between_the_snapshots_that_they_were_between():
    file = File()
    for boot, real in ((0, 1_000), (500, 2_000), (900, 2_350)):
        snapshot = file.packet().clock_snapshot
        snapshot.clocks.add(clock_id=6, timestamp=boot)
        snapshot.clocks.add(clock_id=1, timestamp=real)
    times = [900, 1_000, 1_499, 1_999, 2_000, 2_100, 2_349, 2_350, 9_000]
    log = file.packet().android_log
    for real in times:
        log.events.add(log_id=1, timestamp=real, tag="t", message="m")
    trace = opened(file.bytes())
    entries = [e for p in parsed(written(trace)).packet for e in p.android_log.events]
    found = [entry.timestamp for entry in entries]
    assert difference(trace, opened(written(trace))) is None
    # Times in between are converted from two times of the clock that was set back.
    assert [found[times.index(time)] for time in (900, 1_000, 1_499, 9_000)] == [
        900,
        1_000,
        1_499,
        9_000,
    ]
    assert not any(entry.HasField("tid") for entry in entries)


def test_samples_bring_the_call_stacks_that_no_packet_did_before():
    frames = Field("frames", ArrayClass(IntegerClass(64, style=Style.POINTER)), Role.FRAMES)
    stacks = ([0x1010, 0x2000], [0x1010], [0x1010, 0x2000], [])
    trace = trace_of(EventClass(Kind.SAMPLE, fields=(frames,)), *((one,) for one in stacks), cpu=1)
    table = (np.array([0x1000, 0x2000, 0x3000], np.uint64), [b"inner", b"outer", b"end"])
    trace.symbols = SymbolTable(lambda: table)
    target = projected(trace)
    out = written(target)
    packets = parsed(out).packet
    samples = [p.perf_sample for p in packets if p.HasField("perf_sample")]
    assert [(s.cpu, s.pid, s.tid) for s in samples] == [(1, 10, 11)] * 4
    (data,) = [p.interned_data for p in packets if p.interned_data.callstacks]
    names = {text.iid: text.str for text in data.function_names}
    by_iid = {frame.iid: (names[frame.function_name_id], frame.rel_pc) for frame in data.frames}
    known = {stack.iid: [by_iid[iid] for iid in stack.frame_ids] for stack in data.callstacks}
    assert len(data.frames) == 2
    assert [known[s.callstack_iid] for s in samples] == [
        [(b"outer", 0x2000), (b"inner", 0x1010)],
        [(b"inner", 0x1010)],
        [(b"outer", 0x2000), (b"inner", 0x1010)],
        [],
    ]
    assert {frame.mapping_id for frame in data.frames} == {one.iid for one in data.mappings}
    assert difference(target, opened(out)) is None


def test_mappings_are_paths_or_not():
    row = [
        ("function", b"f"),
        ("mapping", b"[kernel]"),
        ("rel_pc", 1),
        ("source", b"a.c"),
        ("line", 2),
    ]
    other = [
        ("function", b"g"),
        ("mapping", b"/usr/lib/x.so"),
        ("rel_pc", 1),
        ("source", b""),
        ("line", 0),
    ]
    trace = trace_of(
        EventClass(Kind.SAMPLE, fields=mapping.SAMPLE_FIELDS), ([row, other], 2, 7), cpu=0
    )
    out = written(trace)
    (data,) = [p.interned_data for p in parsed(out).packet if p.interned_data.mappings]
    assert sorted(path.str for path in data.mapping_paths) == [b"[kernel]", b"usr/lib/x.so"]
    assert events_of(opened(out)) == [{"frames": [row, other], "cpu_mode": 2, "timebase_count": 7}]


def test_a_sample_of_no_thread_has_none():
    frames = Field("frames", ArrayClass(StringClass()), Role.FRAMES)
    target = projected(
        trace_of(EventClass(Kind.SAMPLE, fields=(frames,)), ([b"main"],), thread=-1, cpu=0)
    )
    again = opened(written(target))
    assert [batch.thread.tolist() for batch in again.batches()] == [[-1]]
    assert difference(target, again) is None


# The trace itself


def test_the_clock_keeps_its_name_and_wall_clock_time():
    trace = trace_of(SWITCH)
    trace.clock = ClockDomain("local", epoch_ns=1_700_000_000_000_000_000, description="per CPU")
    out = written(trace)
    (snapshot,) = [p.clock_snapshot for p in parsed(out).packet if p.HasField("clock_snapshot")]
    readings = {clock.clock_id: clock.timestamp for clock in snapshot.clocks}
    assert readings[1] - readings[6] == trace.clock.epoch_ns
    again = opened(out)
    assert (again.clock, again.clock_domains) == (trace.clock, [])


def test_other_rates_than_nanoseconds_are_refused():
    trace = trace_of(SWITCH)
    trace.clock = ClockDomain("ticks", ticks_per_second=1000)
    with pytest.raises(UnsupportedError, match="nanoseconds"):
        written(trace)
    assert opened(written(projected(trace))).clock.ticks_per_second == 1_000_000_000


def test_an_attribute_that_is_damaged_is_left_alone():
    clock = '{"name":"c","description":"","ticks_per_second":%s,"epoch_ns":%s}'
    whole = '{"clock":%s,"clock_domains":[],"environment":{%s}}'
    for content in (
        "",
        "[]",
        '{"clock":1}',
        '{"clock":{},"clock_domains":[],"environment":{}}',
        whole % (clock % ('"1e99999999"', "null"), ""),
        whole % (clock % ("null", "9223372036854775808"), ""),
        whole % (clock % ("null", "null"), r'"a":"\ud800"'),
    ):
        file = File()
        attribute = file.packet().trace_attributes.attribute.add()
        attribute.key, attribute.string_value = TRACE_ATTRIBUTE, content
        file.event(1, INSTANT, "x", 5)
        trace = opened(file.bytes())
        assert trace.clock.name == "boottime"
        assert [warning.message for warning in trace.warnings] == [
            f"the attribute {TRACE_ATTRIBUTE} is damaged"
        ]


def test_processes_keep_names_parents_and_command_lines():
    trace = trace_of(EventClass(Kind.INSTANT, fields=(NAME, CATEGORY)), (b"x", b""))
    trace.processes += [
        Process(20, "sh", 10, ("sh", "-c", "true")),
        Process(21, "renamed", 20, ("python3", "x.py")),
        Process(22, "", None, ("", "x")),
        Process(23, "", None, ("x", "")),
    ]
    assert difference(trace, opened(written(trace))) is None


def test_processes_whose_ids_are_too_long_stay_apart():
    trace = trace_of(EventClass(Kind.INSTANT, fields=(NAME, CATEGORY)), (b"x", b""))
    trace.processes += [Process(1 << 62, "wide"), Process(0, "idle")]
    target, report = project(trace, CAPABILITIES, "perfetto")
    target = collect(target)
    assert [process.name for process in target.processes] == ["proc", "wide", "idle"]
    assert len({process.pid for process in target.processes}) == 3
    assert "changed: process ids that are not of 31 bits (1)" in [str(loss) for loss in report]
    assert difference(target, opened(written(target))) is None


def test_packets_about_the_recording_are_written_again():
    again = opened(written(projected(opened(FILES["tables"]())))).sidecar["perfetto"]
    before = opened(FILES["tables"]()).sidecar["perfetto"]
    for name, packets in before.items():
        assert again[name][: len(packets)] == packets
    natives = [p for p in before if p not in again]
    assert natives == []


def test_records_of_other_formats_are_dropped():
    native = EventClass(Kind.NATIVE, fields=mapping.NATIVE_PACKET.fields)
    target, report = project(
        trace_of(native, (1, b"\x08\x01"), thread=-1), CAPABILITIES, "perfetto"
    )
    assert sum(len(batch) for batch in target.batches()) == 0
    assert "dropped: native records of other (1)" in [str(loss) for loss in report]


def test_what_no_packet_holds_is_refused():
    payload = Field("payload", BytesClass(), Role.PAYLOAD)
    blob = EventClass(Kind.BLOB, fields=(NAME, payload))
    with pytest.raises(UnsupportedError, match="no packet holds"):
        written(trace_of(blob, (b"shot", b"\xff")))
    assert events_of(opened(written(projected(trace_of(blob, (b"shot", b"\xff"))))))


def test_kernel_events_without_a_message_are_written():
    file = File()
    file.bundle(0).event.add(timestamp=5, pid=7)
    trace = opened(file.bytes())
    assert [len(batch) for batch in opened(written(trace)).batches()] == [1]

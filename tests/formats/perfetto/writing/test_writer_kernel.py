"""The kernel's events and switches that the Perfetto writer makes are what protobuf writes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from support.perfetto.events import typed_event_numbers
from support.perfetto.files import File
from support.perfetto.writing import (
    CAPABILITIES,
    SWITCH,
    drawn,
    events_of,
    kernel_events,
    opened,
    parsed,
    projected,
    trace_of,
    written,
)
from support.traces.losses import line_of
from support.traces.strategies import batch_of

from converter.errors import UnsupportedError
from converter.formats.perfetto import mapping, tracepoints
from converter.formats.perfetto.protobuf.descriptors import typed_event
from converter.formats.perfetto.writing.list_texts import list_texts
from converter.ir.canonical import difference
from converter.ir.collect import collect, with_batches
from converter.ir.columns import column_from_values, take, value
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import Process, Thread, Trace
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_LABEL
from converter.projection.domain.scheduling.thread_states import THREAD_STATES, ThreadState
from converter.projection.project import project

# Kernel events


@given(data=st.data())
def test_typed_events_are_what_protobuf_writes(data):
    number = data.draw(st.sampled_from(typed_event_numbers()))
    event = typed_event(number)
    event_class = tracepoints.tracepoint_class(*tracepoints.tracepoint_of(number), event.fields)
    row = tuple(data.draw(drawn(field.type)) for field in event_class.fields)
    expected = pb.FtraceEvent(timestamp=100, pid=11)
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


@pytest.mark.parametrize(
    ("field_class", "held", "kind"),
    [
        (IntegerClass(64), 12, Kind.SCHED_WAKING),
        (StringClass(), b"12", Kind.SCHED_WAKING),
        (BytesClass(), b"12", Kind.TYPED),
        (ArrayClass(IntegerClass(32)), [12], Kind.TYPED),
    ],
)
def test_an_id_that_its_message_cannot_have_makes_a_generic_event(field_class, held, kind):
    fields = (Field("tid", field_class, Role.TID), Field("blob", BytesClass()))
    source = trace_of(EventClass(Kind.SCHED_WAKING, "wakes", "mine", fields), (held, b"ab"), cpu=1)
    target = projected(source)
    (event_class,) = target.event_classes
    assert event_class.kind is kind
    assert difference(target, opened(written(target))) is None


@pytest.mark.parametrize(
    ("field_class", "held"),
    [
        (FloatClass(32), float("nan")),
        (FloatClass(64), float("inf")),
        (FloatClass(32), 1.5),
        (IntegerClass(64), 2**64 - 1),
        (BooleanClass(), True),
        (BytesClass(), b"E"),
        (BytesClass(), b"hello"),
        (BytesClass(), b"B|1|x"),
        (ArrayClass(IntegerClass(32)), [1, 2]),
    ],
)
def test_markers_whose_message_is_no_text_are_written(field_class, held):
    fields = (Field("buf", field_class, Role.MESSAGE),)
    target = projected(trace_of(EventClass(Kind.MARK, "", "", fields), (held,), cpu=1))
    assert difference(target, opened(written(target))) is None


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


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"127.0.0.1", 16777343),
        (b"192.168.1.2", 33663168),
        (b"0.0.0.0", 0),
        (b"255.255.255.255", 0xFFFF_FFFF),
    ],
)
def test_an_ipv4_address_is_the_number_of_its_bytes(text, number):
    fields = (Field("family", IntegerClass(16)), Field("saddr", StringClass()))
    event_class = EventClass(Kind.TYPED, "inet_sock_set_state", "sock", fields)
    target, report = project(trace_of(event_class, (2, text), cpu=0), CAPABILITIES, "perfetto")
    (event,) = kernel_events(written(target))
    assert event.inet_sock_set_state.saddr == number
    assert not [loss for loss in report if loss.loss_class == "shown"]


@pytest.mark.parametrize("text", [b"256.0.0.1", b"localhost", b""])
def test_a_text_that_is_no_ipv4_address_is_counted(text):
    event_class = EventClass(
        Kind.TYPED, "inet_sock_set_state", "sock", (Field("saddr", StringClass()),)
    )
    target, report = project(trace_of(event_class, (text,), cpu=0), CAPABILITIES, "perfetto")
    written(target)
    assert [loss for loss in report if loss.loss_class == "shown" and "saddr" in line_of(loss)]


def test_more_fields_than_a_generic_event_has_go_to_instants():
    fields = tuple(Field(f"f{i}", IntegerClass(64)) for i in range(40))
    event_class = EventClass(Kind.TYPED, "big", "test", fields)
    target = projected(trace_of(event_class, tuple(range(40)), cpu=0))
    assert [one.kind for one in target.event_classes] == [Kind.TYPED, Kind.INSTANT]
    assert difference(target, opened(written(target))) is None


def described(data):
    """The fields of the first generic event's descriptor: number and type by name."""
    (found,) = [d for p in parsed(data).packet for d in p.ftrace_events.generic_event_descriptors]
    message = descriptor_pb2.DescriptorProto.FromString(found.event_descriptor)
    return {field.name: (field.number, field.type) for field in message.field}


@pytest.mark.parametrize(("lists", "numbers"), [(1, 29), (1, 30), (15, 1), (15, 2), (0, 31)])
def test_as_many_lists_have_texts_as_there_are_numbers(lists, numbers):
    fields = [Field(f"l{i}", ArrayClass(IntegerClass(32))) for i in range(lists)]
    fields += [Field(f"n{i}", IntegerClass(64)) for i in range(numbers)]
    event_class = EventClass(Kind.TYPED, "big", "test", tuple(fields))
    row = (*([i, i + 1] for i in range(lists)), *range(numbers))
    target, report = project(trace_of(event_class, row, cpu=0), CAPABILITIES, "perfetto")
    target = collect(target)
    assert [one.kind for one in target.event_classes] == [Kind.TYPED]
    out = written(target)
    found = described(out)
    assert max(number for number, _ in found.values()) <= 31
    texts = [f"l{i}.values" in found for i in range(lists)]
    shown = min(lists, 31 - lists - numbers)
    assert texts == [True] * shown + [False] * (lists - shown)
    unshown = [loss for loss in report if loss.code == "list-elements-unshown"]
    assert len(unshown) == lists - shown
    assert difference(target, opened(out)) is None


def test_bytes_of_messages_are_not_shown():
    fields = (Field("adapter_nr", IntegerClass(32, True)), Field("buf", BytesClass()))
    event_class = EventClass(Kind.TYPED, "i2c_write", "i2c", fields)
    target, report = project(trace_of(event_class, (1, b"ab"), cpu=0), CAPABILITIES, "perfetto")
    assert events_of(opened(written(target)))[0]["buf"] == b"ab"
    assert [line_of(loss) for loss in report if loss.loss_class == "shown"] == [
        "field-unshown event=i2c:i2c_write field=buf (1)"
    ]


@pytest.mark.parametrize(
    ("field_class", "values", "texts"),
    [
        (BytesClass(), [b"", b"\1", b"\xab\0\xcd", b""], [b"", b"01", b"ab 00 cd", b""]),
        (ArrayClass(IntegerClass(8)), [[], [255]], [b"[]", b"[255]"]),
        (ArrayClass(IntegerClass(64, True)), [[-(1 << 63)]], [b"[-9223372036854775808]"]),
        (ArrayClass(IntegerClass(16, style=Style.HEXADECIMAL)), [[1, 65535]], [b"[0x1, 0xffff]"]),
        (ArrayClass(IntegerClass(64, style=Style.SYMBOL)), [[16, 0]], [b"0x10 <- 0x0"]),
        (ArrayClass(StringClass()), [[b"a", "é".encode()], []], ['["a", "é"]'.encode(), b"[]"]),
        (ArrayClass(BooleanClass()), [[True, False]], [b"[true, false]"]),
    ],
    ids=str,
)
def test_texts_of_lists(field_class, values, texts):
    trace = Trace("other")
    column = column_from_values(field_class, values, trace.strings)
    found = list_texts(column, field_class, trace)
    rows = range(len(values))
    assert [value(found, StringClass(), row, trace.strings) for row in rows] == texts
    if len(values) > 1:
        later = take(column, np.arange(1, len(values)))
        found = list_texts(later, field_class, trace)
        rows = range(len(values) - 1)
        assert [value(found, StringClass(), row, trace.strings) for row in rows] == texts[1:]


def test_functions_get_their_names_once():
    event_class = tracepoints.tracepoint_class("ftrace", "funcgraph_entry", typed_event(437).fields)
    trace = trace_of(event_class, (0, 0, 0x1000), (0, 1, 0x1008), (0, 1, 0x1000), cpu=0)
    table = (np.array([0x1000, 0x2000], np.uint64), [b"do_work", b"other"])
    trace.symbols = SymbolTable(lambda: table)
    out = written(trace)
    symbols = [s for p in parsed(out).packet for s in p.interned_data.kernel_symbols]
    assert [(s.iid, s.str) for s in symbols] == [(0x1000, b"do_work"), (0x1008, b"do_work")]
    assert opened(out).symbols.lookup(0x1008) == (b"do_work", 8)


def test_lost_events_are_in_front_of_their_bundle():
    trace = trace_of(SWITCH, (0, b"a", 1, 120, 0, b"b", 2, 120), cpu=1)
    trace.event_classes.append(mapping.LOST_EVENTS)
    row = (0, b"a", 1, 120, 0, b"b", 2, 120)
    events = [(0, 100, 1, 0, -1, row), (1, 110, 1, -1, -1, ()), (0, 120, 1, 0, -1, row)]
    trace = with_batches(trace, [batch_of(trace, events)])
    out = written(trace)
    bundles = [p.ftrace_events for p in parsed(out).packet if p.ftrace_events.event]
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
    assert "thread-shares-tid" in {loss.code for loss in report}
    assert difference(target, opened(written(target))) is None


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


TASKS = {Role.PREV_TID, Role.NEXT_TID}
TID_OR_NONE = IntegerClass(32, True, labels=(UNKNOWN_LABEL,))
SCHEDULE = EventClass(
    Kind.SCHED_SWITCH,
    "schedule",
    "linux",
    (
        Field("prev_tid", TID_OR_NONE, Role.PREV_TID),
        Field("next_tid", TID_OR_NONE, Role.NEXT_TID),
        Field("prev_state", IntegerClass(8), Role.PREV_STATE),
    ),
)


def states_of(data: bytes) -> list[pb.GenericKernelTaskStateEvent]:
    name = "generic_kernel_task_state_event"
    return [getattr(p, name) for p in parsed(data).packet if p.HasField(name)]


def test_switches_of_other_kernels_are_states_of_tasks():
    trace = trace_of(DISPATCH, (10, 5_000_000_001, 60, 11, 70), cpu=2, thread=-1)
    target, report = project(trace, CAPABILITIES, "perfetto")
    target = collect(target)
    out = written(target)
    (got,) = states_of(out)
    assert (got.cpu, got.tid, got.prio) == (2, 1 << 30 | 5_000_000_001 & 0x3FFF_FFFF, 60)
    assert got.state == got.TASK_STATE_RUNNING
    assert kernel_events(out) == []
    assert difference(target, opened(out)) is None
    assert parsed(out).SerializeToString() == out
    assert any(line_of(loss).startswith("event-renamed event=aix:DISPATCH ") for loss in report)


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


def test_a_switch_that_names_one_task_is_its_state_alone():
    rows = ((-1, 5, 0), (5, -1, 1), (-1, -1, 0))
    target = projected(trace_of(SCHEDULE, *rows, cpu=3, thread=-1))
    out = written(target)
    got, left, nothing = states_of(out)
    assert (got.cpu, got.tid, got.state) == (3, 5, got.TASK_STATE_RUNNING)
    assert (left.cpu, left.tid, left.state) == (3, 5, left.TASK_STATE_INTERRUPTIBLE_SLEEP)
    # Importers reject it.
    assert nothing.state == nothing.TASK_STATE_UNKNOWN
    assert difference(target, opened(out)) is None


@given(data=st.data())
def test_switches_of_other_kernels_survive(data):
    classes = data.draw(st.permutations([mapping.SWITCH, mapping.SWITCH_WITH_STATE]))
    trace = trace_of(classes[0])
    trace.event_classes.append(classes[1])
    events = []
    for number in range(data.draw(st.integers(0, 6))):
        kind = data.draw(st.integers(0, 1))
        row = tuple(
            data.draw((st.just(-1) if field.role in TASKS else st.nothing()) | drawn(field.type))
            for field in classes[kind].fields
        )
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


def test_flags_and_threads_are_told_by_the_bundle_and_damage_there_loses_only_them():
    row = (0, b"a", 1, 120, 0, b"b", 2, 120)
    flagged = (5, *row[1:])
    out = written(trace_of(SWITCH, row, row, flagged, thread=-1, cpu=0))
    assert [(one.pid, one.HasField("common_flags")) for one in kernel_events(out)] == [
        (0, False)
    ] * 3
    again = opened(out)
    assert [one["common_flags"] for one in events_of(again)] == [0, 0, 5]
    assert [int(thread) for batch in again.batches() for thread in batch.thread] == [-1, -1, -1]
    notes = bytes([0xCA, 0x3E, 6, 0, 1, 0, 1, 0, 11])
    assert notes in out
    damaged = opened(out.replace(notes, notes[:3] + b"\xff" * 6))
    assert [one["common_flags"] for one in events_of(damaged)] == [0, 0, 0]

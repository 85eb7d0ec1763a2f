"""What each kernel event becomes where the format has no record for it."""

import numpy as np
import pytest
from support.traces.small_traces import brief, event_class, events_of, projected, trace_of
from support.traces.target_capabilities import EVERYTHING, PROFILER, RECORDER, VIEWER

from converter.ir.columns import neutral
from converter.ir.field_classes import ArrayClass, IntegerClass, Label, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.projection.domain.scheduling.thread_states import (
    ThreadState,
    state_of_name,
    thread_state,
)

U32, U64, I32, I64 = (
    IntegerClass(32),
    IntegerClass(64),
    IntegerClass(32, True),
    IntegerClass(64, True),
)
TEXT = StringClass()

SYS_ENTER = event_class(
    Kind.SYSCALL_ENTRY,
    "sys_enter",
    "raw_syscalls",
    id=(I64, Role.SYSCALL_NUMBER),
    args=(ArrayClass(U64, 2), Role.SYSCALL_ARGUMENTS),
)
SYS_EXIT = event_class(
    Kind.SYSCALL_EXIT,
    "sys_exit",
    "raw_syscalls",
    id=(I64, Role.SYSCALL_NUMBER),
    ret=(I64, Role.RETURN),
)
ENTER_READ = event_class(
    Kind.SYSCALL_ENTRY, "sys_enter_read", "syscalls", nr=(I32, Role.SYSCALL_NUMBER), fd=U64
)
EXIT_READ = event_class(
    Kind.SYSCALL_EXIT, "sys_exit_read", "syscalls", nr=(I32, Role.SYSCALL_NUMBER), ret=I64
)
X86 = {"environment": {"machine": "x86_64"}}
SYMBOLS = SymbolTable(
    lambda: (
        np.array([0x1000, 0xFFFFFFFF81000000, 0xFFFFFFFF81001000], np.uint64),
        [b"low_symbol", b"tick_timer", b"last"],
    )
)
ADDRESS = 0xFFFFFFFF81000010


def lowered(classes, *events, target=PROFILER, symbols=SYMBOLS, **tables):
    trace = trace_of(classes, list(events), symbols=symbols, **tables)
    return projected(trace, target)


def test_system_calls():
    target, losses = lowered(
        [SYS_ENTER, SYS_EXIT],
        (0, 1, 0, 1, (0, [3, 4])),
        (1, 2, 0, 1, (0, -11)),
        (0, 3, 0, 1, (15, [0, 0])),
        (1, 4, 0, 1, (15, 0)),
        (1, 5, 0, 1, (-1, -38)),
        (0, 6, 0, 2, (9999, [0, 0])),
        **X86,
    )
    assert brief(target, "category", "id", "args[1]", "ret") == [
        ("SLICE_BEGIN sys_read at t10", "raw_syscalls", 0, 4, None),
        ("SLICE_END sys_read at t10", "raw_syscalls", 0, None, -11),
        ("INSTANT sys_rt_sigreturn at t10", "raw_syscalls", 15, 0, None),
        ("INSTANT sys_rt_sigreturn at t10", "raw_syscalls", 15, None, 0),
        ("INSTANT sys_-1 at t10", "raw_syscalls", -1, None, -38),
        ("SLICE_BEGIN sys_9999 at t11", "raw_syscalls", 9999, 0, None),
    ]
    assert "event-as event=raw_syscalls:sys_enter shown=slice begin (2)" in losses
    assert "event-as event=raw_syscalls:sys_exit shown=instant (2)" in losses


def test_system_calls_of_an_unknown_machine():
    target, _ = lowered([SYS_ENTER], (0, 1, 0, 1, (15, [0, 0])))
    assert brief(target) == [("SLICE_BEGIN sys_15 at t10",)]


def test_an_event_for_each_system_call():
    target, _ = lowered([ENTER_READ, EXIT_READ], (0, 1, 0, 1, (0, 3)), (1, 2, 0, 1, (0, 5)), **X86)
    assert brief(target, "category", "fd") == [
        ("SLICE_BEGIN sys_read at t10", "syscalls", 3),
        ("SLICE_END sys_read at t10", "syscalls", None),
    ]


def test_system_calls_recorded_twice_are_one_slice():
    target, _ = lowered(
        [ENTER_READ, SYS_ENTER], (1, 1, 0, 1, (0, [0, 0])), (0, 2, 0, 1, (0, 3)), **X86
    )
    assert brief(target) == [
        ("SLICE_BEGIN sys_read at t10",),
        ("INSTANT sys_enter_read at t10",),
    ]


def irq(kind, name="irq_handler_entry", category="irq", /, **fields):
    return event_class(kind, name, category, **fields)


@pytest.mark.parametrize(
    ("begin", "values", "expected"),
    [
        (
            irq(Kind.IRQ_ENTRY, irq=(I32, Role.IRQ), name=(TEXT, Role.NAME)),
            (4, b"eth0"),
            "SLICE_BEGIN IRQ (eth0) at Irq Cpu 3",
        ),
        (irq(Kind.IRQ_ENTRY, irq=(I32, Role.IRQ)), (4,), "SLICE_BEGIN IRQ (4) at Irq Cpu 3"),
        (
            irq(Kind.IRQ_ENTRY, "thermal_apic_entry", "irq_vectors", vector=(I32, Role.IRQ)),
            (250,),
            "SLICE_BEGIN IRQ (ThermalApic) at Irq Cpu 3",
        ),
        (
            irq(Kind.IRQ_EXIT, "irq_handler_exit", irq=(I32, Role.IRQ), ret=(I32, Role.RETURN)),
            (4, 1),
            "SLICE_END at Irq Cpu 3",
        ),
        (
            irq(Kind.SOFTIRQ_ENTRY, "softirq_entry", vec=(U32, Role.VECTOR)),
            (7,),
            "SLICE_BEGIN SCHED at SoftIrq Cpu 3",
        ),
        (
            irq(Kind.SOFTIRQ_ENTRY, "softirq_entry", vec=(U32, Role.VECTOR)),
            (10,),
            "INSTANT softirq_entry at t10",
        ),
        (
            irq(Kind.SOFTIRQ_ENTRY, "softirq_entry", vec=(U64, Role.VECTOR)),
            ((1 << 32) + 9,),
            "SLICE_BEGIN RCU at SoftIrq Cpu 3",
        ),
        (
            irq(Kind.SOFTIRQ_ENTRY, "softirq_entry", vec=(I32, Role.VECTOR)),
            (-1,),
            "INSTANT softirq_entry at t10",
        ),
        (
            irq(Kind.SOFTIRQ_EXIT, "softirq_exit", vec=(U32, Role.VECTOR)),
            (9,),
            "SLICE_END RCU at SoftIrq Cpu 3",
        ),
        (
            irq(Kind.SOFTIRQ_RAISE, "softirq_raise", vec=(U32, Role.VECTOR)),
            (9,),
            "INSTANT softirq_raise at t10",
        ),
        (
            irq(Kind.TIMER_ENTRY, "hrtimer_expire_entry", "timer", function=(U64, Role.FUNCTION)),
            (ADDRESS,),
            "SLICE_BEGIN tick_timer at Hrtimer Cpu 3",
        ),
        (
            irq(Kind.TIMER_EXIT, "hrtimer_expire_exit", "timer", hrtimer=(U64, Role.TIMER)),
            (1,),
            "SLICE_END at Hrtimer Cpu 3",
        ),
        (
            irq(Kind.TIMER_ENTRY, "timer_expire_entry", "timer", function=(U64, Role.FUNCTION)),
            (1,),
            "SLICE_BEGIN 0x1 at Timer Cpu 3",
        ),
        (
            irq(Kind.TIMER_ENTRY, "local_timer_entry", "irq_vectors", vector=(I32, Role.VECTOR)),
            (236,),
            "SLICE_BEGIN IRQ (LocalTimer) at Irq Cpu 3",
        ),
        (
            irq(Kind.IPI_ENTRY, "ipi_entry", "ipi", reason=TEXT),
            (b"Rescheduling interrupts",),
            "SLICE_BEGIN IPI (Rescheduling interrupts) at Irq Cpu 3",
        ),
        (
            irq(Kind.IPI_EXIT, "reschedule_exit", "irq_vectors", vector=(I32, Role.VECTOR)),
            (253,),
            "SLICE_END IPI (Reschedule) at Irq Cpu 3",
        ),
        (
            irq(Kind.WORK_BEGIN, "workqueue_execute_start", "workqueue", work=(U64, Role.WORK)),
            (255,),
            "SLICE_BEGIN 0xff at t10",
        ),
        (
            irq(
                Kind.WORK_END,
                "workqueue_execute_end",
                "workqueue",
                work=(U64, Role.WORK),
                function=(I64, Role.FUNCTION),
            ),
            (255, ADDRESS - 2**64),
            "SLICE_END tick_timer at t10",
        ),
        (
            irq(Kind.FUNCTION_ENTRY, "funcgraph_entry", "ftrace", func=(U64, Role.FUNCTION)),
            (0x1004,),
            "SLICE_BEGIN low_symbol at t10",
        ),
        (
            irq(Kind.FUNCTION_ENTRY, "call", "", func=(TEXT, Role.FUNCTION)),
            (b"main",),
            "SLICE_BEGIN main at t10",
        ),
        (irq(Kind.FUNCTION_EXIT, "funcgraph_exit", "ftrace"), (), "SLICE_END at t10"),
    ],
)
def test_slices(begin, values, expected):
    target, _ = lowered([begin], (0, 5, 3, 1, values))
    assert brief(target) == [(expected,)]


def test_results_of_interrupts_are_those_that_perfetto_shows():
    leave = irq(Kind.IRQ_EXIT, "irq_handler_exit", irq=(I32, Role.IRQ), ret=(I32, Role.RETURN))
    results = (0, 1, 2, -1)
    target, losses = lowered([leave], *((0, i, 3, 1, (4, ret)) for i, ret in enumerate(results)))
    assert [ret for _, ret in brief(target, "ret")] == [
        "unhandled",
        "handled",
        "unhandled",
        "unhandled",
    ]
    assert "interrupt-result event=irq:irq_handler_exit field=ret (2)" in losses


@pytest.mark.parametrize("target", [PROFILER, VIEWER], ids=["threads", "tracks"])
def test_tracks_of_cpus(target):
    entry = irq(Kind.SOFTIRQ_ENTRY, "softirq_entry", vec=(U32, Role.VECTOR))
    trace, losses = lowered(
        [entry], (0, 1, 0, 1, (1,)), (0, 2, 1, 1, (1,)), (0, 3, 0, 2, (1,)), target=target
    )
    assert [place for _, _, place, _ in events_of(trace)] == [
        "SoftIrq Cpu 0",
        "SoftIrq Cpu 1",
        "SoftIrq Cpu 0",
    ]
    if target is PROFILER:
        (process,) = (process for process in trace.processes if process.name == "CPUs")
        synthetic = [t for t in trace.threads if trace.processes[t.process] is process]
        assert [thread.name for thread in synthetic] == ["SoftIrq Cpu 0", "SoftIrq Cpu 1"]
        assert len({thread.tid for thread in trace.threads}) == len(trace.threads)
        assert "interrupted-thread event=irq:softirq_entry (3)" in losses
    else:
        assert len(trace.tracks) == 2


def test_functions_of_the_idle_task_are_on_their_cpu():
    entry = irq(Kind.FUNCTION_ENTRY, "funcgraph_entry", "ftrace", func=(U64, Role.FUNCTION))
    target, _ = lowered([entry], (0, 1, 0, 0, (0x1000,)), (0, 2, 1, 1, (0x1000,)))
    assert brief(target) == [
        ("SLICE_BEGIN low_symbol at swapper -funcgraph Cpu 0",),
        ("SLICE_BEGIN low_symbol at t10",),
    ]


def test_functions():
    function = irq(
        Kind.FUNCTION,
        "function",
        "ftrace",
        ip=(U64, Role.FUNCTION),
        parent_ip=(U64, Role.PARENT_FUNCTION),
    )
    target, _ = lowered([function], (0, 1, 0, 1, (ADDRESS, 0x1000)))
    assert brief(target, "parent", "ip") == [("INSTANT tick_timer at t10", "low_symbol", ADDRESS)]
    target, _ = lowered([function], (0, 1, 0, 1, (ADDRESS, 0x1000)), symbols=None)
    assert brief(target, "parent") == [(f"INSTANT {ADDRESS:#x} at t10", "0x1000")]


CPU_STATE = {"state": (U32, Role.VALUE), "cpu_id": (U32, Role.TARGET_CPU)}


@pytest.mark.parametrize(
    ("kind", "name"), [(Kind.CPU_FREQUENCY, "cpufreq"), (Kind.CPU_IDLE, "cpuidle")]
)
def test_counters_of_cpus(kind, name):
    # The CPU is that of the field, not the one that the event was recorded on.
    target, _ = lowered([event_class(kind, "cpu", "power", **CPU_STATE)], (0, 1, 0, 1, (9, 2)))
    assert brief(target, "id", "state") == [(f"COUNTER {name} at Counters Cpu 2", 2, 9)]
    values = {field.name for field in target.event_classes[0].fields if field.role is Role.VALUE}
    assert values == {"state"}


def test_frequency_limits_are_two_series():
    limits = event_class(
        Kind.CPU_FREQUENCY_LIMITS,
        "cpu_frequency_limits",
        "power",
        min_freq=(U32, Role.MINIMUM),
        max_freq=(U32, Role.MAXIMUM),
        cpu_id=(U32, Role.TARGET_CPU),
    )
    target, _ = lowered([limits], (0, 1, 0, 1, (100, 200, 1)))
    assert brief(target, "Min Freq Limit", "Max Freq Limit", "id") == [
        ("COUNTER cpufreq_limits at Counters Cpu 1", 100, 200, 1)
    ]


@pytest.mark.parametrize(
    ("name", "counter"), [("clock_set_rate", "pll Frequency"), ("clock_enable", "pll State")]
)
def test_clocks(name, counter):
    clock = event_class(
        Kind.CLOCK_RATE, name, "power", name=(TEXT, Role.NAME), state=(U64, Role.VALUE)
    )
    target, _ = lowered([clock], (0, 1, 0, 1, (b"pll", 7)))
    assert brief(target, "state") == [(f"COUNTER {counter} at Clocks", 7)]


WAKE = {"comm": (TEXT, Role.COMM), "pid": (I32, Role.TID)}
WAKING = event_class(Kind.SCHED_WAKING, "sched_waking", "sched", **WAKE)
WAKEUP = event_class(Kind.SCHED_WAKEUP, "sched_wakeup", "sched", **WAKE)
WAKEUP_NEW = event_class(Kind.SCHED_WAKEUP_NEW, "sched_wakeup_new", "sched", **WAKE)


def test_wakeups_are_made_of_waking_where_the_trace_has_it():
    target, losses = lowered(
        [WAKING, WAKEUP, WAKEUP_NEW],
        (0, 1, 0, 1, (b"t11", 11)),
        (1, 2, 0, 0, (b"t11", 11)),
        (2, 3, 0, 0, (b"t12", 12)),
    )
    assert brief(target, "tid", "waker") == [
        ("SCHED_WAKEUP at cpu 0", 11, 10),
        ("INSTANT sched_wakeup at t0", None, None),
        ("INSTANT sched_wakeup_new at t0", None, None),
    ]
    assert "event-as event=sched:sched_waking shown=sched_wakeup (1)" in losses


def test_wakeups_are_made_of_wakeups_where_the_trace_has_no_waking():
    # That the class is declared does not mean that such events were recorded.
    target, _ = lowered(
        [WAKING, WAKEUP, WAKEUP_NEW], (1, 2, 0, 0, (b"t0", 0)), (2, 3, 0, -1, (b"t12", 12))
    )
    assert brief(target, "tid", "waker", "weight") == [
        ("SCHED_WAKEUP at cpu 0", 0, 0, -(2**31)),
        ("SCHED_WAKEUP at cpu 0", 12, None, 0),
    ]


def test_a_format_with_both_keeps_both():
    target, losses = lowered(
        [WAKING, WAKEUP],
        (0, 1, 0, 1, (b"t11", 11)),
        (1, 2, 0, 0, (b"t11", 11)),
        target=EVERYTHING,
    )
    assert [kind for _, kind, _, _ in events_of(target)] == [Kind.SCHED_WAKING, Kind.SCHED_WAKEUP]
    assert losses == []


def test_signals():
    signal = {"sig": (I32, Role.SIGNAL), "pid": (I32, Role.TID)}
    generate = event_class(Kind.SIGNAL_GENERATE, "signal_generate", "signal", **signal)
    deliver = event_class(Kind.SIGNAL_DELIVER, "signal_deliver", "signal", sig=(I32, Role.SIGNAL))
    target, _ = lowered(
        [generate, deliver],
        (0, 1, 0, 1, (9, 11)),
        (0, 2, 0, 1, (9, 99)),
        (1, 3, 0, 2, (9,)),
    )
    assert brief(target, "sig", "sender_tid") == [
        ("INSTANT signal_generate at t11", 9, 10),
        ("INSTANT signal_generate at t10", 9, 10),
        ("INSTANT signal_deliver at t11", 9, None),
    ]


def test_context_switches():
    letters = tuple(
        Label(bit, bit, letter)
        for bit, letter in ((1, "S"), (2, "D"), (4, "T"), (0x10, "X"), (0x20, "Z"))
    )
    state = IntegerClass(64, True, labels=letters, flags=True)
    switch = event_class(
        Kind.SCHED_SWITCH,
        "sched_switch",
        "sched",
        prev_pid=(I32, Role.PREV_TID),
        prev_state=(state, Role.PREV_STATE),
        next_pid=(I32, Role.NEXT_TID),
    )
    target, losses = lowered([switch], (0, 1, 2, 1, (10, 2, 0)), (0, 2, 2, 0, (0, 0, 11)))
    fields = [fields for *_, fields in events_of(target)]
    names = [field.name for field in target.event_classes[0].fields]
    assert names == [
        "prev_tid",
        "next_tid",
        "prev_state",
        "incoming_weight",
        "outgoing_weight",
        "prev_state",
    ]
    assert [(one["outgoing_weight"], one["incoming_weight"]) for one in fields] == [
        (0, -(2**31)),
        (-(2**31), 0),
    ]
    states = target.event_classes[0].index_of(Role.PREV_STATE)
    assert next(iter(target.batches())).tables[0].column(states).tolist() == [
        ThreadState.BLOCKED,
        ThreadState.NEW,
    ]
    assert not any("thread of" in loss for loss in losses)


def test_context_switches_with_named_states():
    switch = event_class(
        Kind.SCHED_SWITCH,
        prev_pid=(I32, Role.PREV_TID),
        next_pid=(I32, Role.NEXT_TID),
        prev_state=(TEXT, Role.PREV_STATE),
    )
    target, _ = lowered(
        [switch], *((0, i, 0, -1, (1, 2, state)) for i, state in enumerate((b"D", b"R+", b"?")))
    )
    column = next(iter(target.batches())).tables[0].column(2)
    assert column.tolist() == [ThreadState.BLOCKED, ThreadState.NEW, ThreadState.NEW]


def test_thread_states():
    numbers = np.array([0, 1, 2, 3, 4, 8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x102], np.int64)
    kinds = "NEW BLOCKED BLOCKED BLOCKED SUSPENDED SUSPENDED DEAD DYING BLOCKED BLOCKED NEW BLOCKED"
    expected = [ThreadState[kind] for kind in kinds.split()]
    assert thread_state(numbers, I64).tolist() == expected
    # LTTng's mapping of ranges; what has no label is read as Linux 4.14 and later write it.
    ranges = (Label(0, 0, "TASK_RUNNING"), Label(1, 1, "TASK_UNINTERRUPTIBLE"))
    ranged = IntegerClass(64, True, labels=(*ranges, Label(2, 3, "TASK_STOPPED")))
    assert thread_state(np.array([0, 1, 2, 3, 32]), ranged).tolist() == [0, 3, 2, 2, 4]
    assert thread_state(np.zeros(0, np.int64), I64).tolist() == []
    assert [state_of_name(state.name.lower()) for state in ThreadState] == list(ThreadState)


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name)
def test_without_a_timeline_everything_is_a_tracepoint(kind):
    number = IntegerClass(32)
    fields = {"value": (number, Role.VALUE), "tid": (number, Role.TID), "irq": (number, Role.IRQ)}
    declared = event_class(kind, "an_event", "system", **fields)
    values = tuple(neutral(field.type) for field in declared.fields)
    target, _ = lowered([declared], (0, 1, 0, 1, values), target=RECORDER)
    assert {one.kind for one in target.event_classes} == {Kind.TYPED}
    assert target.event_classes[0].name == "an_even"

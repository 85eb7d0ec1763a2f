"""Turns Linux kernel events into a timeline: slices, instants and counters, named as Perfetto's UI names them.

A rule runs only if the target does not hold the kind. The names are those of Perfetto's ftrace importer (perfetto,
src/trace_processor/importers/ftrace/ftrace_parser.cc), so a trace looks the same however it was converted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from converter.ir.columns import constant_column
from converter.ir.distinct_values import lazy_names, names_by_value
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.tables import ComputedColumn
from converter.ir.trace import TrackScope
from converter.projection.capabilities import Projection
from converter.projection.domain.symbol_names import function_names
from converter.projection.domain.syscalls import NO_SYSCALL, name_in_class, syscall_name
from converter.projection.engine.partitions import Partition, Place, Thunk
from converter.projection.instants import CATEGORY, NAME, lower_to_instant, superseded

Rule = Callable[[Partition, Projection], "list[Partition] | None"]

#: include/linux/interrupt.h, enum in "PLEASE, avoid to allocate new softirqs"; BLOCK_IOPOLL is IRQ_POLL since 4.5.
SOFTIRQ_NAMES = (
    "HI",
    "TIMER",
    "NET_TX",
    "NET_RX",
    "BLOCK",
    "BLOCK_IOPOLL",
    "TASKLET",
    "SCHED",
    "HRTIMER",
    "RCU",
)

#: Kinds that end a slice; the other kinds of these rules begin one.
_ENDS = frozenset(
    {
        Kind.SYSCALL_EXIT,
        Kind.IRQ_EXIT,
        Kind.SOFTIRQ_EXIT,
        Kind.TIMER_EXIT,
        Kind.IPI_EXIT,
        Kind.WORK_END,
        Kind.FUNCTION_EXIT,
    }
)


def has_slices(projection: Projection) -> bool:
    """Return True if the target holds slices as begin and end."""
    kinds = projection.capabilities.kinds
    return Kind.SLICE_BEGIN in kinds and Kind.SLICE_END in kinds


def _slice(
    partition: Partition,
    projection: Projection,
    names: Place | None,
    category: str,
    **places: Any,
) -> Partition:
    """Return the begin or end of a slice, by the kind of the partition."""
    kind = Kind.SLICE_END if partition.event_class.kind in _ENDS else Kind.SLICE_BEGIN
    category = partition.event_class.category or category
    leading: list[tuple[Field, Any]] = []
    if names is not None:
        leading.append((NAME, names))
    leading.append((CATEGORY, projection.constant(category, len(partition))))
    return partition.as_kind(kind, leading, **places)


def _instant(partition: Partition, projection: Projection, names: Place) -> Partition:
    return partition.as_kind(Kind.INSTANT, _naming(partition, projection, names))


def _naming(partition: Partition, projection: Projection, names: Place) -> list[tuple[Field, Any]]:
    """Return the name and category fields; the latter only if the class has one."""
    leading: list[tuple[Field, Any]] = [(NAME, names)]
    if partition.event_class.category:
        leading.append(
            (CATEGORY, projection.constant(partition.event_class.category, len(partition)))
        )
    return leading


# System calls


def _names_syscalls_by_number(event_class: EventClass) -> bool:
    return (
        event_class.kind is Kind.SYSCALL_ENTRY
        and event_class.index_of(Role.SYSCALL_NUMBER) is not None
        and name_in_class(event_class.name) is None
    )


def lower_syscall(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a slice "sys_<name>" on the thread.

    An event class of its own for each system call (syscalls:sys_enter_read) remains an instant if the trace has
    raw_syscalls too. So do events that never return: rt_sigreturn, and exits without a system call.
    """
    if not has_slices(projection):
        return lower_to_instant(partition, projection)
    name = name_in_class(partition.event_class.name)
    if name is not None:
        if name == "rt_sigreturn" or projection.occurs(_names_syscalls_by_number):
            return lower_to_instant(partition, projection)
        names = projection.constant(f"sys_{name}", len(partition))
        return [_slice(partition, projection, names, "syscalls")]
    numbers = partition.lazy_integers(Role.SYSCALL_NUMBER)
    if numbers is None:
        names = projection.constant("syscall", len(partition))
        return [_slice(partition, projection, names, "syscalls")]
    machine = str(projection.source.environment.get("machine", ""))
    strings = projection.source.strings
    called = partition.names_of_numbers(Role.SYSCALL_NUMBER)

    def name_of(number: int) -> str:
        # The trace's own names; those of LTTng's kernels are the functions'.
        own = called.get(number)
        return f"sys_{own.removeprefix('sys_')}" if own else syscall_name(machine, number)

    is_exit = partition.event_class.kind is Kind.SYSCALL_EXIT

    def is_lone(number: int) -> bool:
        return name_of(number) == "sys_rt_sigreturn" or (is_exit and number == NO_SYSCALL)

    id_of = projection.by_value(
        ("name", partition.event_class), lambda number: strings.intern(name_of(number))
    )
    lone_of = projection.by_value(("is lone", partition.event_class), is_lone)

    def named(part: Partition) -> ComputedColumn:
        column = part.lazy_integers(Role.SYSCALL_NUMBER)
        assert column is not None
        return ComputedColumn(id_of, (column,), part)

    lone = ComputedColumn(lone_of, (numbers,), partition)
    if projection.is_nowhere(lone):
        return [_slice(partition, projection, named(partition), "raw_syscalls")]
    instants, slices = partition.split(np.asarray(lone()) != 0)
    parts = []
    if slices is not None:
        parts.append(_slice(slices, projection, named(slices), "raw_syscalls"))
    if instants is not None and Kind.INSTANT in projection.capabilities.kinds:
        parts.append(_instant(instants, projection, named(instants)))
    elif instants is not None:
        parts += lower_to_instant(instants, projection) or []
    return parts


# Interrupts and timers


def _on_cpu_track(
    partition: Partition,
    projection: Projection,
    names: Place | None,
    track: str,
    category: str,
) -> list[Partition]:
    places = projection.place_on_cpu_track(track, partition, projection.lazy_cpus_of(partition))
    return [_slice(partition, projection, names, category, **places)]


def lower_irq(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a slice "IRQ (<name>)" on the CPU's track "Irq"; an exit does not carry the name."""
    if not has_slices(projection):
        return lower_to_instant(partition, projection)
    strings = projection.source.strings
    handlers = partition.lazy_texts(Role.NAME, strings)
    numbers = partition.lazy_integers(Role.IRQ)
    names: Place | None = None
    if handlers is not None:
        names = lazy_names(partition, handlers, lambda id: b"IRQ (" + strings[id] + b")", strings)
    elif _vector_name(partition):
        # An event class of its own for each vector (irq_vectors:thermal_apic_entry).
        names = projection.constant(f"IRQ ({_vector_name(partition)})", len(partition))
    elif numbers is not None and partition.event_class.kind is Kind.IRQ_ENTRY:
        called = partition.names_of_numbers(Role.IRQ)
        names = lazy_names(partition, numbers, lambda irq: f"IRQ ({called.get(irq, irq)})", strings)
    elif partition.event_class.kind is Kind.IRQ_ENTRY:
        names = projection.constant("IRQ (unknown)", len(partition))
    partition = _with_result(partition, projection)
    return _on_cpu_track(partition, projection, names, "Irq", "irq")


def _with_result(partition: Partition, projection: Projection) -> Partition:
    """Return ends of interrupts with what handlers returned as Perfetto shows it: handled (1) or unhandled."""
    index = partition.event_class.index_of(Role.RETURN)
    results = partition.lazy_integers(Role.RETURN)
    if index is None or results is None:
        return partition
    other = projection.by_value(("other result", partition.event_class), lambda one: one >> 1 != 0)
    others = ComputedColumn(other, (results,), partition)
    if not projection.is_nowhere(others):
        field = partition.event_class.fields[index].name
        projection.lose("interrupt-result", partition, rows=np.asarray(others()) != 0, field=field)
    texts = lazy_names(partition, results, _result_name, projection.source.strings)
    return partition.with_text(index, texts)


def _result_name(result: int) -> str:
    return "handled" if result == 1 else "unhandled"


def _vector_name(partition: Partition) -> str:
    """Return LocalTimer for irq_vectors:local_timer_entry, and "" for events whose class has no vector."""
    event_class = partition.event_class
    own, prefix, name = event_class.name.rpartition("irq_vectors_")
    if event_class.category != "irq_vectors" and (event_class.category or not prefix):
        return ""
    name, _, edge = name.rpartition("_")
    if own not in ("", "x86_") or edge not in ("entry", "exit"):
        return ""
    return "".join(word.capitalize() for word in name.split("_"))


def lower_softirq(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a slice with the name of the vector on the CPU's track "SoftIrq"; viewers show no others."""
    if not has_slices(projection):
        return lower_to_instant(partition, projection)
    vectors = partition.lazy_integers(Role.VECTOR)
    if vectors is None:
        return _on_cpu_track(partition, projection, None, "SoftIrq", "irq")
    other = projection.by_value(("other vector", partition.event_class), _is_other_vector)
    others = ComputedColumn(other, (vectors,), partition)
    instants: Partition | None = None
    slices: Partition | None = partition
    if not projection.is_nowhere(others):
        instants, slices = partition.split(np.asarray(others()) != 0)
    parts = [] if instants is None else lower_to_instant(instants, projection) or []
    if slices is not None:
        vectors = slices.lazy_integers(Role.VECTOR)
        assert vectors is not None
        names = lazy_names(slices, vectors, _softirq_name, projection.source.strings)
        parts += _on_cpu_track(slices, projection, names, "SoftIrq", "irq")
    return parts


def _is_other_vector(vector: int) -> bool:
    return (vector & 0xFFFF_FFFF) >= len(SOFTIRQ_NAMES)


def _softirq_name(vector: int) -> str:
    """Return the name of a vector, which has 32 bits in the kernel: viewers look at these of a longer number."""
    return SOFTIRQ_NAMES[vector & 0xFFFF_FFFF]


def lower_timer(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a slice with the name of the function on the CPU's track "Hrtimer" or "Timer"; timer
    interrupts on "Irq".
    """
    if not has_slices(projection):
        return lower_to_instant(partition, projection)
    name = partition.event_class.name
    names: Place | None
    if name.startswith(("hrtimer_", "timer_")):
        track = "Hrtimer" if name.startswith("hrtimer_") else "Timer"
        names = function_names(partition, Role.FUNCTION, projection)
        return _on_cpu_track(partition, projection, names, track, "timer")
    names = projection.constant(f"IRQ ({_vector_name(partition) or 'Timer'})", len(partition))
    return _on_cpu_track(partition, projection, names, "Irq", "irq")


def lower_ipi(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a slice "IPI (<reason>)" on the CPU's track "Irq"."""
    if not has_slices(projection):
        return lower_to_instant(partition, projection)
    strings = projection.source.strings
    fields = partition.event_class.fields
    texts = [i for i, field in enumerate(fields) if isinstance(field.type, StringClass)]
    names: Place
    if texts:
        reasons = partition.lazy_text(texts[0], strings)
        names = lazy_names(partition, reasons, lambda id: b"IPI (" + strings[id] + b")", strings)
    else:
        names = projection.constant(f"IPI ({_vector_name(partition) or 'unknown'})", len(partition))
    return _on_cpu_track(partition, projection, names, "Irq", "irq")


# Work and functions


def lower_work(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a slice on the thread, with the name of the function that does the work."""
    if not has_slices(projection):
        return lower_to_instant(partition, projection)
    names: Place | None = function_names(partition, Role.FUNCTION, projection)
    if names is None and partition.event_class.kind is Kind.WORK_BEGIN:
        work = partition.lazy_integers(Role.WORK)
        strings = projection.source.strings
        names = (
            projection.constant("work", len(partition))
            if work is None
            else lazy_names(partition, work, lambda address: f"{address & _U64:#x}", strings)
        )
    return [_slice(partition, projection, names, "workqueue")]


_U64 = 0xFFFF_FFFF_FFFF_FFFF


def lower_function_call(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a slice with the name of the function on the thread, or on the CPU's track for the idle task.

    All CPUs' idle tasks are thread 0, so calls of several would mix there.
    """
    if not has_slices(projection):
        return lower_to_instant(partition, projection)
    parts = []
    threads = projection.threads_of(partition)
    idle, running = partition.split(projection.tids_of(threads) == 0)
    for part in (idle, running):
        if part is None:
            continue
        names = function_names(part, Role.FUNCTION, projection)
        places: dict[str, Any] = {}
        if part is idle:
            cpus = projection.lazy_cpus_of(part)
            places = projection.place_on_cpu_track("swapper -funcgraph", part, cpus)
        parts.append(_slice(part, projection, names, "function", **places))
    return parts


def lower_function(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to an instant with the name of the function; its caller is the argument "parent"."""
    names = function_names(partition, Role.FUNCTION, projection)
    if names is None or Kind.INSTANT not in projection.capabilities.kinds:
        return lower_to_instant(partition, projection)
    parents = function_names(partition, Role.PARENT_FUNCTION, projection)
    instant = _instant(partition, projection, names)
    if parents is not None:
        instant = instant.with_argument(Field("parent", StringClass()), parents)
    return [instant]


# Counters


def _counter(partition: Partition, projection: Projection, names: Place, track: str) -> Partition:
    """Return a counter of the CPU in the field TARGET_CPU, which becomes its id, or of the event's own CPU."""
    cpus: Thunk | Place | None = partition.lazy_integers(Role.TARGET_CPU)
    leading = _naming(partition, projection, names)
    if cpus is None:
        cpus = projection.lazy_cpus_of(partition)
        leading.append((Field("id", IntegerClass(32, True), Role.ID), cpus))
    return partition.as_kind(
        Kind.COUNTER,
        leading,
        roles={
            Role.VALUE: Role.VALUE,
            Role.MINIMUM: Role.VALUE,
            Role.MAXIMUM: Role.VALUE,
            Role.TARGET_CPU: Role.ID,
        },
        **projection.place_on_cpu_track(track, partition, cpus),
    )


def lower_cpu_counter(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a counter "cpufreq" (kHz) or "cpuidle" (depth; 4294967295 is awake) of the CPU."""
    if Kind.COUNTER not in projection.capabilities.kinds:
        return lower_to_instant(partition, projection)
    name = "cpuidle" if partition.event_class.kind is Kind.CPU_IDLE else "cpufreq"
    return [_counter(partition, projection, projection.constant(name, len(partition)), "Counters")]


def lower_frequency_limits(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a counter with the two series "Min Freq Limit" and "Max Freq Limit" (kHz) of the CPU."""
    if Kind.COUNTER not in projection.capabilities.kinds:
        return lower_to_instant(partition, projection)
    series = {Role.MINIMUM: "Min Freq Limit", Role.MAXIMUM: "Max Freq Limit"}
    fields = tuple(
        replace(field, name=series.get(field.role, field.name))
        for field in partition.event_class.fields
    )
    renamed = partition.rewritten(
        replace(partition.event_class, fields=fields), partition.lazy_columns()
    )
    names = projection.constant("cpufreq_limits", len(partition))
    return [_counter(renamed, projection, names, "Counters")]


def lower_clock_rate(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a counter "<clock> Frequency" (Hz), or "<clock> State" for clock_enable and clock_disable."""
    strings = projection.source.strings
    clocks = partition.texts(Role.NAME, strings)
    if Kind.COUNTER not in projection.capabilities.kinds or clocks is None:
        return lower_to_instant(partition, projection)
    states = partition.event_class.name in ("clock_enable", "clock_disable")
    suffix = b" State" if states else b" Frequency"
    names = names_by_value(clocks, lambda id: strings[id] + suffix, strings)
    none = constant_column(np.int32(-1), len(partition))
    return [
        partition.as_kind(
            Kind.COUNTER,
            _naming(partition, projection, names),
            roles={Role.VALUE: Role.VALUE},
            without=frozenset({Role.NAME}),
            **projection.place_on_track("Clocks", TrackScope.GLOBAL, none),
        )
    ]


# Wakeups and signals


def lower_waking(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a wakeup, if the target has one record for waking and wakeup."""
    if Kind.SCHED_WAKEUP not in projection.capabilities.kinds:
        return lower_to_instant(partition, projection)

    def make_class() -> EventClass:
        return replace(partition.event_class, kind=Kind.SCHED_WAKEUP, native=b"")

    return [
        partition.rewritten(
            partition.derive((Kind.SCHED_WAKEUP,), make_class), partition.lazy_columns()
        )
    ]


def lower_wakeup_new(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to a wakeup, unless the trace has better ones from sched_waking."""
    if superseded(partition, projection):
        return lower_to_instant(partition, projection)
    return lower_waking(partition, projection)


def lower_signal_generate(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to an instant on the thread that receives the signal; the sender is the argument "sender_tid"."""
    targets = partition.integers(Role.TID)
    if targets is None:
        return lower_to_instant(partition, projection)
    senders = projection.threads_of(partition)
    receivers = projection.thread_of_tid(targets)
    field = Field("sender_tid", IntegerClass(64, True))
    moved = partition.moved(thread=np.where(receivers >= 0, receivers, senders).astype(np.int32))
    return lower_to_instant(moved.with_argument(field, projection.tids_of(senders)), projection)


def _unless_alone(rule: Rule, its_exit: Kind) -> Rule:
    """Return a rule for entries: where the source has no exits of them, nothing ends them, and they are instants."""

    def lower(partition: Partition, projection: Projection) -> list[Partition] | None:
        if not projection.source.semantics.may_have(its_exit):
            return lower_to_instant(partition, projection)
        return rule(partition, projection)

    return lower


LINUX_LOWERINGS: Mapping[Kind, Rule] = {
    Kind.SYSCALL_ENTRY: _unless_alone(lower_syscall, Kind.SYSCALL_EXIT),
    Kind.SYSCALL_EXIT: lower_syscall,
    Kind.IRQ_ENTRY: _unless_alone(lower_irq, Kind.IRQ_EXIT),
    Kind.IRQ_EXIT: lower_irq,
    Kind.SOFTIRQ_ENTRY: _unless_alone(lower_softirq, Kind.SOFTIRQ_EXIT),
    Kind.SOFTIRQ_EXIT: lower_softirq,
    Kind.TIMER_ENTRY: _unless_alone(lower_timer, Kind.TIMER_EXIT),
    Kind.TIMER_EXIT: lower_timer,
    Kind.IPI_ENTRY: _unless_alone(lower_ipi, Kind.IPI_EXIT),
    Kind.IPI_EXIT: lower_ipi,
    Kind.WORK_BEGIN: _unless_alone(lower_work, Kind.WORK_END),
    Kind.WORK_END: lower_work,
    Kind.FUNCTION_ENTRY: _unless_alone(lower_function_call, Kind.FUNCTION_EXIT),
    Kind.FUNCTION_EXIT: lower_function_call,
    Kind.FUNCTION: lower_function,
    Kind.CPU_FREQUENCY: lower_cpu_counter,
    Kind.CPU_IDLE: lower_cpu_counter,
    Kind.CPU_FREQUENCY_LIMITS: lower_frequency_limits,
    Kind.CLOCK_RATE: lower_clock_rate,
    Kind.SCHED_WAKING: lower_waking,
    Kind.SCHED_WAKEUP_NEW: lower_wakeup_new,
    Kind.SIGNAL_GENERATE: lower_signal_generate,
}

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
from converter.projection.engine.pieces import Piece, Place, Thunk
from converter.projection.instants import CATEGORY, NAME, lower_to_instant

Rule = Callable[[Piece, Projection], "list[Piece] | None"]

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


def superseded(piece: Piece, projection: Projection) -> bool:
    """Return True if other events of the source say the same better, so that these remain instants.

    A wakeup is recorded twice: sched_waking by the waker, sched_wakeup where the task is enqueued. If the target has
    one record for both, it is made from the first.
    """
    kinds = projection.capabilities.kinds
    return (
        piece.event_class.kind in (Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW)
        and Kind.SCHED_WAKING not in kinds
        and Kind.SCHED_WAKEUP in kinds
        and projection.occurs(_is_waking)
    )


def _is_waking(event_class: EventClass) -> bool:
    return event_class.kind is Kind.SCHED_WAKING


def _slice(
    piece: Piece,
    projection: Projection,
    names: Place | None,
    category: str,
    **places: Any,
) -> Piece:
    """Return the begin or end of a slice, by the kind of the partition."""
    kind = Kind.SLICE_END if piece.event_class.kind in _ENDS else Kind.SLICE_BEGIN
    category = piece.event_class.category or category
    leading: list[tuple[Field, Any]] = []
    if names is not None:
        leading.append((NAME, names))
    leading.append((CATEGORY, projection.constant(category, len(piece))))
    return piece.as_kind(kind, leading, **places)


def _instant(piece: Piece, projection: Projection, names: Place) -> Piece:
    return piece.as_kind(Kind.INSTANT, _naming(piece, projection, names))


def _naming(piece: Piece, projection: Projection, names: Place) -> list[tuple[Field, Any]]:
    """Return the name and category fields; the latter only if the class has one."""
    leading: list[tuple[Field, Any]] = [(NAME, names)]
    if piece.event_class.category:
        leading.append((CATEGORY, projection.constant(piece.event_class.category, len(piece))))
    return leading


# System calls


def _names_syscalls_by_number(event_class: EventClass) -> bool:
    return (
        event_class.kind is Kind.SYSCALL_ENTRY
        and event_class.index_of(Role.SYSCALL_NUMBER) is not None
        and name_in_class(event_class.name) is None
    )


def lower_syscall(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a slice "sys_<name>" on the thread.

    An event class of its own for each system call (syscalls:sys_enter_read) remains an instant if the trace has
    raw_syscalls too. So do events that never return: rt_sigreturn, and exits without a system call.
    """
    if not has_slices(projection):
        return lower_to_instant(piece, projection)
    name = name_in_class(piece.event_class.name)
    if name is not None:
        if name == "rt_sigreturn" or projection.occurs(_names_syscalls_by_number):
            return lower_to_instant(piece, projection)
        names = projection.constant(f"sys_{name}", len(piece))
        return [_slice(piece, projection, names, "syscalls")]
    numbers = piece.lazy_integers(Role.SYSCALL_NUMBER)
    if numbers is None:
        names = projection.constant("syscall", len(piece))
        return [_slice(piece, projection, names, "syscalls")]
    machine = str(projection.source.environment.get("machine", ""))
    strings = projection.source.strings
    called = piece.names_of_numbers(Role.SYSCALL_NUMBER)

    def name_of(number: int) -> str:
        # The trace's own names; those of LTTng's kernels are the functions'.
        own = called.get(number)
        return f"sys_{own.removeprefix('sys_')}" if own else syscall_name(machine, number)

    is_exit = piece.event_class.kind is Kind.SYSCALL_EXIT

    def is_lone(number: int) -> bool:
        return name_of(number) == "sys_rt_sigreturn" or (is_exit and number == NO_SYSCALL)

    id_of = projection.by_value(
        ("name", piece.event_class), lambda number: strings.intern(name_of(number))
    )
    lone_of = projection.by_value(("is lone", piece.event_class), is_lone)

    def named(part: Piece) -> ComputedColumn:
        column = part.lazy_integers(Role.SYSCALL_NUMBER)
        assert column is not None
        return ComputedColumn(id_of, (column,), part)

    lone = ComputedColumn(lone_of, (numbers,), piece)
    if projection.is_nowhere(lone):
        return [_slice(piece, projection, named(piece), "raw_syscalls")]
    instants, slices = piece.split(np.asarray(lone()) != 0)
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
    piece: Piece,
    projection: Projection,
    names: Place | None,
    track: str,
    category: str,
) -> list[Piece]:
    places = projection.place_on_cpu_track(track, piece, projection.lazy_cpus_of(piece))
    return [_slice(piece, projection, names, category, **places)]


def lower_irq(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a slice "IRQ (<name>)" on the CPU's track "Irq"; an exit does not carry the name."""
    if not has_slices(projection):
        return lower_to_instant(piece, projection)
    strings = projection.source.strings
    handlers = piece.lazy_texts(Role.NAME, strings)
    numbers = piece.lazy_integers(Role.IRQ)
    names: Place | None = None
    if handlers is not None:
        names = lazy_names(piece, handlers, lambda id: b"IRQ (" + strings[id] + b")", strings)
    elif _vector_name(piece):
        # An event class of its own for each vector (irq_vectors:thermal_apic_entry).
        names = projection.constant(f"IRQ ({_vector_name(piece)})", len(piece))
    elif numbers is not None and piece.event_class.kind is Kind.IRQ_ENTRY:
        called = piece.names_of_numbers(Role.IRQ)
        names = lazy_names(piece, numbers, lambda irq: f"IRQ ({called.get(irq, irq)})", strings)
    elif piece.event_class.kind is Kind.IRQ_ENTRY:
        names = projection.constant("IRQ (unknown)", len(piece))
    return _on_cpu_track(piece, projection, names, "Irq", "irq")


def _vector_name(piece: Piece) -> str:
    """Return LocalTimer for irq_vectors:local_timer_entry, and "" for events whose class has no vector."""
    event_class = piece.event_class
    own, prefix, name = event_class.name.rpartition("irq_vectors_")
    if event_class.category != "irq_vectors" and (event_class.category or not prefix):
        return ""
    name, _, edge = name.rpartition("_")
    if own not in ("", "x86_") or edge not in ("entry", "exit"):
        return ""
    return "".join(word.capitalize() for word in name.split("_"))


def lower_softirq(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a slice with the name of the vector on the CPU's track "SoftIrq"."""
    if not has_slices(projection):
        return lower_to_instant(piece, projection)
    vectors = piece.lazy_integers(Role.VECTOR)
    names = None
    if vectors is not None:
        names = lazy_names(piece, vectors, _softirq_name, projection.source.strings)
    return _on_cpu_track(piece, projection, names, "SoftIrq", "irq")


def _softirq_name(vector: int) -> str:
    return SOFTIRQ_NAMES[vector] if 0 <= vector < len(SOFTIRQ_NAMES) else str(vector)


def lower_timer(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a slice with the name of the function on the CPU's track "Hrtimer" or "Timer"; timer
    interrupts on "Irq".
    """
    if not has_slices(projection):
        return lower_to_instant(piece, projection)
    name = piece.event_class.name
    names: Place | None
    if name.startswith(("hrtimer_", "timer_")):
        track = "Hrtimer" if name.startswith("hrtimer_") else "Timer"
        names = function_names(piece, Role.FUNCTION, projection)
        return _on_cpu_track(piece, projection, names, track, "timer")
    names = projection.constant(f"IRQ ({_vector_name(piece) or 'Timer'})", len(piece))
    return _on_cpu_track(piece, projection, names, "Irq", "irq")


def lower_ipi(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a slice "IPI (<reason>)" on the CPU's track "Irq"."""
    if not has_slices(projection):
        return lower_to_instant(piece, projection)
    strings = projection.source.strings
    fields = piece.event_class.fields
    texts = [i for i, field in enumerate(fields) if isinstance(field.type, StringClass)]
    names: Place
    if texts:
        reasons = piece.lazy_text(texts[0], strings)
        names = lazy_names(piece, reasons, lambda id: b"IPI (" + strings[id] + b")", strings)
    else:
        names = projection.constant(f"IPI ({_vector_name(piece) or 'unknown'})", len(piece))
    return _on_cpu_track(piece, projection, names, "Irq", "irq")


# Work and functions


def lower_work(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a slice on the thread, with the name of the function that does the work."""
    if not has_slices(projection):
        return lower_to_instant(piece, projection)
    names: Place | None = function_names(piece, Role.FUNCTION, projection)
    if names is None and piece.event_class.kind is Kind.WORK_BEGIN:
        work = piece.lazy_integers(Role.WORK)
        strings = projection.source.strings
        names = (
            projection.constant("work", len(piece))
            if work is None
            else lazy_names(piece, work, lambda address: f"{address & _U64:#x}", strings)
        )
    return [_slice(piece, projection, names, "workqueue")]


_U64 = 0xFFFF_FFFF_FFFF_FFFF


def lower_function_call(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a slice with the name of the function on the thread, or on the CPU's track for the idle task.

    All CPUs' idle tasks are thread 0, so calls of several would mix there.
    """
    if not has_slices(projection):
        return lower_to_instant(piece, projection)
    parts = []
    threads = projection.threads_of(piece)
    idle, running = piece.split(projection.tids_of(threads) == 0)
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


def lower_function(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to an instant with the name of the function; its caller is the argument "parent"."""
    names = function_names(piece, Role.FUNCTION, projection)
    if names is None or Kind.INSTANT not in projection.capabilities.kinds:
        return lower_to_instant(piece, projection)
    parents = function_names(piece, Role.PARENT_FUNCTION, projection)
    instant = _instant(piece, projection, names)
    if parents is not None:
        instant = instant.with_argument(Field("parent", StringClass()), parents)
    return [instant]


# Counters


def _counter(piece: Piece, projection: Projection, names: Place, track: str) -> Piece:
    """Return a counter of the CPU in the field TARGET_CPU, which becomes its id, or of the event's own CPU."""
    cpus: Thunk | Place | None = piece.lazy_integers(Role.TARGET_CPU)
    leading = _naming(piece, projection, names)
    if cpus is None:
        cpus = projection.lazy_cpus_of(piece)
        leading.append((Field("id", IntegerClass(32, True), Role.ID), cpus))
    return piece.as_kind(
        Kind.COUNTER,
        leading,
        roles={
            Role.VALUE: Role.VALUE,
            Role.MINIMUM: Role.VALUE,
            Role.MAXIMUM: Role.VALUE,
            Role.TARGET_CPU: Role.ID,
        },
        **projection.place_on_cpu_track(track, piece, cpus),
    )


def lower_cpu_counter(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a counter "cpufreq" (kHz) or "cpuidle" (depth; 4294967295 is awake) of the CPU."""
    if Kind.COUNTER not in projection.capabilities.kinds:
        return lower_to_instant(piece, projection)
    name = "cpuidle" if piece.event_class.kind is Kind.CPU_IDLE else "cpufreq"
    return [_counter(piece, projection, projection.constant(name, len(piece)), "Counters")]


def lower_frequency_limits(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a counter with the two series "Min Freq Limit" and "Max Freq Limit" (kHz) of the CPU."""
    if Kind.COUNTER not in projection.capabilities.kinds:
        return lower_to_instant(piece, projection)
    series = {Role.MINIMUM: "Min Freq Limit", Role.MAXIMUM: "Max Freq Limit"}
    fields = tuple(
        replace(field, name=series.get(field.role, field.name))
        for field in piece.event_class.fields
    )
    renamed = piece.rewritten(replace(piece.event_class, fields=fields), piece.lazy_columns())
    names = projection.constant("cpufreq_limits", len(piece))
    return [_counter(renamed, projection, names, "Counters")]


def lower_clock_rate(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a counter "<clock> Frequency" (Hz), or "<clock> State" for clock_enable and clock_disable."""
    strings = projection.source.strings
    clocks = piece.texts(Role.NAME, strings)
    if Kind.COUNTER not in projection.capabilities.kinds or clocks is None:
        return lower_to_instant(piece, projection)
    states = piece.event_class.name in ("clock_enable", "clock_disable")
    suffix = b" State" if states else b" Frequency"
    names = names_by_value(clocks, lambda id: strings[id] + suffix, strings)
    none = constant_column(np.int32(-1), len(piece))
    return [
        piece.as_kind(
            Kind.COUNTER,
            _naming(piece, projection, names),
            roles={Role.VALUE: Role.VALUE},
            without=frozenset({Role.NAME}),
            **projection.place_on_track("Clocks", TrackScope.GLOBAL, none),
        )
    ]


# Wakeups and signals


def lower_waking(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a wakeup, if the target has one record for waking and wakeup."""
    if Kind.SCHED_WAKEUP not in projection.capabilities.kinds:
        return lower_to_instant(piece, projection)

    def make_class() -> EventClass:
        return replace(piece.event_class, kind=Kind.SCHED_WAKEUP, native=b"")

    return [piece.rewritten(piece.derive((Kind.SCHED_WAKEUP,), make_class), piece.lazy_columns())]


def lower_wakeup_new(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to a wakeup, unless the trace has better ones from sched_waking."""
    if superseded(piece, projection):
        return lower_to_instant(piece, projection)
    return lower_waking(piece, projection)


def lower_signal_generate(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Lower to an instant on the thread that receives the signal; the sender is the argument "sender_tid"."""
    targets = piece.integers(Role.TID)
    if targets is None:
        return lower_to_instant(piece, projection)
    senders = projection.threads_of(piece)
    receivers = projection.thread_of_tid(targets)
    field = Field("sender_tid", IntegerClass(64, True))
    moved = piece.moved(thread=np.where(receivers >= 0, receivers, senders).astype(np.int32))
    return lower_to_instant(moved.with_argument(field, projection.tids_of(senders)), projection)


LINUX_LOWERINGS: Mapping[Kind, Rule] = {
    Kind.SYSCALL_ENTRY: lower_syscall,
    Kind.SYSCALL_EXIT: lower_syscall,
    Kind.IRQ_ENTRY: lower_irq,
    Kind.IRQ_EXIT: lower_irq,
    Kind.SOFTIRQ_ENTRY: lower_softirq,
    Kind.SOFTIRQ_EXIT: lower_softirq,
    Kind.TIMER_ENTRY: lower_timer,
    Kind.TIMER_EXIT: lower_timer,
    Kind.IPI_ENTRY: lower_ipi,
    Kind.IPI_EXIT: lower_ipi,
    Kind.WORK_BEGIN: lower_work,
    Kind.WORK_END: lower_work,
    Kind.FUNCTION_ENTRY: lower_function_call,
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

"""The kernel's events as lttng-modules records them: names, fields and types (instrumentation/events/*.h)."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass, Style
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role
from converter.projection.domain.syscalls import name_in_class

_TEXT: Final = StringClass()
_INT: Final = IntegerClass(32, True)
_UNSIGNED: Final = IntegerClass(32)
_LONG: Final = IntegerClass(64, True)
_POINTER: Final = IntegerClass(64, False, Style.HEXADECIMAL)

_WAKE: Final = (
    Field("comm", _TEXT, Role.COMM),
    Field("tid", _INT, Role.TID),
    Field("prio", _INT, Role.PRIORITY),
    Field("target_cpu", _INT, Role.TARGET_CPU),
)
_TASK: Final = _WAKE[:3]
_VECTOR: Final = (Field("vec", _UNSIGNED, Role.VECTOR),)
_CPU_VALUE: Final = (
    Field("state", _UNSIGNED, Role.VALUE),
    Field("cpu_id", _UNSIGNED, Role.TARGET_CPU),
)

#: The event's name and its fields, by kind.
EVENTS: Final[dict[Kind, tuple[str, tuple[Field, ...]]]] = {
    Kind.SCHED_SWITCH: (
        "sched_switch",
        (
            Field("prev_comm", _TEXT, Role.PREV_COMM),
            Field("prev_tid", _INT, Role.PREV_TID),
            Field("prev_prio", _INT, Role.PREV_PRIORITY),
            Field("prev_state", _LONG, Role.PREV_STATE),
            Field("next_comm", _TEXT, Role.NEXT_COMM),
            Field("next_tid", _INT, Role.NEXT_TID),
            Field("next_prio", _INT, Role.NEXT_PRIORITY),
        ),
    ),
    Kind.SCHED_WAKING: ("sched_waking", _WAKE),
    Kind.SCHED_WAKEUP: ("sched_wakeup", _WAKE),
    Kind.SCHED_WAKEUP_NEW: ("sched_wakeup_new", _WAKE),
    Kind.PROCESS_FORK: (
        "sched_process_fork",
        (
            Field("parent_comm", _TEXT, Role.PARENT_COMM),
            Field("parent_tid", _INT, Role.PARENT_TID),
            Field("child_comm", _TEXT, Role.COMM),
            Field("child_tid", _INT, Role.TID),
        ),
    ),
    Kind.PROCESS_EXEC: (
        "sched_process_exec",
        (
            Field("filename", _TEXT, Role.FILENAME),
            Field("tid", _INT, Role.TID),
            Field("old_tid", _INT, Role.OLD_TID),
        ),
    ),
    Kind.TASK_EXIT: ("sched_process_exit", _TASK),
    Kind.TASK_FREE: ("sched_process_free", _TASK),
    Kind.IRQ_ENTRY: (
        "irq_handler_entry",
        (Field("irq", _INT, Role.IRQ), Field("name", _TEXT, Role.NAME)),
    ),
    Kind.IRQ_EXIT: (
        "irq_handler_exit",
        (Field("irq", _INT, Role.IRQ), Field("ret", _INT, Role.RETURN)),
    ),
    Kind.SOFTIRQ_RAISE: ("irq_softirq_raise", _VECTOR),
    Kind.SOFTIRQ_ENTRY: ("irq_softirq_entry", _VECTOR),
    Kind.SOFTIRQ_EXIT: ("irq_softirq_exit", _VECTOR),
    Kind.TIMER_ENTRY: (
        "timer_hrtimer_expire_entry",
        (
            Field("hrtimer", _POINTER, Role.TIMER),
            Field("function", _POINTER, Role.FUNCTION),
        ),
    ),
    Kind.TIMER_EXIT: ("timer_hrtimer_expire_exit", (Field("hrtimer", _POINTER, Role.TIMER),)),
    Kind.CPU_FREQUENCY: ("power_cpu_frequency", _CPU_VALUE),
    Kind.CPU_IDLE: ("power_cpu_idle", _CPU_VALUE),
    Kind.WORK_BEGIN: ("workqueue_execute_start", (Field("work", _POINTER, Role.WORK),)),
    Kind.WORK_END: ("workqueue_execute_end", (Field("work", _POINTER, Role.WORK),)),
}

_MORE: Final[dict[Kind, frozenset[Role]]] = {
    **dict.fromkeys((Kind.IRQ_ENTRY, Kind.IRQ_EXIT), frozenset({Role.IRQ})),
    Kind.TIMER_ENTRY: frozenset({Role.TIMER}),
    Kind.TIMER_EXIT: frozenset({Role.TIMER}),
    Kind.PROCESS_EXEC: frozenset({Role.TID, Role.FILENAME}),
    Kind.TASK_EXIT: frozenset({Role.TID}),
    Kind.TASK_FREE: frozenset({Role.TID}),
    Kind.PROCESS_FORK: frozenset({Role.PARENT_TID}),
    Kind.CPU_FREQUENCY: frozenset({Role.TARGET_CPU}),
    Kind.CPU_IDLE: frozenset({Role.TARGET_CPU}),
}

#: Roles that a class of another format needs to be written as LTTng's event.
NEEDED: Final = {
    kind: REQUIRED_ROLES.get(kind, frozenset()) | _MORE.get(kind, frozenset()) for kind in EVENTS
}

#: lttng-modules counts priorities from the most urgent one that is not real-time.
PRIORITY_OFFSET: Final = 100
_PRIORITY_ROLES: Final = (Role.PRIORITY, Role.PREV_PRIORITY, Role.NEXT_PRIORITY)
#: Scheduler tracepoints without a kind of their own, and their fields that are priorities.
_PRIORITIES: Final = {
    "sched_migrate_task": frozenset({"prio"}),
    "sched_pi_setprio": frozenset({"oldprio", "newprio"}),
    "sched_process_wait": frozenset({"prio"}),
    "sched_wait_task": frozenset({"prio"}),
}

#: Kinds whose LTTng event exists for one of the kernel's two tracepoints only: for timers, the high-resolution one.
_TIMERS: Final = frozenset({Kind.TIMER_ENTRY, Kind.TIMER_EXIT})
_SYSCALLS: Final = {Kind.SYSCALL_ENTRY: "syscall_entry_", Kind.SYSCALL_EXIT: "syscall_exit_"}
_TRACEPOINT: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
#: Kinds of further tracepoints.
_CATEGORY_KINDS: Final = (
    frozenset(EVENTS)
    | frozenset(_SYSCALLS)
    | {
        Kind.TYPED,
        Kind.IPI_ENTRY,
        Kind.IPI_EXIT,
        Kind.SIGNAL_GENERATE,
        Kind.SIGNAL_DELIVER,
        Kind.CPU_FREQUENCY_LIMITS,
        Kind.CLOCK_RATE,
        Kind.TASK_NEW,
        Kind.TASK_RENAME,
    }
)


@cache
def is_lttng_event(event_class: EventClass) -> bool:
    """Return True if a class has all fields of LTTng's event of its kind."""
    known = EVENTS.get(event_class.kind)
    if known is None or (
        event_class.kind in _TIMERS and not event_class.name.startswith(("hrtimer_", known[0]))
    ):
        return False
    return {field.role for field in known[1]} <= {field.role for field in event_class.fields}


def priorities(event_class: EventClass, name: str) -> frozenset[int]:
    """Return the fields that are priorities, in a class of kernel events that LTTng calls by this name."""
    by_name = _PRIORITIES.get(name, frozenset()) if event_class.kind is Kind.TYPED else ()
    return frozenset(
        number
        for number, field in enumerate(event_class.fields)
        if (field.role in _PRIORITY_ROLES or (field.role is Role.NONE and field.name in by_name))
        and isinstance(field.type, IntegerClass)
    )


def lttng_name(event_class: EventClass, syscall: str | None) -> str | None:
    """LTTng's name for an event of the kernel, None for what it does not have.

    Args:
        event_class: its class.
        syscall: the name of its system call, where its class does not say it.

    """
    prefix = _SYSCALLS.get(event_class.kind)
    if prefix is not None:
        name = name_in_class(event_class.name) or syscall
        return None if name is None else prefix + name
    if is_lttng_event(event_class):
        return EVENTS[event_class.kind][0]
    is_scheduler = event_class.category in ("", "sched") and event_class.name in _PRIORITIES
    return event_class.name if is_scheduler and priorities(event_class, event_class.name) else None


def tracepoint_name(event_class: EventClass) -> str | None:
    """The name by lttng-modules' rule of any other tracepoint of the kernel: system_event."""
    category, name = event_class.category, event_class.name
    if event_class.kind not in _CATEGORY_KINDS:
        return None
    if not _TRACEPOINT.fullmatch(category) or not _TRACEPOINT.fullmatch(name):
        return None
    return kernel_name(category, name)


def kernel_name(system: str, event: str) -> str:
    """Return the name of a kernel tracepoint by lttng-modules' rule; LTTng's own events keep their name."""
    if system == "lttng":
        return event
    return event if event.startswith(f"{system}_") else f"{system}_{event}"


def field_names(event_class: EventClass) -> list[str]:
    """Return the names of the fields: LTTng's, if it has the event."""
    if not is_lttng_event(event_class):
        return [field.name for field in event_class.fields]
    by_role = {field.role: field.name for field in EVENTS[event_class.kind][1]}
    return [by_role.pop(field.role, field.name) for field in event_class.fields]

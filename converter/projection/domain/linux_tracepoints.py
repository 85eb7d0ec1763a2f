"""The meanings of the Linux kernel's tracepoints: kinds and roles, by system and name.

For every format that records them: trace.dat, Perfetto's ftrace events, LTTng's kernel channels. Names and fields are
those of the kernel's include/trace/events/*.h and kernel/trace/trace_entries.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from converter.ir.events import Field
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass
from converter.ir.kinds import REQUIRED_ROLES, Kind, Role

#: Roles whose field is text, and those whose field is an array; the field of any other role is an integer.
TEXT_ROLES: Final = frozenset(
    {
        Role.NAME,
        Role.MESSAGE,
        Role.COMM,
        Role.PREV_COMM,
        Role.NEXT_COMM,
        Role.PARENT_COMM,
        Role.OLD_COMM,
        Role.NEW_COMM,
        Role.FILENAME,
    }
)
ARRAY_ROLES: Final = frozenset({Role.SYSCALL_ARGUMENTS})

#: Fields that identify a task: the roles of its tid and of its name.
NAMING_ROLES: Final = (
    (Role.PREV_TID, Role.PREV_COMM),
    (Role.NEXT_TID, Role.NEXT_COMM),
    (Role.TID, Role.COMM),
    (Role.PARENT_TID, Role.PARENT_COMM),
    (Role.TID, Role.NEW_COMM),
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The kind of an event and the roles of its fields, by name."""

    kind: Kind
    roles: dict[str, Role] = field(default_factory=dict)


_WAKE = {
    "comm": Role.COMM,
    "pid": Role.TID,
    "prio": Role.PRIORITY,
    "target_cpu": Role.TARGET_CPU,
}
_SWITCH = {
    "prev_comm": Role.PREV_COMM,
    "prev_pid": Role.PREV_TID,
    "prev_prio": Role.PREV_PRIORITY,
    "prev_state": Role.PREV_STATE,
    "next_comm": Role.NEXT_COMM,
    "next_pid": Role.NEXT_TID,
    "next_prio": Role.NEXT_PRIORITY,
}
_TASK = {"comm": Role.COMM, "pid": Role.TID, "prio": Role.PRIORITY}
_VECTOR = {"vec": Role.VECTOR}
_CPU_VALUE = {"state": Role.VALUE, "cpu_id": Role.TARGET_CPU}
_GRAPH = {
    "func": Role.FUNCTION,
    "depth": Role.DEPTH,
    "retaddr": Role.PARENT_FUNCTION,
    "parent_ip": Role.PARENT_FUNCTION,
    "retval": Role.RETURN,
}
_TIMER = {"hrtimer": Role.TIMER, "timer": Role.TIMER, "function": Role.FUNCTION}
_WORK = {"work": Role.WORK, "function": Role.FUNCTION}

#: By (system, event).
MEANINGS: dict[tuple[str, str], Meaning] = {
    ("sched", "sched_switch"): Meaning(Kind.SCHED_SWITCH, _SWITCH),
    ("sched", "sched_waking"): Meaning(Kind.SCHED_WAKING, _WAKE),
    ("sched", "sched_wakeup"): Meaning(Kind.SCHED_WAKEUP, _WAKE),
    ("sched", "sched_wakeup_new"): Meaning(Kind.SCHED_WAKEUP_NEW, _WAKE),
    ("sched", "sched_process_fork"): Meaning(
        Kind.PROCESS_FORK,
        {
            "parent_comm": Role.PARENT_COMM,
            "parent_pid": Role.PARENT_TID,
            "child_comm": Role.COMM,
            "child_pid": Role.TID,
        },
    ),
    ("sched", "sched_process_exec"): Meaning(
        Kind.PROCESS_EXEC,
        {"filename": Role.FILENAME, "pid": Role.TID, "old_pid": Role.OLD_TID},
    ),
    ("sched", "sched_process_exit"): Meaning(Kind.TASK_EXIT, _TASK),
    ("sched", "sched_process_free"): Meaning(Kind.TASK_FREE, _TASK),
    ("task", "task_newtask"): Meaning(
        Kind.TASK_NEW,
        {"pid": Role.TID, "comm": Role.COMM, "clone_flags": Role.CLONE_FLAGS},
    ),
    ("task", "task_rename"): Meaning(
        Kind.TASK_RENAME,
        {"pid": Role.TID, "oldcomm": Role.OLD_COMM, "newcomm": Role.NEW_COMM},
    ),
    ("irq", "irq_handler_entry"): Meaning(Kind.IRQ_ENTRY, {"irq": Role.IRQ, "name": Role.NAME}),
    ("irq", "irq_handler_exit"): Meaning(Kind.IRQ_EXIT, {"irq": Role.IRQ, "ret": Role.RETURN}),
    ("irq", "softirq_raise"): Meaning(Kind.SOFTIRQ_RAISE, _VECTOR),
    ("irq", "softirq_entry"): Meaning(Kind.SOFTIRQ_ENTRY, _VECTOR),
    ("irq", "softirq_exit"): Meaning(Kind.SOFTIRQ_EXIT, _VECTOR),
    ("ipi", "ipi_entry"): Meaning(Kind.IPI_ENTRY),
    ("ipi", "ipi_exit"): Meaning(Kind.IPI_EXIT),
    ("timer", "hrtimer_expire_entry"): Meaning(Kind.TIMER_ENTRY, _TIMER),
    ("timer", "hrtimer_expire_exit"): Meaning(Kind.TIMER_EXIT, _TIMER),
    ("timer", "timer_expire_entry"): Meaning(Kind.TIMER_ENTRY, _TIMER),
    ("timer", "timer_expire_exit"): Meaning(Kind.TIMER_EXIT, _TIMER),
    ("raw_syscalls", "sys_enter"): Meaning(
        Kind.SYSCALL_ENTRY,
        {"id": Role.SYSCALL_NUMBER, "args": Role.SYSCALL_ARGUMENTS},
    ),
    ("raw_syscalls", "sys_exit"): Meaning(
        Kind.SYSCALL_EXIT, {"id": Role.SYSCALL_NUMBER, "ret": Role.RETURN}
    ),
    ("workqueue", "workqueue_execute_start"): Meaning(Kind.WORK_BEGIN, _WORK),
    ("workqueue", "workqueue_execute_end"): Meaning(Kind.WORK_END, _WORK),
    ("ftrace", "function"): Meaning(
        Kind.FUNCTION, {"ip": Role.FUNCTION, "parent_ip": Role.PARENT_FUNCTION}
    ),
    ("ftrace", "funcgraph_entry"): Meaning(Kind.FUNCTION_ENTRY, _GRAPH),
    ("ftrace", "fgraph_retaddr_entry"): Meaning(Kind.FUNCTION_ENTRY, _GRAPH),
    ("ftrace", "funcgraph_exit"): Meaning(Kind.FUNCTION_EXIT, _GRAPH),
    ("ftrace", "print"): Meaning(Kind.MARK, {"ip": Role.INSTRUCTION, "buf": Role.MESSAGE}),
    # The message of these two is a synthesized field, made from the stored format text and the arguments.
    ("ftrace", "bprint"): Meaning(Kind.MARK, {"ip": Role.INSTRUCTION}),
    ("ftrace", "bputs"): Meaning(Kind.MARK, {"ip": Role.INSTRUCTION}),
    ("power", "cpu_frequency"): Meaning(Kind.CPU_FREQUENCY, _CPU_VALUE),
    ("power", "cpu_idle"): Meaning(Kind.CPU_IDLE, _CPU_VALUE),
    ("power", "cpu_frequency_limits"): Meaning(
        Kind.CPU_FREQUENCY_LIMITS,
        {"min_freq": Role.MINIMUM, "max_freq": Role.MAXIMUM, "cpu_id": Role.TARGET_CPU},
    ),
    ("power", "clock_set_rate"): Meaning(Kind.CLOCK_RATE, {"name": Role.NAME, **_CPU_VALUE}),
    ("signal", "signal_generate"): Meaning(
        Kind.SIGNAL_GENERATE,
        {"sig": Role.SIGNAL, "comm": Role.COMM, "pid": Role.TID},
    ),
    ("signal", "signal_deliver"): Meaning(Kind.SIGNAL_DELIVER, {"sig": Role.SIGNAL}),
}

#: x86's irq_vectors system: NAME_entry and NAME_exit, by NAME; others are interrupts of that number.
_VECTOR_KINDS = {
    "local_timer": (Kind.TIMER_ENTRY, Kind.TIMER_EXIT, Role.VECTOR),
    "reschedule": (Kind.IPI_ENTRY, Kind.IPI_EXIT, Role.VECTOR),
    "call_function": (Kind.IPI_ENTRY, Kind.IPI_EXIT, Role.VECTOR),
    "call_function_single": (Kind.IPI_ENTRY, Kind.IPI_EXIT, Role.VECTOR),
    "x86_platform_ipi": (Kind.IPI_ENTRY, Kind.IPI_EXIT, Role.VECTOR),
}
_OTHER_VECTOR = (Kind.IRQ_ENTRY, Kind.IRQ_EXIT, Role.IRQ)
_SYSCALL = {
    "__syscall_nr": Role.SYSCALL_NUMBER,
    "nr": Role.SYSCALL_NUMBER,
    "ret": Role.RETURN,
}

_UNKNOWN = Meaning(Kind.TYPED)


#: All kinds that kernel events have a meaning as.
KINDS: Final = frozenset(
    {
        *(known.kind for known in MEANINGS.values()),
        *(
            kind
            for entry, leave, _ in (*_VECTOR_KINDS.values(), _OTHER_VECTOR)
            for kind in (entry, leave)
        ),
        Kind.SYSCALL_ENTRY,
        Kind.SYSCALL_EXIT,
    }
)


def meaning(system: str, event: str) -> Meaning:
    """Return the meaning of an event; TYPED if it is not known."""
    known = MEANINGS.get((system, event))
    if known is not None:
        return known
    if system == "syscalls":
        if event.startswith("sys_enter_"):
            return Meaning(Kind.SYSCALL_ENTRY, _SYSCALL)
        if event.startswith("sys_exit_"):
            return Meaning(Kind.SYSCALL_EXIT, _SYSCALL)
    if system == "irq_vectors":
        name, _, edge = event.rpartition("_")
        entry, leave, role = _VECTOR_KINDS.get(name, _OTHER_VECTOR)
        if edge in ("entry", "exit"):
            return Meaning(entry if edge == "entry" else leave, {"vector": role})
    return _UNKNOWN


def checked_kind(known: Meaning, fields: Sequence[Field]) -> Kind:
    """Return the kind if an event has the fields that it needs, in suitable types: kernels differ. Otherwise TYPED."""
    roles = {field.role for field in fields}
    if not REQUIRED_ROLES.get(known.kind, frozenset()) <= roles:
        return Kind.TYPED
    return known.kind if all(map(_suits, fields)) else Kind.TYPED


def _suits(field: Field) -> bool:
    """Return True if a field can have its role."""
    if field.role is Role.NONE:
        return True
    if field.role in TEXT_ROLES:
        return isinstance(field.type, StringClass)
    return isinstance(field.type, ArrayClass if field.role in ARRAY_ROLES else IntegerClass)

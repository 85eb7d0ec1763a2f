"""The meaning of CTF event records: kinds and roles by their names, and the contexts that name their thread.

Names and fields are those of lttng-modules (instrumentation/events), lttng-ust (liblttng-ust, liblttng-ust-cyg-profile,
liblttng-ust-fork ...), ros2_tracing (tracetools), `perf data convert` (tools/perf/util/data-convert-bt.c) and Zephyr
(subsys/tracing/ctf).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from converter.formats.ctf.lttng_events import kernel_name, priorities
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import FieldClass, IntegerClass
from converter.ir.kinds import Kind, Role
from converter.projection.domain.linux_tracepoints import (
    MEANINGS,
    TEXT_ROLES,
    Meaning,
    checked_kind,
    meaning,
)

#: Contexts with the process, the thread and its name, in the order of preference: LTTng's IDs in the process's
#: namespace, then those of the whole machine.
PROCESS_CONTEXTS: Final = ("vpid", "pid", "process_id")
THREAD_CONTEXTS: Final = ("vtid", "tid", "thread_id")
NAME_CONTEXTS: Final = ("procname", "thread_name")
#: The name of the thread in the packets of DPDK, which have no ID of it.
DPDK: Final = "dpdk"
DPDK_NAME: Final = "name"

#: The context with the track, in traces with a side table that describes tracks.
TRACK_CONTEXT: Final = "track"

#: The payload fields in which perf records the same.
PERF_PROCESS: Final = "perf_pid"
PERF_THREAD: Final = "perf_tid"
PERF_CPU: Final = "perf_cpu"

#: The packet context's field for the CPU.
CPU_FIELD: Final = "cpu_id"

_SYSCALL_EXIT: Final = {"ret": Role.RETURN}
_LOG: Final = {"msg": Role.MESSAGE}
_CALL: Final = {"addr": Role.FUNCTION, "call_site": Role.PARENT_FUNCTION}

_CALLBACK: Final = {"callback": Role.FUNCTION}
#: A message has the time of its publication, wherever it is received; within a process, a slot in a ring buffer.
_PUBLISHED: Final = {"timestamp": Role.ID}
_STAMPED: Final = {"source_stamp": Role.ID}
_TAKEN: Final = {"source_timestamp": Role.ID, "taken": Role.COUNT}
_QUEUED: Final = {"buffer": Role.SCOPE, "index": Role.ID}

#: lttng-modules' names for the kernel's fields: "pid" in the kernel's tracepoints is a thread.
_FIELDS: Final = {
    "pid": "tid",
    "prev_pid": "prev_tid",
    "next_pid": "next_tid",
    "parent_pid": "parent_tid",
    "child_pid": "child_tid",
    "old_pid": "old_tid",
}
#: Systems of ftrace's own records, which are not tracepoints, and one that lttng-modules records in its own way.
_NOT_RECORDED: Final = frozenset({"ftrace", "raw_syscalls"})
#: Systems whose fields lttng-modules names as the kernel does.
_AS_NAMED: Final = frozenset({"signal"})


def _kernel_meanings() -> dict[str, Meaning]:
    """Return the events of lttng-modules, which have no provider in their names: the kernel's under other names."""
    known: dict[str, Meaning] = {}
    for (system, event), item in MEANINGS.items():
        if system in _NOT_RECORDED:
            continue
        roles = item.roles
        if system not in _AS_NAMED:
            roles = {_FIELDS.get(name, name): role for name, role in roles.items()}
        known[kernel_name(system, event)] = Meaning(item.kind, roles)
        if event.startswith(("softirq_", "hrtimer_")):
            # The name before lttng-modules 2.7.
            known[event] = Meaning(item.kind, roles)
    fork = known["sched_process_fork"]
    fork.roles["child_pid"] = Role.PID
    known["exit_syscall"] = Meaning(Kind.SYSCALL_EXIT, _SYSCALL_EXIT)
    # Zephyr's event; it does not say which interrupt it is.
    known["isr_enter"] = Meaning(Kind.IRQ_ENTRY)
    known["isr_exit"] = known["isr_exit_to_scheduler"] = Meaning(Kind.IRQ_EXIT)
    known["thread_ready"] = Meaning(Kind.SCHED_WAKEUP, {"thread_id": Role.TID, "name": Role.COMM})
    known["lttng_logger"] = Meaning(Kind.LOG, _LOG)
    return known


_KERNEL: Final = _kernel_meanings()

#: Events of lttng-ust and its agents, and of ros2_tracing, by provider and name.
_USER: Final[dict[tuple[str, str], Meaning]] = {
    ("lttng_ust_cyg_profile", "func_entry"): Meaning(Kind.FUNCTION_ENTRY, _CALL),
    ("lttng_ust_cyg_profile", "func_exit"): Meaning(Kind.FUNCTION_EXIT, _CALL),
    ("lttng_ust_cyg_profile_fast", "func_entry"): Meaning(Kind.FUNCTION_ENTRY, _CALL),
    ("lttng_ust_cyg_profile_fast", "func_exit"): Meaning(Kind.FUNCTION_EXIT),
    ("ros2", "callback_start"): Meaning(Kind.FUNCTION_ENTRY, _CALLBACK),
    ("ros2", "callback_end"): Meaning(Kind.FUNCTION_EXIT, _CALLBACK),
    ("ros2", "rmw_publish"): Meaning(Kind.MESSAGE_SEND, _PUBLISHED),
    ("ros2", "rmw_take"): Meaning(Kind.MESSAGE_RECEIVE, _TAKEN),
    ("ros2", "rclcpp_ring_buffer_enqueue"): Meaning(Kind.MESSAGE_SEND, _QUEUED),
    ("ros2", "rclcpp_ring_buffer_dequeue"): Meaning(Kind.MESSAGE_RECEIVE, _QUEUED),
    ("dds", "write"): Meaning(Kind.MESSAGE_SEND, _PUBLISHED),
    ("ros2_caret", "dds_bind_addr_to_stamp"): Meaning(Kind.MESSAGE_SEND, _STAMPED),
    ("lttng_ust_tracef", "event"): Meaning(Kind.LOG, _LOG),
    ("lttng_jul", "event"): Meaning(Kind.LOG, _LOG),
    ("lttng_log4j", "event"): Meaning(Kind.LOG, _LOG),
    ("lttng_python", "event"): Meaning(Kind.LOG, _LOG),
}

#: The prefix of lttng-modules' names for the events of x86's irq_vectors.
_VECTORS: Final = "x86_irq_vectors_"

#: Text of these roles repeats.
NAMING_ROLES: Final = TEXT_ROLES - {Role.MESSAGE}

_UNKNOWN: Final = Meaning(Kind.TYPED)


def split_name(text: str) -> tuple[str, str]:
    """Return the category (LTTng: provider; perf: system) and the name of an event record class."""
    category, _, name = text.partition(":")
    return (category, name) if category and name else ("", text)


def joined_name(category: str, name: str) -> str:
    """Return the name of an event record class: the inverse of `split_name`."""
    return f"{category}:{name}" if category and name else category or name


def meaning_of(category: str, name: str) -> Meaning:
    """Return the meaning of a record with this name; TYPED if it is unknown."""
    if category:
        known = _USER.get((category, name))
        if known is not None:
            return known
        if category == "lttng_ust_tracelog":
            return Meaning(Kind.LOG, _LOG)
        return meaning(category, name)
    known = _KERNEL.get(name)
    if known is not None:
        return known
    bare = name.removeprefix("compat_")
    if bare.startswith("syscall_entry_") or (bare.startswith("sys_") and name != "sys_"):
        return Meaning(Kind.SYSCALL_ENTRY)
    if bare.startswith("syscall_exit_"):
        return Meaning(Kind.SYSCALL_EXIT, _SYSCALL_EXIT)
    if name.startswith(_VECTORS):
        return meaning("irq_vectors", name.removeprefix(_VECTORS))
    return _UNKNOWN


#: Kinds of events that names alone do not say: of classes without the fields of their kinds, of lost events, of
#: switches of Zephyr, and of ranges of Qt.
_ALWAYS: Final = frozenset(
    {Kind.TYPED, Kind.DISCARDED, Kind.SCHED_SWITCH, Kind.SLICE_BEGIN, Kind.SLICE_END}
)


def possible_kinds(names: Iterable[str]) -> frozenset[Kind]:
    """Return the kinds that events of record classes with these names can have."""
    return _ALWAYS | {meaning_of(*split_name(name)).kind for name in names}


def event_class(
    text: str,
    payload: Sequence[tuple[str, FieldClass]],
    context: Sequence[tuple[str, FieldClass]],
    *,
    timed: bool,
) -> EventClass:
    """Return the event class of records with this name, payload and context (name and class of each member)."""
    category, name = split_name(text)
    known = meaning_of(category, name)
    fields = [Field(item, held, known.roles.get(item, Role.NONE)) for item, held in payload]
    kind = _checked_kind(known, fields)
    if kind is Kind.TYPED:
        fields = [Field(field.name, field.type) for field in fields]
    fields += [Field(item, held, Role.CONTEXT) for item, held in context]
    return EventClass(kind, name, category, tuple(fields), timed=timed)


def shifted_priorities(text: str, delivered: EventClass) -> frozenset[int]:
    """Return the fields that hold a priority as LTTng's kernel tracer counts it, in a class of records with this name.

    It counts from the most urgent that is not real-time; ftrace (and so the IR) counts from the most urgent of all.
    """
    category, name = split_name(text)
    return frozenset() if category else priorities(delivered, name)


def _checked_kind(known: Meaning, fields: Sequence[Field]) -> Kind:
    """Return the kind if the class has the fields that it needs, and no role twice; otherwise TYPED."""
    roles = [field.role for field in fields if field.role is not Role.NONE]
    return checked_kind(known, fields) if len(set(roles)) == len(roles) else Kind.TYPED


#: Lost events, as the counters of packets have them; how many events lost packets had is unknown.
DISCARDED: Final = EventClass(
    Kind.DISCARDED, "discarded", fields=(Field("count", IntegerClass(64, True), Role.COUNT),)
)
DISCARDED_PACKETS: Final = EventClass(
    Kind.DISCARDED,
    "discarded_packets",
    fields=(
        Field("count", IntegerClass(64, True), Role.COUNT),
        Field("packets", IntegerClass(64)),
    ),
)

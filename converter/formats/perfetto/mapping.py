"""The mapping of Perfetto's records: track events, units, clocks, other packets. Kernel events: see `tracepoints`."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from typing import Final

from converter.formats.perfetto.layout import BuiltinClock, LegacyField, TaskState, TrackEventType
from converter.formats.perfetto.protobuf.descriptors import program_of
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, FlowBinding, Semantics, Unseen
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_LABEL
from converter.projection.domain.scheduling.thread_states import THREAD_STATES, ThreadState
from converter.projection.timeline_fields import (
    BIND_NAME,
    BINDS,
    CALLSTACK,
    CORRELATION_ID,
    CPU_MODE,
    DURATION,
    FLOW_IDS,
    FLOW_IN,
    FLOW_OUT,
    FRAMES,
    ID_NAMES,
    ID_SCOPE,
    MEMBERS,
    PHASE,
    SCOPE,
    TERMINATING_FLOW_IDS,
    THREAD_DURATION,
    THREAD_TIME,
    number_id,
    text_id,
    total,
)

#: What events mean, as viewers take them.
SEMANTICS: Final = Semantics(
    ends=EndMatching.NAME_OR_UNNAMED,
    flows=FlowBinding.NEXT_UNLESS_STATED,
    unseen=frozenset({Unseen.EMPTY_ARGUMENTS, Unseen.BYTES}),
    old_states=True,
    thread_time_counters=True,
)

# The timeline

NAME: Final = Field("name", StringClass(), Role.NAME)
#: What importers call slices and instants of JSON that have no name.
NO_NAME: Final = "[No name]"
#: A track event's categories, joined by commas.
CATEGORY: Final = Field("category", StringClass(), Role.CATEGORY)
ID: Final = number_id("id")

#: The field of a counter's value: integer (False) or floating-point (True).
COUNTER_VALUES: Final = {
    False: Field("value", IntegerClass(64, signed=True), Role.VALUE),
    True: Field("value", FloatClass(64), Role.VALUE),
}

#: A value that is JSON text, which importers parse.
JSON_VALUE: Final = BytesClass("application/json")


def _part(name: str, field_class: FieldClass) -> Field:
    """Return a field of a track event that is not an annotation; no annotation has its role."""
    return Field(name, field_class, Role.CONTEXT)


_I64 = IntegerClass(64, signed=True)
_U64 = IntegerClass(64)
#: Fields of LegacyEvent without a kind of their own, and ids that are not the event's.
LEGACY_PARTS: Final[dict[LegacyField, Field]] = {
    LegacyField.DURATION_US: _part("legacy_duration_us", _I64),
    LegacyField.UNSCOPED_ID: _part("legacy_unscoped_id", _U64),
    LegacyField.USE_ASYNC_TTS: _part("legacy_use_async_tts", BooleanClass()),
    LegacyField.LOCAL_ID: _part("legacy_local_id", _U64),
    LegacyField.GLOBAL_ID: _part("legacy_global_id", _U64),
    LegacyField.THREAD_INSTRUCTION_DELTA: _part("legacy_thread_instruction_delta", _I64),
}
#: Fields of LegacyEvent with an id, by the id's name: the first is the event's.
ID_FIELDS: Final = dict(
    zip(
        ID_NAMES,
        (LegacyField.UNSCOPED_ID, LegacyField.LOCAL_ID, LegacyField.GLOBAL_ID),
        strict=True,
    )
)
#: LegacyEvent.InstantEventScope.
INSTANT_SCOPES: Final = {"g": 1, "p": 2, "t": 3}
#: The field of the value of an event other than a counter: integer (False) or floating-point (True).
OTHER_VALUES: Final = {
    False: _part("counter_value", _I64),
    True: _part("double_counter_value", FloatClass(64)),
}
CORRELATION_NAME: Final = _part("correlation_id_str", StringClass())
CALLSTACK_WEIGHT: Final = _part("callstack_weight", FloatClass(64))
#: Fields of a TrackEvent that nothing above represents, as on the wire, including tags.
REMAINDER: Final = _part("track_event", BytesClass())

#: The optional fields of a track event, in their order between the fields of its kind and its annotations.
PARTS: Final[tuple[Field, ...]] = (
    PHASE,
    *(new_field(name) for name in ID_NAMES for new_field in (number_id, text_id)),
    THREAD_TIME,
    THREAD_DURATION,
    SCOPE,
    ID_SCOPE,
    number_id(BIND_NAME),
    text_id(BIND_NAME),
    FLOW_IN,
    FLOW_OUT,
    BINDS,
    MEMBERS,
    *LEGACY_PARTS.values(),
    *OTHER_VALUES.values(),
    FLOW_IDS,
    TERMINATING_FLOW_IDS,
    CORRELATION_ID,
    CORRELATION_NAME,
    CALLSTACK,
    CALLSTACK_WEIGHT,
    REMAINDER,
)
#: The optional fields of events other than complete slices: in JSON, any may have a duration, which nothing shows.
MOMENT_PARTS: Final = (DURATION, *PARTS)

#: Kinds of TrackEvent.type.
TYPE_KINDS: Final[dict[TrackEventType, Kind]] = {
    TrackEventType.SLICE_BEGIN: Kind.SLICE_BEGIN,
    TrackEventType.SLICE_END: Kind.SLICE_END,
    TrackEventType.INSTANT: Kind.INSTANT,
    TrackEventType.COUNTER: Kind.COUNTER,
    TrackEventType.STATE: Kind.STATE,
}

#: Kinds of LegacyEvent.phase, the phases of Chrome's JSON. The writer uses the first phase of a kind; events with
#: others keep theirs in the field "phase".
PHASE_KINDS: Final[dict[str, Kind]] = {
    "B": Kind.SLICE_BEGIN,
    "E": Kind.SLICE_END,
    "X": Kind.SLICE_COMPLETE,
    "i": Kind.INSTANT,
    "I": Kind.INSTANT,
    "R": Kind.INSTANT,
    "b": Kind.ASYNC_BEGIN,
    "n": Kind.ASYNC_INSTANT,
    "e": Kind.ASYNC_END,
    "S": Kind.ASYNC_BEGIN,
    "T": Kind.ASYNC_INSTANT,
    "p": Kind.ASYNC_INSTANT,
    "F": Kind.ASYNC_END,
    "s": Kind.FLOW_BEGIN,
    "t": Kind.FLOW_STEP,
    "f": Kind.FLOW_END,
    "N": Kind.OBJECT_NEW,
    "O": Kind.OBJECT_SNAPSHOT,
    "D": Kind.OBJECT_DELETE,
}

#: Kinds whose native encoding is a LegacyEvent with an id.
ID_KINDS: Final = frozenset(
    {
        Kind.ASYNC_BEGIN,
        Kind.ASYNC_INSTANT,
        Kind.ASYNC_END,
        Kind.FLOW_BEGIN,
        Kind.FLOW_STEP,
        Kind.FLOW_END,
        Kind.OBJECT_NEW,
        Kind.OBJECT_SNAPSHOT,
        Kind.OBJECT_DELETE,
    }
)


def leading_fields(kind: Kind) -> tuple[Field, ...]:
    """Return the fields of every track event of a kind, which precede its arguments."""
    if kind in ID_KINDS:
        return (NAME, CATEGORY, ID)
    if kind is Kind.SLICE_COMPLETE:
        return (NAME, CATEGORY, DURATION)
    return (NAME, CATEGORY)


def default_phase(kind: Kind) -> str:
    """Return the phase of an event of the kind that has no field with another one."""
    return next((phase for phase, one in PHASE_KINDS.items() if one is kind), "")


#: Counter units (counter_descriptor.proto, Unit) as the unit of a track; a unit_name is used unchanged.
UNITS: Final[dict[int, str]] = {1: "ns", 2: "count", 3: "bytes"}


def derived_uuid(name: bytes, scope: int, owner: tuple[int, ...], parent: int, unit: str) -> int:
    """Return the uuid that the writer gives to a track without an identity; the reader recognises and drops it.

    `owner` identifies the thread (pid, tid), the process (pid,) or the CPU; `parent` is the parent track's uuid.
    """
    key = repr((name, scope, owner, parent, unit)).encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little") | 1 << 63


# Clocks

#: Names of clocks, by their ids.
CLOCK_NAMES: Final[dict[int, str]] = {clock: clock.name.lower() for clock in BuiltinClock}

# Other records

#: A packet that no kind represents: its data's field number, and all its bytes.
NATIVE_PACKET: Final = EventClass(
    Kind.NATIVE,
    fields=(
        Field("field", IntegerClass(32), Role.TYPE),
        Field("packet", BytesClass(), Role.PAYLOAD),
    ),
)
#: The category of classes of such packets, which are named after the field of their data.
PACKETS: Final = "TracePacket"

#: An entry of AndroidLogPacket, by fields of AndroidLogPacket.LogEvent.
LOG_ROLES: Final = {
    "message": Role.MESSAGE,
    "tag": Role.CATEGORY,
    "prio": Role.PRIORITY,
    "log_id": Role.TYPE,
    "uid": Role.ID,
}


@cache
def log_fields() -> tuple[Field, ...]:
    """Return the fields of the event of a log entry."""
    declared = {item.name: item for item in program_of("AndroidLogPacket.LogEvent")}
    return tuple(Field(name, declared[name].field_class, role) for name, role in LOG_ROLES.items())


#: lost_events of a bundle, which has no field for their number; this package's writer adds one.
LOST_EVENTS: Final = EventClass(Kind.DISCARDED)
COUNTED_LOST_EVENTS: Final = EventClass(
    Kind.DISCARDED,
    "discarded",
    fields=(Field("count", IntegerClass(64, signed=True), Role.COUNT),),
)

_TASK: Final = IntegerClass(64, signed=True, labels=(UNKNOWN_LABEL,))
#: A switch of a kernel other than Linux, or one that names only one task: a GenericKernelTaskStateEvent for each task;
#: its class may also have the state.
SWITCH: Final = EventClass(
    Kind.SCHED_SWITCH,
    "switch",
    "generic_kernel",
    (
        Field("prev_tid", _TASK, Role.PREV_TID),
        Field("prev_comm", StringClass(), Role.PREV_COMM),
        Field("prev_prio", IntegerClass(32, signed=True), Role.PREV_PRIORITY),
        Field("next_tid", _TASK, Role.NEXT_TID),
        Field("next_comm", StringClass(), Role.NEXT_COMM),
        Field("next_prio", IntegerClass(32, signed=True), Role.NEXT_PRIORITY),
    ),
)
SWITCH_STATE: Final = Field("prev_state", THREAD_STATES, Role.PREV_STATE)
SWITCH_WITH_STATE: Final = replace(SWITCH, fields=(*SWITCH.fields, SWITCH_STATE))
#: The GenericKernelTaskStateEvent state of each of `THREAD_STATES`.
TASK_STATES: Final[dict[ThreadState, TaskState]] = {
    ThreadState.NEW: TaskState.RUNNABLE,
    ThreadState.RUNNING: TaskState.RUNNABLE,
    ThreadState.SUSPENDED: TaskState.STOPPED,
    ThreadState.BLOCKED: TaskState.INTERRUPTIBLE_SLEEP,
    ThreadState.DYING: TaskState.DEAD,
    ThreadState.DEAD: TaskState.DESTROYED,
}

#: The fields of the event of a PerfSample whose counter has no unit.
SAMPLE_FIELDS: Final = (FRAMES, CPU_MODE, total(""))
#: A PerfSample's field that few have, after these: why its call stack ends early (Profiling.StackUnwindError).
UNWIND_ERROR: Final = Field("unwind_error", IntegerClass(32, signed=True))
#: Names of counters (PerfEvents.Counter), as perf and importers spell them.
COUNTER_NAMES: Final = {
    1: "cpu-clock",
    2: "page-faults",
    3: "task-clock",
    4: "context-switches",
    5: "cpu-migrations",
    6: "minor-faults",
    7: "major-faults",
    8: "alignment-faults",
    9: "emulation-faults",
    20: "dummy",
    10: "cpu-cycles",
    11: "instructions",
    12: "cache-references",
    13: "cache-misses",
    14: "branch-instructions",
    15: "branch-misses",
    16: "bus-cycles",
    17: "stalled-cycles-frontend",
    18: "stalled-cycles-backend",
    19: "ref-cycles",
}


def sample_fields(unit: str) -> tuple[Field, ...]:
    """Return the fields of the event of a PerfSample whose counter has a unit."""
    return (FRAMES, CPU_MODE, total(unit))


def is_perf_sample(fields: tuple[Field, ...]) -> bool:
    """Return True if a PerfSample has these fields, and no others."""
    unit = fields[2].unit if len(fields) > 2 else ""
    return fields in (sample_fields(unit), (*sample_fields(unit), UNWIND_ERROR))


#: Kinds that are track events.
TRACK_KINDS: Final = frozenset({*TYPE_KINDS.values(), *ID_KINDS, Kind.SLICE_COMPLETE})


def is_record(event_class: EventClass) -> bool:
    """Return True if events of a class are separate packets, neither kernel events nor track events."""
    if event_class.kind is Kind.SCHED_SWITCH:
        point = (SWITCH.category, SWITCH.name)
        return (event_class.category, event_class.name) == point
    return event_class.kind in (Kind.LOG, Kind.SAMPLE)


def is_of_thread_states(event_class: EventClass) -> bool:
    """Return True if the events of a class are states with a duration."""
    return event_class.kind is Kind.STATE and event_class.index_of(Role.DURATION) is not None

"""The meaning of FXT's records: each kind of record as an event class, in both directions.

A record of a `Shape` is an event of the shape's kind with the shape's fields, in their order, then one field for each
argument. The reader delivers exactly these, the writer writes exactly these, and `capabilities` declares them to the
projection.
"""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum, unique
from fractions import Fraction
from typing import Final, NamedTuple

from converter.formats.fxt.record_types import (
    ArgumentType,
    EventType,
    LargeBlobFormat,
    ProfilerType,
    RecordType,
    SchedulingType,
)
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, FlowMatching, Semantics, Unseen
from converter.projection.domain.scheduling.sched_conventions import argument_role
from converter.projection.domain.scheduling.thread_states import THREAD_STATES

#: What events mean, as viewers take them.
SEMANTICS: Final = Semantics(
    ends=EndMatching.INNERMOST,
    flow_matching=FlowMatching.ID,
    unseen=frozenset(
        {
            *(Unseen.COUNTER_THREADS, Unseen.COUNTER_ARGUMENTS, Unseen.SCHED_ARGUMENTS),
            *(Unseen.DATES, Unseen.SAMPLES),
        }
    ),
)


def is_exact_rate(rate: Fraction | int) -> bool:
    """Return True if Perfetto's importer computes exact nanoseconds.

    It multiplies the upper and the lower half of a time by (10^9 << 32) / rate, rounded down.
    """
    return rate.denominator == 1 and (10**9 << 32) % max(rate.numerator, 1) == 0


#: The provider of files that were converted from other formats.
PROVIDER_ID: Final = 1
PROVIDER_NAME: Final = b"traceconv"

#: The highest CPU number that is written: Perfetto's importer aborts at higher ones, including 0xFFFF for no CPU.
MAX_CPU: Final = 4095

#: Threads of slots that were never registered have ids from here on: the number of their provider, and the slot in the
#: lowest 8 bits.
UNREGISTERED: Final = 0xFFFF_FFFF_0000_0000

#: Arguments of types that the specification does not have: the header's upper half (little-endian), then what follows
#: the name. The type follows the "=".
UNKNOWN_ARGUMENT: Final = "application/x-fxt-argument; type="

#: The field for words after the declared end of a record.
EXTENSION: Final = Field("extension", BytesClass("application/x-fxt-words"))


@unique
class Codec(IntEnum):
    """The encoding of a field's value in a scan's value words, and in the columns of `emit`."""

    NULL = 0
    STRING = 1  # an ID, or the span of a text
    BYTES = 2  # a span
    U8 = 3
    U16 = 4
    U32 = 5
    I32 = 6
    U64 = 7
    I64 = 8
    F64 = 9
    BOOLEAN = 10
    FRAMES = 11  # a span of words
    PAYLOAD = 12  # an offset and a length: two words
    UNKNOWN = 13  # the offset of an argument


class Shape(NamedTuple):
    """A record as an event: `code` is record type << 4 | subtype, as the kernels number shapes."""

    code: int
    kind: Kind
    fields: tuple[tuple[Field, Codec], ...]
    arguments: bool = False
    thread: bool = True
    cpu: bool = False
    timed: bool = True
    #: Events of another format without these fields are lowered instead.
    required: frozenset[int] = frozenset()


_NAME = (Field("name", StringClass(), Role.NAME), Codec.STRING)
_CATEGORY = (Field("category", StringClass(), Role.CATEGORY), Codec.STRING)
_ID = (Field("id", IntegerClass(64, False, Style.HEXADECIMAL), Role.ID), Codec.U64)
_DURATION = (Field("duration", IntegerClass(64, True), Role.DURATION), Codec.I64)
_PAYLOAD = (Field("payload", BytesClass(), Role.PAYLOAD), Codec.PAYLOAD)
_U8 = IntegerClass(8)
_U64 = IntegerClass(64)
_KOID = IntegerClass(64, False, Style.OBJECT_ID)
_POINTER = IntegerClass(64, False, Style.POINTER)
_STATES = replace(THREAD_STATES, bits=4)

_EVENTS = {
    EventType.INSTANT: (Kind.INSTANT, None),
    EventType.COUNTER: (Kind.COUNTER, _ID),
    EventType.DURATION_BEGIN: (Kind.SLICE_BEGIN, None),
    EventType.DURATION_END: (Kind.SLICE_END, None),
    EventType.DURATION_COMPLETE: (Kind.SLICE_COMPLETE, _DURATION),
    EventType.ASYNC_BEGIN: (Kind.ASYNC_BEGIN, _ID),
    EventType.ASYNC_INSTANT: (Kind.ASYNC_INSTANT, _ID),
    EventType.ASYNC_END: (Kind.ASYNC_END, _ID),
    EventType.FLOW_BEGIN: (Kind.FLOW_BEGIN, _ID),
    EventType.FLOW_STEP: (Kind.FLOW_STEP, _ID),
    EventType.FLOW_END: (Kind.FLOW_END, _ID),
}


def _event_shape(event_type: EventType) -> Shape:
    kind, tail = _EVENTS[event_type]
    fields = (_NAME, _CATEGORY) if tail is None else (_NAME, _CATEGORY, tail)
    required = frozenset() if tail is None or kind is Kind.COUNTER else frozenset({tail[0].role})
    code = RecordType.EVENT << 4 | event_type
    return Shape(code, kind, fields, arguments=True, required=required)


_SWITCH = (
    (Field("prev_tid", _U64, Role.PREV_TID), Codec.U64),
    (Field("next_tid", _U64, Role.NEXT_TID), Codec.U64),
    (Field("prev_state", _STATES, Role.PREV_STATE), Codec.U8),
)
_LEGACY_SWITCH = (
    *_SWITCH,
    (Field("prev_pid", _U64, Role.PREV_PID), Codec.U64),
    (Field("next_pid", _U64, Role.NEXT_PID), Codec.U64),
    (Field("prev_priority", _U8, Role.PREV_PRIORITY), Codec.U8),
    (Field("next_priority", _U8, Role.NEXT_PRIORITY), Codec.U8),
)

DISCARDED: Final = Shape(
    0x03,
    Kind.DISCARDED,
    ((Field("provider", IntegerClass(32), Role.ID), Codec.U32),),
    thread=False,
    timed=False,
    required=frozenset({Role.ID}),
)
BLOB: Final = Shape(
    RecordType.BLOB << 4,
    Kind.BLOB,
    (_NAME, (Field("type", _U8, Role.TYPE), Codec.U8), _PAYLOAD),
    thread=False,
    timed=False,
    required=frozenset({Role.PAYLOAD}),
)
USERSPACE_OBJECT: Final = Shape(
    RecordType.USERSPACE_OBJECT << 4,
    Kind.OBJECT_INFO,
    (
        (Field("pointer", _POINTER, Role.ADDRESS), Codec.U64),
        _NAME,
        (Field("process", _KOID, Role.PID), Codec.U64),
    ),
    arguments=True,
    thread=False,
    timed=False,
    required=frozenset({Role.ADDRESS}),
)
KERNEL_OBJECT: Final = Shape(
    RecordType.KERNEL_OBJECT << 4,
    Kind.OBJECT_INFO,
    (
        (Field("type", _U8, Role.TYPE), Codec.U8),
        (Field("koid", _KOID, Role.ID), Codec.U64),
        _NAME,
    ),
    arguments=True,
    thread=False,
    timed=False,
)
LEGACY_SWITCH: Final = Shape(
    RecordType.SCHEDULING << 4 | SchedulingType.LEGACY_CONTEXT_SWITCH,
    Kind.SCHED_SWITCH,
    _LEGACY_SWITCH,
    thread=False,
    cpu=True,
)
SWITCH: Final = Shape(
    RecordType.SCHEDULING << 4 | SchedulingType.CONTEXT_SWITCH,
    Kind.SCHED_SWITCH,
    _SWITCH,
    arguments=True,
    thread=False,
    cpu=True,
    required=frozenset({Role.PREV_TID, Role.NEXT_TID}),
)
WAKEUP: Final = Shape(
    RecordType.SCHEDULING << 4 | SchedulingType.THREAD_WAKEUP,
    Kind.SCHED_WAKEUP,
    ((Field("tid", _U64, Role.TID), Codec.U64),),
    arguments=True,
    thread=False,
    cpu=True,
    required=frozenset({Role.TID}),
)
LOG: Final = Shape(
    RecordType.LOG << 4,
    Kind.LOG,
    ((Field("message", StringClass(), Role.MESSAGE), Codec.STRING),),
    required=frozenset({Role.MESSAGE}),
)
MODULE: Final = Shape(
    RecordType.PROFILER << 4 | ProfilerType.MODULE,
    Kind.MODULE,
    (
        (Field("module_id", IntegerClass(16), Role.ID), Codec.U16),
        _NAME,
        (Field("build_id", BytesClass(), Role.BUILD_ID), Codec.BYTES),
    ),
    required=frozenset({Role.ID}),
)
MAPPING: Final = Shape(
    RecordType.PROFILER << 4 | ProfilerType.MMAP,
    Kind.MAPPING,
    (
        (Field("module_id", IntegerClass(16), Role.ID), Codec.U16),
        (Field("flags", IntegerClass(3), Role.TYPE), Codec.U8),
        (Field("start", _POINTER, Role.ADDRESS), Codec.U64),
        (Field("range", _U64, Role.SIZE), Codec.U64),
        # It has no role of its own, so that the projection of other formats does not take it for the address.
        (Field("vaddr", _POINTER, Role.VALUE), Codec.U64),
    ),
    required=frozenset({Role.ID, Role.ADDRESS}),
)
SAMPLE: Final = Shape(
    RecordType.PROFILER << 4 | ProfilerType.BACKTRACE,
    Kind.SAMPLE,
    ((Field("frames", ArrayClass(_POINTER), Role.FRAMES), Codec.FRAMES),),
    required=frozenset({Role.FRAMES}),
)
LARGE_TIMED: Final = Shape(
    RecordType.LARGE << 4 | LargeBlobFormat.WITH_METADATA,
    Kind.BLOB,
    (_NAME, _CATEGORY, _PAYLOAD),
    arguments=True,
    required=frozenset({Role.PAYLOAD}),
)
LARGE: Final = Shape(
    RecordType.LARGE << 4 | LargeBlobFormat.NO_METADATA,
    Kind.BLOB,
    (_NAME, _CATEGORY, _PAYLOAD),
    thread=False,
    timed=False,
)
NATIVE: Final = Shape(
    0x100,
    Kind.NATIVE,
    ((Field("type", _U8, Role.TYPE), Codec.U8), _PAYLOAD),
    thread=False,
    timed=False,
    required=frozenset({Role.TYPE, Role.PAYLOAD}),
)
#: Added to a shape's code if the record extends beyond its declared end.
EXTENDED: Final = 0x1000

SHAPES: Final = {
    shape.code: shape
    for shape in (
        *(_event_shape(event_type) for event_type in EventType),
        DISCARDED,
        BLOB,
        USERSPACE_OBJECT,
        KERNEL_OBJECT,
        LEGACY_SWITCH,
        SWITCH,
        WAKEUP,
        LOG,
        MODULE,
        MAPPING,
        SAMPLE,
        LARGE_TIMED,
        LARGE,
        NATIVE,
    )
}

#: The shapes of each kind, longest first: an event class must start with a shape's fields.
_BY_KIND: Final = {
    kind: sorted(
        (shape for shape in SHAPES.values() if shape.kind is kind),
        key=lambda shape: (-len(shape.fields), not shape.timed),
    )
    for kind in {shape.kind for shape in SHAPES.values()}
}

_ARGUMENTS: Final[dict[ArgumentType, tuple[FieldClass, Codec]]] = {
    ArgumentType.NULL: (NullClass(), Codec.NULL),
    ArgumentType.INT32: (IntegerClass(32, True), Codec.I32),
    ArgumentType.UINT32: (IntegerClass(32), Codec.U32),
    ArgumentType.INT64: (IntegerClass(64, True), Codec.I64),
    ArgumentType.UINT64: (IntegerClass(64), Codec.U64),
    ArgumentType.DOUBLE: (FloatClass(64), Codec.F64),
    ArgumentType.STRING: (StringClass(), Codec.STRING),
    ArgumentType.POINTER: (_POINTER, Codec.U64),
    ArgumentType.KOID: (_KOID, Codec.U64),
    ArgumentType.BOOLEAN: (BooleanClass(), Codec.BOOLEAN),
    ArgumentType.BLOB: (BytesClass(), Codec.BYTES),
}
_ARGUMENT_TYPES: Final = {held: kind for kind, (held, _) in _ARGUMENTS.items()}


SCHEDULING: Final = frozenset({Kind.SCHED_SWITCH, Kind.SCHED_WAKEUP})


def argument_field(kind: Kind, argument_type: int, name: str) -> tuple[Field, Codec]:
    """Return the field for an argument of an event of `kind`; numbers of counters are their values."""
    if argument_type not in _ARGUMENTS:
        unknown = BytesClass(f"{UNKNOWN_ARGUMENT}{argument_type}")
        return Field(name, unknown), Codec.UNKNOWN
    held, codec = _ARGUMENTS[ArgumentType(argument_type)]
    field = Field(name, held)
    if kind is Kind.COUNTER and isinstance(held, IntegerClass | FloatClass):
        field = replace(field, role=Role.VALUE)
    elif kind in SCHEDULING:
        field = replace(field, role=argument_role(field))
    return field, codec


def argument_type(field: Field) -> tuple[int, Codec] | None:
    """Return the argument type for a field, or None if there is none."""
    held = field.type
    if isinstance(held, BytesClass):
        if held.media_type.startswith(UNKNOWN_ARGUMENT):
            return int(held.media_type.removeprefix(UNKNOWN_ARGUMENT)), Codec.UNKNOWN
        held = BytesClass()
    if isinstance(held, IntegerClass) and held.labels:
        held = replace(held, labels=(), flags=False)
    found = _ARGUMENT_TYPES.get(held)
    return None if found is None else (found, _ARGUMENTS[found][1])


def shape_of(event_class: EventClass) -> Shape | None:
    """Return the shape whose fields a class starts with, or None if FXT has no such record."""
    for shape in _BY_KIND.get(event_class.kind, ()):
        declared = tuple(field for field, _ in shape.fields)
        fits = event_class.fields[: len(declared)] == declared
        if fits and event_class.timed == shape.timed:
            return shape
    return None

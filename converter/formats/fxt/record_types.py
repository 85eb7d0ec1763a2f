"""The numbers of FXT: types and limits, in the specification's spelling ("Fuchsia trace format")."""

from __future__ import annotations

from enum import IntEnum, unique
from typing import Final, Literal

ByteOrder = Literal["little", "big"]

#: The first record of a file, little-endian; reversed in a big-endian one ("Magic number record").
MAGIC: Final = bytes.fromhex("1000044678541600")
#: A record has at most 4095 words.
MAX_RECORD_BYTES: Final = 32_760
MAX_STRING_BYTES: Final = 32_000
MAX_ARGUMENTS: Final = 15
#: Lengths of names, build IDs and stacks in profiler records have 8 bits.
MAX_PROFILER_LENGTH: Final = 255
INLINE: Final = 0x8000


@unique
class RecordType(IntEnum):
    """Bits 0..3 of a record's header ("Record Types")."""

    METADATA = 0
    INITIALIZATION = 1
    STRING = 2
    THREAD = 3
    EVENT = 4
    BLOB = 5
    USERSPACE_OBJECT = 6
    KERNEL_OBJECT = 7
    SCHEDULING = 8
    LOG = 9
    PROFILER = 10
    LARGE = 15


@unique
class MetadataType(IntEnum):
    """Bits 16..19 of a metadata record."""

    PROVIDER_INFO = 1
    PROVIDER_SECTION = 2
    PROVIDER_EVENT = 3
    TRACE_INFO = 4


@unique
class EventType(IntEnum):
    """Bits 16..19 of an event record."""

    INSTANT = 0
    COUNTER = 1
    DURATION_BEGIN = 2
    DURATION_END = 3
    DURATION_COMPLETE = 4
    ASYNC_BEGIN = 5
    ASYNC_INSTANT = 6
    ASYNC_END = 7
    FLOW_BEGIN = 8
    FLOW_STEP = 9
    FLOW_END = 10


@unique
class SchedulingType(IntEnum):
    """Bits 60..63 of a scheduling record."""

    LEGACY_CONTEXT_SWITCH = 0
    CONTEXT_SWITCH = 1
    THREAD_WAKEUP = 2


@unique
class ProfilerType(IntEnum):
    """Bits 16..19 of a profiler record."""

    MODULE = 0
    MMAP = 1
    BACKTRACE = 2


@unique
class LargeBlobFormat(IntEnum):
    """Bits 40..43 of a large BLOB record."""

    WITH_METADATA = 0
    NO_METADATA = 1


@unique
class ArgumentType(IntEnum):
    """Bits 0..3 of an argument's header ("Argument types")."""

    NULL = 0
    INT32 = 1
    UINT32 = 2
    INT64 = 3
    UINT64 = 4
    DOUBLE = 5
    STRING = 6
    POINTER = 7
    KOID = 8
    BOOLEAN = 9
    BLOB = 10

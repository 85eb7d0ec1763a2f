"""The records of cmd_report_sample.proto, by the numbers of their fields.

A file is the magic, a version of 16 bits, and records: a size of 32 bits, and a message `Record` of that size. Size 0
ends the file. Numbers are little-endian.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, BooleanClass, BytesClass, IntegerClass
from converter.ir.kinds import Kind, Role

MAGIC: Final = b"SIMPLEPERF"
VERSION: Final = 1
HEADER: Final = MAGIC + VERSION.to_bytes(2, "little")
END: Final = bytes(4)


class RecordField(IntEnum):
    """Fields of Record, of which it has one. The last are ours: other readers skip fields that they do not know."""

    SAMPLE = 1
    LOST = 2
    FILE = 3
    THREAD = 4
    META_INFO = 5
    CONTEXT_SWITCH = 6
    EMBEDDED = 2000
    SIDE_TABLE = 2001


class SampleField(IntEnum):
    """Fields of Sample; the call chain is innermost first."""

    TIME = 1
    THREAD_ID = 2
    CALLCHAIN = 3
    EVENT_COUNT = 4
    EVENT_TYPE_ID = 5
    UNWINDING_RESULT = 6


class EntryField(IntEnum):
    """Fields of CallChainEntry; a symbol of -1 is unknown."""

    VADDR_IN_FILE = 1
    FILE_ID = 2
    SYMBOL_ID = 3
    EXECUTION_TYPE = 4


class LostField(IntEnum):
    """Fields of LostSituation."""

    SAMPLE_COUNT = 1
    LOST_COUNT = 2


class FileField(IntEnum):
    """Fields of File; symbols are known by their index."""

    ID = 1
    PATH = 2
    SYMBOL = 3
    MANGLED_SYMBOL = 4


class ThreadField(IntEnum):
    """Fields of Thread."""

    THREAD_ID = 1
    PROCESS_ID = 2
    THREAD_NAME = 3


class MetaField(IntEnum):
    """Fields of MetaInfo."""

    EVENT_TYPE = 1
    APP_PACKAGE_NAME = 2
    APP_TYPE = 3
    ANDROID_SDK_VERSION = 4
    ANDROID_BUILD_TYPE = 5
    TRACE_OFFCPU = 6


class SwitchField(IntEnum):
    """Fields of ContextSwitch."""

    SWITCH_ON = 1
    TIME = 2
    THREAD_ID = 3


#: The texts of MetaInfo, which have the same names in the environment.
META_TEXTS: Final = (
    MetaField.APP_PACKAGE_NAME,
    MetaField.APP_TYPE,
    MetaField.ANDROID_SDK_VERSION,
    MetaField.ANDROID_BUILD_TYPE,
)
#: Names in the environment: 1 if the recording has samples of when threads left their CPU, and lost samples.
OFF_CPU: Final = "trace_offcpu"
LOST_SAMPLES: Final = "lost_samples"

#: How each frame ran: 0 native code, 1 interpreted, 2 compiled by the JIT compiler, 3 in ART itself.
EXECUTION_TYPES: Final = Field("execution_types", ArrayClass(IntegerClass(32, signed=True)))
#: The message about how the stack was unwound, as it is.
UNWINDING: Final = Field("unwinding_result", BytesClass())
SWITCH: Final = EventClass(
    Kind.TYPED, "context_switch", fields=(Field("switch_on", BooleanClass()),)
)
#: A record of a later version.
OTHER: Final = EventClass(
    Kind.NATIVE, "record", fields=(Field("record", BytesClass(), Role.PAYLOAD),), timed=False
)
_CLOCKS: Final = frozenset({"cpu-clock", "task-clock"})


def unit_of_event(name: str) -> str:
    """Return the unit of the weights of an event: those of clocks are nanoseconds, whatever the modifiers after it."""
    return "ns" if name.partition(":")[0] in _CLOCKS else ""

"""The messages of profile.proto, by the numbers of their fields."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class ProfileField(IntEnum):
    """Fields of Profile. The last is ours: other readers skip fields that they do not know."""

    SAMPLE_TYPE = 1
    SAMPLE = 2
    MAPPING = 3
    LOCATION = 4
    FUNCTION = 5
    STRING_TABLE = 6
    DROP_FRAMES = 7
    KEEP_FRAMES = 8
    TIME_NANOS = 9
    DURATION_NANOS = 10
    PERIOD_TYPE = 11
    PERIOD = 12
    COMMENT = 13
    DEFAULT_SAMPLE_TYPE = 14
    DOC_URL = 15
    EMBEDDED = 2000


class ValueTypeField(IntEnum):
    """Fields of ValueType; both are indexes into the string table."""

    TYPE = 1
    UNIT = 2


class SampleField(IntEnum):
    """Fields of Sample."""

    LOCATION_ID = 1
    VALUE = 2
    LABEL = 3


class LabelField(IntEnum):
    """Fields of Label: a text or a number with a unit."""

    KEY = 1
    STR = 2
    NUM = 3
    NUM_UNIT = 4


class MappingField(IntEnum):
    """Fields of Mapping."""

    ID = 1
    MEMORY_START = 2
    MEMORY_LIMIT = 3
    FILE_OFFSET = 4
    FILENAME = 5
    BUILD_ID = 6
    HAS_FUNCTIONS = 7
    HAS_FILENAMES = 8
    HAS_LINE_NUMBERS = 9
    HAS_INLINE_FRAMES = 10


class LocationField(IntEnum):
    """Fields of Location; its lines are innermost first."""

    ID = 1
    MAPPING_ID = 2
    ADDRESS = 3
    LINE = 4
    IS_FOLDED = 5


class LineField(IntEnum):
    """Fields of Line."""

    FUNCTION_ID = 1
    LINE = 2
    COLUMN = 3


class FunctionField(IntEnum):
    """Fields of Function."""

    ID = 1
    NAME = 2
    SYSTEM_NAME = 3
    FILENAME = 4
    START_LINE = 5


#: Wire types.
VARINT: Final = 0
BYTES: Final = 2
#: The wire type of each field of Profile. Numbers that repeat may be packed.
WIRES: Final = {
    **dict.fromkeys(ProfileField, BYTES),
    **dict.fromkeys(
        (
            ProfileField.DROP_FRAMES,
            ProfileField.KEEP_FRAMES,
            ProfileField.TIME_NANOS,
            ProfileField.DURATION_NANOS,
            ProfileField.PERIOD,
            ProfileField.COMMENT,
            ProfileField.DEFAULT_SAMPLE_TYPE,
            ProfileField.DOC_URL,
        ),
        VARINT,
    ),
}
#: The labels with the numbers and names of a sample's process and thread, as perf_to_profile writes them.
PID: Final = b"pid"
TID: Final = b"tid"
PROCESS_NAME: Final = b"comm"
THREAD_NAME: Final = b"thread_comm"

"""The parts of an ftrace recording that are the same wherever it is stored: texts of the kernel, compressed data.

The texts are files of tracefs and of /proc as trace-cmd.dat.v7(5) packs them.
"""

from __future__ import annotations

from enum import IntEnum, unique
from functools import cache
from typing import Any

from converter.errors import TraceError, TruncatedError
from converter.formats import structures

#: The flag of a section whose data is compressed.
COMPRESSED = 1


@unique
class SectionId(IntEnum):
    """Sections of version 7. A section has the number of the option that leads to it."""

    OPTIONS = 0
    BUFFER = 3
    STRINGS = 15
    HEADER_INFO = 16
    FTRACE_EVENTS = 17
    EVENT_FORMATS = 18
    KALLSYMS = 19
    PRINTK = 20
    CMDLINES = 21
    BUFFER_TEXT = 22
    BTF_FILE = 23
    MODULES_FILE = 25


class RecordingLayouts:
    """The structures in the recording's byte order. See `recording_layouts`.

    Args:
        c: the module that provides the declarations: `structures`, or the library construct.
        big_endian: the byte order.

    """

    def __init__(self, c: Any, *, big_endian: bool) -> None:
        u32 = c.Int32ub if big_endian else c.Int32ul
        u64 = c.Int64ub if big_endian else c.Int64ul
        self.u32 = u32
        self.u64 = u64
        #: Before compressed data, of a section and of each chunk of a CPU's data.
        self.compressed_header = c.Struct("compressed_size" / u32, "uncompressed_size" / u32)
        #: Section HEADER_INFO, and the first part of version 6.
        self.header_info = c.Struct(
            c.Const(b"header_page\0"),
            "page" / c.Prefixed(u64, c.GreedyBytes),
            c.Const(b"header_event\0"),
            "event" / c.Prefixed(u64, c.GreedyBytes),
        )
        #: Sections KALLSYMS and PRINTK.
        self.short_text = c.Prefixed(u32, c.GreedyBytes)
        #: Section CMDLINES.
        self.long_text = c.Prefixed(u64, c.GreedyBytes)


@cache
def recording_layouts(big_endian: bool) -> RecordingLayouts:
    """Return the structures of recordings in one byte order."""
    return RecordingLayouts(structures, big_endian=big_endian)


def parse(structure: Any, data: bytes, offset: int, field: str) -> Any:
    """Parse `data` as `structure`; TraceError at `offset`, naming `field`, if it does not match."""
    try:
        return structure.parse(data)
    except structures.StreamError as error:
        raise TruncatedError(offset=offset, field=field, expected="more data") from error
    except structures.StructureError as error:
        raise TraceError(str(error), offset=offset, field=field) from error

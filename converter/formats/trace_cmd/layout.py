"""The layout of a trace.dat file, with the terms of trace-cmd.dat.v7(5) and trace-cmd.dat.v6(5).

Structures are declared once for both byte orders. Comments note where real files differ from the manual pages.
"""

from __future__ import annotations

from enum import IntEnum, unique
from functools import cache
from typing import Any

from converter.formats import structures
from converter.formats.ftrace.layout import RecordingLayouts, SectionId

MAGIC = b"\x17\x08\x44tracing"

#: In version 7.
SECTION_HEADER_SIZE = 16


@unique
class OptionId(IntEnum):
    """Options (TRACECMD_OPTION_*). Those from HEADER_INFO to CMDLINES, BTF_FILE and MODULES_FILE lead to sections."""

    DONE = 0
    DATE = 1
    CPUSTAT = 2
    BUFFER = 3
    TRACECLOCK = 4
    UNAME = 5
    HOOK = 6
    OFFSET = 7
    CPUCOUNT = 8
    VERSION = 9
    PROCMAPS = 10
    TRACEID = 11
    TIME_SHIFT = 12
    GUEST = 13
    TSC2NSEC = 14
    STRINGS = 15
    HEADER_INFO = 16
    FTRACE_EVENTS = 17
    EVENT_FORMATS = 18
    KALLSYMS = 19
    PRINTK = 20
    CMDLINES = 21
    BUFFER_TEXT = 22
    BTF_FILE = 23
    LAST_BOOT_INFO = 24
    MODULES_FILE = 25


#: Sections that hold events and are read in parts.
BUFFER_SECTIONS = frozenset({SectionId.BUFFER, SectionId.BUFFER_TEXT})

#: Interpolate between the samples of a TIME_SHIFT option (its flags).
TIME_SHIFT_INTERPOLATE = 1

#: In version 6 these introduce the parts that follow the metadata.
OPTIONS_MARK = b"options  \0"
LATENCY_MARK = b"latency  \0"
FLYRECORD_MARK = b"flyrecord\0"
MARK_SIZE = 10


def header_start(c: Any) -> Any:
    """Return the start of a file, which does not depend on the byte order; `c` as for `Layouts`."""
    return c.Struct(
        "magic" / c.Const(MAGIC),
        "version" / c.CString("ascii"),
        "big_endian" / c.Byte,
        "long_size" / c.Byte,
    )


HEADER_START = header_start(structures)


class Layouts(RecordingLayouts):
    """The structures in the file's byte order. See `layouts`.

    Args:
        c: the module that provides the declarations: `structures`, or the library construct.
        big_endian: the byte order.

    """

    def __init__(self, c: Any, *, big_endian: bool) -> None:
        u16 = c.Int16ub if big_endian else c.Int16ul
        u32 = c.Int32ub if big_endian else c.Int32ul
        u64 = c.Int64ub if big_endian else c.Int64ul
        s64 = c.Int64sb if big_endian else c.Int64sl
        super().__init__(c, big_endian=big_endian)
        text = c.NullTerminated(c.GreedyBytes)

        #: After `HEADER_START`; in version 6 the page size alone.
        self.page_size = u32
        self.header_end = c.Struct(
            "page_size" / u32,
            "compression" / text,
            "compression_version" / text,
            "options_offset" / u64,
        )
        #: `string_id` is an offset into the STRINGS sections, 0xffffffff for none; `size` is that after the header.
        self.section_header = c.Struct("id" / u16, "flags" / u16, "string_id" / u32, "size" / u64)
        self.option_header = c.Struct("id" / u16, "size" / u32)
        #: Option BUFFER. CPUs without data are omitted; the order is arbitrary. For compressed data trace-cmd < 3.2
        #: writes sizes that are 4 bytes too small.
        self.buffer_option = c.Struct(
            "offset" / u64,
            "name" / text,
            "clock" / text,
            "page_size" / u32,
            "cpus" / c.PrefixedArray(u32, c.Struct("cpu" / u32, "offset" / u64, "size" / u64)),
        )
        #: Option BUFFER_TEXT (the manual page's BUFFER_LAT), and BUFFER of version 6 without the clock.
        self.text_buffer_option = c.Struct("offset" / u64, "name" / text, "clock" / text)
        self.buffer_option_6 = c.Struct("offset" / u64, "name" / text)
        #: Version 6: the location of a CPU's data.
        self.cpu_data_6 = c.Struct("offset" / u64, "size" / u64)

        self.tsc2nsec_option = c.Struct("multiplier" / u32, "shift" / u32, "offset" / u64)
        samples = c.Struct(
            "count" / c.Rebuild(u32, c.len_(c.this.times)),
            "times" / c.Array(c.this.count, s64),
            "offsets" / c.Array(c.this.count, s64),
            "scalings" / c.Array(c.this.count, s64),
        )
        #: Option TIME_SHIFT; the fraction bits, for all CPUs after all samples, are written since 2021.
        self.time_shift_option = c.Struct(
            "peer" / u64,
            "flags" / u32,
            "cpus" / c.PrefixedArray(u32, samples),
            "fractions" / c.GreedyRange(s64),
        )
        self.guest_option = c.Struct(
            "name" / text,
            "trace_id" / u64,
            "cpus" / c.PrefixedArray(u32, c.Struct("cpu" / u32, "pid" / u32)),
        )


@cache
def layouts(big_endian: bool) -> Layouts:
    """Return the structures of files in one byte order."""
    return Layouts(structures, big_endian=big_endian)

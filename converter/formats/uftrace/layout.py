"""The layout of a data directory's files: the header of `info`, records, messages, and their numbers.

Names and numbers are those of uftrace.h (`struct uftrace_file_header`, `struct uftrace_record`, `enum
uftrace_feat_bits`, `enum uftrace_info_bits`), utils/event.h and linux/perf_event.h.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag, unique
from typing import Final

from converter.errors import TraceError, TruncatedError

#: What `info` starts with (UFTRACE_MAGIC_STR).
MAGIC: Final = b"Ftrace!\0"
HEADER_SIZE: Final = 40
#: Versions that uftrace reads; it writes 4.
VERSIONS: Final = (3, 4)

#: A record: a time and a word of type:2, more:1, magic:3, depth:10, addr:48.
RECORD_SIZE: Final = 16
ADDRESS_BITS: Final = 48
MOST_LOST: Final = (1 << ADDRESS_BITS) - 1


@unique
class Endianness(IntEnum):
    """ELF's EI_DATA."""

    LITTLE = 1
    BIG = 2


@unique
class ElfClass(IntEnum):
    """ELF's EI_CLASS."""

    BITS_32 = 1
    BITS_64 = 2


class Feature(IntFlag):
    """Bits of feat_mask (enum uftrace_feat_bits)."""

    PLTHOOK = 1 << 0
    TASK_SESSION = 1 << 1
    KERNEL = 1 << 2
    ARGUMENT = 1 << 3
    RETVAL = 1 << 4
    SYM_REL_ADDR = 1 << 5
    MAX_STACK = 1 << 6
    EVENT = 1 << 7
    PERF_EVENT = 1 << 8
    AUTO_ARGS = 1 << 9
    DEBUG_INFO = 1 << 10
    ESTIMATE_RETURN = 1 << 11
    SYM_SIZE = 1 << 12
    CALLSITE = 1 << 13


@unique
class InfoBit(IntEnum):
    """Bits of info_mask (enum uftrace_info_bits), in the order of their lines."""

    EXE_NAME = 0
    EXE_BUILD_ID = 1
    EXIT_STATUS = 2
    CMDLINE = 3
    CPUINFO = 4
    MEMINFO = 5
    OSINFO = 6
    TASKINFO = 7
    USAGEINFO = 8
    LOADINFO = 9
    ARG_SPEC = 10
    RECORD_DATE = 11
    PATTERN_TYPE = 12
    VERSION = 13
    UTC_OFFSET = 14
    SYSCTL = 15


@unique
class RecordType(IntEnum):
    """The type of a record (enum uftrace_record_type)."""

    ENTRY = 0
    EXIT = 1
    LOST = 2
    EVENT = 3


@unique
class EventId(IntEnum):
    """The `addr` of an EVENT record (utils/event.h, enum uftrace_event_id); kernel tracepoints are below them."""

    READ_PROC_STATM = 100_001
    READ_PAGE_FAULT = 100_002
    DIFF_PROC_STATM = 100_003
    DIFF_PAGE_FAULT = 100_004
    READ_PMU_CYCLE = 100_005
    DIFF_PMU_CYCLE = 100_006
    READ_PMU_CACHE = 100_007
    DIFF_PMU_CACHE = 100_008
    READ_PMU_BRANCH = 100_009
    DIFF_PMU_BRANCH = 100_010
    WATCH_CPU = 100_011
    WATCH_VAR = 100_012
    #: Since feature CALLSITE, after 0.19.
    CALLSITE = 100_013


#: The first id of events in events.txt: those of the traced program (SDT).
FIRST_USER_EVENT: Final = 1_000_000
#: The id that uftrace gives to lines of extern.dat when it merges them; no record has it.
EXTERNAL_EVENT: Final = 2_000_000


@unique
class PerfType(IntEnum):
    """The type of a record in perf-cpuN.dat (linux/perf_event.h, PERF_RECORD_*)."""

    LOST = 2
    COMM = 3
    EXIT = 4
    FORK = 7
    SWITCH = 14


#: `misc` of PERF_RECORD_SWITCH: the task leaves the CPU; and, for such a task: it is still runnable.
PERF_MISC_SWITCH_OUT: Final = 1 << 13
PERF_MISC_SWITCH_OUT_PREEMPT: Final = 1 << 14
#: type, misc, size
PERF_HEADER: Final = {"<": struct.Struct("<IHH"), ">": struct.Struct(">IHH")}

#: The file that this converter adds for another format's trace: the data for which uftrace has no place.
TABLES_FILE: Final = "traceconv.json"
#: The address of the first function of the module that represents a trace's slices, and the distance of functions.
FIRST_SYMBOL: Final = 0x1000
SYMBOL_SIZE: Final = 16


def symbol_address(number: int) -> int:
    """Return the address of a function of that module, relative to its start."""
    return FIRST_SYMBOL + SYMBOL_SIZE * number


@dataclass(frozen=True, slots=True)
class Header:
    """The binary header of `info`."""

    version: int = 4
    endianness: Endianness = Endianness.LITTLE
    elf_class: ElfClass = ElfClass.BITS_64
    features: int = 0
    info_mask: int = 0
    max_stack: int = 1024
    header_size: int = HEADER_SIZE
    reserved: bytes = bytes(6)

    @property
    def big_endian(self) -> bool:
        """True if records and this header are big-endian."""
        return self.endianness is Endianness.BIG

    @property
    def long_size(self) -> int:
        """The size of a `long` of the traced program, and of arguments whose specification has no size."""
        return 8 if self.elf_class is ElfClass.BITS_64 else 4


def _struct(big_endian: bool) -> struct.Struct:
    # magic, version, header size, endianness, class, features, info mask, max stack, reserved
    return struct.Struct(f"{'>' if big_endian else '<'}8sIHBBQQH6s")


def parse_header(data: bytes) -> Header:
    """Parse the header at the start of `info`.

    Raises:
        TraceError: it is not a header, or has an unknown version, byte order or class.

    """
    if len(data) < HEADER_SIZE:
        raise TruncatedError(
            offset=0, field="info", expected=f"{HEADER_SIZE} bytes", found=len(data)
        )
    if not data.startswith(MAGIC):
        raise TraceError(offset=0, field="info.magic", expected="Ftrace!", found=data[:8])
    endianness, elf_class = data[14], data[15]
    if endianness not in (Endianness.LITTLE, Endianness.BIG):
        raise TraceError(offset=14, field="info.endian", expected="1 or 2", found=endianness)
    if elf_class not in (ElfClass.BITS_32, ElfClass.BITS_64):
        raise TraceError(offset=15, field="info.class", expected="1 or 2", found=elf_class)
    _, version, size, _, _, features, info_mask, max_stack, reserved = _struct(
        endianness == Endianness.BIG
    ).unpack_from(data)
    if version not in VERSIONS:
        raise TraceError(offset=8, field="info.version", expected="3 or 4", found=version)
    if size < HEADER_SIZE:
        raise TraceError(
            offset=12, field="info.header_size", expected=f"at least {HEADER_SIZE}", found=size
        )
    return Header(
        version,
        Endianness(endianness),
        ElfClass(elf_class),
        features,
        info_mask,
        max_stack,
        size,
        reserved,
    )


def build_header(header: Header) -> bytes:
    """Return the bytes of a header."""
    return _struct(header.big_endian).pack(
        MAGIC,
        header.version,
        header.header_size,
        header.endianness,
        header.elf_class,
        header.features,
        header.info_mask,
        header.max_stack,
        header.reserved,
    )

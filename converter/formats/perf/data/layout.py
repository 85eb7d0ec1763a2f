"""The layout of perf.data: the file's header, event attributes, records, samples.

Names are those of linux/perf_event.h and of tools/perf. Structures are declared once for both byte orders.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag, unique
from functools import cache
from typing import Any, Final

from converter.formats import structures

# The file

#: The size of the header of a file, and of what is written into a pipe.
FILE_HEADER_SIZE: Final = 104
PIPE_HEADER_SIZE: Final = 16
#: The bits of the bitmap of features.
FEATURE_BITS: Final = 256
#: The sizes of `perf_event_attr` so far: versions 0 to 8.
ATTRIBUTE_SIZES: Final = (64, 72, 80, 96, 104, 112, 120, 128, 136)


@unique
class Feature(IntEnum):
    """Features (HEADER_*): parts of the header that a recording may have."""

    TRACING_DATA = 1
    BUILD_ID = 2
    HOSTNAME = 3
    OSRELEASE = 4
    VERSION = 5
    ARCH = 6
    NRCPUS = 7
    CPUDESC = 8
    CPUID = 9
    TOTAL_MEM = 10
    CMDLINE = 11
    EVENT_DESC = 12
    CPU_TOPOLOGY = 13
    NUMA_TOPOLOGY = 14
    BRANCH_STACK = 15
    PMU_MAPPINGS = 16
    GROUP_DESC = 17
    AUXTRACE = 18
    STAT = 19
    CACHE = 20
    SAMPLE_TIME = 21
    MEM_TOPOLOGY = 22
    CLOCKID = 23
    DIR_FORMAT = 24
    BPF_PROG_INFO = 25
    BPF_BTF = 26
    COMPRESSED = 27
    CPU_PMU_CAPS = 28
    CLOCK_DATA = 29
    HYBRID_TOPOLOGY = 30
    PMU_CAPS = 31


#: Features that are one text.
TEXT_FEATURES: Final = {
    Feature.HOSTNAME: "hostname",
    Feature.OSRELEASE: "release",
    Feature.VERSION: "perf_version",
    Feature.ARCH: "machine",
    Feature.CPUDESC: "cpu",
    Feature.CPUID: "cpuid",
}


@unique
class AttributeFlag(IntEnum):
    """The bits of the flags of `perf_event_attr`. In big-endian files the first one is the uppermost bit."""

    DISABLED = 0
    INHERIT = 1
    PINNED = 2
    EXCLUSIVE = 3
    EXCLUDE_USER = 4
    EXCLUDE_KERNEL = 5
    EXCLUDE_HV = 6
    EXCLUDE_IDLE = 7
    MMAP = 8
    COMM = 9
    FREQ = 10
    INHERIT_STAT = 11
    ENABLE_ON_EXEC = 12
    TASK = 13
    WATERMARK = 14
    PRECISE_IP_1 = 15
    PRECISE_IP_2 = 16
    MMAP_DATA = 17
    SAMPLE_ID_ALL = 18
    EXCLUDE_HOST = 19
    EXCLUDE_GUEST = 20
    EXCLUDE_CALLCHAIN_KERNEL = 21
    EXCLUDE_CALLCHAIN_USER = 22
    MMAP2 = 23
    COMM_EXEC = 24
    USE_CLOCKID = 25
    CONTEXT_SWITCH = 26
    WRITE_BACKWARD = 27
    NAMESPACES = 28
    KSYMBOL = 29
    BPF_EVENT = 30
    AUX_OUTPUT = 31
    CGROUP = 32
    TEXT_POKE = 33
    BUILD_ID = 34
    INHERIT_THREAD = 35
    REMOVE_ON_EXEC = 36
    SIGTRAP = 37


@unique
class EventType(IntEnum):
    """The type of an event (PERF_TYPE_*). Others are numbers of PMUs."""

    HARDWARE = 0
    SOFTWARE = 1
    TRACEPOINT = 2
    HW_CACHE = 3
    RAW = 4
    BREAKPOINT = 5


class SampleType(IntFlag):
    """The parts of a sample (PERF_SAMPLE_*)."""

    IP = 1 << 0
    TID = 1 << 1
    TIME = 1 << 2
    ADDR = 1 << 3
    READ = 1 << 4
    CALLCHAIN = 1 << 5
    ID = 1 << 6
    CPU = 1 << 7
    PERIOD = 1 << 8
    STREAM_ID = 1 << 9
    RAW = 1 << 10
    BRANCH_STACK = 1 << 11
    REGS_USER = 1 << 12
    STACK_USER = 1 << 13
    WEIGHT = 1 << 14
    DATA_SRC = 1 << 15
    IDENTIFIER = 1 << 16
    TRANSACTION = 1 << 17
    REGS_INTR = 1 << 18
    PHYS_ADDR = 1 << 19
    AUX = 1 << 20
    CGROUP = 1 << 21
    DATA_PAGE_SIZE = 1 << 22
    CODE_PAGE_SIZE = 1 << 23
    WEIGHT_STRUCT = 1 << 24


#: All bits that are known: a sample with others cannot be read to its end.
KNOWN_SAMPLE_TYPES: Final = SampleType((1 << 25) - 1)
#: The values of a sample before the first of variable size, 8 bytes each, in their order. Values of TID and CPU are two
#: of 32 bits: pid and tid; the CPU and a reserved one.
FIXED_PARTS: Final = (
    SampleType.IDENTIFIER,
    SampleType.IP,
    SampleType.TID,
    SampleType.TIME,
    SampleType.ADDR,
    SampleType.ID,
    SampleType.STREAM_ID,
    SampleType.CPU,
    SampleType.PERIOD,
)
#: The values after those, in their order. Weight is one value, of one of two types.
VARIABLE_PARTS: Final = (
    SampleType.READ,
    SampleType.CALLCHAIN,
    SampleType.RAW,
    SampleType.BRANCH_STACK,
    SampleType.REGS_USER,
    SampleType.STACK_USER,
    SampleType.WEIGHT,
    SampleType.WEIGHT_STRUCT,
    SampleType.DATA_SRC,
    SampleType.TRANSACTION,
    SampleType.REGS_INTR,
    SampleType.PHYS_ADDR,
    SampleType.CGROUP,
    SampleType.DATA_PAGE_SIZE,
    SampleType.CODE_PAGE_SIZE,
    SampleType.AUX,
)
#: At the end of every other record, if an event has SAMPLE_ID_ALL, in this order.
TRAILER_PARTS: Final = (
    SampleType.TID,
    SampleType.TIME,
    SampleType.ID,
    SampleType.STREAM_ID,
    SampleType.CPU,
    SampleType.IDENTIFIER,
)


class ReadFormat(IntFlag):
    """The parts of the value of a counter (PERF_FORMAT_*)."""

    TOTAL_TIME_ENABLED = 1 << 0
    TOTAL_TIME_RUNNING = 1 << 1
    ID = 1 << 2
    GROUP = 1 << 3
    LOST = 1 << 4


#: In `branch_sample_type`: a branch stack has the number of its first entry, or counters after the entries.
BRANCH_HW_INDEX: Final = 1 << 17
BRANCH_COUNTERS: Final = 1 << 19

# Records

#: type (u32), misc (u16), size (u16, including these).
RECORD_HEADER_SIZE: Final = 8


@unique
class RecordType(IntEnum):
    """Records of the kernel, below 64, and of perf itself (PERF_RECORD_*)."""

    MMAP = 1
    LOST = 2
    COMM = 3
    EXIT = 4
    THROTTLE = 5
    UNTHROTTLE = 6
    FORK = 7
    READ = 8
    SAMPLE = 9
    MMAP2 = 10
    AUX = 11
    ITRACE_START = 12
    LOST_SAMPLES = 13
    SWITCH = 14
    SWITCH_CPU_WIDE = 15
    NAMESPACES = 16
    KSYMBOL = 17
    BPF_EVENT = 18
    CGROUP = 19
    TEXT_POKE = 20
    AUX_OUTPUT_HW_ID = 21
    CALLCHAIN_DEFERRED = 22
    HEADER_ATTR = 64
    HEADER_EVENT_TYPE = 65
    HEADER_TRACING_DATA = 66
    HEADER_BUILD_ID = 67
    FINISHED_ROUND = 68
    ID_INDEX = 69
    AUXTRACE_INFO = 70
    AUXTRACE = 71
    AUXTRACE_ERROR = 72
    THREAD_MAP = 73
    CPU_MAP = 74
    STAT_CONFIG = 75
    STAT = 76
    STAT_ROUND = 77
    EVENT_UPDATE = 78
    TIME_CONV = 79
    HEADER_FEATURE = 80
    COMPRESSED = 81
    FINISHED_INIT = 82
    COMPRESSED2 = 83


#: The first type of perf's own records.
FIRST_OF_PERF: Final = 64
#: The offset of the size of the data that follows an AUXTRACE record, and of TRACING_DATA in a pipe (32 bits).
AUXTRACE_SIZE_AT: Final = 8
#: The uncompressed data of COMPRESSED start here; before those of COMPRESSED2 is their size.
COMPRESSED_AT: Final = 8
COMPRESSED2_AT: Final = 16


class Misc(IntFlag):
    """Bits of `misc` (PERF_RECORD_MISC_*). Some mean one thing for some records and another for others."""

    CPUMODE_MASK = 7
    PROC_MAP_PARSE_TIMEOUT = 1 << 12
    MMAP_DATA = 1 << 13
    COMM_EXEC = 1 << 13
    FORK_EXEC = 1 << 13
    SWITCH_OUT = 1 << 13
    EXACT_IP = 1 << 14
    SWITCH_OUT_PREEMPT = 1 << 14
    MMAP_BUILD_ID = 1 << 14
    EXT_RESERVED = 1 << 15


@unique
class CpuMode(IntEnum):
    """The mode that a CPU was in (PERF_RECORD_MISC_CPUMODE_MASK)."""

    UNKNOWN = 0
    KERNEL = 1
    USER = 2
    HYPERVISOR = 3
    GUEST_KERNEL = 4
    GUEST_USER = 5


#: Marks in a call chain: what follows is of this mode (PERF_CONTEXT_*). Every number from `FIRST_MARK` on is a mark.
FIRST_MARK: Final = (1 << 64) - 4095
CONTEXT_MARKS: Final = {
    CpuMode.HYPERVISOR: (1 << 64) - 32,
    CpuMode.KERNEL: (1 << 64) - 128,
    CpuMode.USER: (1 << 64) - 512,
    CpuMode.GUEST_KERNEL: (1 << 64) - 2176,
    CpuMode.GUEST_USER: (1 << 64) - 2560,
}


@dataclass(frozen=True, slots=True)
class Record:
    """The values of a record after its header.

    `fixed` has name and NumPy type code of each, without a byte order: they follow each other without gaps. `tail` is
    the name of what follows them: a text (`is_text`), which ends with NUL bytes to a multiple of 8, or other bytes.
    """

    fixed: tuple[tuple[str, str], ...] = ()
    tail: str = ""
    is_text: bool = False

    @property
    def fixed_size(self) -> int:
        """The size of the values of constant size."""
        return sum(int(code[1:]) for _, code in self.fixed)


_TASK: Final = (("pid", "i4"), ("tid", "i4"))
_LIFE: Final = (("pid", "i4"), ("ppid", "i4"), ("tid", "i4"), ("ptid", "i4"), ("time", "u8"))
_RANGE: Final = (("addr", "u8"), ("len", "u8"), ("pgoff", "u8"))
_PROTECTION: Final = (("prot", "u4"), ("flags", "u4"))

#: The kernel's records but samples. Those of MMAP2 with MMAP_BUILD_ID are `MMAP2_BUILD_ID`.
RECORDS: Final = {
    RecordType.MMAP: Record((*_TASK, *_RANGE), "filename", is_text=True),
    RecordType.LOST: Record((("id", "u8"), ("lost", "u8"))),
    RecordType.COMM: Record(_TASK, "comm", is_text=True),
    RecordType.EXIT: Record(_LIFE),
    RecordType.THROTTLE: Record((("time", "u8"), ("id", "u8"), ("stream_id", "u8"))),
    RecordType.UNTHROTTLE: Record((("time", "u8"), ("id", "u8"), ("stream_id", "u8"))),
    RecordType.FORK: Record(_LIFE),
    RecordType.READ: Record(_TASK, "values"),
    RecordType.MMAP2: Record(
        (
            *_TASK,
            *_RANGE,
            ("maj", "u4"),
            ("min", "u4"),
            ("ino", "u8"),
            ("ino_generation", "u8"),
            *_PROTECTION,
        ),
        "filename",
        is_text=True,
    ),
    RecordType.AUX: Record((("aux_offset", "u8"), ("aux_size", "u8"), ("flags", "u8"))),
    RecordType.ITRACE_START: Record(_TASK),
    RecordType.LOST_SAMPLES: Record((("lost", "u8"),)),
    RecordType.SWITCH: Record(),
    RecordType.SWITCH_CPU_WIDE: Record((("next_prev_pid", "i4"), ("next_prev_tid", "i4"))),
    RecordType.NAMESPACES: Record((*_TASK, ("nr_namespaces", "u8")), "namespaces"),
    RecordType.KSYMBOL: Record(
        (("addr", "u8"), ("len", "u4"), ("ksym_type", "u2"), ("flags", "u2")), "name", is_text=True
    ),
    RecordType.BPF_EVENT: Record((("type", "u2"), ("flags", "u2"), ("id", "u4"), ("tag", "u8"))),
    RecordType.CGROUP: Record((("id", "u8"),), "path", is_text=True),
    RecordType.TEXT_POKE: Record((("addr", "u8"), ("old_len", "u2"), ("new_len", "u2")), "bytes"),
    RecordType.AUX_OUTPUT_HW_ID: Record((("hw_id", "u8"),)),
}
#: The build id has 20 bytes, of which `build_id_size` count.
MMAP2_BUILD_ID: Final = Record(
    (
        *_TASK,
        *_RANGE,
        ("build_id_size", "u1"),
        ("reserved_1", "u1"),
        ("reserved_2", "u2"),
        ("build_id_1", "u4"),
        ("build_id_2", "u8"),
        ("build_id_3", "u8"),
        *_PROTECTION,
    ),
    "filename",
    is_text=True,
)
#: The offset of the build id's size in such a record, with its header, and that of the build id.
BUILD_ID_SIZE_AT: Final = 40
BUILD_ID_AT: Final = 44
#: The largest build id.
BUILD_ID_SIZE: Final = 20


class Layouts:
    """The structures in the file's byte order. See `layouts`.

    Args:
        c: the module that provides the declarations: `structures`, or the library construct.
        big_endian: the byte order.

    """

    def __init__(self, c: Any, *, big_endian: bool) -> None:
        u16 = c.Int16ub if big_endian else c.Int16ul
        u32 = c.Int32ub if big_endian else c.Int32ul
        u64 = c.Int64ub if big_endian else c.Int64ul
        self.u32 = u32
        self.u64 = u64
        section = c.Struct("offset" / u64, "size" / u64)
        #: A part of the file. After the data there is one for each feature, in the order of their bits.
        self.section = section
        #: After the magic number: of a file. `attr_size` is the size of an attribute with the section of its ids.
        self.file_header = c.Struct(
            "size" / u64,
            "attr_size" / u64,
            "attrs" / section,
            "data" / section,
            "event_types" / section,
            "features" / c.Array(lambda _: FEATURE_BITS // 64, u64),
        )
        #: After the magic number: of what is written into a pipe.
        self.pipe_header = c.Struct("size" / u64)
        self.record_header = c.Struct("type" / u32, "misc" / u16, "size" / u16)
        #: The first version of `perf_event_attr`, and what the others add, by the size up to there.
        self.attribute = c.Struct(
            "type" / u32,
            "size" / u32,
            "config" / u64,
            "sample_period" / u64,
            "sample_type" / u64,
            "read_format" / u64,
            "flags" / u64,
            "wakeup" / u32,
            "bp_type" / u32,
            "config1" / u64,
        )
        self.attribute_extensions = {
            72: c.Struct("config2" / u64),
            80: c.Struct("branch_sample_type" / u64),
            96: c.Struct("sample_regs_user" / u64, "sample_stack_user" / u32, "clockid" / u32),
            104: c.Struct("sample_regs_intr" / u64),
            112: c.Struct("aux_watermark" / u32, "sample_max_stack" / u16, "reserved_2" / u16),
            120: c.Struct("aux_sample_size" / u32, "reserved_3" / u32),
            128: c.Struct("sig_data" / u64),
            136: c.Struct("config3" / u64),
        }
        #: A text of a feature: its size is a multiple of 64, and it ends with NUL bytes.
        self.text = c.Prefixed(u32, c.GreedyBytes)
        self.texts = c.PrefixedArray(u32, self.text)
        #: Feature EVENT_DESC: this, and then for each event its attribute, this, and `ids`.
        self.event_description = c.Struct("count" / u32, "attr_size" / u32)
        self.event_name = c.Struct("id_count" / u32, "name" / self.text)
        #: Feature CLOCK_DATA, of version 1.
        self.clock_data = c.Struct(
            "version" / u32, "clockid" / u32, "wall_clock_ns" / u64, "clockid_time_ns" / u64
        )
        #: Feature COMPRESSED: type 1 is zstd.
        self.compressed = c.Struct(
            "version" / u32, "type" / u32, "level" / u32, "ratio" / u32, "mmap_len" / u32
        )
        #: Feature SAMPLE_TIME.
        self.sample_time = c.Struct("first" / u64, "last" / u64)
        #: Record HEADER_FEATURE: the feature's bytes follow.
        self.feature_record = c.Struct("feature" / u64)
        #: Record EVENT_UPDATE: what it is about follows (`EventUpdate`).
        self.event_update = c.Struct("type" / u64, "id" / u64)


@unique
class EventUpdate(IntEnum):
    """The subjects of an EVENT_UPDATE record."""

    UNIT = 0
    SCALE = 1
    NAME = 2
    CPUS = 3


@cache
def layouts(big_endian: bool) -> Layouts:
    """Return the structures of files in one byte order."""
    return Layouts(structures, big_endian=big_endian)


def flag_mask(flag: AttributeFlag, *, big_endian: bool) -> int:
    """Return the mask of a flag in the flags of `perf_event_attr`, as a number of the file's byte order."""
    return 1 << (63 - flag if big_endian else flag)

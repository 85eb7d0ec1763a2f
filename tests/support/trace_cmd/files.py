"""Builds small trace.dat files, byte by byte as trace-cmd.dat.v7(5) and trace-cmd.dat.v6(5) say."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import zstandard

PAGE = 4096

HEADER_EVENT = b"# compressed entry header\n"

SLICE = 700
PRINT = 5
BPRINT = 6
BPUTS = 29
SWITCH = 316
NEWTASK = 120
RENAME = 121
FORK = 318
EXEC = 319
DYNAMIC = 701

_COMMON = """\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
"""


def format_text(name: str, number: int, fields: str, print_fmt: str) -> bytes:
    """An event format; `fields` has lines of ``declaration offset size signed``."""
    lines = []
    for line in fields.strip().splitlines():
        declaration, offset, size, signed = line.strip().rsplit(" ", 3)
        lines.append(f"\tfield:{declaration};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n")
    return (
        f"name: {name}\nID: {number}\nformat:\n{_COMMON}\n{''.join(lines)}\nprint fmt: {print_fmt}\n"
    ).encode()


FTRACE_FORMATS = [
    format_text(
        "print",
        PRINT,
        "unsigned long ip 8 8 0\nchar buf[] 16 0 0",
        '"%ps: %s", (void *)REC->ip, REC->buf',
    ),
    format_text(
        "bprint",
        BPRINT,
        "unsigned long ip 8 8 0\nconst char * fmt 16 8 0\nu32 buf[] 24 0 0",
        '"%ps: %s", (void *)REC->ip, REC->fmt',
    ),
    format_text(
        "bputs",
        BPUTS,
        "unsigned long ip 8 8 0\nconst char * str 16 8 0",
        '"%ps: %s", (void *)REC->ip, REC->str',
    ),
]
_SWITCH_FIELDS = """char prev_comm[16] 8 16 0
pid_t prev_pid 24 4 1
int prev_prio 28 4 1
long prev_state 32 8 1
char next_comm[16] 40 16 0
pid_t next_pid 56 4 1
int next_prio 60 4 1"""
FORMATS = {
    "test": [
        format_text(
            "my_slice",
            SLICE,
            "u64 dur 8 8 0\ns32 change 16 4 1\nu8 small 20 1 0",
            '"dur=%llu change=%d", REC->dur, REC->change',
        ),
        format_text(
            "dynamic",
            DYNAMIC,
            "__data_loc char[] text 8 4 0\n__data_loc u16[] words 12 4 0\n__rel_loc char[] other 16 4 0",
            '"%s %s", __get_str(text), __get_rel_str(other)',
        ),
    ],
    "sched": [
        format_text("sched_switch", SWITCH, _SWITCH_FIELDS, '"prev_pid=%d", REC->prev_pid'),
        format_text(
            "sched_process_fork",
            FORK,
            "char parent_comm[16] 8 16 0\npid_t parent_pid 24 4 1\nchar child_comm[16] 28 16 0\npid_t child_pid 44 4 1",
            '"child_pid=%d", REC->child_pid',
        ),
        format_text(
            "sched_process_exec",
            EXEC,
            "__data_loc char[] filename 8 4 0\npid_t pid 12 4 1\npid_t old_pid 16 4 1",
            '"pid=%d", REC->pid',
        ),
    ],
    "task": [
        format_text(
            "task_newtask",
            NEWTASK,
            "pid_t pid 8 4 1\nchar comm[16] 12 16 0\nunsigned long clone_flags 32 8 0\nshort oom_score_adj 40 2 1",
            '"pid=%d", REC->pid',
        ),
        format_text(
            "task_rename",
            RENAME,
            "pid_t pid 8 4 1\nchar oldcomm[16] 12 16 0\nchar newcomm[16] 28 16 0\nshort oom_score_adj 44 2 1",
            '"pid=%d", REC->pid',
        ),
    ],
}


@dataclass
class Kernel:
    """The traced machine, and the records that its ring buffer would hold."""

    big_endian: bool = False
    long_size: int = 8
    page_size: int = PAGE

    @property
    def order(self) -> str:
        """The byte order, for struct."""
        return ">" if self.big_endian else "<"

    def pack(self, layout: str, *values: object) -> bytes:
        """Pack values in the kernel's byte order."""
        return struct.pack(self.order + layout, *values)

    def word(self, kind: int, delta: int) -> bytes:
        """The first word of a record."""
        return self.pack("I", kind << 27 | delta if self.big_endian else delta << 5 | kind)

    def record(self, delta: int, payload: bytes) -> bytes:
        """A record with data."""
        payload += bytes(-len(payload) % 4)
        if len(payload) <= 112:
            return self.word(len(payload) // 4, delta) + payload
        return self.word(0, delta) + self.pack("I", len(payload) + 4) + payload

    def discarded(self, delta: int, size: int) -> bytes:
        """A record that was discarded: padding of so many bytes after its first word."""
        return self.word(29, delta) + self.pack("I", size) + bytes(size - 4)

    def extend(self, delta: int) -> bytes:
        """A time extension."""
        return self.word(30, delta & 0x7FFFFFF) + self.pack("I", delta >> 27)

    def stamp(self, ts: int) -> bytes:
        """An absolute time, of which 59 bits are stored."""
        ts &= (1 << 59) - 1
        return self.word(31, ts & 0x7FFFFFF) + self.pack("I", ts >> 27)

    def page(self, ts: int, *records: bytes, flags: int = 0, missed: int | None = None) -> bytes:
        """A page; with `missed` (-1: a number that is not stored) events were lost before it."""
        data = b"".join(records)
        commit = len(data) | flags
        tail = b""
        if missed is not None:
            commit |= 1 << 31
            if missed >= 0:
                commit |= 1 << 30
                tail = self.pack("Q" if self.long_size == 8 else "I", missed)
        if self.long_size == 8 and commit >> 31:
            # A 64-bit kernel sign-extends the flags.
            commit |= 0xFFFFFFFF << 32
        page = (
            self.pack("Q", ts)
            + self.pack("Q" if self.long_size == 8 else "I", commit)
            + data
            + tail
        )
        assert len(page) <= self.page_size
        return page.ljust(self.page_size, b"\0")

    def common(self, number: int, pid: int, flags: int = 0) -> bytes:
        """The common fields."""
        return self.pack("HBBi", number, flags, 0, pid)

    def slice(self, pid: int, dur: int, change: int = 0) -> bytes:
        """A record of `my_slice`."""
        return self.common(SLICE, pid) + self.pack("QiB", dur, change, 7)

    def switch(self, pid: int, comm: bytes, next_pid: int, next_comm: bytes) -> bytes:
        """A record of `sched_switch`."""
        return (
            self.common(SWITCH, pid)
            + self.pack("16siiq", comm, pid, 120, 0)
            + self.pack("16sii", next_comm, next_pid, 120)
        )

    def marker(self, pid: int, text: bytes) -> bytes:
        """A record of `print`."""
        return self.common(PRINT, pid) + self.pack("Q", 0xFFFFFFFF81000010) + text + b"\n\0"


@dataclass
class File:
    """The parts of a file. `cpus` are pages by CPU of the top buffer, `instances` the same by name."""

    kernel: Kernel = field(default_factory=Kernel)
    cpus: Mapping[int, bytes] = field(default_factory=dict)
    instances: Mapping[str, Mapping[int, bytes]] = field(default_factory=dict)
    options: Sequence[tuple[int, bytes]] = ()
    formats: Mapping[str, Sequence[bytes]] = field(default_factory=lambda: FORMATS)
    kallsyms: bytes = (
        b"ffffffff81000000 T first\nffffffff81001000 t second\t[mod]\nffffffff81002000 T last\n"
    )
    printk: bytes = (
        b'0xffffffff82000000 : "value %d of %s\\n"\n0xffffffff82000040 : "only text\\n"\n'
    )
    cmdlines: bytes = b"0 <idle>\n42 saved name\n"
    text: bytes | None = None
    #: Of pages of instances, in version 7; as the kernel's if None.
    instance_page_size: int | None = None

    def _parts(self) -> dict[int, bytes]:
        pack = self.kernel.pack
        long_size = self.kernel.long_size
        header_page = (
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
            f"\tfield: local_t commit;\toffset:8;\tsize:{long_size};\tsigned:1;\n"
            f"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
            f"\tfield: char data;\toffset:{8 + long_size};\tsize:{self.kernel.page_size - 8 - long_size};\tsigned:1;\n"
        ).encode()
        events = [pack("I", len(self.formats))]
        for system, texts in self.formats.items():
            events.append(system.encode() + b"\0" + pack("I", len(texts)))
            events += [pack("Q", len(text)) + text for text in texts]
        return {
            16: b"header_page\0" + pack("Q", len(header_page)) + header_page
            + b"header_event\0" + pack("Q", len(HEADER_EVENT)) + HEADER_EVENT,
            17: pack("I", len(FTRACE_FORMATS))
            + b"".join(pack("Q", len(text)) + text for text in FTRACE_FORMATS),
            18: b"".join(events),
            19: pack("I", len(self.kallsyms)) + self.kallsyms,
            20: pack("I", len(self.printk)) + self.printk,
            21: pack("Q", len(self.cmdlines)) + self.cmdlines,
        }  # fmt: skip

    def version_6(self) -> bytes:
        """The file as version 6."""
        pack = self.kernel.pack
        parts = self._parts()
        count = max(self.cpus, default=-1) + 1
        start = (
            b"\x17\x08\x44tracing6\0"
            + bytes([self.kernel.big_endian, 8])
            + pack("I", self.kernel.page_size)
        )
        start += b"".join(parts[i] for i in range(16, 22)) + pack("I", count)
        options = b"options  \0"
        for number, data in self.options:
            options += pack("HI", number, len(data)) + data
        names = list(self.instances)
        size_of_options = len(options) + sum(14 + len(name) + 1 for name in names) + 2
        if self.text is not None:
            return start + options + pack("H", 0) + b"latency  \0" + self.text
        tables = []
        at = len(start) + size_of_options
        areas = [self.cpus, *self.instances.values()]
        with_clock = any(number == 4 for number, _ in self.options)
        clock = pack("Q", 7) + b"[local]" if with_clock else b""
        table_at = [at + i * (10 + 16 * count + len(clock)) for i in range(len(areas))]
        at = table_at[-1] + 10 + 16 * count + len(clock)
        data = b""
        for area in areas:
            table = b"flyrecord\0"
            for cpu in range(count):
                pages = area.get(cpu, b"")
                where = -(-at // self.kernel.page_size) * self.kernel.page_size
                table += pack("QQ", where, len(pages))
                data += bytes(where - at) + pages
                at = where + len(pages)
            tables.append(table + clock)
        for name, where in zip(names, table_at[1:], strict=True):
            options += pack("HIQ", 3, 8 + len(name) + 1, where) + name.encode() + b"\0"
        return start + options + pack("H", 0) + b"".join(tables) + data

    def version_7(self, compression: str = "none") -> bytes:
        """The file as version 7."""
        pack = self.kernel.pack
        compress = _COMPRESS[compression]
        size = self.kernel.page_size
        version = {"none": b"", "zlib": b"1.2", "zstd": b"1.5"}.get(compression, b"1")
        start = b"\x17\x08\x44tracing7\0" + bytes([self.kernel.big_endian, 8]) + pack("I", size)
        start += compression.encode() + b"\0" + version + b"\0"
        out = bytearray(start + bytes(8))
        flag = int(compress is not None)

        def packed(data: bytes) -> bytes:
            if compress is None:
                return data
            squeezed = compress(data)
            return pack("II", len(squeezed), len(data)) + squeezed

        def chunked(data: bytes) -> bytes:
            if compress is None:
                return data
            chunks = [data[i : i + 10 * size] for i in range(0, len(data), 10 * size)]
            return pack("I", len(chunks)) + b"".join(packed(chunk) for chunk in chunks)

        options = b""
        for number, data in self._parts().items():
            options += pack("HIQ", number, 8, len(out))
            body = packed(data)
            out += pack("HHIQ", number, flag, 0xFFFFFFFF, len(body)) + body
        for number, data in self.options:
            options += pack("HI", number, len(data)) + data
        buffers = []
        if self.text is not None:
            body = chunked(self.text)
            buffers.append(pack("HIQ", 22, 15, len(out)) + b"\0local\0")
            out += pack("HHIQ", 22, flag, 0xFFFFFFFF, len(body)) + body
        for name, area in {"": self.cpus, **self.instances}.items():
            if not area and name == "":
                continue
            page_size = size if not name else self.instance_page_size or size
            where = len(out)
            out += bytes(16)
            entries = b""
            for cpu, pages in area.items():
                out += bytes(-len(out) % size)
                body = chunked(pages)
                entries += pack("IQQ", cpu, len(out), len(body))
                out += body
            out[where : where + 16] = pack("HHIQ", 3, flag, 0xFFFFFFFF, len(out) - where - 16)
            option = (
                pack("Q", where)
                + name.encode()
                + b"\0local\0"
                + pack("II", page_size, len(area))
                + entries
            )
            buffers.append(pack("HI", 3, len(option)) + option)
        # As trace-cmd does it: a section for the metadata, and one for each buffer.
        struct.pack_into(self.kernel.order + "Q", out, len(start), len(out))
        for i, body in enumerate([options, *buffers]):
            whole = len(body) + 14
            following = len(out) + 16 + whole if i < len(buffers) else 0
            out += pack("HHIQ", 0, 0, 0xFFFFFFFF, whole) + body + pack("HIQ", 0, 8, following)
        return bytes(out)


def _zstd(data: bytes) -> bytes:
    # As trace-cmd writes them: without their content's size.
    return zstandard.ZstdCompressor(write_content_size=False).compress(data)


_COMPRESS: dict[str, Callable[[bytes], bytes] | None] = {
    "none": None,
    "zstd": _zstd,
    "zlib": zlib.compress,
    "lzma": zlib.compress,
}


def rich(version, kernel=None):
    k = kernel or Kernel()
    newtask = k.common(NEWTASK, 42) + k.pack("i16s4xQh", 50, b"worker", 0x10000, 0)
    records = [
        k.record(3, r)
        for r in (k.slice(42, 5), newtask, k.marker(42, b"B|42|x"), k.switch(1, b"a", 2, b"b"))
    ]
    pages = b"".join(k.page(10**9 + i * 1000, *records * 6, missed=i or None) for i in range(12))
    options = [
        (4, b"[local]\0"),
        (12, k.pack("QIIIqqq", 1, 1, 1, 1, 5, 6, 7)),
        (14, k.pack("IIQ", 1, 0, 0)),
    ]
    instances = {} if version == "6" else {"inst": {1: k.page(5, *records)}}
    file = File(k, {0: pages, 1: pages[:4096]}, instances, options)
    return file.version_6() if version == "6" else file.version_7(version)

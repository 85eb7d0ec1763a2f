"""Small data directories of uftrace, byte by byte as uftrace.h and libmcount/record.c say, and what is read of them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.trace_cmd.files import FORMATS, FTRACE_FORMATS, Kernel
from support.traces.small_traces import fields_at

from converter.formats.uftrace.layout import (
    ElfClass,
    Endianness,
    Feature,
    Header,
    InfoBit,
    build_header,
)
from converter.formats.uftrace.reading.reader import read
from converter.ir.field_classes import FieldClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.storage.opening import open_source

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
RICH = FIXTURES / "uftrace" / "rich"

ORDERS = pytest.mark.parametrize("big_endian", [False, True], ids=["little", "big"])
LONGS = pytest.mark.parametrize("bits", [64, 32])

SID = "0123456789abcdef"
PROGRAM = "/usr/bin/app"
BASE = 0x400000
TID = 100
SECOND = 1_000_000_000

ENTRY, EXIT, LOST, EVENT = range(4)

#: Symbols of the program, relative: the first one is 0x1000.
MAIN, FOO, BAR, BAZ = (0x1000 + 0x100 * i for i in range(4))


@dataclass
class Directory:
    """A recording of one program with one task, unless said otherwise. What is set to None is not written."""

    big_endian: bool = False
    bits: int = 64
    version: int = 4
    features: Feature = (
        Feature.TASK_SESSION | Feature.SYM_REL_ADDR | Feature.MAX_STACK | Feature.ARGUMENT
    )
    argspec: str = ""
    retspec: str = ""
    argauto: str = ""
    retauto: str = ""
    enumauto: str = ""
    auto_args: bool = False
    pattern: str = "regex"
    lines: list[str] = field(default_factory=list)
    tids: list[int] | None = None
    tasks: dict[int, bytes] = field(default_factory=dict)
    task_txt: str | None = (
        f'SESS timestamp=0.000000001 pid={TID} sid={SID} exename="{PROGRAM}"\n'
        f"TASK timestamp=0.000000002 tid={TID} pid={TID}\n"
    )
    maps: dict[str, str] = field(
        default_factory=lambda: {
            SID: f"{BASE:x}-{BASE + 0x9000:x} r-xp 00000000 00:00 0      {PROGRAM}\n"
            "7ffd000000-7ffe000000 rw-p 00000000 00:00 0      [stack]\n"
        }
    )
    symbols: dict[str, str] = field(
        default_factory=lambda: {
            "app": "# symbols: 4\n# path name: /usr/bin/app\n"
            f"{MAIN:016x} T main\n{FOO:016x} T foo\n{BAR:016x} T _ZN2ns3barEi\n{BAZ:016x} P baz\n"
            f"{BAZ + 0x10:016x} ? __sym_end\n"
        }
    )
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def order(self) -> str:
        """The byte order, for struct."""
        return ">" if self.big_endian else "<"

    def pack(self, layout: str, *values: object) -> bytes:
        """Pack values in the byte order of the records."""
        return struct.pack(self.order + layout, *values)

    def record(
        self, time: int, kind: int, depth: int, address: int, payload: bytes | None = None
    ) -> bytes:
        """A record; the address is relative to the program for entries and exits."""
        if kind in (ENTRY, EXIT) and address < BASE:
            address += BASE
        word = kind | (payload is not None) << 2 | 5 << 3 | (depth & 1023) << 6 | address << 16
        payload = payload or b""
        return self.pack("QQ", time, word) + payload + bytes(-len(payload) % 8)

    def text(self, text: bytes) -> bytes:
        """A text as a value."""
        return _padded(self.pack("H", len(text)) + text, 4)

    def event(self, time: int, id: int, data: bytes | None = None, depth: int = 0) -> bytes:
        """An EVENT record."""
        payload = None if data is None else self.pack("H", len(data)) + data
        return self.record(time, EVENT, depth, id, payload)

    def perf(self, kind: int, misc: int, body: bytes) -> bytes:
        """A record of perf-cpuN.dat."""
        return self.pack("IHH", kind, misc, 8 + len(body)) + body

    def info(self) -> bytes:
        """The content of `info`."""
        tids = list(self.tasks) if self.tids is None else self.tids
        specifications = [
            f"{key}:{value}"
            for key, value in (
                ("argspec", self.argspec),
                ("retspec", self.retspec),
                ("argauto", self.argauto),
                ("retauto", self.retauto),
                ("enumauto", self.enumauto),
                ("auto-args", "1" if self.auto_args else ""),
            )
            if value
        ]
        lines = [
            "taskinfo:lines=2",
            f"taskinfo:nr_tid={len(tids)}",
            f"taskinfo:tids={','.join(map(str, tids))}",
            f"argspec:lines={len(specifications)}",
            *specifications,
            f"pattern_type:{self.pattern}",
            *self.lines,
        ]
        header = Header(
            self.version,
            Endianness.BIG if self.big_endian else Endianness.LITTLE,
            ElfClass.BITS_64 if self.bits == 64 else ElfClass.BITS_32,
            int(self.features),
        )
        return build_header(header) + "".join(f"{line}\n" for line in lines).encode()

    def contents(self) -> dict[str, bytes]:
        """All files by name."""
        found = {"info": self.info()}
        if self.task_txt is not None:
            found["task.txt"] = self.task_txt.encode()
        for sid, text in self.maps.items():
            found[f"sid-{sid}.map"] = text.encode()
        for name, text in self.symbols.items():
            found[f"{name}.sym"] = text.encode()
        for tid, data in self.tasks.items():
            found[f"{tid}.dat"] = data
        return found | self.files

    def write(self, path: Path) -> Path:
        """Write the directory."""
        path.mkdir(parents=True, exist_ok=True)
        for name, data in self.contents().items():
            (path / name).write_bytes(data)
        return path


def _padded(data: bytes, multiple: int) -> bytes:
    return data + bytes(-len(data) % multiple)


def calls(directory: Directory, start: int = 10) -> bytes:
    """main calls foo and baz."""
    return b"".join(
        directory.record(start + i, kind, depth, address)
        for i, (kind, depth, address) in enumerate(
            [
                (ENTRY, 0, MAIN + 4),
                (ENTRY, 1, FOO + 8),
                (EXIT, 1, FOO + 8),
                (ENTRY, 1, BAZ),
                (EXIT, 1, BAZ),
                (EXIT, 0, MAIN + 4),
            ]
        )
    )


def with_binary_task_file() -> Directory:
    """A directory of an old recording: a file `task` of a session, a process of it, and a fork of that."""
    directory = Directory(task_txt=None)
    task = struct.Struct("<HHIQii")
    name = PROGRAM.encode()
    directory.files["task"] = (
        task.pack(0xFACE, 7, 40 + len(name), 1, TID, TID)
        + struct.pack("<16s4xi", SID.encode(), len(name))
        + name
        + bytes(-len(name) % 8)
        + task.pack(0xFACE, 3, 16, 2, TID, TID)
        + task.pack(0xFACE, 6, 16, 3, TID, 102)
    )
    directory.tasks[TID] = calls(directory)
    return directory


def flawed(
    path: Path,
    *,
    cmdline: bool = True,
    lost: bool = False,
    preempted: bool = False,
    longjmp: bool = False,
    unfinished: bool = False,
    long_double: bool = False,
    date: int | None = None,
) -> Path:
    """A small recording of a process with a thread, which uftrace takes."""
    directory = Directory(
        task_txt=f'SESS timestamp=0.000000001 pid={TID} sid=0123456789abcdef exename="/usr/bin/app"\n'
        f"TASK timestamp=0.000000002 tid={TID} pid={TID}\n"
        f"TASK timestamp=0.000000002 tid=101 pid={TID}\n",
    )
    values = directory.text('say "é"'.encode()) + directory.pack("i", -5)
    specification = "foo@arg1/s,arg2/i32"
    if long_double:
        values = struct.pack("<QHxx", 5 << 61, 0xC000)
        specification = "foo@fparg1/80"
    inner = [
        directory.record(SECOND + 20, EXIT, 1, FOO),
    ]
    if lost:
        inner.append(directory.record(SECOND + 25, LOST, 1, 5))
    if longjmp:
        # The function that called longjmp is never left: the one around both is.
        inner = []
    directory.tasks[TID] = b"".join(
        [
            directory.record(SECOND, ENTRY, 0, MAIN),
            directory.record(SECOND + 10, ENTRY, 1, FOO, values),
            directory.event(SECOND + 15, 1_000_000, depth=2),
            *inner,
            b"" if unfinished else directory.record(SECOND + 30, EXIT, 0, MAIN),
        ]
    )
    directory.tasks[101] = directory.record(SECOND + 12, ENTRY, 0, BAR)
    directory.tasks[101] += directory.record(SECOND + (40 if unfinished else 18), EXIT, 0, BAR)
    directory.files["events.txt"] = b"EVENT: 1000000 prov:one\n"
    perf = directory.perf(
        3, 0, directory.pack("ii8siiQ", TID, 101, b"worker", TID, 101, SECOND + 11)
    )
    if preempted:
        for misc, at in ((0x6000, 13), (0, 14)):
            perf += directory.perf(14, misc, directory.pack("iiQ", TID, 101, SECOND + at))
    directory.files["perf-cpu0.dat"] = perf
    lines = {
        InfoBit.EXE_NAME: "exename:/usr/bin/app\n",
        InfoBit.CMDLINE: "cmdline:app\n",
        InfoBit.TASKINFO: f"taskinfo:lines=2\ntaskinfo:nr_tid=2\ntaskinfo:tids={TID},101\n",
        InfoBit.ARG_SPEC: f"argspec:lines=1\nargspec:{specification}\n",
        InfoBit.PATTERN_TYPE: "pattern_type:regex\n",
    }
    if date is not None:
        lines[InfoBit.UTC_OFFSET] = f"utc_offset:{date}\n"
    if not cmdline:
        del lines[InfoBit.CMDLINE]
    features = directory.features | Feature.EVENT | Feature.PERF_EVENT
    header = Header(features=int(features), info_mask=sum(1 << bit for bit in lines))
    directory.files["info"] = build_header(header) + "".join(lines.values()).encode()
    return directory.write(path)


def kernel_header(kernel: Kernel, formats: Mapping[str, Sequence[bytes]] = FORMATS) -> bytes:
    """The content of `kernel_header`: the formats of the kernel's events."""
    blocks = [("events/header_page", b"whatever")]
    blocks += [("events/ftrace/x/format", text) for text in FTRACE_FORMATS]
    for system, texts in formats.items():
        blocks += [(f"events/{system}/x/format", text) for text in texts]
    return (
        f"PAGE_SIZE: {kernel.page_size}\nLONG_SIZE: {kernel.long_size}\n".encode()
        + (b"ENDIAN: BE\n" if kernel.big_endian else b"ENDIAN: LE\n")
        + b"".join(f"TRACEFS: {name}: {len(text)}\n".encode() + text for name, text in blocks)
    )


def opened(directory: Directory, tmp_path: Path) -> Trace:
    """The directory, written and read."""
    return read(open_source(str(directory.write(tmp_path / "data"))))


def one_call(
    directory: Directory,
    tmp_path: Path,
    entry: bytes | None = None,
    leave: bytes | None = None,
    address: int = FOO,
) -> Trace:
    """The directory with one call, which has these values at its entry and exit."""
    directory.tasks[TID] = directory.record(1, ENTRY, 0, address, entry) + directory.record(
        2, EXIT, 0, address, leave
    )
    trace = opened(directory, tmp_path)
    assert trace.warnings == []
    return trace


Event = tuple[int, Kind, int | None, int, dict[str, Any]]


def events(trace: Trace) -> list[Event]:
    """Time, kind, tid (None without a thread), CPU and fields of each event."""
    found = []
    for batch in trace.batches():
        for i in range(len(batch)):
            event_class = trace.event_classes[int(batch.class_id[i])]
            values = fields_at(trace, batch, i)
            tid = trace.threads[batch.thread[i]].tid if batch.thread[i] >= 0 else None
            found.append((int(batch.ts[i]), event_class.kind, tid, int(batch.cpu[i]), values))
    return found


def payload(trace: Trace) -> dict[str, Any]:
    """Values of the first event with any beside its name."""
    for _, _, _, _, values in events(trace):
        rest = {key: held for key, held in values.items() if key not in ("name", "category")}
        if rest:
            return rest
    return {}


def names(trace: Trace, kind: Kind = Kind.SLICE_BEGIN) -> list[Any]:
    """The names of events of this kind."""
    return [values["name"] for _, found, _, _, values in events(trace) if found is kind]


def field_types(trace: Trace, name: str) -> list[FieldClass]:
    """The types of fields of this name."""
    return [item.type for one in trace.event_classes for item in one.fields if item.name == name]

"""Builds small data directories of uftrace, byte by byte as uftrace.h and libmcount/record.c say."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

from converter.formats.uftrace.layout import ElfClass, Endianness, Feature, Header, build_header

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

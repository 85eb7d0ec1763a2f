"""What uftrace prints of a directory; the records that it dumps are compared with those of a trace."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import converter
from converter.ir.columns import value
from converter.ir.field_classes import BytesClass, FloatClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace

needs_uftrace = pytest.mark.skipif(
    shutil.which("uftrace") is None, reason="uftrace is not installed"
)

#: What distributions have, and a newer version.
VERSIONS = ("uftrace", "uftrace-0.19")
#: All commands that read a directory, and need no terminal.
COMMANDS = (
    ("info",),
    ("info", "--task"),
    ("dump",),
    ("dump", "--debug"),
    ("dump", "--chrome"),
    ("dump", "--flame-graph"),
    ("dump", "--flame-graph", "--sample-time=1us"),
    ("dump", "--graphviz"),
    ("replay",),
    ("replay", "-f", "all"),
    ("replay", "--flat"),
    ("replay", "--column-view", "--libname", "--no-merge"),
    ("replay", "--kernel-full", "--event-full"),
    ("report",),
    ("report", "--task"),
    ("report", "-f", "all"),
    ("graph",),
    ("graph", "--task"),
    ("graph", "-f", "all"),
)
#: What only later versions have.
LATER_COMMANDS = (("dump", "--mermaid"),)

_RECORD = re.compile(
    rb"(\d+)\.(\d{9}) +(\d+): \[(entry|exit |event|lost )\] (.*?)(?:\(([0-9a-f]+)\))?(?: depth: (\d+))?"
)
_VALUE = re.compile(
    rb"  (?:args\[\d+\]|retval) (?:(\w+): (.*)|struct (.*):|enum (\w+): (.*))", re.DOTALL
)


@dataclass(slots=True)
class Dumped:
    """A record: values are integers (as unsigned), texts, bytes, or None where the print does not give them."""

    ts: int
    kind: str
    name: bytes
    depth: int
    values: list[Any] = field(default_factory=list)


def run(*command: str, cwd: Path | None = None) -> bytes:
    """What a command prints; it must succeed."""
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, timeout=60).stdout


def uftrace(path: Path, *command: str, program: str = "uftrace") -> list[str]:
    """The lines that a command prints."""
    return (
        run(program, *command, "--no-pager", "-d", str(path)).decode("utf-8", "replace").split("\n")
    )


def check_commands(path: Path, *, lost: bool = False) -> None:
    """All commands take a directory, and its Chrome export is JSON."""
    for command in COMMANDS:
        lines = uftrace(path, *command)
        if command == ("dump", "--chrome") and not lost:
            json.loads("\n".join(lines))


def check_readers(path: Path) -> None:
    """All commands of all versions that are installed take a directory."""
    for program in filter(shutil.which, VERSIONS):
        for command in COMMANDS + (LATER_COMMANDS if program != "uftrace" else ()):
            line = [program, *command, "--no-pager", "-d", str(path)]
            done = subprocess.run(
                line, capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False
            )
            told = done.stderr.decode("utf-8", "replace")
            assert done.returncode == 0, (line, done.returncode, told[-500:])
            assert not re.search("ERROR|inverted|broken", told), (line, told[-500:])
        assert tui_status(program, path) == 0, program


def tui_status(program: str, path: Path) -> int:
    """The exit status of the terminal interface, after a look at its report and its graph."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(program, [program, "tui", "-d", str(path)], os.environ | {"TERM": "xterm"})
    keys = iter(b"rgiqqq")
    while True:
        ready, _, _ = select.select([terminal], [], [], 0.05)
        try:
            if ready and not os.read(terminal, 1 << 16):
                break
            if not ready and (key := next(keys, None)) is not None:
                os.write(terminal, bytes([key]))
        except OSError:
            # The other end is closed.
            break
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def convert(source: Path, path: Path) -> None:
    """Write a recording as a directory."""
    with converter.open_trace(str(source)) as trace:
        converter.write(trace, path, "uftrace")


def dumped_records(path: Path) -> dict[int, list[Dumped]]:
    """The records of each task, in the order of its file."""
    records: dict[int, list[Dumped]] = defaultdict(list)
    last: Dumped | None = None
    perf = False
    for line in run("uftrace", "dump", "-d", str(path), "--no-pager", "-D", "5000").split(b"\n"):
        if line.startswith(b"reading "):
            perf = line.startswith(b"reading perf")
        match = _RECORD.fullmatch(line)
        if match and not perf:
            ts = int(match[1]) * 1_000_000_000 + int(match[2])
            last = Dumped(ts, match[4].decode().strip(), match[5], int(match[7] or 0))
            records[int(match[3])].append(last)
        elif (found := _VALUE.fullmatch(line)) and last is not None:
            last.values.append(_dumped_value(found))
        elif line.startswith(b"\t") and last is not None and isinstance(last.values[-1], bytearray):
            last.values[-1] += bytes.fromhex(line.decode())
    return records


def _dumped_value(found: re.Match[bytes]) -> Any:
    if found[3] is not None:
        return bytearray()
    if found[4] is not None:
        return found[5]
    if found[1] == b"str":
        return found[2]
    number = re.match(rb"(?:0x)?([0-9a-f]+)|\(nil\)", found[2])
    return None if number is None else int(number[1] or b"0", 16)


def compare(trace: Trace, path: Path) -> int:
    """Check each entry, exit and event of the task files against the dump; how many records there are.

    An exit has the name of the function that it closes. Exits that no record has stand where a record of less depth
    shows that functions have been left, and where the task exits.
    """
    dumped = dumped_records(path)
    places = dict.fromkeys(dumped, 0)
    open_: dict[int, list[bytes]] = defaultdict(list)
    for batch in trace.batches():
        readers = {
            id: (trace.event_classes[id], [table.column(i) for i in range(table.width)])
            for id, table in batch.tables.items()
        }
        for i in range(len(batch)):
            event_class, columns = readers[int(batch.class_id[i])]
            if batch.cpu[i] >= 0 or batch.thread[i] < 0:
                continue
            tid = trace.threads[int(batch.thread[i])].tid
            values = [
                (item, value(column, item.type, int(batch.row[i]), trace.strings))
                for item, column in zip(event_class.fields, columns, strict=True)
            ]
            name = next((held for item, held in values if item.role is Role.NAME), None)
            expected = dumped[tid][places[tid]] if places[tid] < len(dumped[tid]) else None
            ts = int(batch.ts[i])
            if event_class.kind is Kind.SLICE_END and name is None:
                name = open_[tid].pop()
                if (
                    expected is None
                    or expected.kind != "exit"
                    or expected.depth % 1024 < len(open_[tid]) % 1024
                ):
                    if expected is None:
                        # The task has exited.
                        assert ts >= dumped[tid][-1].ts and len(values) == 0
                        continue
                    assert expected.ts == ts
                    assert expected.depth % 1024 <= len(open_[tid]) % 1024
                    assert len(values) == 0
                    continue
            assert expected is not None, f"more events of {tid} than records"
            places[tid] += 1
            assert ts == expected.ts
            if event_class.kind is Kind.SLICE_BEGIN:
                assert expected.kind == "entry"
                assert name is not None
                open_[tid].append(name)
            elif event_class.kind is Kind.SLICE_END:
                assert expected.kind == "exit"
                if open_[tid] and expected.depth % 1024 == (len(open_[tid]) - 1) % 1024:
                    open_[tid].pop()
            else:
                assert expected.kind in ("event", "lost")
                continue
            assert name == expected.name, (tid, ts, name, expected)
            payload = [
                (item, held)
                for item, held in values
                if item.role not in (Role.NAME, Role.CATEGORY) and not item.name.endswith("_text")
            ]
            assert len(payload) >= len(expected.values), (name, payload, expected)
            for (item, held), wanted in zip(payload, expected.values, strict=False):
                _check(item.type, held, wanted)
    assert places == {tid: len(records) for tid, records in dumped.items()}
    return sum(places.values())


def _check(type_: object, held: Any, wanted: Any) -> None:
    match type_:
        case IntegerClass(_, _, _, labels) if isinstance(wanted, bytes):
            names = {label.low: label.text.encode() for label in labels}
            name, _, number = wanted.rpartition(b" ")
            assert int(number.strip(b"()")) % (1 << 32) == held % (1 << 32)
            assert names.get(held, name) == name
        case IntegerClass(bits):
            # Of a small negative int in a register the print has the half that it fills.
            known = {held % (1 << bits), held % (1 << (32 if -(1 << 16) < held < 0 else bits))}
            assert wanted is None or wanted in known, (hex(held), hex(wanted))
        case FloatClass(bits):
            order = "<f" if bits == 32 else "<d"
            if wanted is not None:
                assert int.from_bytes(struct.pack(order, held), "little") == wanted
        case StringClass():
            # The print does not escape the ends of lines.
            assert held.split(b"\n")[0] == wanted
        case BytesClass():
            assert isinstance(wanted, bytearray) and held[: len(wanted)] == wanted[: len(held)]
        case _:
            raise AssertionError(type_, np.asarray(held))

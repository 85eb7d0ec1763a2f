"""Recordings of tasks that call, jump, fork, execute and are switched, at random, and what uftrace replays of them."""

from __future__ import annotations

import random
import re
import struct
import subprocess
from pathlib import Path

from support.uftrace.files import BASE, ENTRY, EXIT, LOST, SECOND, SID, TID, Directory

from converter.formats.uftrace.layout import Feature, Header, InfoBit, build_header

FUNCTIONS = (
    "main",
    "helper",
    "_ZN2ns3barEi",
    "operator()",
    "numbers",
    "texts",
    "fork",
    "_setjmp",
    "longjmp",
    "execl",
)
SPECIFICATION = (
    "numbers@arg1/i32,arg2/u,arg3,arg4/x16,arg5/u32,arg6/c8,arg7/p;"
    "texts@arg1/s,arg2/S,fparg1/64,fparg2/32,arg3/d16"
)
RETURNED = "numbers@retval/i64;texts@retval/p"
CHILD = 101
FORKED = 102
_LIFE = (0, 0x7FFF, 0x10000, 100_000, 100_001, 0xFFFF0000, 0xFFFF0001, (1 << 32) - 1, 1 << 40)
_TEXTS = ("", 'say "hé"', "one\ntwo\b", "NULL", "tab\there")


def _arguments(directory: Directory, chance: random.Random, name: str) -> bytes | None:
    if name not in ("numbers", "texts") or chance.random() < 0.2:
        return None
    number = chance.choice(_LIFE) * chance.choice((1, -1)) & (1 << 64) - 1
    if name == "numbers":
        pointer = chance.choice((0, 5, BASE + 0x1004, 1 << 40))
        packed = directory.pack("I", number & 0xFFFFFFFF) + directory.pack("QQ", number, number)
        packed += directory.pack("Hxx", number & 0xFFFF) + directory.pack("I", number & 0xFFFFFFFF)
        return (
            packed + chance.choice((b"a", b"\n", b"\0")) + bytes(3) + directory.pack("Q", pointer)
        )
    texts = b"".join(directory.text(chance.choice(_TEXTS).encode()) for _ in range(2))
    floats = struct.pack("<df", chance.choice((0.1, -2e10, 1e-7)), 2.5)
    return texts + floats + directory.pack("Hxx", number & 0xFFFF)


def _task(directory: Directory, chance: random.Random, start: int, depth: int) -> bytes:
    """The records of a task that begins inside some functions."""
    records, stack, ts = [], list(range(depth)), start
    for _ in range(chance.randrange(4, 40)):
        ts += chance.choice((1, 7, 900, 12_345, 5_000_000, 70 * SECOND))
        draw = chance.random()
        number = chance.randrange(len(FUNCTIONS))
        address = 0x1000 + 0x20 * number
        if draw < 0.45:
            payload = _arguments(directory, chance, FUNCTIONS[number])
            records.append(directory.record(ts, ENTRY, len(stack), address, payload))
            stack.append(number)
        elif draw < 0.85 and stack:
            left = stack.pop()
            payload = None
            if FUNCTIONS[left] in ("numbers", "texts") and chance.random() < 0.8:
                payload = directory.pack("Q", chance.choice(_LIFE))
            records.append(directory.record(ts, EXIT, len(stack), 0x1000 + 0x20 * left, payload))
        elif draw < 0.88:
            records.append(directory.record(ts, LOST, 0, chance.choice((0, 3))))
        elif draw < 0.92:
            records.append(directory.event(ts, 1_000_000, depth=len(stack)))
        elif draw < 0.96:
            id, sign = chance.choice(((100_004, "q"), (100_002, "Q")))
            records.append(directory.event(ts, id, directory.pack(f"2{sign}", 3, 4)))
        else:
            records.append(directory.event(ts, 100_011, directory.pack("i", 1)))
    return b"".join(records)


def _perf(directory: Directory, chance: random.Random) -> bytes:
    records, ts, running = [], SECOND, True
    for _ in range(chance.randrange(12)):
        ts += chance.choice((3, 800, 10_000, 3_000_000))
        tid = chance.choice((TID, CHILD, 999))
        misc = chance.choice((0x2000, 0x6000)) if running else 0
        running = not running
        records.append(directory.perf(14, misc, directory.pack("iiQ", TID, tid, ts)))
    ts += 5
    life = directory.pack("iiii", TID, TID, CHILD, TID)
    records.append(directory.perf(4, 0, life + directory.pack("Q", ts) + bytes(16)))
    body = directory.pack("ii8siiQ", TID, CHILD, b"worker", TID, CHILD, ts + 1)
    return b"".join([*records, directory.perf(3, 0, body)])


def _estimated(
    directory: Directory, chance: random.Random, tid: int, start: int
) -> tuple[bytes, list[tuple[int, bytes]]]:
    """The records and switches of a task whose exits lie halfway between entries, on whichever CPU that was."""
    real: list[tuple[int, int, int, int]] = []
    switches, stack, ts = [], [], start
    for _ in range(chance.randrange(4, 60)):
        ts += chance.choice((1, 2, 7, 900, 900, 12_345))
        draw = chance.random()
        if draw < 0.35:
            for misc in (chance.choice((0x2000, 0x6000)), 0):
                ts += chance.choice((1, 7, 3_000, 40_000))
                packed = directory.pack("iiQ", TID, tid, ts)
                switches.append((ts, directory.perf(14, misc, packed)))
        elif draw < 0.7 or not stack:
            # Without one that does more than to be called.
            address = 0x1000 + 0x20 * chance.randrange(FUNCTIONS.index("fork"))
            real.append((ts, ENTRY, len(stack), address))
            stack.append(address)
        else:
            address = stack.pop()
            real.append((ts, EXIT, len(stack), address))
    records, last, count = [], start, 0
    for position, (time, kind, depth, address) in enumerate(real):
        if kind == ENTRY:
            shown, last, count = time, time, 0
        else:
            later = (other for other, kind, *_ in real[position:] if kind == ENTRY)
            shown = (last + next(later, ts)) // 2 + count
            count += 1
        records.append(directory.record(shown, kind, depth, address))
    return b"".join(records), switches


def recording(path: Path, seed: int, *, estimated: bool = False) -> Path:
    """A directory of three tasks, which depends on the seed alone; or one whose exits are estimated."""
    chance = random.Random(seed)
    directory = Directory()
    directory.task_txt = (
        f'SESS timestamp=0.000000001 pid={TID} sid={SID} exename="/usr/bin/app"\n'
        f"TASK timestamp=0.000000002 tid={TID} pid={TID}\n"
        f"TASK timestamp=0.000000003 tid={CHILD} pid={TID}\n"
        f"FORK timestamp=0.000000004 pid={FORKED} ppid={TID}\n"
    )
    directory.symbols["app"] = "".join(
        f"{0x1000 + 0x20 * number:016x} T {name}\n" for number, name in enumerate(FUNCTIONS)
    )
    directory.symbols["app"] += f"{0x1000 + 0x20 * len(FUNCTIONS):016x} ? __sym_end\n"
    tids = (TID, CHILD, FORKED)
    for tid in tids:
        depth = chance.randrange(3) if tid == FORKED else 0
        directory.tasks[tid] = _task(directory, chance, SECOND + 10_000 * (tid - TID), depth)
    features = directory.features | Feature.EVENT | Feature.ARGUMENT | Feature.RETVAL
    if estimated:
        switches = []
        for tid in tids:
            start = SECOND + 10_000 * (tid - TID)
            directory.tasks[tid], switched = _estimated(directory, chance, tid, start)
            switches += switched
        directory.files["perf-cpu0.dat"] = b"".join(record for _, record in sorted(switches))
        features |= Feature.PERF_EVENT | Feature.ESTIMATE_RETURN
    elif chance.random() < 0.6:
        directory.files["perf-cpu0.dat"] = _perf(directory, chance)
        features |= Feature.PERF_EVENT
    if chance.random() < 0.3:
        directory.files["extern.dat"] = b"1.000000500 outside\n1.000020000 a line\n"
    directory.files["events.txt"] = b"EVENT: 1000000 prov:one\n"
    lines = {
        InfoBit.EXE_NAME: "exename:/usr/bin/app\n",
        InfoBit.CMDLINE: "cmdline:app\n",
        InfoBit.TASKINFO: "taskinfo:lines=2\ntaskinfo:nr_tid=3\n"
        f"taskinfo:tids={','.join(map(str, tids))}\n",
        InfoBit.ARG_SPEC: f"argspec:lines=2\nargspec:{SPECIFICATION}\nretspec:{RETURNED}\n",
        InfoBit.PATTERN_TYPE: "pattern_type:simple\n",
    }
    header = Header(features=int(features), info_mask=sum(1 << bit for bit in lines))
    directory.files["info"] = build_header(header) + "".join(lines.values()).encode()
    return directory.write(path)


def replayed(path: Path, program: str) -> str:
    """What a version of uftrace replays."""
    done = subprocess.run(
        [program, "replay", "--no-pager", "-d", str(path)], capture_output=True, check=True
    )
    return comparable(done.stdout)


def comparable(text: bytes) -> str:
    """Lines without the blanks in front of tasks, which versions have more or less of."""
    shown = text.decode("utf-8", "surrogateescape")
    heading, _, rest = shown.partition("\n")
    return " ".join(heading.split()) + "\n" + re.sub(r"\[ *(\d+)\] \|", r"[\1] |", rest)

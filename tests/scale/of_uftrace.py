"""Dimensions of uftrace directories: tasks, sessions, symbols, maps, depth."""

from __future__ import annotations

from scale.drawn import Dimension, Drawn, token, tokens
from support.uftrace.files import BASE, ENTRY, EXIT, FOO, MAIN, PROGRAM, SID, TID, Directory

_STACK = "7ffd000000-7ffe000000 rw-p 00000000 00:00 0      [stack]\n"


def _call(directory: Directory, ts: int, address: int, depth: int = 0) -> bytes:
    return directory.record(ts, ENTRY, depth, address) + directory.record(
        ts + 5, EXIT, depth, address
    )


def _session(sid: str, pid: int, ts: int) -> str:
    return f'SESS timestamp={ts // 10**9}.{ts % 10**9:09} pid={pid} sid={sid} exename="{PROGRAM}"\n'


def _symbols(count: int) -> str:
    lines = [f"{MAIN + 16 * n:016x} T {token('y', n)}\n" for n in range(count)]
    end = f"{MAIN + 16 * count:016x} ? __sym_end\n"
    return f"# symbols: {count}\n# path name: {PROGRAM}\n" + "".join(lines) + end


def tasks(count: int) -> Drawn:
    """Tasks of a process, with a call each."""
    directory = Directory()
    lines = [_session(SID, TID, 1)]
    for number in range(count):
        tid = TID + number
        lines.append(f"TASK timestamp=0.000000002 tid={tid} pid={TID}\n")
        directory.tasks[tid] = _call(directory, 10 + 10 * number, FOO)
    directory.task_txt = "".join(lines)
    return Drawn(directory.contents(), frozenset(), 2 * count)


def forks(count: int) -> Drawn:
    """Processes that one forks, with a call each."""
    directory = Directory()
    lines = [_session(SID, TID, 1), f"TASK timestamp=0.000000002 tid={TID} pid={TID}\n"]
    directory.tasks[TID] = _call(directory, 5, FOO)
    for number in range(count):
        pid = TID + 1 + number
        lines.append(f"FORK timestamp=0.000000003 pid={pid} ppid={TID}\n")
        directory.tasks[pid] = _call(directory, 10 + 10 * number, FOO)
    directory.task_txt = "".join(lines)
    return Drawn(directory.contents(), frozenset(), 2 * (count + 1))


def symbols(count: int) -> Drawn:
    """Functions, each called once."""
    directory = Directory(symbols={"app": _symbols(count)})
    calls = (_call(directory, 10 + 10 * n, MAIN + 16 * n) for n in range(count))
    directory.tasks[TID] = b"".join(calls)
    directory.maps[SID] = f"{BASE:x}-{BASE + 0x900000:x} r-xp 00000000 00:00 0      {PROGRAM}\n"
    directory.maps[SID] += _STACK
    return Drawn(directory.contents(), tokens("y", count), 2 * count)


def sessions(count: int) -> Drawn:
    """Programs that processes have executed, each with a map of its own."""
    directory = Directory(maps={}, symbols={"app": _symbols(1)})
    lines = []
    for number in range(count):
        sid, tid, base = f"{number + 1:016x}", TID + number, BASE + 0x10000 * number
        lines.append(_session(sid, tid, 1 + number))
        lines.append(f"TASK timestamp=0.000000002 tid={tid} pid={tid}\n")
        directory.maps[sid] = (
            f"{base:x}-{base + 0x9000:x} r-xp 00000000 00:00 0      {PROGRAM}\n{_STACK}"
        )
        ts = count + 10 + 10 * number
        directory.tasks[tid] = _call(directory, ts, base + MAIN)
    directory.task_txt = "".join(lines)
    return Drawn(directory.contents(), tokens("y", min(count, 1)), 2 * count)


def mapped(count: int) -> Drawn:
    """Libraries in the map of a session, each with a function that is called."""
    directory = Directory(symbols={})
    lines, calls = [], []
    for number in range(count):
        base, name = BASE + 0x10000 * number, f"lib{number}.so"
        path = f"/usr/lib/{name}"
        lines.append(f"{base:x}-{base + 0x9000:x} r-xp 00000000 00:00 0      {path}\n")
        directory.symbols[name] = (
            f"# symbols: 1\n# path name: {path}\n{MAIN:016x} T {token('y', number)}\n"
            f"{MAIN + 16:016x} ? __sym_end\n"
        )
        calls.append(_call(directory, 10 + 10 * number, base + MAIN))
    directory.maps[SID] = "".join(lines) + _STACK
    directory.tasks[TID] = b"".join(calls)
    return Drawn(directory.contents(), tokens("y", count), 2 * count)


def depth(count: int) -> Drawn:
    """Functions that are open in each other."""
    directory = Directory()
    entries = (directory.record(10 + n, ENTRY, n, FOO) for n in range(count))
    exits = (directory.record(10 + 2 * count - n, EXIT, n, FOO) for n in reversed(range(count)))
    directory.tasks[TID] = b"".join((*entries, *exits))
    return Drawn(directory.contents(), frozenset(), 2 * count)


def open_functions(count: int) -> Drawn:
    """Tasks that end inside a function."""
    directory = Directory()
    lines = [_session(SID, TID, 1)]
    for number in range(count):
        tid = TID + number
        lines.append(f"TASK timestamp=0.000000002 tid={tid} pid={TID}\n")
        directory.tasks[tid] = directory.record(10 + number, ENTRY, 0, FOO)
    directory.task_txt = "".join(lines)
    return Drawn(directory.contents())


def arguments(count: int) -> Drawn:
    """Arguments of a function, as a specification says them."""
    listed = ",".join(f"arg{number + 1}/u32" for number in range(count))
    directory = Directory(argspec=f"foo@{listed}" if count else "")
    payload = directory.pack(f"{count}I", *range(count)) if count else None
    entry = directory.record(10, ENTRY, 0, FOO, payload)
    directory.tasks[TID] = entry + directory.record(20, EXIT, 0, FOO)
    return Drawn(directory.contents(), frozenset(), 2)


DIMENSIONS = [
    Dimension("tasks of uftrace", tasks, "uftrace", least=1, most=4097),
    Dimension("forks of uftrace", forks, "uftrace", most=4096),
    Dimension("symbols", symbols, "uftrace"),
    Dimension("sessions", sessions, "uftrace", least=1, most=2049),
    Dimension("map entries", mapped, "uftrace", most=4097),
    # A record has ten bits for the depth.
    Dimension("depth", depth, "uftrace", most=1024),
    Dimension("open functions", open_functions, "uftrace", least=1, most=4097),
    # The reader's own bound, above which a specification is passed over with a warning.
    Dimension("arguments of a function", arguments, "uftrace", limit=128, above="warnings"),
]

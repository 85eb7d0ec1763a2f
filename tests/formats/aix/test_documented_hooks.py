"""Documented hooks that are written behind events of the same meaning, and a word of time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.aix.files import VARIANTS, opened, rows, stream, trace_of_rows, written

from converter.formats.aix.entries.scan import presented
from converter.ir.canonical import difference
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace

U64, I32 = IntegerClass(64), IntegerClass(32, True)
SWITCH = EventClass(
    Kind.SCHED_SWITCH,
    "sched_switch",
    "sched",
    (
        Field("prev_comm", StringClass(), Role.PREV_COMM),
        Field("prev_pid", I32, Role.PREV_TID),
        Field("prev_prio", I32, Role.PREV_PRIORITY),
        Field("next_pid", I32, Role.NEXT_TID),
        Field("next_prio", I32, Role.NEXT_PRIORITY),
    ),
)


def _documented(content: bytes, variant: str) -> Iterator[tuple[int, bytes, bytes]]:
    """The entries of documented hooks in a stream: the hook, the entry as templates see it, and as it is stored."""
    at = 4 if variant == "64" else 0
    while at < len(content):
        shown, bits, stored = presented(int(variant), content[at:])
        id = int.from_bytes(shown[4:6], "big") if bits == 64 else (shown[0] << 8 | shown[1] & 0xF0)
        if id >= 0x1000:
            yield id, shown, content[at : at + stored]
        at += stored


def _documented_entries(content: bytes, variant: str, hook: int) -> list[bytes]:
    """The entries of a hook, as templates see them."""
    return [shown for id, shown, _ in _documented(content, variant) if id == hook]


def _alone(content: bytes, variant: str) -> Trace:
    """The documented hooks of a stream, as a stream."""
    return opened(
        stream(variant, *(stored for _, _, stored in _documented(content, variant))), variant
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_dispatches_are_documented_hooks_too(variant):
    trace = trace_of_rows(
        SWITCH,
        rows=[(0, 5, 1, 0, -1, (b"ksh", 70, 60, 80, 40))],
        processes=[Process(7, "ksh"), Process(8, "ls")],
        threads=[Thread(70, 0, "ksh"), Thread(80, 1, "ls")],
    )
    content = written(trace, variant)
    assert difference(trace, opened(content, variant)) is None
    width = int(variant) // 8
    (entry,) = _documented_entries(content, variant, 0x1060)
    words = [int.from_bytes(entry[i : i + width], "big") for i in range(width, len(entry), width)]
    assert words == [8, 80, 40, 70, 60]


@pytest.mark.parametrize("variant", VARIANTS)
def test_system_calls_and_programs_are_documented_hooks_too(variant):
    enter = EventClass(
        Kind.SYSCALL_ENTRY, "sys_enter", "raw", (Field("id", U64, Role.SYSCALL_NUMBER),)
    )
    leave = EventClass(
        Kind.SYSCALL_EXIT,
        "sys_exit",
        "raw",
        (Field("id", U64, Role.SYSCALL_NUMBER), Field("ret", I32, Role.RETURN)),
    )
    execute = EventClass(
        Kind.PROCESS_EXEC, "exec", "", (Field("path", StringClass(), Role.FILENAME),)
    )
    trace = trace_of_rows(
        enter,
        leave,
        execute,
        rows=[
            (0, 5, 1, 0, -1, (17,)),
            (1, 6, 1, 0, -1, (17, -2)),
            (2, 7, 1, 0, -1, (b"/usr/bin/ls",)),
        ],
        processes=[Process(7, "ksh")],
        threads=[Thread(70, 0)],
    )
    content = written(trace, variant)
    assert difference(trace, opened(content, variant)) is None
    width = int(variant) // 8
    (entered,) = _documented_entries(content, variant, 0x1010)
    (left,) = _documented_entries(content, variant, 0x1040)
    (executed,) = _documented_entries(content, variant, 0x1340)
    place = slice(6, 8) if variant == "64" else slice(2, 4)
    assert (entered[place], left[place]) == (b"\0\x11", b"\0\x11")
    assert left[width:] == (-2).to_bytes(width, "big", signed=True)
    assert executed[width:] == (7).to_bytes(width, "big") + b"/usr/bin/ls\0"
    # Whoever reads the same hooks alone, as AIX's own tools do, learns the same.
    alone = _alone(content, variant)
    assert [(one.kind, one.tid) for one in rows(alone)] == [
        ("SYSCALL_ENTRY", 70),
        ("SYSCALL_EXIT", 70),
        ("PROCESS_EXEC", 70),
    ]
    assert [(one.pid, one.name) for one in alone.processes][-1:] == [(0, "")]

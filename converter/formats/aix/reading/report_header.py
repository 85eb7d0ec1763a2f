"""The heading of a trcrpt report: its columns and their positions.

The columns are those of the trcrpt command's ``-O`` options exec, cpuid, pid, tid, svc, ids and timestamp (IBM, AIX
documentation, "trcrpt Command", "Reading a trace report").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, unique


@unique
class FrontColumn(IntEnum):
    """A column before the time; the numbers are those that the kernel knows."""

    ID = 0
    PROCESS_NAME = 1
    CPU = 2
    PID = 3
    TID = 4
    DEPTH = 5
    SYSTEM_CALL = 6


_TITLES = {
    "ID": FrontColumn.ID,
    "PROCESS NAME": FrontColumn.PROCESS_NAME,
    "CPU": FrontColumn.CPU,
    "PID": FrontColumn.PID,
    "TID": FrontColumn.TID,
    "I": FrontColumn.DEPTH,
    "SYSTEM CALL": FrontColumn.SYSTEM_CALL,
}
_FRONT = re.compile(r"(PROCESS NAME|SYSTEM CALL|ID|CPU|PID|TID|I)(?=\s|$)")
_TIME = re.compile(r"(ELAPSED(?:_SEC)?)(?:\s+(DELTA\w*))?(?=\s|$)")
_TEXT = re.compile(r"APPL(\s+)SYSCALL\s+KERNEL\s+INTERRUPT\s*")
#: The end of the heading, which a page of the report may repeat.
TITLE = re.compile(r"APPL\s+SYSCALL\s+KERNEL\s+INTERRUPT")


@dataclass(frozen=True, slots=True)
class Heading:
    """The columns of a report, with the offsets in the line at which they start.

    `timed` is False with ``timestamp=3``. In a report that is not `aligned`, runs of blanks have been reduced to one,
    for example by copying it from a page of text; its values are distinguished by their order.
    """

    columns: tuple[tuple[FrontColumn, int], ...]
    timed: bool
    has_delta: bool
    aligned: bool
    text_column: int
    title: bytes

    def has(self, column: FrontColumn) -> bool:
        """Return True if the report has this column."""
        return any(kind is column for kind, _ in self.columns)


def parse_heading(line: bytes, before: bytes = b"") -> Heading | None:
    """Return the heading on a line, or on the line `before` and this one (``2line=on``); None if there is none."""
    text = line.rstrip().decode("latin-1")
    found = TITLE.search(text)
    if found is None:
        return None
    end = _TEXT.fullmatch(text, found.start())
    if end is None:
        return None
    front = text[: found.start()]
    if not front.strip():
        front = before.rstrip().decode("latin-1")
    time = _TIME.search(front)
    names = front[: time.start()] if time else front
    columns: list[tuple[FrontColumn, int]] = []
    at = 0
    while at < len(names):
        if names[at].isspace():
            at += 1
            continue
        title = _FRONT.match(names, at)
        if title is None:
            return None
        kind = _TITLES[title[1]]
        if any(kind is known for known, _ in columns):
            return None
        columns.append((kind, at))
        at = title.end()
    if not columns and time is None:
        return None
    return Heading(
        tuple(columns),
        timed=time is not None,
        has_delta=time is not None and time[2] is not None,
        aligned=len(end[1]) > 1,
        text_column=found.start(),
        title=found[0].encode(),
    )

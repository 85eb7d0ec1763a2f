"""Finds the position of a time in a task file: earlier records are skipped, except those of open functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from converter.errors import TraceError
from converter.formats.uftrace.directory import DataDirectory
from converter.formats.uftrace.layout import RECORD_SIZE
from converter.formats.uftrace.reading.kernels.scan_skip import OpenEntries
from converter.formats.uftrace.reading.windows import Windows
from converter.ir.trace import Narrowed
from converter.streaming.skimming import WINDOW

_MOST_TIME: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Beginning:
    """The offset at which reading a task file begins, and the earlier entries of functions that are open there."""

    place: int = 0
    entries: bytes = b""


class TaskSeeking:
    """The task files of a directory by the times of their records, which are in order."""

    def __init__(self, directory: DataDirectory, tids: Sequence[int]) -> None:
        self._directory = directory
        self._tids = tids
        self._beginnings: dict[int, Beginning] = {}

    def first(self) -> int | None:
        """Return None, as there are other files, too."""
        return None

    def last(self) -> int | None:
        """Return None, as there are other files, too."""
        return None

    def narrow(self, start: int, end: int) -> Narrowed:
        """Skip records before a time. Records after `end` are not read in any case."""
        del end
        if start > 0:
            self._beginnings = {
                tid: self._beginning(f"{tid}.dat", min(start, _MOST_TIME)) for tid in self._tids
            }
        leaves_out = any(one.place > len(one.entries) for one in self._beginnings.values())
        return Narrowed(leaves_out=leaves_out, goes_on=False)

    def windows(self, tid: int, size: int) -> Windows:
        """Return the windows of a task's file that must be read.

        Raises:
            TraceError: it cannot be opened.

        """
        name = f"{tid}.dat"
        windows = Windows(self._directory.open(name), name, size)
        beginning = self._beginnings.get(tid)
        if beginning is not None:
            windows.begin_at(beginning.place, beginning.entries)
        return windows

    def _beginning(self, name: str, start: int) -> Beginning:
        """Return the first record at or after a time; the file's first if only decoding earlier records could tell."""
        entries = OpenEntries(big_endian=self._directory.header.big_endian)
        try:
            with self._directory.open(name) as source:
                windows = Windows(source, name, WINDOW)
                consumed, final = 0, False
                while not final:
                    window, final = windows.next(consumed)
                    consumed = entries.follow(window, windows.start, start)
                    if consumed < 0:
                        return Beginning()
                    if consumed + RECORD_SIZE <= len(window):
                        break
                open_there = (source.read(offset, RECORD_SIZE) for offset in entries.places())
                return Beginning(windows.start + consumed, b"".join(open_there))
        except TraceError:
            # Reading the file reports the error.
            return Beginning()

"""Parts of an input by time: records of other times are passed over without being decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from converter.ir.trace import Narrowed
from converter.kernels.tables.kept import Kept
from converter.storage.ranges import Ranges
from converter.storage.source import Source

#: Bytes of a window that is passed over; those that stay in the processor's cache are read fastest.
WINDOW: Final = 1 << 18


class Skimming:
    """The seeking of a reader that passes over records of other times (`Seeking`).

    Args:
        source: the input.
        skim: keeps what a part needs; returns False where only reading everything tells what that is.
        read_from: has the reader read from another source from now on.
        last: the time of the last event, if the reader knows it.

    """

    def __init__(
        self,
        source: Source,
        skim: Callable[[Kept], bool],
        read_from: Callable[[Source], None],
        last: int | None = None,
    ) -> None:
        self._source = source
        self._skim = skim
        self._read_from = read_from
        self._last = last

    def first(self) -> int | None:
        """Return None: the first batch tells it."""
        return None

    def last(self) -> int | None:
        """Return the time of the last event, if the reader knows it."""
        return self._last

    def narrow(self, start: int, end: int) -> Narrowed:
        """Leave out records that the part does not need; nothing is missing in it."""
        kept = Kept(start, end)
        leaves_out = not self._source.is_live and self._skim(kept)
        if leaves_out:
            self._read_from(Ranges(self._source, kept.ranges()))
        return Narrowed(leaves_out=leaves_out, goes_on=False)


def windows(source: Source, consumed: Callable[[], int]) -> Iterator[tuple[memoryview, int]]:
    """Yield windows of a source, each with its offset: it starts after what was consumed of the one before.

    One of which nothing was consumed is followed by a larger one.
    """
    buffer = np.empty(WINDOW, np.uint8)
    offset = 0
    while offset < source.size:
        count = source.read_into(offset, buffer[: source.size - offset].data)
        if not count:
            break
        yield buffer[:count].data, offset
        passed = consumed()
        offset += passed
        if not passed:
            if count < len(buffer):
                break
            buffer = np.empty(8 * len(buffer), np.uint8)

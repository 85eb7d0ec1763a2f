"""The base of readers of texts: the records that texts of events were printed from, and the text of each event."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, note
from converter.formats.ftrace.lines.event_texts import EventTexts
from converter.formats.ftrace.lines.scan.line_scan import LINE_OTHER, Lines
from converter.ir.events import Batch
from converter.ir.trace import Trace


class LineRecords(NamedTuple):
    """The records that texts were printed from: the program, location and size of each row of lines."""

    program: NDArray[np.int32]
    location: NDArray[np.int64]
    size: NDArray[np.int64]
    #: The memory of the records, one after the other in locations.
    segments: list[memoryview]


class LineReader:
    """The base of readers of lines; `trace` is that of the text."""

    trace: Trace

    def __init__(self, texts: EventTexts) -> None:
        self.texts = texts
        #: Bytes of the text that were read.
        self.done = 0
        #: The text of the last batch, and where the text of each of its events is.
        self.described: tuple[memoryview, NDArray[np.int64], NDArray[np.int64]] | None = None

    def inverted(self, block: memoryview, lines: Lines, rows: NDArray[np.int64]) -> LineRecords:
        """Return the records of lines. Names whose texts no program inverts so far get one that does."""
        program: NDArray[np.int32] = np.full(lines.count, -1, np.int32)
        location: NDArray[np.int64] = np.zeros(lines.count, np.int64)
        size: NDArray[np.int64] = np.zeros(lines.count, np.int64)
        segments: list[memoryview] = []
        left = rows
        if len(left):
            self.texts.add_names()
        while len(left):
            records = self.texts.kernel.run(block, lines, left, (program, location, size))
            is_done = program[left] >= 0
            if is_done.any():
                if segments:
                    location[left[is_done]] += len(segments) << 32
                segments.append(records)
            left = left[~is_done]
            # The first of each name gets a program, which others of that name may have, too.
            names, first = np.unique(lines.name[left], return_index=True)
            rows_of_names = left[first].tolist()
            self.texts.add_for(
                (name, bytes(block[int(lines.text[row]) : int(lines.end[row])]))
                for name, row in zip(names.tolist(), rows_of_names, strict=True)
            )
        return LineRecords(program, location, size, segments)

    def describe(self, batch: Batch) -> Callable[[int], str | None]:
        """Return a function that returns the text of an event of the last batch."""
        described = self.described

        def text(position: int) -> str | None:
            if described is None or position >= len(described[1]):
                return None
            block, starts, ends = described
            line = bytes(block[int(starts[position]) : int(ends[position])])
            return line.decode("utf-8", "surrogateescape")

        return text

    def warn_of_others(self, block: memoryview, lines: Lines, name: str, message: str) -> None:
        """Warn of the first line of a block that is not understood; the block starts where reading ended."""
        others = np.flatnonzero(lines.kind[: lines.count] == LINE_OTHER)
        if len(others):
            start = int(lines.start[others[0]])
            found = bytes(block[start : int(lines.end[others[0]])][:80])
            error = TraceError(
                message,
                format=self.trace.format,
                path=name,
                offset=self.done + start,
                found=found.decode("utf-8", "replace"),
            )
            note(self.trace.warnings, error.to_warning())

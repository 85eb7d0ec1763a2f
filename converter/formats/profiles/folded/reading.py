"""Reads collapsed stacks: a sample for each line, in the order of lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, note
from converter.formats.profiles.folded import COMMENT
from converter.formats.profiles.folded.mapping import CLASSES
from converter.formats.profiles.folded.scan import (
    HAS_FRACTION,
    HAS_TWO,
    LINE_COMMENT,
    LINE_OTHER,
    LINE_STACK,
    Lines,
)
from converter.formats.profiles.sums import ORDER
from converter.ir.columns import Column, ListColumn
from converter.ir.events import Batch, Table
from converter.ir.kinds import Kind
from converter.ir.semantics import Semantics
from converter.ir.trace import Trace
from converter.limits import allowed, limit
from converter.storage.source import Source

#: Bytes of text of a batch.
WINDOW: Final = 1 << 20
_EXPECTED: Final = "names between semicolons and a count, as 'main;work 42'"
_MOST_SHOWN: Final = 60


def read(source: Source) -> Trace:
    """Open collapsed stacks. Lines are decoded by `Trace.batches`, block by block.

    A line that is no stack is skipped with a warning.

    Raises:
        TraceError: later, by `Trace.batches`: no line is one.

    """
    return _Reader(source).trace


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.done = 0
        self.trace = Trace(
            "folded",
            semantics=Semantics(kinds=frozenset({Kind.SAMPLE})),
            clock=ORDER,
            make_batches=self._batches,
            progress=lambda: (self.done, source.size),
            in_time_order=True,
        )
        self.trace.event_classes = list(CLASSES)
        #: Comments, each with the time of the sample after it.
        self.comments: list[tuple[int, bytes]] = []
        self.trace.sidecar = {"folded": {"comments": self.comments}}

    def _batches(self) -> Iterator[Batch]:
        self.comments.clear()
        source = self.source
        source.expect_order()
        samples = 0
        damage: TraceWarning | None = None
        for offset, block in _blocks(source, self.trace.bytes_of_a_window(WINDOW)):
            lines = Lines(block)
            self._check_lengths(lines, offset)
            self._keep_comments(block, lines, samples)
            for row in np.flatnonzero(lines.kind == LINE_OTHER).tolist():
                at = int(lines.start[row])
                found = block[at : at + min(int(lines.size[row]), _MOST_SHOWN)]
                warning = TraceWarning(
                    format="folded",
                    path=source.name,
                    offset=offset + at,
                    field="line",
                    expected=_EXPECTED,
                    found=found.decode("utf-8", "replace"),
                    is_damage=True,
                )
                damage = damage or warning
                note(self.trace.warnings, warning)
            self.done = offset + len(block)
            if (lines.kind == LINE_STACK).any():
                batch = self._batch(block, lines, samples)
                samples += len(batch)
                yield batch
        if not samples and damage is not None:
            raise damage.to_error()

    def _check_lengths(self, lines: Lines, offset: int) -> None:
        most = limit("folded.line")
        long = np.flatnonzero(lines.size > most)
        if len(long):
            raise _too_long(self.source, offset + int(lines.start[long[0]]))

    def _keep_comments(self, block: bytes, lines: Lines, samples: int) -> None:
        rows = np.flatnonzero(lines.kind == LINE_COMMENT)
        if not len(rows):
            return
        times = samples + np.cumsum(lines.kind == LINE_STACK)[rows]
        most = limit("folded.comments")
        for row, time in zip(rows.tolist(), times.tolist(), strict=True):
            at = int(lines.start[row])
            if block.startswith(COMMENT, at):
                continue
            if len(self.comments) >= most:
                expected = f"comments, {allowed('folded.comments')}"
                warning = TraceWarning(
                    format="folded",
                    path=self.source.name,
                    field="comment",
                    message="further comments are left out",
                    expected=expected,
                    is_damage=False,
                )
                note(self.trace.warnings, warning)
                return
            self.comments.append((time, block[at : at + int(lines.size[row])]))

    def _batch(self, block: bytes, lines: Lines, samples: int) -> Batch:
        ids = np.empty(len(lines.name_start), np.int32)
        self.trace.strings.intern_spans(
            np.frombuffer(block, np.uint8), lines.name_start, lines.name_size, ids
        )
        rows = np.flatnonzero(lines.kind == LINE_STACK)
        number = lines.counts[rows].astype(np.int32)
        row = np.empty(len(rows), np.int32)
        tables = {}
        for kind in np.unique(number).tolist():
            at = np.flatnonzero(number == kind)
            row[at] = np.arange(len(at), dtype=np.int32)
            tables[kind] = _table(lines, rows[at], ids, kind)
        return Batch(
            ts=np.arange(samples, samples + len(rows)),
            class_id=number,
            row=row,
            tables=tables,
        )


def _table(lines: Lines, rows: NDArray[np.intp], ids: NDArray[np.int32], kind: int) -> Table:
    offsets = np.zeros(len(rows) + 1, np.int64)
    starts, ends = lines.offsets[rows], lines.offsets[rows + 1]
    np.cumsum(ends - starts, out=offsets[1:])
    inner = np.arange(int(offsets[-1])) + np.repeat(starts - offsets[:-1], ends - starts)
    columns: list[Column] = [ListColumn(offsets, ids[inner])]
    fraction = bool(kind & HAS_FRACTION)
    found: list[NDArray[Any]] = [lines.weight_value if fraction else lines.weight]
    if kind & HAS_TWO:
        found.append(lines.before_value if fraction else lines.before)
    columns += [column[rows] for column in found]
    return Table(len(rows), columns)


def _blocks(source: Source, window: int) -> Iterator[tuple[int, bytes]]:
    """Yield the text in blocks of whole lines, with their offsets.

    Raises:
        TraceError: a line is longer than the limit.

    """
    offset, rest = 0, b""
    most = limit("folded.line")
    while True:
        data = source.read(offset + len(rest), window)
        block = rest + data
        if not data:
            if block:
                yield offset, block
            return
        end = block.rfind(b"\n") + 1
        if end == 0 and len(block) > most:
            raise _too_long(source, offset)
        # What has no line end yet is read on, each time twice as much.
        window = window if end else max(window, len(block))
        rest = block[end:]
        if end:
            yield offset, block[:end]
            offset += end


def _too_long(source: Source, offset: int) -> TraceError:
    return TraceError(
        format="folded",
        path=source.name,
        offset=offset,
        field="line",
        expected=allowed("folded.line"),
    )

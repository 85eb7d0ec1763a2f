"""Writes collapsed stacks: a line for each sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.folded.mapping import BEFORE
from converter.formats.profiles.folded.scan import HAS_FRACTION, HAS_TWO, LinePrinter
from converter.ir.columns import ListColumn, concatenate, take
from converter.ir.events import Batch
from converter.ir.field_classes import FloatClass
from converter.ir.trace import Trace
from converter.storage.sink import Sink


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write a trace of samples that was projected to the format, or read from it: then with its comments."""
    del variant
    printer = LinePrinter(trace.strings)
    comments = trace.sidecar.get("folded", {}).get("comments", [])
    written = 0
    for batch in trace.batches():
        if not len(batch):
            continue
        printed = _Printed(trace, batch)
        first = 0
        while written < len(comments) and comments[written][0] <= batch.ts[-1]:
            time, comment = comments[written]
            until = int(np.searchsorted(batch.ts, time))
            sink.write(printed.lines(printer, first, until))
            sink.write(comment + b"\n")
            first = until
            written += 1
        sink.write(printed.lines(printer, first, len(batch)))
    for _, comment in comments[written:]:
        sink.write(comment + b"\n")


class _Printed:
    """The samples of a batch, in its order."""

    def __init__(self, trace: Trace, batch: Batch) -> None:
        count = len(batch)
        self._counts = np.zeros(count, np.uint8)
        self._whole = np.zeros((2, count), np.int64)
        self._values = np.zeros((2, count), np.float64)
        stacks = []
        order = []
        for number, table in batch.tables.items():
            if not len(table):
                continue
            fields = trace.event_classes[number].fields
            at = batch.positions(number)
            order.append(at)
            stacks.append(table.column(0))
            is_float = isinstance(fields[1].type, FloatClass)
            two = len(fields) > 2 and fields[2].name == BEFORE
            self._counts[at] = HAS_FRACTION * is_float | HAS_TWO * two
            columns = self._values if is_float else self._whole
            for index in range(1 + two):
                columns[index][at] = np.asarray(table.column(1 + index))
        column = take(concatenate(stacks), np.argsort(np.concatenate(order)))
        assert isinstance(column, ListColumn)
        self._offsets = column.offsets
        self._names: NDArray[Any] = np.ascontiguousarray(column.values, np.int32)

    def lines(self, printer: LinePrinter, first: int, last: int) -> Any:
        """Return the lines of samples from `first` to before `last`."""
        return printer.lines(
            np.ascontiguousarray(self._offsets[first : last + 1]),
            self._names,
            self._counts[first:last],
            self._whole[0, first:last],
            self._whole[1, first:last],
            self._values[0, first:last],
            self._values[1, first:last],
        )

"""Names of kernel functions: InternedData.kernel_symbols, whose iids belong to a sequence until it is cleared."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import SYMBOL_DISTANCE, InternedField
from converter.formats.perfetto.protobuf.descriptors import decode
from converter.formats.perfetto.protobuf.scan import (
    CLEARED,
    FLAGS,
    INTERNED,
    INTERNED_SIZE,
    INTERNED_START,
    SEQUENCE,
    split_fields,
)
from converter.formats.perfetto.reading.packets import Window
from converter.ir.distinct_values import values_of
from converter.ir.symbols import SymbolTable
from converter.kernels.protobuf.decode import repeated_spans
from converter.limits import limit

_LAST_ADDRESS: Final = (1 << 64) - 1
#: A sequence, and the number of times it was cleared.
_Scope = tuple[int, int]


class KernelSymbols:
    """The symbols of a trace: each number has one name; it is the iid, unless another scope gave it another name."""

    def __init__(self) -> None:
        self._names: dict[int, bytes] = {}
        #: Names other than the first one of their iid, by scope and iid.
        self._others: dict[tuple[_Scope, int], bytes] = {}
        self._numbers: dict[tuple[_Scope, int], int] = {}
        #: By iid: the distance of the address from the function's start, in traces that this package wrote.
        self._distances: dict[int, int] = {}
        self._cleared: dict[int, int] = {}
        self._most = limit("perfetto.symbols")
        #: The number of symbols in excess of the limit.
        self.left_out = 0

    def note(self, window: Window) -> None:
        """Collect the symbols of a window, in the first pass."""
        chosen = window.rows[(window.rows[:, FLAGS] & (CLEARED | INTERNED)) != 0]
        starts, sizes = (chosen[:, column].copy() for column in (INTERNED_START, INTERNED_SIZE))
        sizes[(chosen[:, FLAGS] & INTERNED) == 0] = 0
        ends = np.zeros(len(chosen) + 1, np.int64)
        symbols = repeated_spans(window.data, starts, sizes, InternedField.KERNEL_SYMBOLS, ends)
        # Most packets with interned data have other names.
        relevant = (np.diff(ends) > 0) | ((chosen[:, FLAGS] & CLEARED) != 0)
        for row in np.flatnonzero(relevant).tolist():
            scope = self._enter(int(chosen[row, SEQUENCE]), int(chosen[row, FLAGS]))
            for start, size in symbols[ends[row] : ends[row + 1]].tolist():
                self._note_symbol(window.data, start, size, scope)

    def _enter(self, sequence: int, flags: int) -> _Scope:
        if flags & CLEARED:
            self._cleared[sequence] = self._cleared.get(sequence, 0) + 1
        return sequence, self._cleared.get(sequence, 0)

    def _note_symbol(self, data: NDArray[np.uint8], start: int, size: int, scope: _Scope) -> None:
        try:
            symbol = decode("InternedString", data, start, size)
            distances = [
                number
                for field, wire, number, _ in split_fields(data, start, size)
                if field == SYMBOL_DISTANCE and wire == 0
            ]
        except ValueError:
            return
        if len(self._names) + len(self._others) >= self._most:
            self.left_out += 1
        else:
            iid, name = symbol.get("iid", 0), symbol.get("str", b"")
            if self._names.setdefault(iid, name) != name:
                self._others.setdefault((scope, iid), name)
            elif distances and 0 < distances[-1] <= iid:
                self._distances[iid] = distances[-1]

    def finish(self) -> SymbolTable | None:
        """Return the names by number, once all are known; None if there are none."""
        number = max(self._names, default=0)
        for key, name in self._others.items():
            number += 1
            self._names[number] = name
            self._numbers[key] = number
        if not self._names:
            return None
        if self._distances:
            return self._ranges()
        numbers = sorted(self._names)
        table = (np.array(numbers, np.uint64), [self._names[number] for number in numbers])
        return SymbolTable(lambda: table, exact=True)

    def _ranges(self) -> SymbolTable:
        """Return the functions from their starts to the last address that has their name."""
        names: dict[int, bytes] = {}
        ends: dict[int, int] = {}
        for iid, name in sorted(self._names.items()):
            start = iid - self._distances.get(iid, 0)
            names.setdefault(start, name)
            ends[start] = iid + 1
        for end in ends.values():
            if end <= _LAST_ADDRESS:
                names.setdefault(end, b"")
        starts = sorted(names)
        table = (np.array(starts, np.uint64), [names[start] for start in starts])
        return SymbolTable(lambda: table)

    def start(self) -> None:
        """Begin another pass."""
        self._cleared = {}

    def scopes(self, window: Window) -> NDArray[np.int64] | None:
        """Return how often each packet's sequence was cleared, for `number`; None if iids mean the same everywhere."""
        if not self._numbers:
            return None
        rows = window.rows
        result = np.empty(len(rows), np.int64)
        for sequence in values_of(rows[:, SEQUENCE]).tolist():
            positions = np.flatnonzero(rows[:, SEQUENCE] == sequence)
            cleared = np.cumsum((rows[positions, FLAGS] & CLEARED) != 0)
            result[positions] = self._cleared.get(sequence, 0) + cleared
            self._cleared[sequence] = int(result[positions[-1]])
        return result

    def number(
        self, iids: NDArray[np.uint64], sequence: NDArray[np.int64], scope: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """Return the numbers of iids that were read in packets of these sequences and scopes."""
        result = iids.copy()
        for ((owner, cleared), iid), number in self._numbers.items():
            result[(iids == iid) & (sequence == owner) & (scope == cleared)] = number
        return result

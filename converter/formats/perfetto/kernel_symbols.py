"""Names of kernel functions: InternedData.kernel_symbols, whose iids are one sequence's until that is cleared."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.descriptors import decode
from converter.formats.perfetto.layout import InternedField
from converter.formats.perfetto.packets import Window
from converter.formats.perfetto.scan import (
    CLEARED,
    FLAGS,
    INTERNED,
    INTERNED_SIZE,
    INTERNED_START,
    SEQUENCE,
)
from converter.formats.perfetto.scan_fields import repeated_spans
from converter.ir.symbols import SymbolTable

_MAX_SYMBOLS: Final = 1 << 20

#: A sequence, and how often it was cleared.
_Scope = tuple[int, int]


class KernelSymbols:
    """The symbols of a trace: each number has one name, the iid where no other scope has that for another name."""

    def __init__(self) -> None:
        self._names: dict[int, bytes] = {}
        #: What is not its iid's first name, by scope and iid.
        self._others: dict[tuple[_Scope, int], bytes] = {}
        self._numbers: dict[tuple[_Scope, int], int] = {}
        self._cleared: dict[int, int] = {}

    def note(self, window: Window) -> None:
        """Take in the symbols of a window, in the first pass."""
        rows = window.rows
        for place in np.flatnonzero(rows[:, FLAGS] & (CLEARED | INTERNED)).tolist():
            scope = self._enter(int(rows[place, SEQUENCE]), int(rows[place, FLAGS]))
            if rows[place, FLAGS] & INTERNED:
                self._note_packet(window, place, scope)

    def _enter(self, sequence: int, flags: int) -> _Scope:
        if flags & CLEARED:
            self._cleared[sequence] = self._cleared.get(sequence, 0) + 1
        return sequence, self._cleared.get(sequence, 0)

    def _note_packet(self, window: Window, place: int, scope: _Scope) -> None:
        row = window.rows[place]
        spans = repeated_spans(
            window.data,
            row[[INTERNED_START]],
            row[[INTERNED_SIZE]],
            InternedField.KERNEL_SYMBOLS,
            np.zeros(2, np.int64),
        )
        for at, length in spans.tolist():
            try:
                symbol = decode("InternedString", window.data, at, length)
            except ValueError:
                continue
            if len(self._names) + len(self._others) < _MAX_SYMBOLS:
                iid, name = symbol.get("iid", 0), symbol.get("str", b"")
                if self._names.setdefault(iid, name) != name:
                    self._others.setdefault((scope, iid), name)

    def finish(self) -> SymbolTable | None:
        """The names by number, once all are known; None where there are none."""
        number = max(self._names, default=0)
        for key, name in self._others.items():
            number += 1
            self._names[number] = name
            self._numbers[key] = number
        if not self._names:
            return None
        numbers = sorted(self._names)
        table = (np.array(numbers, np.uint64), [self._names[number] for number in numbers])
        return SymbolTable(lambda: table, exact=True)

    def start(self) -> None:
        """Begin another pass."""
        self._cleared = {}

    def scopes(self, window: Window) -> NDArray[np.int64] | None:
        """How often the sequence of each packet was cleared, for `number`; None where iids mean the same everywhere."""
        if not self._numbers:
            return None
        rows = window.rows
        result = np.empty(len(rows), np.int64)
        for sequence in np.unique(rows[:, SEQUENCE]).tolist():
            places = np.flatnonzero(rows[:, SEQUENCE] == sequence)
            cleared = np.cumsum((rows[places, FLAGS] & CLEARED) != 0)
            result[places] = self._cleared.get(sequence, 0) + cleared
            self._cleared[sequence] = int(result[places[-1]])
        return result

    def number(
        self, iids: NDArray[np.uint64], sequence: NDArray[np.int64], scope: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """The numbers of iids that were read in packets of these sequences and scopes."""
        result = iids.copy()
        for ((of, cleared), iid), number in self._numbers.items():
            result[(iids == iid) & (sequence == of) & (scope == cleared)] = number
        return result

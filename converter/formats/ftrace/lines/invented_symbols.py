"""Addresses of functions that a text only names: each name has one, in the order in which names occur."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.lines.inverse import SYMBOL_BASE, SYMBOL_STEP
from converter.ir.symbols import SymbolTable
from converter.kernels.tables.strings import StringTable


class InventedSymbols(SymbolTable):
    """The names that have occurred so far, as symbols."""

    __slots__ = ("_names",)

    def __init__(self, names: StringTable) -> None:
        super().__init__(self._all)
        self._names = names

    def _all(self) -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        count = len(self._names)
        numbers: NDArray[np.uint64] = np.arange(count + 1, dtype=np.uint64)
        addresses = np.uint64(SYMBOL_BASE) + numbers * np.uint64(SYMBOL_STEP)
        # The last symbol ends where the next one would start.
        return addresses, [*(self._names[number] for number in range(count)), b""]

    def _table(self) -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        if self._loaded is None or len(self._loaded[0]) != len(self._names) + 1:
            self._loaded = self._all()
        return self._loaded

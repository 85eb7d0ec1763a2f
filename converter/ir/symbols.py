"""Symbols: names of addresses, as kallsyms and symbol files give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray


class SymbolTable:
    """Function symbols sorted by address. Made on first use: a kernel has 200,000 and most traces name none.

    `load` returns (addresses uint64 ascending, names: an indexable of bytes).
    """

    __slots__ = ("_load", "_loaded")

    def __init__(self, load: Callable[[], tuple[NDArray[np.uint64], Sequence[bytes]]]) -> None:
        self._load = load
        self._loaded: tuple[NDArray[np.uint64], Sequence[bytes]] | None = None

    def _table(self) -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def __len__(self) -> int:
        return len(self._table()[0])

    def entries(self) -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        """All addresses, ascending, and the name of each."""
        return self._table()

    def lookup(self, address: int) -> tuple[bytes, int] | None:
        """The symbol at or below `address` and the distance to it, or None below the first and beyond the last.

        Where the last one ends nobody says (libtraceevent resolves only its very address, too).
        """
        addresses, names = self._table()
        index = int(np.searchsorted(addresses, np.uint64(address), side="right")) - 1
        if index < 0:
            return None
        distance = address - int(addresses[index])
        if distance and index == len(addresses) - 1:
            return None
        return names[index], distance

    def names(self, addresses: NDArray[np.uint64]) -> list[bytes | None]:
        """The name that `lookup` gives for each address."""
        starts, names = self._table()
        if not len(starts):
            return [None] * len(addresses)
        indices = np.searchsorted(starts, addresses, side="right") - 1
        beyond = (indices == len(starts) - 1) & (addresses != starts[-1])
        known = (indices >= 0) & ~beyond
        return [
            names[index] if there else None
            for index, there in zip(indices.tolist(), known.tolist(), strict=True)
        ]

"""Symbols: names of addresses, as in kallsyms and symbol files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import ListColumn
from converter.kernels.batches.gather import Segments

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on


class SymbolNames(Sequence[bytes]):
    """Names as slices of a text, with the offset (uint32) and the size (uint32) of each."""

    def __init__(self, text: Buffer, start: NDArray[np.uint32], size: NDArray[np.uint32]) -> None:
        self._text = memoryview(text)
        self._start = start
        self._size = size

    def __len__(self) -> int:
        return len(self._start)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return SymbolNames(self._text, self._start[index], self._size[index])
        start = int(self._start[index])
        return bytes(self._text[start : start + int(self._size[index])])

    def as_list(self) -> ListColumn:
        """Return the names as a column."""
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self._size, out=offsets[1:])
        values = np.empty(int(offsets[-1]), np.uint8)
        # There is one segment, so locations are offsets.
        Segments([self._text]).copy(self._start.astype(np.int64), offsets, values)
        return ListColumn(offsets, values)

    @staticmethod
    def of(column: ListColumn) -> SymbolNames:
        """Return the names in a column of bytes."""
        assert isinstance(column.values, np.ndarray), "names are lists of bytes"
        size = np.diff(column.offsets).astype(np.uint32)
        return SymbolNames(column.values.data, column.offsets[:-1].astype(np.uint32), size)


class SymbolTable:
    """Function symbols sorted by address. Loaded on first use: a kernel has 200,000 and most traces need none.

    `load` returns (addresses uint64 ascending, names: an indexable of bytes). Of several names of one address the
    first counts, as in the kernel. An empty name ends the symbol before it: addresses from there on have no name.
    `exact` says that they are numbers rather than addresses: a number between two of them has no name.
    """

    __slots__ = ("_load", "_loaded", "_loading", "exact")

    def __init__(
        self,
        load: Callable[[], tuple[NDArray[np.uint64], Sequence[bytes]]],
        *,
        exact: bool = False,
    ) -> None:
        self._load = load
        self.exact = exact
        self._loaded: tuple[NDArray[np.uint64], Sequence[bytes]] | None = None
        self._loading: threading.Thread | None = None

    def prefetch(self) -> None:
        """Start loading on another thread; errors are raised when the symbols are used."""
        if self._loaded is None and self._loading is None:
            self._loading = threading.Thread(
                target=copy_context().run, args=(self._try_to_load,), daemon=True
            )
            self._loading.start()

    def _try_to_load(self) -> None:
        with suppress(Exception):
            self._loaded = self._load()

    def _table(self) -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        if self._loading is not None:
            self._loading.join()
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def __len__(self) -> int:
        return len(self._table()[0])

    def entries(self) -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        """Return all addresses, ascending, and the name of each."""
        return self._table()

    def lookup(self, address: int) -> tuple[bytes, int] | None:
        """Return the symbol at or below `address` and the distance to it, or None below the first and beyond the last.

        The end of the last one is unknown (libtraceevent also resolves only its exact address).
        """
        addresses, names = self._table()
        index = int(np.searchsorted(addresses, np.uint64(address), side="right")) - 1
        if index < 0:
            return None
        start = addresses[index]
        distance = address - int(start)
        if distance and (self.exact or index == len(addresses) - 1):
            return None
        name = names[int(np.searchsorted(addresses, start))]
        return (name, distance) if name else None

    def starts(self, addresses: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return those of the addresses at which a symbol starts, ascending."""
        starts, names = self._table()
        wanted = np.unique(addresses)
        if not len(starts):
            return wanted[:0]
        at = np.searchsorted(starts[:-1], wanted)
        is_start = starts[at] == wanted
        is_named = [bool(names[index]) for index in np.compress(is_start, at).tolist()]
        return np.compress(is_named, np.compress(is_start, wanted))

    def names(self, addresses: NDArray[np.uint64]) -> list[bytes | None]:
        """Return the name that `lookup` finds for each address."""
        starts, names = self._table()
        if not len(starts):
            return [None] * len(addresses)
        indices = np.searchsorted(starts, addresses, side="right") - 1
        known = indices >= 0
        known &= (starts[indices] == addresses) | ((indices < len(starts) - 1) & (not self.exact))
        first = np.searchsorted(starts, starts[indices])
        return [
            (names[index] or None) if there else None
            for index, there in zip(first.tolist(), known.tolist(), strict=True)
        ]

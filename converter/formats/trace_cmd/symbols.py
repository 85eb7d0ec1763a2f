"""Kernel symbols: section KALLSYMS, the text of /proc/kallsyms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.trace_cmd.container import TraceFile
from converter.formats.trace_cmd.layout import SectionId, parse
from converter.ir.symbols import SymbolTable
from converter.kernels.kallsyms import scan_symbols


class SymbolNames(Sequence[bytes]):
    """Names as stretches of the text that they are in."""

    def __init__(self, text: bytes, start: NDArray[np.uint32], size: NDArray[np.uint32]) -> None:
        self._text = text
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
        return self._text[start : start + int(self._size[index])]

    def __iter__(self) -> Iterator[bytes]:
        # All of them travel; one by one that takes ten times as long.
        text, end = self._text, self._start.astype(np.int64) + self._size
        return (text[i:j] for i, j in zip(self._start.tolist(), end.tolist(), strict=True))


def kernel_symbols(file: TraceFile) -> SymbolTable | None:
    """The file's kernel symbols, read and sorted at the first lookup; None when it has none."""
    section = file.section(SectionId.KALLSYMS)
    if section is None:
        return None

    def load() -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        try:
            text = parse(file.layout.short_text, bytes(section), section.offset, "KALLSYMS")
        except TraceError as error:
            file.warn(error)
            text = b""
        room = text.count(b"\n") + 1
        address = np.empty(room, np.uint64)
        start = np.empty(room, np.uint32)
        size = np.empty(room, np.uint32)
        count = scan_symbols(text, address, start, size)
        order = np.argsort(address[:count], kind="stable")
        return address[order], SymbolNames(text, start[order], size[order])

    return SymbolTable(load)

"""Kernel symbols: section KALLSYMS, the text of /proc/kallsyms.

Recordings of one kernel have the same text, 7 MB in memory, which all that are open share.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.layout import SectionId, parse
from converter.formats.ftrace.recording import Recording, Section
from converter.formats.ftrace.ring_buffer.scan import scan_symbols
from converter.ir.symbols import SymbolNames, SymbolTable

#: An address, a type and a name of one character each, the spaces between them and the line's end.
_SHORTEST_LINE = 6


class _Symbols(SymbolNames):
    """The names, with their addresses."""

    def __init__(self, text: bytes) -> None:
        # Unused memory at the end is never touched.
        capacity = len(text) // _SHORTEST_LINE + 1
        address = np.empty(capacity, np.uint64)
        start = np.empty(capacity, np.uint32)
        size = np.empty(capacity, np.uint32)
        count = scan_symbols(text, address, start, size)
        address, start, size = address[:count].copy(), start[:count].copy(), size[:count].copy()
        if (address[1:] < address[:-1]).any():
            order = np.argsort(address, kind="stable")
            address, start, size = address[order], start[order], size[order]
        super().__init__(text, start, size)
        self.text = text
        self.addresses = address


#: By the hash of their text.
_known: WeakValueDictionary[int, _Symbols] = WeakValueDictionary()


def kernel_symbols(file: Recording) -> SymbolTable | None:
    """Return the file's kernel symbols, read and sorted at the first lookup; None when it has none."""
    section = file.section(SectionId.KALLSYMS)
    if section is None:
        return None

    def load() -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        symbols = _of_section(file, section)
        return symbols.addresses, symbols

    return SymbolTable(load)


def _of_section(file: Recording, section: Section) -> _Symbols:
    try:
        text = parse(file.layout.short_text, bytes(section), section.offset, "KALLSYMS")
    except TraceError as error:
        file.warn(error)
        text = b""
    return _of_text(text)


def _of_text(text: bytes) -> _Symbols:
    symbols = _known.get(hash(text))
    if symbols is None or symbols.text != text:
        symbols = _known[hash(text)] = _Symbols(text)
    return symbols


def symbols_of_text(text: bytes) -> SymbolTable:
    """Return the symbols in the text of /proc/kallsyms, sorted at the first lookup."""

    def load() -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        symbols = _of_text(text)
        return symbols.addresses, symbols

    return SymbolTable(load)

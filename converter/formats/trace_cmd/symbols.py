"""Kernel symbols: section KALLSYMS, the text of /proc/kallsyms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.trace_cmd.container import TraceFile
from converter.formats.trace_cmd.layout import SectionId, parse
from converter.formats.trace_cmd.scan import scan_symbols
from converter.ir.symbols import SymbolNames, SymbolTable

#: An address, a type and a name of one character each, the spaces between them and the line's end.
_SHORTEST_LINE = 6


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
        # Memory that no line needs is never touched.
        room = len(text) // _SHORTEST_LINE + 1
        address = np.empty(room, np.uint64)
        start = np.empty(room, np.uint32)
        size = np.empty(room, np.uint32)
        count = scan_symbols(text, address, start, size)
        address, start, size = address[:count].copy(), start[:count].copy(), size[:count].copy()
        if (address[1:] < address[:-1]).any():
            order = np.argsort(address, kind="stable")
            address, start, size = address[order], start[order], size[order]
        return address, SymbolNames(text, start, size)

    return SymbolTable(load)

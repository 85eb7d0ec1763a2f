"""The lookups of programs that print records: names of functions, and strings of the kernel."""

from __future__ import annotations

from converter.formats.ftrace.symbol_lookup import SymbolLookup, octets, printk_text
from converter.printing import program as op
from converter.printing.code import Code
from converter.printing.directory import Directory


class TextSources:
    """A file's texts by address, each looked up once."""

    def __init__(self, symbols: SymbolLookup) -> None:
        self.symbols = symbols
        self.functions = Directory(self._function)
        self.strings = Directory(self._string)

    def _function(self, address: int) -> tuple[bytes, int] | None:
        found = self.symbols.function(address)
        return None if found is None else (octets(found[0]).encode("latin-1"), found[1])

    def _string(self, address: int) -> tuple[bytes, int] | None:
        found = printk_text(self.symbols, address)
        return None if found is None else (found.encode("latin-1"), 0)


def found_offset(code: Code) -> None:
    """Print the offset of an address in the function that was found."""
    code.literal(b"+0x")
    code.add(op.FOUND_NUMBER)
    code.add(op.HEXADECIMAL, 64)

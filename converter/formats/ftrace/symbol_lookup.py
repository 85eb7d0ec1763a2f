"""The lookup of addresses of the traced kernel in a trace file, and their output by `%ps` and similar conversions.

While a text is assembled it has one character per byte, so that widths count bytes; `as_text()` decodes it at the end.
"""

from __future__ import annotations

from typing import Protocol


class SymbolLookup(Protocol):
    """The lookup of addresses of the traced kernel in a trace file."""

    def function(self, address: int) -> tuple[str, int] | None:
        """Return the symbol that covers an address, and the offset in it (kallsyms)."""

    def printk(self, address: int) -> str | None:
        """Return the string at an address as in tracefs `printk_formats`: without the quotes, escapes unresolved."""


def octets(text: str) -> str:
    """Return the text with one character per byte of its UTF-8 encoding."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("latin-1")


def printk_text(symbols: SymbolLookup, address: int) -> str | None:
    """Return the printk string of an address, without the newline at its end, as in libtraceevent."""
    text = symbols.printk(address)
    if text is None:
        return None
    return octets(text.removesuffix("\n").removesuffix("\\n"))


def symbol_text(symbols: SymbolLookup, address: int, with_offset: bool) -> str:
    """Return the output of `%ps` and `%pS`."""
    found = symbols.function(address)
    if found is None:
        return f"0x{address:x}"
    return octets(f"{found[0]}+0x{found[1]:x}" if with_offset else found[0])


def pointer_text(address: int) -> str:
    """Return the output of `%p` (glibc)."""
    return f"0x{address:x}" if address else "(nil)"


def as_text(text: str) -> str:
    """Reverse `octets()`; bytes that are not UTF-8 become surrogates."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "surrogateescape")

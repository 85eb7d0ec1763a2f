"""What a trace file knows about addresses of the traced kernel, and how `%ps` and its like print them.

While a text is put together it has one character per byte, so that widths count bytes; `as_text()` ends that.
"""

from __future__ import annotations

from typing import Protocol


class SymbolLookup(Protocol):
    """What a trace file says about addresses of the traced kernel."""

    def function(self, address: int) -> tuple[str, int] | None:
        """The symbol that covers an address, and the offset in it (kallsyms)."""

    def printk(self, address: int) -> str | None:
        """The string at an address as tracefs `printk_formats` spells it: without the quotes, escapes unresolved."""


def octets(text: str) -> str:
    """The text with one character per byte of its UTF-8 form."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("latin-1")


def printk_text(symbols: SymbolLookup, address: int) -> str | None:
    """The printk string of an address. Like libtraceevent, without the newline at its end."""
    text = symbols.printk(address)
    if text is None:
        return None
    return octets(text.removesuffix("\n").removesuffix("\\n"))


def symbol_text(symbols: SymbolLookup, address: int, with_offset: bool) -> str:
    """What `%ps` and `%pS` print."""
    found = symbols.function(address)
    if found is None:
        return f"0x{address:x}"
    return octets(f"{found[0]}+0x{found[1]:x}" if with_offset else found[0])


def pointer_text(address: int) -> str:
    """What `%p` prints (glibc)."""
    return f"0x{address:x}" if address else "(nil)"


def as_text(text: str) -> str:
    """What `octets()` makes back into a text; bytes that are not UTF-8 become surrogates."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "surrogateescape")

"""Events of `trace_printk()` with binary arguments (`ftrace:bprint`).

The record has the address of the format string, and the arguments as the kernel's `vbin_printf()` packs them.
"""

from __future__ import annotations

from functools import lru_cache

from converter.formats.ftrace.print_format.kernel_pointers import ByteOrder
from converter.formats.ftrace.print_format.printf import (
    Directive,
    number_formatter,
    parse_format_string,
    string_formatter,
    with_sizes,
)
from converter.formats.ftrace.symbol_lookup import (
    SymbolLookup,
    as_text,
    octets,
    pointer_text,
    symbol_text,
)


def render_bprint(
    fmt_text: str, args: bytes, byte_order: ByteOrder, long_size: int, symbols: SymbolLookup
) -> str:
    """Print packed arguments by a format string in the spelling of tracefs `printk_formats` (escapes unresolved).

    Numbers are at multiples of 4 bytes: `int` has 4, `long`, `%z` and pointers have the size of a long, `long long` 8;
    a `char` is one unaligned byte. Strings are in the record up to a NUL, as is the text that the kernel printed for a
    pointer such as `%pI4`. Missing arguments are 0 and empty.
    """
    text = _render(octets(fmt_text), bytes(args), byte_order, long_size, symbols)
    return as_text(text)


@lru_cache(maxsize=256)
def _parsed(fmt_text: str) -> tuple[str | Directive, ...]:
    return tuple(parse_format_string(fmt_text))


class _Arguments:
    """Reads the packed arguments one after the other."""

    def __init__(self, data: bytes, byte_order: ByteOrder) -> None:
        self._data = data
        self._byte_order = byte_order
        self._position = 0

    def number(self, size: int) -> int:
        start = self._position if size == 1 else (self._position + 3) & ~3
        self._position = start + size
        data = self._data[start : start + size]
        return int.from_bytes(data, self._byte_order) if len(data) == size else 0

    def string(self) -> str:
        start = self._position
        end = self._data.find(b"\0", start)
        end = len(self._data) if end < 0 else end
        self._position = end + 1
        return self._data[start:end].decode("latin-1")

    def starts_printable(self) -> bool:
        return 0x20 <= (self._data[self._position : self._position + 1] or b"\0")[0] < 0x7F


def _render(
    fmt_text: str, args: bytes, byte_order: ByteOrder, long_size: int, symbols: SymbolLookup
) -> str:
    arguments = _Arguments(args, byte_order)
    out: list[str] = []
    for piece in _parsed(fmt_text):
        if isinstance(piece, str):
            out.append(piece)
            continue
        directive = with_sizes(piece, [arguments.number(4) for _ in range(piece.stars)])
        if directive.conversion == "s":
            out.append(string_formatter(directive)(arguments.string()))
        elif directive.conversion == "p":
            out.append(_pointer(directive, arguments, long_size, symbols))
        elif directive.conversion == "c":
            out.append(number_formatter(directive)(arguments.number(1)))
        else:
            size = long_size if directive.length in ("l", "z", "Z", "t") else directive.bits // 8
            out.append(number_formatter(directive)(arguments.number(max(size, 4))))
    return "".join(out)


def _pointer(
    directive: Directive, arguments: _Arguments, long_size: int, symbols: SymbolLookup
) -> str:
    kind = directive.suffix[:1]
    is_symbol = kind in ("s", "S", "f", "F") and directive.suffix[1:2] != "w"
    if kind and kind != "x" and not is_symbol and arguments.starts_printable():
        # Since 5.0 the kernel prints the target of such a pointer when it records.
        return arguments.string()
    address = arguments.number(long_size)
    if is_symbol:
        return symbol_text(symbols, address, kind in "SF")
    return pointer_text(address)

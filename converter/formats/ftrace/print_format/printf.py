"""The format strings of C's printf(), as libtraceevent reads them (`parse_arg_format()`).

Texts are strings of one character per byte, so that widths and precisions count bytes as C counts them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

#: A width or precision that is an argument (`*`).
ARGUMENT: Final = -1

#: No kernel format has a larger width; a larger one is an attempt to exhaust memory.
_MAX_WIDTH: Final = 4096

_SIGNED: Final = "di"
_UNSIGNED: Final = "uxXo"


@dataclass(frozen=True, slots=True)
class Directive:
    """One conversion. `suffix` is what follows `%p` (`S`, `I6c`, `bl`); the kernel includes every alphanumeric."""

    flags: str
    width: int | None
    precision: int | None
    length: str
    conversion: str
    suffix: str = ""

    @property
    def bits(self) -> int:
        """Size of the number, with the `long` of a 64-bit host: trace-cmd widens a 32-bit trace's longs to it."""
        return {"hh": 8, "h": 16, "": 32}.get(self.length, 64)

    @property
    def stars(self) -> int:
        """The number of arguments before the converted one."""
        return (self.width == ARGUMENT) + (self.precision == ARGUMENT)


_DIRECTIVE = re.compile(
    r"%([-#0 +']*)(\*|[0-9]+)?(?:\.(\*|-?[0-9]*))?(hh|h|ll|l|L|q|z|Z|t|j)?"
    r"(?:(p)([A-Za-z0-9]*)|([^%\\]))?",
    re.DOTALL,
)
_LITERAL = re.compile(r"[^%\\]+")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


def parse_format_string(text: str) -> list[str | Directive]:
    """Split a format string with unresolved escapes into literal texts and directives."""
    pieces: list[str | Directive] = []
    literal: list[str] = []
    position = 0
    while position < len(text):
        match = _LITERAL.match(text, position)
        if match is not None:
            literal.append(match[0])
            position = match.end()
            continue
        following = text[position + 1 : position + 2]
        if text[position] == "\\" or following == "%":
            escaped = _ESCAPES.get(following, following) if text[position] == "\\" else "%"
            literal.append(escaped)
            position += 2
            continue
        match = _DIRECTIVE.match(text, position)
        assert match is not None  # everything after the % is optional
        position = match.end()
        conversion = match[5] or match[7] or ""
        if conversion and conversion in "diuxXocsp":
            if literal:
                pieces.append("".join(literal))
                literal = []
            pieces.append(
                Directive(
                    match[1].replace("'", ""),
                    _size(match[2]),
                    _size(match[3]),
                    match[4] or "",
                    conversion,
                    match[6] or "",
                )
            )
        elif conversion:
            literal.append(f">{conversion}<")  # libtraceevent's marker of an unknown conversion
    if literal:
        pieces.append("".join(literal))
    return pieces


def _size(text: str | None) -> int | None:
    if text is None:
        return None
    if text == "*":
        return ARGUMENT
    if text.startswith("-"):
        return None
    return min(int(text[:9] or "0"), _MAX_WIDTH)


def with_sizes(directive: Directive, sizes: list[int]) -> Directive:
    """Return the directive with the arguments of its `*` (32-bit numbers) filled in."""
    flags, width, precision = directive.flags, directive.width, directive.precision
    numbers = iter(sizes)
    if width == ARGUMENT:
        width = _signed(next(numbers, 0), 32)
        if width < 0:
            flags, width = flags + "-", -width
        width = min(width, _MAX_WIDTH)
    if precision == ARGUMENT:
        precision = _signed(next(numbers, 0), 32)
        precision = min(precision, 1 << 20) if precision >= 0 else None
    return Directive(
        flags, width, precision, directive.length, directive.conversion, directive.suffix
    )


@lru_cache(maxsize=1024)
def number_formatter(directive: Directive) -> Callable[[int], str]:
    """Return a function that prints an unsigned 64-bit number by a directive of conversion d i u x X o or c."""
    flags, bits, conversion = directive.flags, directive.bits, directive.conversion
    mask = (1 << bits) - 1
    if conversion == "c":
        pad = _padding(directive)
        return lambda value: pad(chr(value & 0xFF) if value & 0xFF else "")
    if not directive.precision and "#" not in flags and directive.precision is None:
        # Python formats these as C does.
        keep = "-0 +" if conversion in _SIGNED else "-0"
        kept = "".join(flag for flag in flags if flag in keep)
        width = "" if directive.width is None else str(directive.width)
        template = f"%{kept}{width}{'d' if conversion == 'u' else conversion}"
        if conversion in _UNSIGNED:
            return lambda value: template % (value & mask)
        sign, span = 1 << (bits - 1), 1 << bits
        return lambda value: template % (value - span if (value := value & mask) & sign else value)
    return lambda value: _format_number(directive, value & mask)


@lru_cache(maxsize=1024)
def string_formatter(directive: Directive) -> Callable[[str], str]:
    """Return a function that prints a string by a directive of conversion s."""
    if directive.width is None and directive.precision is None:
        return str
    pad, precision = _padding(directive), directive.precision
    if precision is None:
        return pad
    return lambda text: pad(text[:precision])


def _padding(directive: Directive) -> Callable[[str], str]:
    width = directive.width or 0
    if "-" in directive.flags:
        return lambda text: text.ljust(width)
    return lambda text: text.rjust(width)


def _format_number(directive: Directive, value: int) -> str:
    """Format a number by C's rules for `#` and for a precision, from which Python's operator differs."""
    flags, width, precision = directive.flags, directive.width or 0, directive.precision
    prefix = ""
    if directive.conversion in _SIGNED:
        value = _signed(value, directive.bits)
        prefix = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
        digits = str(abs(value))
    else:
        digits = format(value, "d" if directive.conversion == "u" else directive.conversion)
        if "#" in flags and directive.conversion in "xX" and value:
            prefix = "0" + directive.conversion
    if precision is not None:
        digits = digits.rjust(precision, "0") if value or precision else ""
    if "#" in flags and directive.conversion == "o" and not digits.startswith("0"):
        digits = "0" + digits
    if "-" in flags:
        return (prefix + digits).ljust(width)
    if "0" in flags and precision is None:
        return prefix + digits.rjust(width - len(prefix), "0")
    return (prefix + digits).rjust(width)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value

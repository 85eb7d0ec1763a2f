"""The program that represents a trace's slices: its symbols, and the values of each.

A record only names its function. The debug information of the function's module describes the values that follow it, by
address, so that functions of the same name can have different values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import basename
from typing import Final, NamedTuple

from converter.errors import UnsupportedError
from converter.formats.elf.demangle import demangled
from converter.formats.uftrace.layout import symbol_address
from converter.formats.uftrace.mapping import (
    CATEGORY,
    EXECUTING,
    FORKING,
    JUMPING,
    NAME,
    SETTING_JUMP,
    SOURCE_LINE,
)
from converter.formats.uftrace.side_table import Signature
from converter.formats.uftrace.writing.emit import BYTES, TEXT, VALUE
from converter.formats.uftrace.writing.tasks import PROGRAM
from converter.ir.events import EventClass
from converter.ir.field_classes import (
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
    Style,
)

#: The files of the program.
SYMBOLS_FILE: Final = f"{basename(PROGRAM)}.sym"
DEBUG_FILE: Final = f"{basename(PROGRAM)}.dbg"

_NAMES: Final = (NAME, CATEGORY)
#: Characters that would end a name or its line.
_UNPRINTABLE: Final = re.compile(r"[\0\t\r\n]")
#: A source location: file and line.
_LOCATION: Final = re.compile(r"([^\0\r\n]+):([0-9]{1,9})")
_NO_NAME: Final = "(no name)"
_MEANINGS: Final = frozenset((*EXECUTING, *SETTING_JUMP, *JUMPING, *FORKING))


def is_named(signature: Signature) -> bool:
    """Return True if a class's first fields are the function's name and category."""
    return signature[:2] == _NAMES


def has_location(signature: Signature) -> bool:
    """Return True if the last field of a begin is the function's source location."""
    return signature[-1:] == (SOURCE_LINE,)


def values_of(signature: Signature) -> Signature:
    """Return the fields whose values follow the record."""
    return signature[2:] if is_named(signature) else signature


def operation(field_class: FieldClass, size: int) -> tuple[int, int] | None:
    """Return the emitter's operation for a value (of `size` bytes, for bytes); None if records cannot have it."""
    match field_class:
        case IntegerClass() | FloatClass():
            return VALUE, field_class.dtype.itemsize
        case BooleanClass():
            return VALUE, 1
        case StringClass():
            return TEXT, 0
        case BytesClass():
            return BYTES, size
    return None


def specification(field_class: FieldClass, size: int) -> str:
    """Return the format of a value in a specification (utils/argspec.c)."""
    match field_class:
        case IntegerClass(bits=bits, signed=signed, style=style):
            width = 8 * field_class.dtype.itemsize
            if style is Style.CHARACTER and bits == 8:
                return "c"
            if style is Style.POINTER and width == 64:
                return "p"
            if style in (Style.HEXADECIMAL, Style.POINTER, Style.OBJECT_ID, Style.SYMBOL):
                return f"x{width}"
            return f"{'i' if signed else 'u'}{width}"
        case FloatClass(bits):
            return f"f{bits}"
        case BooleanClass():
            return "u8"
        case BytesClass():
            return f"t{size}"
    return "s"


def check_values(event_class: EventClass) -> None:
    """Raise UnsupportedError if records cannot have an argument."""
    for field in values_of(event_class.fields):
        if operation(field.type, 0) is None:
            raise UnsupportedError(
                f"no record holds the field {field.name!r}",
                format="uftrace",
                field=event_class.kind.name.lower(),
            )


class ShownSymbol(NamedTuple):
    """A function as tools see it: its name, the formats of its arguments and return value, and its location."""

    name: bytes
    arguments: list[str]
    returned: list[str]
    source: str
    #: The number of the library that it is in, 0 for the program.
    library: int = 0

    @property
    def has_details(self) -> bool:
        """True if the debug information has an entry for the function."""
        return bool(self.arguments or self.returned or _LOCATION.fullmatch(self.source))


def symbols_text(
    symbols: Sequence[ShownSymbol], path: str = PROGRAM, library: int = 0, suffix: bytes = b""
) -> Iterator[bytes]:
    """Yield a .sym file without sizes, which all versions read; names have a suffix."""
    count = sum(symbol.library == library for symbol in symbols)
    yield f"# symbols: {count + 1}\n# path name: {path}\n".encode("ascii")
    if not library:
        # `uftrace graph` looks up this symbol where stacks are deep, and crashes without it.
        yield b"%016x T _start\n" % symbol_address(-1)
    for number, symbol in enumerate(symbols):
        if symbol.library == library:
            yield b"%016x T %b\n" % (symbol_address(number), _shown_name(symbol) + suffix)
    yield b"%016x ? __sym_end\n" % symbol_address(len(symbols))


def debug_text(
    symbols: Sequence[ShownSymbol], path: str = PROGRAM, library: int = 0, suffix: bytes = b""
) -> Iterator[bytes]:
    """Yield a .dbg file: the formats of each function's values, and its source location, where there are any."""
    yield f"# path name: {path}\n".encode("ascii")
    for number, symbol in enumerate(symbols):
        if symbol.library != library or not symbol.has_details:
            continue
        yield b"F: %x %b\n" % (symbol_address(number), _shown_name(symbol) + suffix)
        if location := _LOCATION.fullmatch(symbol.source):
            yield f"L: {location[2]} {location[1]}\n".encode("utf-8", "surrogateescape")
        if symbol.arguments:
            listed = ",".join(f"arg{i}/{format}" for i, format in enumerate(symbol.arguments, 1))
            yield f"A: @{listed}\n".encode("ascii")
        if symbol.returned:
            yield f"R: @retval/{symbol.returned[0]}\n".encode("ascii")


def _shown_name(symbol: ShownSymbol) -> bytes:
    text = symbol.name.decode("utf-8", "surrogateescape")
    text = _UNPRINTABLE.sub(" ", text).strip() or _NO_NAME
    if not symbol.library and demangled(text) in _MEANINGS:
        # Another name than this, unless it is shown so.
        text += " "
    return text.encode("utf-8", "surrogateescape")

"""The program that stands for a trace's slices: its symbols, and what each carries.

A record names its function and nothing else. What values follow it is told by the debug information of the function's
module, by address, so that functions of one name can differ in their values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import basename
from typing import Final, NamedTuple

from converter.errors import UnsupportedError
from converter.formats.uftrace.emit import BYTES, TEXT, VALUE
from converter.formats.uftrace.layout import symbol_address
from converter.formats.uftrace.mapping import CATEGORY, NAME
from converter.formats.uftrace.task_output import PROGRAM
from converter.formats.uftrace.trace_tables import Signature
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
#: What would end a name's line, or be taken for a mangled C++ name.
_UNPRINTABLE: Final = re.compile(r"[\0\r\n]")
_NO_NAME: Final = "(no name)"


def is_named(signature: Signature) -> bool:
    """Whether a class's first fields are the function's name and category."""
    return signature[:2] == _NAMES


def values_of(signature: Signature) -> Signature:
    """The fields whose values stand behind the record."""
    return signature[2:] if is_named(signature) else signature


def operation(field_class: FieldClass, size: int) -> tuple[int, int] | None:
    """How the emitter writes a value (of `size` bytes, for bytes); None for what no record has."""
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
    """The format of a value in a specification (utils/argspec.c)."""
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
    """UnsupportedError where an argument can be in no record."""
    for field in values_of(event_class.fields):
        if operation(field.type, 0) is None:
            raise UnsupportedError(
                f"no record holds the field {field.name!r}",
                format="uftrace",
                field=event_class.kind.name.lower(),
            )


class ShownSymbol(NamedTuple):
    """A function as tools see it: its name, and the formats of its arguments and of what it returns."""

    name: bytes
    arguments: list[str]
    returned: list[str]


def symbols_text(symbols: list[ShownSymbol]) -> Iterator[bytes]:
    """The .sym file, in the form without sizes, which all versions read."""
    yield f"# symbols: {len(symbols) + 1}\n# path name: {PROGRAM}\n".encode("ascii")
    # `uftrace graph` looks for this one where stacks are deep, and crashes without it.
    yield b"%016x T _start\n" % symbol_address(-1)
    for number, symbol in enumerate(symbols):
        yield b"%016x T %b\n" % (symbol_address(number), _printable(symbol.name))
    yield b"%016x ? __sym_end\n" % symbol_address(len(symbols))


def debug_text(symbols: list[ShownSymbol]) -> Iterator[bytes]:
    """The .dbg file: the formats of the values of each function that has any."""
    yield f"# path name: {PROGRAM}\n".encode("ascii")
    for number, symbol in enumerate(symbols):
        if not symbol.arguments and not symbol.returned:
            continue
        yield b"F: %x %b\n" % (symbol_address(number), _printable(symbol.name))
        if symbol.arguments:
            listed = ",".join(f"arg{i}/{format}" for i, format in enumerate(symbol.arguments, 1))
            yield f"A: @{listed}\n".encode("ascii")
        if symbol.returned:
            yield f"R: @retval/{symbol.returned[0]}\n".encode("ascii")


def _printable(name: bytes) -> bytes:
    text = _UNPRINTABLE.sub(" ", name.decode("utf-8", "surrogateescape")).strip() or _NO_NAME
    return text.encode("utf-8", "surrogateescape")

"""The fields of an event class as ``name=value``, compiled: the text of `ir.text.text_of_value` for each value."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np

from converter.errors.terminal import printable
from converter.ir.columns import Column, ListColumn, OptionalColumn, StructColumn, UnionColumn
from converter.ir.display.text import text_of_value, unique_names
from converter.ir.events import EventClass, Table
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.kinds import Role
from converter.printing import program as op
from converter.printing.code import Code, Form, Names
from converter.printing.directory import Directory

#: Printed before the event, not among its fields.
IN_FRONT: Final = frozenset({Role.CONTEXT_FLAGS, Role.CONTEXT_PREEMPT_COUNT})
_FLOAT_BITS: Final = (32, 64)
_QUOTE: Final = b'"'
#: The number of cached texts that are not ASCII: most repeat.
_KEPT: Final = 1 << 12


class NotExpressedError(Exception):
    """Raised if a class nests its values more deeply than a program can."""


class ColumnKey(NamedTuple):
    """A column of a class: of its field `field`, the nested column at `path`, in the representation `taken`."""

    what: str
    field: int
    path: tuple[int, ...] = ()

    def inner(self, index: int = 0) -> ColumnKey:
        """Return the key of what is inside: the elements or the value, or a member or option by its index."""
        return ColumnKey("", self.field, (*self.path, index))

    def taken(self, what: str) -> ColumnKey:
        """Return the same key with another representation."""
        return ColumnKey(what, self.field, self.path)

    def of(self, table: Table) -> Any:
        """Return the column in a table, in the representation that programs need."""
        column = table.column(self.field)
        for index in self.path:
            column = _inside(column, index)
        match self.what, column:
            case ("list", ListColumn(offsets, _)):
                return offsets
            case ("valid", OptionalColumn(valid, _)):
                return valid
            case ("union", UnionColumn(tags, rows, _)):
                return tags, rows
            case (_, ListColumn(offsets, values)):
                return np.ascontiguousarray(values), offsets
        if self.what in _KINDS and isinstance(column, np.ndarray):
            dtype = column.dtype
            if not dtype.isnative or dtype.kind not in _KINDS[self.what]:
                return column.astype(f"{_KINDS[self.what][0]}{dtype.itemsize}")
        return column


#: The types of numbers of columns, by representation.
_KINDS: Final = {"signed": "i", "unsigned": "ub", "float": "f"}


def _inside(column: Column, index: int) -> Column:
    match column:
        case ListColumn(_, values) | OptionalColumn(_, values):
            return values
        case StructColumn(_, members):
            return members[index]
        case UnionColumn(_, _, options):
            return options[index]
    raise TypeError(f"nothing is inside a {type(column).__name__}")


@dataclass(slots=True)
class FieldTexts:
    """Adds operations to a program that print fields; `functions` are names of addresses, fit to be printed."""

    code: Code
    functions: Directory

    def fields(self, event_class: EventClass) -> None:
        """Print all fields, except those that are printed before the event."""
        between = b""
        for index, field in enumerate(event_class.fields):
            if field.role not in IN_FRONT:
                self.code.literal(between + f"{printable(field.name)}=".encode())
                self.value(field.type, ColumnKey("", index), 1)
                between = b" "

    def value(self, field_class: FieldClass, key: ColumnKey, level: int) -> None:
        """Print a value in the display style of its field class; nested ones as JSON."""
        code = self.code
        match field_class:
            case IntegerClass():
                self._integer(field_class, key, level)
            case FloatClass():
                self._float(field_class, key, level, quoted=False)
            case StringClass():
                column = code.column(key.taken("text"), op.TEXTS)
                quote = code.function(_quoted)
                code.add(op.QUOTED, column, level, quote)
            case BytesClass():
                code.add(op.BYTES, code.column(key.taken("octets"), op.OCTET_LISTS), level)
            case OptionalClass(element):
                self._optional(key, level, lambda: self.value(element, key.inner(), level))
            case _:
                self._json(field_class, key, level)

    def _json(self, field_class: FieldClass, key: ColumnKey, level: int) -> None:
        code = self.code
        match field_class:
            case IntegerClass():
                self._number(field_class, key, level)
                code.add(op.DECIMAL, 64, int(field_class.signed))
            case FloatClass():
                self._float(field_class, key, level, quoted=True)
            case StringClass():
                quote = code.function(_json_text)
                code.add(op.JSON, code.column(key.taken("text"), op.TEXTS), level, quote)
            case BytesClass():
                code.literal(_QUOTE)
                code.add(op.BYTES, code.column(key.taken("octets"), op.OCTET_LISTS), level)
                code.literal(_QUOTE)
            case BooleanClass():
                code.number_of(key.taken("unsigned"), level)
                code.unless_zero(lambda: code.literal(b"true"), lambda: code.literal(b"false"))
            case NullClass():
                code.literal(b"null")
            case OptionalClass(element):
                self._optional(key, level, lambda: self._json(element, key.inner(), level))
            case ArrayClass(element):
                _check(level + 1)
                code.literal(b"[")
                inner = key.inner()
                code.each(
                    key.taken("list"),
                    level,
                    lambda: self._json(element, inner, level + 1),
                    between=b", ",
                )
                code.literal(b"]")
            case StructureClass(members):
                names = unique_names([member.name for member in members])
                between = b"{"
                for index, (name, member) in enumerate(zip(names, members, strict=True)):
                    code.literal(between + _json_name(name))
                    self._json(member.type, key.inner(index), level)
                    between = b", "
                code.literal(b"}" if members else b"{}")
            case VariantClass():
                _check(level + 1)
                code.add(op.OPTION, code.column(key.taken("union"), op.UNIONS), level)
                self._options(field_class, key, level, 0)
            case _:
                raise NotExpressedError(type(field_class).__name__)

    def _options(self, field_class: VariantClass, key: ColumnKey, level: int, index: int) -> None:
        """Print the option whose number is on the stack; it is `index` or a later one."""
        code = self.code
        if index == len(field_class.options):
            code.add(op.DROP)
            return
        option = field_class.options[index]

        def this() -> None:
            code.add(op.DROP)
            code.literal(b"{" + _json_name(option.name))
            self._json(option.type, key.inner(index), level + 1)
            code.literal(b"}")

        code.add(op.COPY)
        code.constant(index)
        code.add(op.EQUAL)
        code.unless_zero(this, lambda: self._options(field_class, key, level, index + 1))

    def _optional(self, key: ColumnKey, level: int, present: Callable[[], None]) -> None:
        self.code.add(op.VALID, self.code.column(key.taken("valid"), op.VALIDITY), level)
        self.code.unless_zero(present, lambda: self.code.literal(b"null"))

    def _float(self, field_class: FloatClass, key: ColumnKey, level: int, *, quoted: bool) -> None:
        if field_class.bits not in _FLOAT_BITS:
            raise NotExpressedError("float")
        column = self.code.column(key.taken("float"), op.SCALAR)
        self.code.add(op.FLOAT, column, level, int(quoted))

    def _number(self, field_class: IntegerClass, key: ColumnKey, level: int) -> None:
        sign = "signed" if field_class.signed else "unsigned"
        self.code.number_of(key.taken(sign), level, signed=field_class.signed)

    def _integer(self, field_class: IntegerClass, key: ColumnKey, level: int) -> None:
        code = self.code
        self._number(field_class, key, level)
        if not field_class.labels:
            self._styled(field_class)
            return
        code.named(op.LABEL, _labels(field_class))
        code.unless_zero(lambda: _add(code, op.DROP), lambda: self._styled(field_class))

    def _styled(self, field_class: IntegerClass) -> None:
        """Print the number on the stack in the display style of its class."""
        code, bits = self.code, field_class.bits
        match field_class.style:
            case Style.SYMBOL:
                code.keep((1 << bits) - 1)
                code.add(op.COPY)
                code.find(self.functions)
                code.unless_zero(self._function, lambda: _hexadecimal(code, bits))
            case Style.HEXADECIMAL | Style.POINTER | Style.OBJECT_ID:
                _hexadecimal(code, bits)
            case Style.OCTAL:
                code.literal(b"0o")
                code.add(op.NUMBER, code.form(Form(bits=bits, conversion="o")))
            case Style.BINARY | Style.CHARACTER:
                code.call(partial(_other_style, field_class), 1)
            case _:
                code.add(op.DECIMAL, 64, int(field_class.signed))

    def _function(self) -> None:
        code = self.code

        def distance() -> None:
            code.literal(b"+0x")
            code.add(op.FOUND_NUMBER)
            code.add(op.HEXADECIMAL, 64)

        code.add(op.DROP)
        code.add(op.FOUND_TEXT)
        code.add(op.FOUND_NUMBER)
        code.unless_zero(distance, None)


def _add(code: Code, operation: int) -> None:
    code.add(operation)


def _hexadecimal(code: Code, bits: int) -> None:
    code.literal(b"0x")
    code.add(op.HEXADECIMAL, bits)


def _check(level: int) -> None:
    if level >= op.MAX_LEVELS - 1:
        raise NotExpressedError("levels")


def _json_name(name: str) -> bytes:
    return printable(json.dumps(name, ensure_ascii=False)).encode() + b": "


@lru_cache(maxsize=_KEPT)
def _quoted(text: bytes) -> bytes:
    """Return a text that is not ASCII, in quotes if it needs them."""
    return text_of_value(StringClass(), text, None).encode("utf-8", "surrogateescape")


@lru_cache(maxsize=_KEPT)
def _json_text(text: bytes) -> bytes:
    """Return a text that is not ASCII, as JSON."""
    shown = json.dumps(text.decode("utf-8", "surrogateescape"), ensure_ascii=False)
    return printable(shown).encode("utf-8", "surrogateescape")


def _other_style(field_class: IntegerClass, _: bytes, number: int) -> bytes:
    value = number - (1 << 64) if field_class.signed and number >> 63 else number
    plain = IntegerClass(field_class.bits, signed=field_class.signed, style=field_class.style)
    return text_of_value(plain, value, None).encode()


def _labels(field_class: IntegerClass) -> Names:
    """Return the labels that numbers of the class can have."""
    lowest = -(1 << 63) if field_class.signed else 0
    highest = (1 << 63 if field_class.signed else 1 << 64) - 1
    if field_class.flags:
        # The bits of a negative number are those of a 64-bit one.
        highest = (1 << 64) - 1
    entries = [
        (max(label.low, lowest), min(label.high, highest), printable(label.text).encode())
        for label in field_class.labels
        if label.high >= lowest and label.low <= highest
    ]
    if field_class.flags:
        entries = [(low, low, text) for low, _, text in entries if low >= lowest]
    entries = [(low & (1 << 64) - 1, high & (1 << 64) - 1, text) for low, high, text in entries]
    bits = -field_class.bits if field_class.signed else field_class.bits
    return Names(entries, bits=bits, separator=b"|" if field_class.flags else b"")

"""The text that uftrace shows for values other than plain numbers: enumerators, characters, functions, structures.

The text is in a separate field after the value's, for formats that have no such types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.elf.demangle import demangled
from converter.formats.uftrace.mapping import STRUCTURE
from converter.formats.uftrace.symbols.symbol_files import Module
from converter.ir.columns import Column, ListColumn, list_of_bytes, take
from converter.ir.distinct_values import distinct
from converter.ir.events import Field
from converter.ir.field_classes import (
    BytesClass,
    FieldClass,
    IntegerClass,
    Label,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind

_SUFFIX: Final = "_text"
#: Larger numbers are shown in hexadecimal.
_LARGE: Final = 100_000
_ESCAPES: Final = {0: r"\0", 10: r"\n"}


def text_field(field: Field) -> Field | None:
    """Return the field for the text of a value, None where the value is shown unchanged."""
    match field.type:
        case IntegerClass(style=style, labels=labels) if not (
            labels or style in (Style.CHARACTER, Style.POINTER, Style.SYMBOL)
        ):
            return None
        case IntegerClass() | BytesClass():
            return Field(f"{field.name}{_SUFFIX}", StringClass())
    return None


def is_text_of(field: Field, value: Field) -> bool:
    """Return True if a field holds the text of another."""
    return field == text_field(value)


def recorded_fields(kind: Kind, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of a begin or end that are in its record: those of a return value without its text."""
    if kind is Kind.SLICE_END and len(fields) > 1 and is_text_of(fields[-1], fields[-2]):
        return fields[:-1]
    return fields


def texts(column: Column, held: FieldClass, names: SymbolNames) -> ListColumn:
    """Return the texts of a column of values."""
    if isinstance(held, BytesClass):
        structure = held.media_type.removeprefix(STRUCTURE) if STRUCTURE in held.media_type else ""
        assert isinstance(column, ListColumn)
        name = structure.encode("utf-8", "surrogateescape")
        found = [name + b"{}", name + b"{...}"]
        return _each(found, (np.diff(column.offsets) > 0).astype(np.int64))
    assert isinstance(held, IntegerClass) and isinstance(column, np.ndarray)
    values, inverse = distinct(column)
    if held.style is Style.POINTER:
        found = [
            b"&%b" % names.names[id] if id else b"%#x" % value if value else b"0"
            for value, id in zip(values.tolist(), names.ids(values).tolist(), strict=True)
        ]
    elif held.style is Style.SYMBOL:
        found = [names.place(value) for value in values.tolist()]
    elif held.style is Style.CHARACTER:
        found = [_character(value).encode("latin-1") for value in values.tolist()]
    else:
        found = [
            _enumerators(value, held.labels).encode("utf-8", "surrogateescape")
            for value in values.tolist()
        ]
    return _each(found, inverse)


def _each(texts: Sequence[bytes], which: NDArray[np.integer[Any]]) -> ListColumn:
    column = take(list_of_bytes(texts), which)
    assert isinstance(column, ListColumn)
    return column


def _number(value: int) -> str:
    return f"{value:#x}" if abs(value) > _LARGE else str(value)


def _character(value: int) -> str:
    code = value & 0xFF
    return f"'{_ESCAPES.get(code) or chr(code)}'"


def _enumerators(value: int, labels: Sequence[Label]) -> str:
    """Return the name of a value (maybe an int in half of a register), or the names of its flags and the rest."""
    as_int = (value ^ 1 << 31) - (1 << 31) if value >> 32 == 0 else value
    for label in labels:
        if label.low in (value, as_int):
            return label.text
    parts = []
    # Enumerators that were declared last come first.
    for label in reversed(labels):
        if label.low <= value:
            value -= label.low
            parts.append(label.text)
        if not value:
            break
    if not parts:
        return _number(value)
    return "|".join(parts) + (f"+{value:#x}" if value else "")


class SymbolNames:
    """The names of symbols at a recording's addresses, from the first address space that has a symbol there."""

    def __init__(
        self, modules: Sequence[Module], spaces: Sequence[Sequence[tuple[int, int, int, int]]]
    ) -> None:
        self._modules = modules
        mapped = (mapping for space in spaces for mapping in space if mapping[3] >= 0)
        self._mappings = list(dict.fromkeys(mapped))
        self._bounds = _bounds((start, end) for start, end, *_ in self._mappings)
        #: By id; id 0 means no symbol.
        self.names = [b""]
        self._numbers: dict[bytes, int] = {b"": 0}
        self._known: dict[int, int] = {}

    def ids(self, addresses: NDArray[Any]) -> NDArray[np.int32]:
        """Return the index in `names` of the symbol at each address, 0 where none is known."""
        addresses = addresses.astype(np.uint64)
        found = np.zeros(len(addresses), np.int32)
        # Few addresses are in files with symbols, and only these are looked up one by one.
        inside = np.flatnonzero(np.searchsorted(self._bounds, addresses, "right") & 1)
        if len(inside):
            values, inverse = np.unique(addresses[inside], return_inverse=True)
            ids = [self._id(address) for address in values.tolist()]
            found[inside] = np.array(ids, np.int32)[inverse]
        return found

    def _id(self, address: int) -> int:
        if address not in self._known:
            name = self._name(address)
            if name not in self._numbers:
                self._numbers[name] = len(self.names)
                self.names.append(name)
            self._known[address] = self._numbers[name]
        return self._known[address]

    def place(self, address: int) -> bytes:
        """Return the symbol at an address, and the distance from its start: ``main+0x20``."""
        found = self._symbol(address)
        return b"%#x" % address if found is None else b"%b+%#x" % found

    def _name(self, address: int) -> bytes:
        found = self._symbol(address)
        return b"" if found is None else found[0]

    def _symbol(self, address: int) -> tuple[bytes, int] | None:
        for start, end, base, number in self._mappings:
            if not start <= address < end:
                continue
            symbols = self._modules[number].symbols
            index = int(np.searchsorted(symbols.starts, np.uint64(address - base), "right")) - 1
            if index >= 0 and address - base < int(symbols.ends[index]):
                name = symbols.names[index].decode("utf-8", "surrogateescape")
                shown = demangled(name).encode("utf-8", "surrogateescape")
                return shown, address - base - int(symbols.starts[index])
        return None


def _bounds(mappings: Iterable[tuple[int, int]]) -> NDArray[np.uint64]:
    """Return starts and ends of mapped memory alternately, ascending."""
    bounds: list[int] = []
    for start, end in sorted(mappings):
        if bounds and start <= bounds[-1]:
            bounds[-1] = max(bounds[-1], end)
        else:
            bounds += start, end
    return np.array(bounds, np.uint64)

"""What uftrace shows of values that are not plain numbers: names of enumerators, characters, functions, structures.

The text stands in a field of its own behind the value's, for formats that have no such types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.uftrace.demangle import demangled
from converter.formats.uftrace.mapping import STRUCTURE
from converter.formats.uftrace.symbols import Module
from converter.ir.columns import Column, ListColumn, list_of_bytes
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

#: The names of the functions and objects at addresses, empty where there is none.
Names = Callable[[NDArray[np.uint64]], list[bytes]]


def text_field(field: Field) -> Field | None:
    """The field for the text of a value, None where it is shown as it is."""
    match field.type:
        case IntegerClass(style=style, labels=labels) if not (
            labels or style in (Style.CHARACTER, Style.POINTER)
        ):
            return None
        case IntegerClass() | BytesClass():
            return Field(f"{field.name}{_SUFFIX}", StringClass())
    return None


def is_text_of(field: Field, of: Field) -> bool:
    """Whether a field is that for the text of another."""
    return field == text_field(of)


def recorded_fields(kind: Kind, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields of a begin or end that are in its record: of what is returned the value, but not its text."""
    if kind is Kind.SLICE_END and len(fields) > 1 and is_text_of(fields[-1], fields[-2]):
        return fields[:-1]
    return fields


def texts(column: Column, held: FieldClass, names: Names) -> ListColumn:
    """The texts of a column of values."""
    if isinstance(held, BytesClass):
        of = held.media_type.removeprefix(STRUCTURE) if STRUCTURE in held.media_type else ""
        assert isinstance(column, ListColumn)
        sizes = np.diff(column.offsets)
        return list_of_bytes(
            [f"{of}{{{'...' if size else ''}}}".encode() for size in sizes.tolist()]
        )
    assert isinstance(held, IntegerClass) and isinstance(column, np.ndarray)
    values, inverse = np.unique(column, return_inverse=True)
    if held.style is Style.POINTER:
        found = [
            b"&%b" % name if name else _number(value).encode()
            for value, name in zip(values.tolist(), names(values.astype(np.uint64)), strict=True)
        ]
    elif held.style is Style.CHARACTER:
        found = [_character(value).encode("latin-1") for value in values.tolist()]
    else:
        found = [_enumerators(value, held.labels).encode() for value in values.tolist()]
    return list_of_bytes([found[place] for place in inverse.tolist()])


def _number(value: int) -> str:
    return f"{value:#x}" if abs(value) > _LARGE else str(value)


def _character(value: int) -> str:
    code = value & 0xFF
    return f"'{_ESCAPES.get(code) or chr(code)}'"


def _enumerators(value: int, labels: Sequence[Label]) -> str:
    """The name of a value, which may be an int in half of a register, or of flags that add up to it, and the rest."""
    as_int = (value ^ 1 << 31) - (1 << 31) if value >> 32 == 0 else value
    for label in labels:
        if label.low in (value, as_int):
            return label.text
    parts = []
    # Those that were declared last come first.
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
    """The names of what lies at addresses of a recording: of its first address space that has something there."""

    def __init__(
        self, modules: Sequence[Module], spaces: Sequence[Sequence[tuple[int, int, int, int]]]
    ) -> None:
        self._modules = modules
        self._mappings = [mapping for space in spaces for mapping in space if mapping[3] >= 0]
        self._known: dict[int, bytes] = {}

    def __call__(self, addresses: NDArray[np.uint64]) -> list[bytes]:
        """The names."""
        for address in addresses.tolist():
            if address not in self._known:
                self._known[address] = self._name(address)
        return [self._known[address] for address in addresses.tolist()]

    def _name(self, address: int) -> bytes:
        for start, end, base, number in self._mappings:
            if not start <= address < end:
                continue
            symbols = self._modules[number].symbols
            place = int(np.searchsorted(symbols.starts, np.uint64(address - base), "right")) - 1
            if place >= 0 and address - base < int(symbols.ends[place]):
                name = symbols.names[place].decode("utf-8", "surrogateescape")
                return demangled(name).encode("utf-8", "surrogateescape")
        return b""

"""Values of calls in a report, as uftrace shows them (cmds/replay.c, get_argspec_string)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.uftrace.arguments.shown_values import SymbolNames
from converter.formats.uftrace.mapping import Reading
from converter.ir.columns import ListColumn
from converter.ir.events import Field, Table
from converter.ir.field_classes import FloatClass, IntegerClass, StringClass, Style
from converter.printing import program as op
from converter.printing.code import Code, Form
from converter.printing.directory import Directory
from converter.printing.event_texts import ColumnKey, FieldTexts

#: Larger numbers are shown in hexadecimal; for `int`, also smaller ones.
_LARGE: Final = 100_000
_LEAST_INT: Final = -65_535
_INT: Final = 32
#: printf() has six decimals.
_DECIMALS: Final = 6
_FIXED: Final = 2
#: The bytes that are escaped in texts.
_ESCAPES: Final = {8: 98, 10: 110}
_BACKSLASH: Final = 92


def _percentage(total: NDArray[np.uint64], others: NDArray[np.uint64]) -> Any:
    return 100.0 * (total - others).astype(np.float64) / total.astype(np.float64)


def _per_cycle(cycles: NDArray[np.uint64], instructions: NDArray[np.uint64]) -> Any:
    return (instructions.astype(np.float32) / cycles.astype(np.float32)).astype(np.float64)


#: By name of a reading: the ratio of its two values that is also shown, and its decimals.
_RATIOS: Final[dict[str, tuple[bytes, bytes, Callable[[Any, Any], Any]]]] = {
    "pmu-cycle": (b" IPC=", b"", _per_cycle),
    "pmu-cache": (b" hit=", b"%", _percentage),
    "pmu-branch": (b" predict=", b"%", _percentage),
}


class SymbolKey(NamedTuple):
    """The symbols of the addresses of a field."""

    field: int
    symbols: SymbolNames

    def of(self, table: Table) -> NDArray[np.int32]:
        """Return the ids of the symbols."""
        return self.symbols.ids(np.asarray(table.column(self.field)))


class EscapedKey(NamedTuple):
    """The texts of a field, with characters escaped that would end a line."""

    field: int

    def of(self, table: Table) -> Any:
        """Return the column."""
        column = table.column(self.field)
        if not isinstance(column, ListColumn) or not isinstance(column.values, np.ndarray):
            return column
        offsets, values = column.offsets, column.values
        used = np.ascontiguousarray(values[offsets[0] : offsets[-1]])
        found = np.isin(used, list(_ESCAPES)).nonzero()[0]
        if not len(found):
            return np.ascontiguousarray(values), offsets
        letters = used.copy()
        for byte, letter in _ESCAPES.items():
            letters[used == byte] = letter
        starts = offsets - offsets[0]
        return np.insert(letters, found, _BACKSLASH), starts + np.searchsorted(found, starts)


class RatioKey(NamedTuple):
    """The ratio of two values of a reading."""

    name: str

    def of(self, table: Table) -> NDArray[np.float64]:
        """Return the column."""
        first, second = (np.asarray(table.column(index)).astype(np.uint64) for index in (2, 3))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: NDArray[np.float64] = _RATIOS[self.name][2](first, second)
        return ratio


class ValueTexts:
    """Adds the operations that print values to a program."""

    def __init__(self, code: Code, symbols: SymbolNames | None) -> None:
        self._code = code
        self._symbols = symbols
        self._names = Directory(self._name)

    def _name(self, id: int) -> tuple[bytes, int]:
        assert self._symbols is not None
        return b"&" + self._symbols.names[id], 0

    @staticmethod
    def key(what: str, index: int) -> ColumnKey:
        """Return the key of a field's column."""
        return ColumnKey(what, index)

    def value(self, field: Field, index: int, text_index: int | None, letter: str) -> None:
        """Print a value, for which the field `beside` may have a text."""
        code, held = self._code, field.type
        match held:
            case IntegerClass(style=Style.POINTER) if self._symbols is not None:
                code.number_of(SymbolKey(index, self._symbols), 1)
                code.add(op.COPY)
                code.unless_zero(self._symbol, lambda: self._address(index))
            case _ if text_index is not None:
                code.text_of(self.key("text", text_index), 1)
            case IntegerClass():
                self._integer(held, index, letter)
            case FloatClass():
                column = code.column(self.key("float", index), op.SCALAR)
                code.add(op.FLOAT, column, 1, _FIXED + _DECIMALS)
            case StringClass():
                code.literal(b'"')
                code.text_of(EscapedKey(index), 1)
                code.literal(b'"s' if letter == "S" else b'"')
            case _:
                FieldTexts(code, Directory(lambda _: None)).value(held, self.key("", index), 1)

    def _symbol(self) -> None:
        self._code.find(self._names)
        self._code.add(op.DROP)
        self._code.add(op.FOUND_TEXT)

    def _address(self, index: int) -> None:
        code = self._code
        code.add(op.DROP)
        code.number_of(self.key("unsigned", index), 1)
        code.add(op.NUMBER, code.form(Form("#", conversion="x")))

    def _integer(self, held: IntegerClass, index: int, letter: str) -> None:
        code, bits = self._code, held.bits
        sign = "signed" if held.signed else "unsigned"
        code.number_of(self.key(sign, index), 1, signed=held.signed)
        if held.style is Style.HEXADECIMAL or held.style is Style.OCTAL:
            conversion = "x" if held.style is Style.HEXADECIMAL else "o"
            code.add(op.NUMBER, code.form(Form("#", bits=bits, conversion=conversion)))
            return
        if bits < _INT or letter == "i":
            code.add(op.DECIMAL, bits, int(held.signed))
            return
        least = 0 if not held.signed else _LEAST_INT if bits == _INT else -_LARGE
        code.add(op.COPY)
        code.constant(-least)
        code.add(op.ADD)
        code.constant(_LARGE - least)
        code.add(op.LESS_EQUAL)
        code.unless_zero(
            lambda: _add(code, op.DECIMAL, bits, int(held.signed)),
            lambda: _add(code, op.NUMBER, code.form(Form("#", bits=bits, conversion="x"))),
        )

    def ratio(self, reading: Reading) -> None:
        """Print the ratio of two differences of counters."""
        if reading.category != "diff" or reading.name not in _RATIOS:
            return
        code = self._code
        before, after, _ = _RATIOS[reading.name]
        code.literal(before)
        code.add(op.FLOAT, code.column(RatioKey(reading.name), op.SCALAR), 1, _FIXED + 2)
        code.literal(after)


def _add(code: Code, operation: int, *operands: int) -> None:
    code.add(operation, *operands)

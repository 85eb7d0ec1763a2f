"""The fields of the events of one class in a batch as Python values, for what prints them one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from converter.ir.columns import ListColumn, value
from converter.ir.events import EventClass, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.kernels.strings import StringTable

#: The text of an event, given its row in the table of its class and its position in the batch.
TextOf = Callable[[int, int], str]


class EventFields:
    """Columns by the names of fields, each made into a list when it is first asked for."""

    def __init__(
        self, event_class: EventClass, table: Table, strings: StringTable, printed: TextOf
    ) -> None:
        #: What the `print fmt` gives.
        self.printed = printed
        self.native = event_class.native
        self._table = table
        self._strings = strings
        self._places = {field.name: i for i, field in reversed([*enumerate(event_class.fields)])}
        self._classes = [field.type for field in event_class.fields]

    def numbers(self, name: str) -> list[int] | None:
        """An integer of each event, as an unsigned number of its own size; None where the class has no such field."""
        place = self._places.get(name)
        if place is None or not isinstance(self._classes[place], IntegerClass):
            return None
        column = self._table.column(place)
        assert isinstance(column, np.ndarray)
        numbers: list[int] = _unsigned(column).tolist()
        return numbers

    def bits(self, name: str) -> int:
        """The size of an integer."""
        field_class = self._classes[self._places[name]]
        assert isinstance(field_class, IntegerClass)
        return field_class.bits

    def texts(self, name: str) -> list[str] | None:
        """A text of each event; None where the class has no such field."""
        place = self._places.get(name)
        if place is None or not isinstance(self._classes[place], StringClass):
            return None
        column, strings = self._table.column(place), self._strings
        if isinstance(column, np.ndarray):
            known = {id: _decoded(strings[id]) for id in set(column.tolist())}
            return [known[id] for id in column.tolist()]
        return [_decoded(value(column, StringClass(), i, strings)) for i in range(len(self._table))]

    def lists(self, name: str) -> list[list[int]] | None:
        """The elements of an array, or the bytes, of each event; None where the class has no such field."""
        place = self._places.get(name)
        column = None if place is None else self._table.column(place)
        if not isinstance(column, ListColumn) or not isinstance(column.values, np.ndarray):
            return None
        values = _unsigned(column.values).tolist()
        return [values[start:end] for start, end in pairwise(column.offsets.tolist())]


def signed(number: int, bits: int) -> int:
    """An unsigned number of that many bits as C's signed one."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _unsigned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(values).view(f"u{values.itemsize}")


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")

"""Assigns fields to columns of a table: classes share one if name and type are the same in them."""

from __future__ import annotations

from collections.abc import Callable, Container
from itertools import chain, count
from typing import Generic, NamedTuple, TypeVar

from converter.ir.display.text import column_name, unique_names
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass

#: The columns that all events have, before those of fields.
COMMON = (
    *("ts", "time", "event", "system", "kind", "cpu"),
    *("tid", "pid", "thread", "process", "track"),
)

T = TypeVar("T")


class FieldColumn(NamedTuple, Generic[T]):
    """The column that shows a field of a class."""

    name: str
    field: int
    type: T
    #: The column contains the labels of the field's values.
    is_label: bool


class FieldColumns(Generic[T]):
    """Assigns columns to the fields of classes, in the order in which classes are added. A column has the name of its
    field. If that name is taken, by a common column or one of another type, it is ``event.field``, and
    ``event.field#2`` if that is taken, too.

    Args:
        type_of: returns the type of a field's column.
        text: that of labels, which are in a column ``field_label``.
        taken: names that no field may have.
    """

    def __init__(
        self, type_of: Callable[[Field], T], text: T, taken: Container[str] = COMMON
    ) -> None:
        self._type_of = type_of
        self._taken = taken
        self._text = text
        self._of: dict[int, list[FieldColumn[T]]] = {}
        #: The type of each column, in the order in which they were added.
        self.types: dict[str, T] = {}

    def columns_of(self, number: int, event_class: EventClass) -> list[FieldColumn[T]]:
        """Return the columns of a class, by its number; new ones come after the others."""
        found = self._of.get(number)
        if found is None:
            found = self._of[number] = self._new(event_class)
        return found

    def _new(self, event_class: EventClass) -> list[FieldColumn[T]]:
        columns: dict[str, FieldColumn[T]] = {}

        def add(name: str, index: int, wanted: T, *, is_label: bool) -> None:
            free = self._free_name(name, event_class, wanted, columns)
            columns[free] = FieldColumn(free, index, wanted, is_label)

        names = unique_names([column_name(field.name) or "field" for field in event_class.fields])
        for index, (name, field) in enumerate(zip(names, event_class.fields, strict=True)):
            add(name, index, self._type_of(field), is_label=False)
            if isinstance(field.type, IntegerClass) and field.type.labels:
                add(f"{name}_label", index, self._text, is_label=True)
        return list(columns.values())

    def _free_name(self, name: str, event_class: EventClass, wanted: T, own: Container[str]) -> str:
        qualified = f"{column_name(event_class.name) or event_class.kind.name.lower()}.{name}"
        names = chain((name, qualified), (f"{qualified}#{number}" for number in count(2)))
        free = (one for one in names if one not in self._taken and one not in own)
        return next(one for one in free if self.types.setdefault(one, wanted) == wanted)

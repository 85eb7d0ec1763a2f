"""Columns of track events, from the words that a scan found for the items of their signature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.reading.columns import bytes_column
from converter.formats.perfetto.reading.kernels.scan_timeline import TrackEvents
from converter.ir.columns import Column, ListColumn, NullColumn, column_from_values
from converter.ir.field_classes import (
    BooleanClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
)
from converter.kernels.tables.strings import StringTable


class Item(NamedTuple):
    """An argument of a signature: its code, the number of its name and of its type's name, and its first word."""

    code: str
    name: int
    type_name: int
    word: int


@dataclass(slots=True)
class ReadEvents:
    """The track events of a window, and the values of their eager items by (class, item)."""

    data: NDArray[np.uint8]
    events: TrackEvents
    name: NDArray[np.int32]
    eager: dict[tuple[int, int], list[Any]] = field(default_factory=dict)
    #: Fields without an argument with the source locations that they name, and where those of each event are.
    located: tuple[NDArray[np.uint8], NDArray[np.int64]] | None = None


#: Returns a column from the events read and the positions of the class's events.
Make = Callable[[ReadEvents, NDArray[np.intp]], Column]


def bound(make: Make, read: ReadEvents, positions: NDArray[np.intp]) -> Callable[[], Column]:
    """Return a function that returns the column of these events."""
    return lambda: make(read, positions)


def names(read: ReadEvents, positions: NDArray[np.intp]) -> Column:
    """Return the names of events."""
    return read.name[positions]


def categories(read: ReadEvents, positions: NDArray[np.intp]) -> Column:
    """Return the categories of events."""
    return read.events.category[positions]


def constant(value: Any) -> Make:
    """Return a maker of a column with one value for all."""
    return lambda _read, positions: np.broadcast_to(value, (len(positions),))


def _words(read: ReadEvents, positions: NDArray[np.intp], word: int) -> NDArray[np.uint64]:
    return read.events.words[read.events.first_word[positions] + word]


def _spans(read: ReadEvents, positions: NDArray[np.intp], word: int) -> NDArray[np.int64]:
    first = read.events.first_word[positions] + word
    return np.stack((read.events.words[first], read.events.words[first + 1]), 1).view(np.int64)


def microseconds(item: Item) -> Make:
    """Return a maker of an item's column, converted from microseconds to nanoseconds."""
    return lambda read, positions: _words(read, positions, item.word).view(np.int64) * 1000


def looked_up(item: Item, entries: list[int]) -> Make:
    """Return a maker of the entries for an item's numbers; invalid numbers get the first entry."""
    table = np.array(entries, np.int32)

    def make(read: ReadEvents, positions: NDArray[np.intp]) -> Column:
        words = _words(read, positions, item.word)
        return table[np.where(words < len(table), words, 0).astype(np.intp)]

    return make


def bit(item: Item, mask: int) -> Make:
    """Return a maker of a column that is true where a bit of an item is set."""
    return lambda read, positions: (_words(read, positions, item.word) & np.uint64(mask)) != 0


def eager_values(class_id: int, index: int, field_class: FieldClass, strings: StringTable) -> Make:
    """Return a maker of the column of an item that was decoded eagerly, with the state of its sequence."""
    return lambda read, _positions: column_from_values(
        field_class, read.eager[class_id, index], strings
    )


def item_column(item: Item, field_class: FieldClass) -> Make:
    """Return a maker of the column of an item for a field of that class."""

    def make(read: ReadEvents, positions: NDArray[np.intp]) -> Column:
        match item.code:
            case "n":
                return NullColumn(len(positions))
            case "y" | "j" | "M":
                return bytes_column(read.data, _spans(read, positions, item.word))
            case "X" if read.located is not None:
                return bytes_column(read.located[0], read.located[1][positions])
            case "X":
                return bytes_column(read.events.remainder, _spans(read, positions, item.word))
            case "F" | "T":
                return _flows(read.events.flows, _spans(read, positions, item.word))
            case "h":
                return microseconds(item)(read, positions)
        words = _words(read, positions, item.word)
        match field_class:
            case StringClass():
                return words.astype(np.int32)
            case BooleanClass():
                return words.astype(np.bool_)
            case FloatClass():
                return words.view(np.float64)
            case IntegerClass(signed=True):
                return words.view(np.int64)
        return words

    return make


def _flows(flows: NDArray[np.uint64], spans: NDArray[np.int64]) -> ListColumn:
    offsets = np.zeros(len(spans) + 1, np.int64)
    np.cumsum(spans[:, 1], out=offsets[1:])
    inner = np.arange(offsets[-1], dtype=np.int64)
    inner += np.repeat(spans[:, 0] - offsets[:-1], spans[:, 1])
    return ListColumn(offsets, flows[inner])

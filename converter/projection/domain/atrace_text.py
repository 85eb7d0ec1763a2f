"""Writes timeline events as text in a kernel trace (Android's atrace), for formats that have nothing better.

The reverse of `atrace`: ``B|pid|name``, ``E|pid``, ``I|pid|name``, ``C|pid|name|value``, ``S|pid|name|cookie`` and
``F|pid|name|cookie`` (perfetto, src/trace_processor/importers/systrace/systrace_parser.h). What the text cannot express
becomes an argument. Complete slices have been turned into begins and ends before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import Column, ListColumn
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import BooleanClass, FloatClass, IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Lowering, Projection
from converter.projection.domain.markers import join_texts
from converter.projection.engine.partitions import Partition
from converter.projection.instants import lower_to_instant

if TYPE_CHECKING:
    from converter.projection.domain.markers import Part

_MESSAGE = Field("message", StringClass(), Role.MESSAGE)

#: Characters that end a text, and those that end a field that others follow.
_ENDS = b"\0\n"
_SEPARATORS = b"\0\n|"


def lower_slice_begin(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to ``B|pid|name``."""
    return [_text(partition, projection, b"B|", _name(partition, _ENDS))]


def lower_slice_end(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to ``E|pid``: it ends the innermost slice of its thread, so its name stays an argument.

    That may be a slice of one of the source's own markers, which are separate from the slices of the timeline.
    """
    if projection.occurs(_is_mark):
        projection.lose("slice-end-mixes-with-marks", partition)
    return [_text(partition, projection, b"E|", [], without=frozenset())]


def lower_instant(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to ``I|pid|name``."""
    return [_text(partition, projection, b"I|", _name(partition, _SEPARATORS))]


def lower_async_begin(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to ``S|pid|name|cookie``."""
    return _asynchronous(partition, projection, b"S|")


def lower_async_end(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to ``F|pid|name|cookie``."""
    return _asynchronous(partition, projection, b"F|")


def lower_counter(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to ``C|pid|name|value`` for each of the counter's values, under the counter's name and, if
    several, its own.
    """
    fields = partition.event_class.fields
    numbers = (IntegerClass, FloatClass, BooleanClass)
    series = [
        index
        for index, field in enumerate(fields)
        if field.role is Role.VALUE and isinstance(field.type, numbers)
    ]
    if not series:
        return lower_to_instant(partition, projection) or lower_instant(partition, projection)
    parts = []
    for after, index in enumerate(series):
        name = _name(partition, _SEPARATORS)
        if len(series) > 1:
            own = fields[index].name.encode("utf-8", "surrogateescape")
            name.append(b" " + own.translate(bytes.maketrans(_SEPARATORS, b"___")))
        value = _integer_values(partition, partition.table.column(index), projection)
        # All other fields go with the first value.
        rest = frozenset({Role.NAME, Role.VALUE}) if after == 0 else frozenset(Role)
        part = _text(partition, projection, b"C|", [*name, b"|", value], without=rest)
        if after:
            part = part.rewritten(
                part.event_class, part.lazy_columns(), after=partition.after + after
            )
        parts.append(part)
    return parts


def lower_log(partition: Partition, _: Projection) -> list[Partition] | None:
    """Lower to the message as it is."""
    return [partition.as_kind(Kind.MARK, roles={Role.MESSAGE: Role.MESSAGE})]


#: For `Capabilities.lowerings` of formats with MARK but without the timeline's kinds.
TEXT_LOWERINGS: Mapping[Kind, Lowering] = {
    Kind.SLICE_BEGIN: lower_slice_begin,
    Kind.SLICE_END: lower_slice_end,
    Kind.INSTANT: lower_instant,
    Kind.COUNTER: lower_counter,
    Kind.ASYNC_BEGIN: lower_async_begin,
    Kind.ASYNC_INSTANT: lower_instant,
    Kind.ASYNC_END: lower_async_end,
    Kind.LOG: lower_log,
}


def _is_mark(event_class: EventClass) -> bool:
    return event_class.kind is Kind.MARK


def _asynchronous(partition: Partition, projection: Projection, letter: bytes) -> list[Partition]:
    name = _name(partition, _SEPARATORS)
    cookie = _cookie(partition, projection)
    named = frozenset({Role.NAME, Role.ID})
    return [_text(partition, projection, letter, [*name, b"|", cookie], without=named)]


def _text(
    partition: Partition,
    projection: Projection,
    letter: bytes,
    parts: list[Part],
    *,
    without: frozenset[Role] = frozenset({Role.NAME}),
) -> Partition:
    """Return the partition as markers whose message consists of the letter, the process and the fields."""
    pids = np.maximum(projection.pids_of(projection.threads_of(partition)), 0)
    joined = [letter, np.ascontiguousarray(pids), *([b"|", *parts] if parts else [])]

    def message() -> Column:
        offsets, characters, changed = join_texts(len(partition), joined, projection.source.strings)
        projection.lose("separator-in-marker", partition, changed)
        return ListColumn(offsets, characters)

    return partition.as_kind(Kind.MARK, [(_message(projection), message)], without=without)


def _message(projection: Projection) -> Field:
    """Return the message field of the format's markers, so that it has the right name."""
    support = projection.capabilities.kinds.get(Kind.MARK)
    fields = support.fields if support is not None else ()
    return next((field for field in fields if field.role is Role.MESSAGE), _MESSAGE)


def _name(partition: Partition, forbidden: bytes) -> list[Part]:
    """Return the event's name, without the characters that would end it."""
    index = partition.event_class.index_of(Role.NAME)
    if index is None:
        name = partition.event_class.name.encode("utf-8", "surrogateescape")
        return [name.translate(bytes.maketrans(_SEPARATORS, b"___"))]
    column = partition.table.column(index)
    if isinstance(column, ListColumn):
        assert isinstance(column.values, np.ndarray)
        held = (np.ascontiguousarray(column.offsets), np.ascontiguousarray(column.values))
        return [(held, forbidden)]
    assert isinstance(column, np.ndarray)
    return [(np.ascontiguousarray(column), forbidden)]


def _cookie(partition: Partition, projection: Projection) -> Part:
    """Return the id that ties begin and end together; for text, a checksum."""
    number = partition.integers(Role.ID)
    if number is not None:
        return _contiguous(number)
    strings = projection.source.strings
    text = partition.texts(Role.ID, strings)
    if text is None:
        return b"0"
    projection.lose("id-text-as-number", partition, field="id")
    which, inverse = np.unique(text, return_inverse=True)
    numbers = np.array([crc32(strings[id]) for id in which.tolist()], np.int64)
    cookies: NDArray[np.int64] = numbers[inverse]
    return cookies


def _contiguous(number: NDArray[np.generic]) -> Part:
    if number.dtype == np.uint64:
        return np.ascontiguousarray(number, np.uint64)
    return np.ascontiguousarray(number, np.int64)


def _integer_values(partition: Partition, column: Column, projection: Projection) -> Part:
    """Return a counter's values as integers: markers have no others."""
    assert isinstance(column, np.ndarray)
    if column.dtype.kind != "f":
        return _contiguous(column)
    limit = float(1 << 63)
    rounded = np.rint(np.nan_to_num(column.astype(np.float64)))
    held = np.where(np.abs(rounded) < limit, rounded, 0)
    projection.lose("counter-rounded", partition, rows=held != column)
    return held.astype(np.int64)

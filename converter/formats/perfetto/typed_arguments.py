"""Typed fields of track events as arguments, under the names that trace_processor shows.

Perfetto's own writer writes such fields again as they were read (`mapping.REMAINDER`); no other format knows them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import mapping
from converter.formats.perfetto.protobuf.descriptors import scalar_value
from converter.formats.perfetto.protobuf.messages import (
    BOOL,
    BYTES,
    DOUBLE,
    ENUM,
    FLOAT,
    MESSAGE,
    STRING,
    UINT32,
    UINT64,
    FieldType,
    enumeration,
    message_type,
    varint,
)
from converter.formats.perfetto.protobuf.scan import split_fields
from converter.ir.columns import column_from_values
from converter.ir.events import Batch, Field, Table
from converter.ir.field_classes import (
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    StringClass,
)
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.limits import limit

#: Called with what is left out, how often, and the first time of it.
Lose = Callable[[str, int, int], None]

_TASK_EXECUTION: Final = "task_execution"
#: The names that importers show for fields of TrackEvent where they are not the fields' own.
_SHOWN_AS: Final = {_TASK_EXECUTION: "task"}
#: Arguments with numbers of source locations of a sequence: importers show the first only.
_OF_NUMBER: Final = "source_location_iid"
_OF_TASK: Final = "task.posted_from_iid"
_POSTED_IN: Final = "task.posted_from."
_NO_LOCATION: Final = "source locations that are not in the file"
#: A field added to TaskExecution, whose source location has no other place without its sequence.
_POSTED_FROM: Final = FieldType("posted_from", 1000, MESSAGE, False, "SourceLocation")
#: A field added to SourceLocation: the number in whose place it is, by which importers name it otherwise.
_NUMBER: Final = 1000
_LOCATION: Final = 33
_LOCATION_IID: Final = 34
_TASK: Final = 5
_POSTED_FROM_IID: Final = 1
#: What importers show of fields other than messages, which are no arguments there.
_COLUMNS: Final = {
    "thread_instruction_count_delta": "instruction counts of threads",
    "thread_instruction_count_absolute": "instruction counts of threads",
    "log_message": "log messages of track events",
}
_UNKNOWN: Final = "fields of track events that only other versions of Perfetto know"
#: Texts of distinct fields that are remembered.
_MOST_KNOWN: Final = 1 << 16


class _Arguments(NamedTuple):
    """The arguments for the fields of an event, and what is left of these."""

    fields: tuple[Field, ...]
    values: tuple[Any, ...]
    left: tuple[str, ...]
    #: The fields that the arguments do not say, or not all of.
    rest: bytes


def with_typed_arguments(trace: Trace, lose: Lose) -> Trace:
    """Return the trace with arguments in place of typed fields; `lose` learns what they do not say."""
    result = dataclasses.replace(trace, event_classes=[], explain=None)
    result.make_batches = _Typed(trace, result, lose).batches
    return result


class _Typed:
    def __init__(self, source: Trace, result: Trace, lose: Lose) -> None:
        self._source = source
        self._result = result
        self._lose = lose
        self._numbers: list[int] = []
        self._classes: dict[tuple[int, int | None, tuple[Field, ...]], int] = {}
        self._known: dict[bytes, _Arguments] = {}

    def batches(self) -> Iterator[Batch]:
        for batch in self._source.batches():
            classes = self._source.event_classes
            typed = [
                number
                for number, table in batch.tables.items()
                if len(table) and mapping.REMAINDER in classes[number].fields
            ]
            for event_class in classes[len(self._numbers) :]:
                self._numbers.append(self._result.add_class(event_class))
            yield self._explained(batch, typed)

    def _explained(self, batch: Batch, typed: list[int]) -> Batch:
        numbers = np.array(self._numbers, np.int32)
        class_id, row = numbers[batch.class_id], batch.row.copy()
        tables = {
            self._numbers[number]: table
            for number, table in batch.tables.items()
            if number not in typed
        }
        for number in typed:
            table, at = batch.tables[number], batch.positions(number)
            index = self._source.event_classes[number].fields.index(mapping.REMAINDER)
            column: Any = table.column(index)
            found, which = self._arguments(column)
            self._count(found, which, batch.ts[at])
            groups: dict[tuple[tuple[Field, ...], bool], list[int]] = {}
            for i, one in enumerate(found):
                groups.setdefault((one.fields, bool(one.rest)), []).append(i)
            #: By number of distinct fields: which of its group they are, -1 for those of others.
            member = np.empty(len(found), np.intp)
            for (fields, has_rest), members in groups.items():
                member.fill(-1)
                member[members] = np.arange(len(members))
                rows = np.flatnonzero(member[which] >= 0)
                some = table.select(rows)
                columns: list[Any] = [some.lazy(i) for i in range(some.width)]
                said = self._columns([found[one] for one in members], fields, has_rest=has_rest)
                added = said.select(member[which[rows]])
                if has_rest:
                    columns[index] = added.lazy(len(fields))
                else:
                    del columns[index]
                columns += [added.lazy(i) for i in range(len(fields))]
                new = self._class(number, None if has_rest else index, fields)
                tables[new] = Table(len(rows), columns)
                class_id[at[rows]] = new
                row[at[rows]] = np.arange(len(rows), dtype=np.int32)
        return Batch(
            ts=batch.ts,
            class_id=class_id,
            row=row,
            tables=tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=batch.track,
        )

    def _columns(
        self, found: list[_Arguments], fields: tuple[Field, ...], *, has_rest: bool
    ) -> Table:
        """Return the values of distinct fields by argument, followed by the rest of each if there is one."""
        strings = self._source.strings
        columns = [
            column_from_values(field.type, [one.values[i] for one in found], strings)
            for i, field in enumerate(fields)
        ]
        if has_rest:
            columns.append(column_from_values(BytesClass(), [one.rest for one in found], strings))
        return Table(len(found), columns)

    def _arguments(self, column: Any) -> tuple[list[_Arguments], NDArray[np.intp]]:
        """Return the arguments for each distinct content of a column, and which of these each row has."""
        keys, which = distinct_bytes(column)
        result = []
        for key in keys:
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                known = self._known[key] = arguments_of(key)
            result.append(known)
        return result, which

    def _count(
        self, found: list[_Arguments], which: NDArray[np.intp], ts: NDArray[np.int64]
    ) -> None:
        of_each = np.bincount(which, minlength=len(found)).tolist()
        earliest = np.full(len(found), np.iinfo(np.int64).max)
        np.minimum.at(earliest, which, ts)
        first: dict[str, int] = {}
        counts: dict[str, int] = {}
        for one, count, time in zip(found, of_each, earliest.tolist(), strict=True):
            for what in one.left:
                counts[what] = counts.get(what, 0) + count
                first[what] = min(first.get(what, time), time)
        for what, count in counts.items():
            self._lose(what, count, first[what])

    def _class(self, number: int, dropped: int | None, fields: tuple[Field, ...]) -> int:
        key = (number, dropped, fields)
        if key not in self._classes:
            event_class = self._source.event_classes[number]
            own = tuple(one for i, one in enumerate(event_class.fields) if i != dropped)
            event_class = replace(event_class, fields=(*own, *fields), native=b"")
            self._classes[key] = self._result.add_class(event_class)
        return self._classes[key]


def distinct_spans(
    data: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first of each distinct span of bytes, in their order, and which of these each span equals."""
    ids = np.empty(len(starts), np.int32)
    StringTable().intern_spans(data, starts, sizes, ids)
    _, first, which = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return first[order], rank[which]


def distinct_bytes(column: Any) -> tuple[list[bytes], NDArray[np.intp]]:
    """Return the distinct contents of a column of bytes, in their order, and which of these each row has."""
    offsets = np.asarray(column.offsets, np.int64)
    data = np.ascontiguousarray(column.values, np.uint8)
    rows, which = distinct_spans(data, offsets[:-1], np.diff(offsets))
    return [data[offsets[row] : offsets[row + 1]].tobytes() for row in rows.tolist()], which


def arguments_of(data: bytes) -> _Arguments:
    """Return the arguments for fields of a TrackEvent."""
    found: list[tuple[str, FieldClass, Any]] = []
    left: set[str] = set()
    rest = []
    for field in top_level(data):
        unsaid: set[str] = set()
        try:
            _flatten("TrackEvent", field, "", found, unsaid, 0)
        except ValueError:
            unsaid.add(_UNKNOWN)
        if unsaid:
            rest.append(field)
        left |= unsaid
    names = {name for name, _, _ in found}
    place = _POSTED_IN if _OF_TASK in names else ""
    if _OF_NUMBER in names:
        # Importers show locations that have a number as others.
        place = "source."
        found = [
            (name.replace("source_location.", place, 1), held, value) for name, held, value in found
        ]
        names = {name for name, _, _ in found}
    if place and not any(one.startswith(place) for one in names):
        left.add(_NO_LOCATION)
    elif place and f"{place}line_number" not in names:
        # They show the line of such a location even if it has none.
        found.append((f"{place}line_number", IntegerClass(32), 0))
    found = [one for one in found if one[0] != _OF_TASK]
    # Of repeated scalars the last one counts.
    last = {name: (Field(name, held), value) for name, held, value in found}
    return _Arguments(
        tuple(field for field, _ in last.values()),
        tuple(value for _, value in last.values()),
        tuple(sorted(left)),
        b"".join(rest),
    )


def _flatten(
    message: str,
    data: bytes,
    prefix: str,
    found: list[tuple[str, FieldClass, Any]],
    left: set[str],
    depth: int,
) -> None:
    """Add the arguments for the fields of a message.

    Raises:
        ValueError: it is damaged, or nested too deep.

    """
    if depth > limit("perfetto.nesting"):
        raise ValueError("messages nest too deep")
    declared = message_type(message)
    known = {} if declared is None else {field.number: field for field in declared.fields}
    if message == "TaskExecution":
        known[_POSTED_FROM.number] = _POSTED_FROM
    array = np.frombuffer(data, np.uint8)
    counts: dict[int, int] = {}
    for number, wire, value, length in split_fields(array, 0, len(data)):
        field = known.get(number)
        if number == _NUMBER and message == "SourceLocation":
            found.append((_OF_NUMBER, IntegerClass(64), value))
            continue
        if field is None or (wire == 2) != (field.type in (MESSAGE, STRING, BYTES)):
            left.add(_UNKNOWN)
            continue
        if not depth and field.name == _OF_NUMBER:
            left.add(_NO_LOCATION)
            continue
        if not depth and (field.name in _COLUMNS or field.type != MESSAGE):
            left.add(_COLUMNS.get(field.name, _UNKNOWN))
            continue
        if field.name == "iid":
            continue
        name = prefix + (_SHOWN_AS.get(field.name, field.name) if not depth else field.name)
        if field.repeated:
            name += f"[{counts.get(number, 0)}]"
            counts[number] = counts.get(number, 0) + 1
        raw = data[value : value + length] if wire == 2 else b""
        if field.type == MESSAGE:
            _flatten(field.type_name, raw, name + ".", found, left, depth + 1)
        else:
            found.append((name, *_scalar(field, value, raw)))


def _scalar(field: FieldType, value: int, raw: bytes) -> tuple[FieldClass, Any]:
    """Return class and value of a field that is no message."""
    if field.type == STRING:
        return StringClass(), raw
    if field.type == BYTES:
        return BytesClass(), raw
    number = scalar_value(field.type, value)
    if field.type == BOOL:
        return BooleanClass(), number
    if field.type in (DOUBLE, FLOAT):
        return FloatClass(64), number
    if field.type == ENUM:
        labels = {one: text for text, one in enumeration(field.type_name)}
        return StringClass(), labels.get(number, str(number)).encode()
    return IntegerClass(64, signed=field.type not in (UINT32, UINT64)), number


def with_locations(data: bytes, location: Callable[[int], bytes | None]) -> bytes:
    """Return fields of a TrackEvent with source locations where they have a number that their sequence gave one.

    `location` returns the message of such a number, None for one that is not known.
    """
    parts = []
    for field in top_level(data):
        parts.append(field)
        for number, wire, value, length in _fields(field):
            if number == _LOCATION_IID and wire == 0:
                found = location(value)
                if found is not None:
                    found += varint(_NUMBER << 3) + varint(value)
                    parts[-1] = _message(_LOCATION, found)
            elif number == _TASK and wire == 2:
                task = field[value : value + length]
                found = _location_of_task(task, location)
                if found is not None:
                    parts[-1] = _message(_TASK, task + _message(_POSTED_FROM.number, found))
    return b"".join(parts)


def _location_of_task(task: bytes, location: Callable[[int], bytes | None]) -> bytes | None:
    numbers = [one[2] for one in _fields(task) if one[0] == _POSTED_FROM_IID and one[1] == 0]
    return location(numbers[-1]) if numbers else None


def as_written(data: bytes) -> bytes:
    """Return fields of a TrackEvent without those that `with_locations` added, which importers count as unknown."""
    parts = []
    for field in top_level(data):
        parts.append(field)
        for number, wire, value, length in _fields(field):
            added = {_TASK: _POSTED_FROM.number, _LOCATION: _NUMBER}.get(number)
            if added is None or wire != 2:
                continue
            inner = top_level(field[value : value + length])
            kept = [one for one in inner if _number_of(one) != added]
            if len(kept) < len(inner):
                parts[-1] = _message(number, b"".join(kept))
    return b"".join(parts)


def top_level(data: bytes) -> list[bytes]:
    """Return the fields of a message; what is damaged is one at the end."""
    fields = []
    end = 0
    try:
        for _, wire, value, length in split_fields(np.frombuffer(data, np.uint8), 0, len(data)):
            start = end
            end = value + length if wire == 2 else start + _size(data, start)
            fields.append(data[start:end])
    except ValueError:
        fields.append(data[end:])
    return fields


def _number_of(field: bytes) -> int:
    """Return the number of a field; 0 for a damaged one."""
    return next((one[0] for one in _fields(field)), 0)


def _fields(data: bytes) -> list[tuple[int, int, int, int]]:
    """Return the fields of a message: number, wire type, value or position, and size; none where it is damaged."""
    try:
        return list(split_fields(np.frombuffer(data, np.uint8), 0, len(data)))
    except ValueError:
        return []


def _size(data: bytes, start: int) -> int:
    """Return the size of a field that is no message, with its key."""
    at = start
    while data[at] & 0x80:
        at += 1
    wire = data[start] & 7
    at += 1
    if wire == 0:
        while data[at] & 0x80:
            at += 1
        return at + 1 - start
    return at + (8 if wire == 1 else 4) - start


def _message(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data

"""A foreign table as events of one class: each row is an event, at the time in one of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from pathlib import PurePath
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from converter.analysis.arrow.arrays import TEXT, arrow_type
from converter.analysis.arrow.buffers import numbers
from converter.analysis.arrow.restored import restored
from converter.errors import TraceError, TraceWarning, note
from converter.formats.columnar.files import errors_of
from converter.formats.columnar.own import GroupSeeking, columns_of, warn
from converter.formats.columnar.stored import Group, Stored
from converter.ir.columns import Column, constant_column
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
)
from converter.ir.kinds import Kind
from converter.ir.trace import ClockDomain, Process, Thread, Trace
from converter.storage.source import Source

_UNITS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
#: The names of columns with times, unless the user says another.
_TIMES: Final = ("ts", "time", "timestamp", "timestamp_ns", "t")
_MAX_CPU: Final = 1 << 31
_DEEPEST: Final = 30


def foreign_trace(stored: Stored, source: Source, format: str, options: Mapping[str, str]) -> Trace:
    """Return the trace of a table.

    Args:
        stored: its file.
        source: the same, for messages.
        format: the same, for messages.
        options: "time", "cpu", "tid" and "pid" name columns, "unit" is that of times that are bare numbers, and "event"
            the name of the events.

    Raises:
        TraceError: it has no column with times, or not those that are named.
    """
    return _ForeignTable(stored, source, format, options).trace


class _ForeignTable:
    def __init__(
        self, stored: Stored, source: Source, format: str, options: Mapping[str, str]
    ) -> None:
        self._stored = stored
        self._source = source
        self._format = format
        self._schema = stored.schema
        self._time = self._time_column(options.get("time"))
        per_second, scale, is_date = _clock(self._schema.field(self._time).type, options)
        self._scale = scale
        self._places = {
            role: name
            for role in ("cpu", "tid", "pid")
            if (name := self._place(role, options.get(role)))
        }
        taken = {self._time, *self._places.values()}
        self._fields: list[tuple[str, FieldClass]] = []
        left_out = []
        for column in self._schema:
            kind = field_class(column.type)
            if kind is None or len(self._schema.get_all_field_indices(column.name)) > 1:
                left_out.append(f"{column.name} ({column.type})")
            elif column.name not in taken:
                may_lack = not isinstance(kind, NullClass) and stored.nulls(column.name)
                self._fields.append((column.name, OptionalClass(kind) if may_lack else kind))
        name = options.get("event") or PurePath(source.name).stem or "row"
        fields = tuple(Field(name, field_type) for name, field_type in self._fields)
        self.trace = Trace(
            format=format,
            clock=ClockDomain(
                "UTC" if is_date else self._time,
                Fraction(per_second),
                epoch_ns=0 if is_date else None,
            ),
            make_batches=self._batches,
            progress=lambda: (self._done, stored.rows or 0),
        )
        self.trace.source_batches = self.trace.make_batches
        self.trace.add_class(EventClass(Kind.TYPED, name, fields=fields))
        if left_out:
            what = TraceWarning(
                message=f"columns of types that no trace has are left out: {', '.join(left_out)}",
                format=format,
                path=source.name,
                is_damage=False,
            )
            note(self.trace.warnings, what)
        self._threads: dict[tuple[int, int], int] = {}
        self._processes: dict[int, int] = {}
        self._groups: list[Group] | None = None
        self._done = 0
        if scale is None and stored.groups(self._time):
            self.trace.seeking = GroupSeeking(
                self.trace, lambda: stored.groups(self._time), self._narrow
            )

    def _narrow(self, wanted: Callable[[Group], bool]) -> None:
        self._groups = [group for group in self._stored.groups(self._time) if wanted(group)]

    # Columns

    def _time_column(self, named: str | None) -> str:
        if named is not None:
            self._check(named, "time")
            return named
        found = [column.name for column in self._schema if _is_time(column.type)]
        usual = [
            name
            for name in _TIMES
            if name in found
            or (name in self._schema.names and _is_number(self._schema.field(name).type))
        ]
        if usual:
            return usual[0]
        if len(found) == 1:
            return str(found[0])
        raise TraceError(
            "which column has the times of the events? Name it: -O time=COLUMN",
            found=f"columns {columns_of(self._schema)}",
        )

    def _place(self, role: str, named: str | None) -> str | None:
        if named:
            self._check(named, role)
            return named
        found = self._schema.get_all_field_indices(role)
        usable = len(found) == 1 and pa.types.is_integer(self._schema.field(found[0]).type)
        return role if named is None and usable else None

    def _check(self, name: str, role: str) -> None:
        kinds = [self._schema.field(at).type for at in self._schema.get_all_field_indices(name)]
        right = [
            kind
            for kind in kinds
            if pa.types.is_integer(kind)
            or (role == "time" and (_is_time(kind) or _is_number(kind)))
        ]
        if len(kinds) != 1 or not right:
            what = "of times" if role == "time" else "of integers"
            raise TraceError(
                f"there is no column {name!r} {what} for {role}",
                found=f"columns {columns_of(self._schema)}",
            )

    # Rows

    def _batches(self) -> Iterator[Batch]:
        self._done = 0
        columns = [self._time, *self._places.values(), *(name for name, _ in self._fields)]
        rows = self._stored.batches(columns, self._groups)
        while True:
            try:
                with errors_of(self._source, self._format):
                    found = next(rows, None)
                    if found is None:
                        return
                    found.validate(full=True)
                    batch = self._batch(found)
            except TraceError as error:
                if not self._done:
                    raise
                warn(self.trace, error)
                return
            self._done += found.num_rows
            yield batch

    def _batch(self, rows: pa.RecordBatch) -> Batch:
        count = rows.num_rows
        times = rows.column(self._time)
        if times.null_count:
            self._leave_out(times.null_count)
            rows = rows.filter(times.is_valid())
            times, count = rows.column(self._time), rows.num_rows
        columns = [
            partial(self._column, rows, name, field_type) for name, field_type in self._fields
        ]
        none = constant_column(np.int32(-1), count)
        return Batch(
            ts=self._ticks(times),
            class_id=constant_column(np.int32(0), count),
            row=np.arange(count, dtype=np.int32),
            tables={0: Table(count, columns)},
            thread=self._thread(rows) if {"tid", "pid"} & self._places.keys() else none,
            cpu=self._cpu(rows) if "cpu" in self._places else none,
        )

    def _leave_out(self, count: int) -> None:
        error = TraceError(
            f"{count} rows have no time and are left out",
            format=self._format,
            path=self._source.name,
            field=self._time,
        )
        warn(self.trace, error)

    def _ticks(self, times: pa.Array) -> NDArray[np.int64]:
        if _is_time(times.type):
            return numbers(times.view(pa.int64()))
        if self._scale is None:
            return numbers(times.cast(pa.int64()))
        with np.errstate(over="ignore"):
            seconds = numbers(times.cast(pa.float64())) * self._scale
        if not (np.abs(seconds) < 2.0**63).all():
            raise TraceError(field=self._time, expected="times of 64 bits of nanoseconds")
        return np.rint(seconds).astype(np.int64)

    def _cpu(self, rows: pa.RecordBatch) -> NDArray[np.int32]:
        name = self._places["cpu"]
        found = numbers(rows.column(name).cast(pa.int64()), null=-1)
        if len(found) and (int(found.min()) < -1 or int(found.max()) >= _MAX_CPU):
            raise TraceError("these are no numbers of CPUs: -O cpu= makes them a field", field=name)
        return found.astype(np.int32)

    def _thread(self, rows: pa.RecordBatch) -> NDArray[np.int32]:
        """Return the thread of each row; if only the thread is known, its process has the same number."""
        tids, tid = _distinct(rows.column(self._places.get("tid") or self._places["pid"]))
        pids, pid = _distinct(rows.column(self._places.get("pid") or self._places["tid"]))
        pairs, of_pair = np.unique(tid * len(pids) + pid, return_inverse=True)
        found = [
            self._thread_of(tids[pair // len(pids)], pids[pair % len(pids)])
            for pair in pairs.tolist()
        ]
        return np.array(found, np.int32)[of_pair]

    def _thread_of(self, tid: int | None, pid: int | None) -> int:
        if tid is None:
            return -1
        pid = tid if pid is None else pid
        found = self._threads.get((tid, pid))
        if found is None:
            process = self._processes.get(pid)
            if process is None:
                process = self._processes[pid] = len(self.trace.processes)
                self.trace.processes.append(Process(pid))
            found = self._threads[tid, pid] = len(self.trace.threads)
            self.trace.threads.append(Thread(tid, process))
        return found

    def _column(self, rows: pa.RecordBatch, name: str, field_type: FieldClass) -> Column:
        with errors_of(self._source, self._format):
            try:
                array = rows.column(name)
                kind = arrow_type(field_type, exact=True)
                if kind not in (array.type, TEXT):
                    array = array.cast(kind)
                elif kind == TEXT and not _is_text(array.type):
                    array = array.cast(pa.string())
                return restored(field_type, array, self.trace.strings, escaped=False)
            except TraceError as error:
                raise error.within(field=name) from None


def _distinct(array: pa.Array) -> tuple[list[int | None], NDArray[np.int64]]:
    """Return the distinct numbers of an array and None, and the index of each value among them."""
    encoded = array.dictionary_encode()
    found = [*encoded.dictionary.to_pylist(), None]
    indices = encoded.indices.cast(pa.int64())
    return found, numbers(indices, null=len(found) - 1)


def _is_time(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(data_type) or pa.types.is_duration(data_type))


def _is_number(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(data_type) or pa.types.is_floating(data_type))


def _is_text(data_type: pa.DataType) -> bool:
    if pa.types.is_dictionary(data_type):
        return _is_text(data_type.value_type)
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(data_type) for is_kind in kinds)


def _clock(data_type: pa.DataType, options: Mapping[str, str]) -> tuple[int, float | None, bool]:
    """Return for a column with times: ticks per second, the factor that converts floating-point numbers to ticks, and
    whether the times are dates.
    """
    if _is_time(data_type):
        return _UNITS[data_type.unit], None, pa.types.is_timestamp(data_type)
    is_float = pa.types.is_floating(data_type)
    unit = options.get("unit", "s" if is_float else "ns")
    if unit not in _UNITS:
        raise TraceError("no unit of time", expected=f"one of {', '.join(_UNITS)}", found=unit)
    if is_float:
        return _UNITS["ns"], _UNITS["ns"] / _UNITS[unit], False
    return _UNITS[unit], None, False


def field_class(data_type: pa.DataType, depth: int = 0) -> FieldClass | None:
    """Return the field class of values of a type, or None if no trace has such values."""
    is_of = pa.types
    if depth > _DEEPEST:
        return None
    if is_of.is_integer(data_type):
        return IntegerClass(data_type.bit_width, is_of.is_signed_integer(data_type))
    if is_of.is_floating(data_type):
        return FloatClass(max(data_type.bit_width, 32))
    if is_of.is_boolean(data_type):
        return BooleanClass()
    if is_of.is_temporal(data_type) and not is_of.is_interval(data_type):
        return IntegerClass(data_type.bit_width, signed=True)
    if _is_text(data_type) or is_of.is_decimal(data_type):
        return StringClass()
    if (
        is_of.is_binary(data_type)
        or is_of.is_large_binary(data_type)
        or is_of.is_fixed_size_binary(data_type)
    ):
        return BytesClass()
    if is_of.is_null(data_type):
        return NullClass()
    if is_of.is_dictionary(data_type):
        return field_class(data_type.value_type, depth + 1)
    if (
        is_of.is_list(data_type)
        or is_of.is_large_list(data_type)
        or is_of.is_fixed_size_list(data_type)
    ):
        element = _inner(data_type.value_field, depth)
        return None if element is None else ArrayClass(element)
    if is_of.is_struct(data_type):
        members = [(inner.name, _inner(inner, depth)) for inner in data_type]
        known = tuple(Member(name, inner) for name, inner in members if inner is not None)
        return StructureClass(known) if len(known) == len(members) else None
    return None


def _inner(field: pa.Field, depth: int) -> FieldClass | None:
    kind = field_class(field.type, depth + 1)
    if kind is None or isinstance(kind, NullClass) or not field.nullable:
        return kind
    return OptionalClass(kind)

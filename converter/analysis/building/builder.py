"""TraceBuilder: builds a trace in a program, to be written in any format."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.analysis.building.class_rows import ClassRows, Common
from converter.analysis.building.kernel_events import kernel_class
from converter.analysis.building.places import CPU, Place, Places, Where
from converter.analysis.building.values import (
    Integers,
    Values,
    class_of,
    column_of,
    count_of,
    fitted,
    integer,
    integers,
    stored,
    text,
)
from converter.errors import ArgumentError
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import FieldClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Trace
from converter.kernels.batches.union import number_rows

#: The number of events of a batch.
_BATCH = 1 << 16
_NO_FIELDS: dict[str, Values] = {}
#: Ids of arrows that have none of their own begin after this one.
_FIRST_FLOW = 1 << 32


Names = str | Sequence[str] | NDArray[Any]
#: Roles of fields that are texts.
_TEXTS = frozenset({Role.NAME, Role.CATEGORY, Role.MESSAGE})


class TraceBuilder(Places):
    """Builds a trace from a program's data.

    Times are integers in ticks of the clock, nanoseconds by default; the order of calls does not matter, except for
    events at the same time. Where a method accepts a time it also accepts many (a list, an array, a column of a data
    frame). Then any other value may also be a column; a single value applies to all events. Columns have the shape
    (n,), with n the number of times; integers have up to 64 bits, texts are `str`.

    The arguments of most methods: `name` is text; `ts` and `start` are ticks since the clock's zero, `duration` is in
    ticks, too; `on` is a place (that of `thread` or `track`), or the number or name of a thread; `cpu` is the number of
    a CPU; `category` is what viewers group by; `args` are fields by name, of any type.

    Args:
        clock: the name of the clock.
        ticks_per_second: its rate.
        epoch_ns: the time of its tick 0 in nanoseconds since 1970, if known.
        environment: facts about the origin of the trace (``"hostname"``, ``"kernel_release"``).

    All methods raise ArgumentError, a ValueError, for invalid arguments; nothing has been added then.
    """

    def __init__(
        self,
        *,
        clock: str = "mono",
        ticks_per_second: int | Fraction = 1_000_000_000,
        epoch_ns: int | None = None,
        environment: Mapping[str, str | int] | None = None,
    ) -> None:
        if ticks_per_second <= 0:
            raise ArgumentError(f"a clock has a rate above 0, not {ticks_per_second}")
        if epoch_ns is not None:
            integer("epoch_ns", epoch_ns)
        trace = Trace(
            format="built",
            clock=ClockDomain(text("clock", clock), Fraction(ticks_per_second), epoch_ns),
            environment=dict(environment or {}),
        )
        super().__init__(trace)
        self._rows: dict[EventClass, ClassRows] = {}
        self._open: dict[tuple[int, int], list[int]] = {}
        self._calls = 0
        self._async_slices = self._flows = 0

    def __repr__(self) -> str:
        """Return the builder in one line."""
        trace = self._trace
        return (
            f"<TraceBuilder: {self._calls} events of {len(self._rows)} classes, "
            f"{len(trace.threads)} threads, {len(trace.tracks)} tracks>"
        )

    # The timeline

    def slice(
        self,
        name: Names,
        start: Integers,
        duration: Integers,
        on: Where,
        *,
        category: str = "",
        args: Mapping[str, Values] = _NO_FIELDS,
    ) -> None:
        """Add something that took some time; slices that overlap in one place must be nested.

        Arguments are those of the class: `name`, `start`, `duration` (0 or more), `on`, `category` and `args`.
        """
        count = count_of(start)
        parts = _named(name, category)
        if count is None:
            parts[Role.DURATION] = np.uint64(integer("duration", duration, least=0))
        else:
            lengths = integers("duration", duration, count, least=0)
            parts[Role.DURATION] = lengths.astype(np.uint64)
        self._add(Kind.SLICE_COMPLETE, parts, start, on, None, args)

    def begin(
        self,
        name: str,
        ts: int,
        on: Place | int | str,
        *,
        category: str = "",
        args: Mapping[str, Values] = _NO_FIELDS,
    ) -> None:
        """Begin a slice, which `end` ends. It is a single one: `name`, `ts`, `on`, `category` and `args`
        are not columns.
        """
        place = self._place_of(on)
        self._add(Kind.SLICE_BEGIN, _named(name, category), integer("ts", ts), on, None, args)
        self._open.setdefault(place[:2], []).append(ts)

    def end(
        self, ts: int, on: Place | int | str, *, args: Mapping[str, Values] = _NO_FIELDS
    ) -> None:
        """End the slice that `begin` started last on the place `on`, at the time `ts`, with additional `args`."""
        place = self._place_of(on)
        begin_times = self._open.get(place[:2])
        if not begin_times:
            raise ArgumentError(f"no slice is open on {place.name}: call begin() first")
        if integer("ts", ts) < begin_times[-1]:
            raise ArgumentError(
                f"a slice that began at {begin_times[-1]} on {place.name} ends at {ts}"
            )
        self._add(Kind.SLICE_END, {}, ts, on, None, args)
        begin_times.pop()

    def instant(
        self,
        name: Names,
        ts: Integers,
        on: Where = None,
        *,
        cpu: Integers | None = None,
        category: str = "",
        args: Mapping[str, Values] = _NO_FIELDS,
    ) -> None:
        """Add something that happened: `name`, `ts`, `on`, `cpu`, `category` and `args` are those of the class."""
        self._add(Kind.INSTANT, _named(name, category), ts, on, cpu, args)

    def counter(self, name: Names, ts: Integers, value: Values, on: Where = None) -> None:
        """Set a counter to a value; it belongs to the process of a thread, or to the owner of a track.

        Args:
            name: what is counted.
            ts: when it changed.
            value: an integer or a floating-point number, in the unit of the track.
            on: a thread or a track; without one, it belongs to the whole trace.
        """
        parts: dict[Role, Values] = {Role.NAME: name, Role.VALUE: value}
        numbers = np.asarray(value)
        if numbers.dtype.kind not in "iuf":
            raise ArgumentError(f"the value of a counter is a number, not {value!r}")
        self._add(Kind.COUNTER, parts, ts, on, None, _NO_FIELDS)

    def async_slice(
        self,
        name: str,
        start: int,
        duration: int,
        on: Place | int | str | None = None,
        *,
        category: str = "",
        args: Mapping[str, Values] = _NO_FIELDS,
    ) -> None:
        """Add something that took some time and need not nest in anything: a request, a download.

        Arguments are those of the class; it is a single one: `name`, `start`, `duration` (0 or more), `on`, `category`
        and `args` are not columns.
        """
        ends = integer("start", start) + integer("duration", duration, least=0)
        integer("start + duration", ends)
        place = self._place_of(on)
        self._async_slices += 1
        parts = _named(name, category) | {Role.ID: np.uint64(self._async_slices)}
        self._add(Kind.ASYNC_BEGIN, parts, start, place, None, args)
        self._add(Kind.ASYNC_END, parts, ends, place, None, _NO_FIELDS)

    def connect(
        self, *points: tuple[int, Place | int | str], name: str = "flow", id: int | None = None
    ) -> None:
        """Add an arrow from one slice to the next: each point is a time in a slice, and the place of the slice.

        Args:
            *points: two or more times with their places, in non-decreasing order of time.
            name: the arrow's name.
            id: a number that no other arrow has; by default, one that no other call of `connect` has.
        """
        if id is None:
            self._flows += 1
            id = _FIRST_FLOW + self._flows
        try:
            times, places = zip(*points, strict=True) if points else ((), ())
        except (TypeError, ValueError):
            raise ArgumentError("a point of an arrow is a time and a place: (ts, on)") from None
        self.flow(id, times, places, name=name)

    def flow(
        self, id: int, ts: Sequence[int], on: Sequence[Place | int | str], *, name: str = "flow"
    ) -> None:
        """Add an arrow through events at several places, in the slices that are open there.

        Args:
            id: a number that no other arrow has, 0 or more.
            ts: the times of two or more points, in non-decreasing order.
            on: the place at each of these times.
            name: the arrow's name.
        """
        if len(ts) != len(on) or len(ts) < 2:
            raise ArgumentError(
                f"a flow is through two places and more: {len(ts)} times, {len(on)} places"
            )
        times = [integer("ts", one) for one in ts]
        if times != sorted(times):
            raise ArgumentError(f"a flow goes on in time: {times} does not")
        places = [self._place_of(place) for place in on]
        steps = [Kind.FLOW_STEP] * (len(times) - 2)
        parts: dict[Role, Values] = {
            Role.ID: np.uint64(integer("id", id, least=0)),
            Role.NAME: text("name", name),
        }
        kinds = (Kind.FLOW_BEGIN, *steps, Kind.FLOW_END)
        for kind, time, place in zip(kinds, times, places, strict=True):
            self._add(kind, parts, time, place, None, _NO_FIELDS)

    def log(
        self, message: Names, ts: Integers, on: Where = None, *, cpu: Integers | None = None
    ) -> None:
        """Add a line of text: the `message`; `ts`, `on` and `cpu` are those of the class."""
        self._add(Kind.LOG, {Role.MESSAGE: message}, ts, on, cpu, _NO_FIELDS)

    # Tracepoints

    def event(
        self,
        name: str,
        ts: Integers,
        on: Where = None,
        *,
        cpu: Integers | None = None,
        system: str | None = None,
        fields: Mapping[str, Values] = _NO_FIELDS,
    ) -> None:
        """Add an event of a tracepoint, of Linux or anything else.

        Args:
            name: the tracepoint (``"sched_switch"``). Linux's are known, and viewers show their meaning.
            ts: the time.
            on: the thread that hit it.
            cpu: the CPU that the thread ran on.
            system: the group of the tracepoint; by default that of Linux, if it has one of this name.
            fields: by name; those that the meaning of the event requires must be there.
        """
        typed_values = self._stored_fields(fields, count_of(ts))
        types = {field: one for field, (one, _) in zip(fields, typed_values, strict=True)}
        declared = kernel_class(text("name", name), system, types)
        self._add_to(declared, [value for _, value in typed_values], ts, on, cpu)

    # The result

    def trace(self) -> Trace:
        """Return what has been added so far as a trace, to be written (`converter.write`), selected from, merged and so
        on.

        Raises:
            ArgumentError: slices are open that `end` should have ended.
        """
        for (thread, track), begin_times in self._open.items():
            if begin_times:
                where = (
                    self._trace.tracks[track].name
                    if track >= 0
                    else self._trace.threads[thread].tid
                )
                raise ArgumentError(
                    f"a slice that began at {begin_times[-1]} on {where} is still open: call end()"
                )
        source = self._trace
        result = dataclasses.replace(
            source,
            processes=[dataclasses.replace(one) for one in source.processes],
            threads=[dataclasses.replace(one) for one in source.threads],
            tracks=list(source.tracks),
            event_classes=[rows.event_class for rows in self._rows.values()],
            environment=dict(source.environment),
            warnings=[],
        )
        class_tables = [rows.table(source.strings) for rows in self._rows.values()]
        result.make_batches = lambda: _batches(class_tables)
        result.in_time_order = True
        return result

    def _stored_fields(
        self, values: Mapping[str, Values], count: int | None
    ) -> list[tuple[FieldClass, Any]]:
        """Return the types of fields, and their contents: values of one event, or columns of `count`."""
        typed_values = []
        for name, value in values.items():
            what = f"field {text('the name of a field', name)!r}"
            if count is None:
                one = class_of(what, value)
                typed_values.append((one, stored(one, value)))
            else:
                typed_values.append(column_of(what, value, count, self._trace.strings))
        return typed_values

    def _add(
        self,
        kind: Kind,
        parts: Mapping[Role, Values],
        ts: Integers,
        on: Where,
        cpu: Integers | None,
        args: Mapping[str, Values],
    ) -> None:
        """Add events of a kind of the timeline, with its own fields and arguments."""
        count = count_of(ts)
        typed_values = self._stored_fields(
            {role.name.lower(): value for role, value in parts.items()}, count
        )
        for role, (one, _) in zip(parts, typed_values, strict=True):
            if role in _TEXTS and not isinstance(one, StringClass):
                raise ArgumentError(f"the {role.name.lower()} is a text, not {parts[role]!r}")
        fields = [
            Field(role.name.lower(), one, role)
            for role, (one, _) in zip(parts, typed_values, strict=True)
        ]
        given = self._stored_fields(args, count)
        fields += [Field(name, one) for name, (one, _) in zip(args, given, strict=True)]
        values = [value for _, value in (*typed_values, *given)]
        self._add_to(EventClass(kind, fields=tuple(fields)), values, ts, on, cpu)

    def _add_to(
        self,
        event_class: EventClass,
        values: Sequence[Any],
        ts: Integers,
        on: Where,
        cpu: Integers | None,
    ) -> None:
        values = [
            fitted(f"field {field.name!r}", field.type, value)
            for field, value in zip(event_class.fields, values, strict=True)
        ]
        count = count_of(ts)
        if count is None:
            place = self._place_of(on)
            on_cpu = -1 if cpu is None else fitted("cpu", CPU, integer("cpu", cpu, least=0))
            row = (integer("ts", ts), self._calls, on_cpu, place.thread, place.track)
            self._rows_of(event_class).add_row(row, tuple(values))
            self._calls += 1
            return
        times = integers("ts", ts, count)
        thread, track = self._places(on, count)
        cpus = np.full(count, -1, np.int32)
        if cpu is not None:
            cpus[:] = fitted("cpu", CPU, integers("cpu", cpu, count, least=-1))
        calls = np.arange(self._calls, self._calls + count)
        common = Common(times, calls, cpus, thread, track)
        self._rows_of(event_class).add_columns(common, values, self._trace.strings)
        self._calls += count

    def _rows_of(self, event_class: EventClass) -> ClassRows:
        found = self._rows.get(event_class)
        if found is None:
            found = self._rows[event_class] = ClassRows(event_class)
        return found


def _named(name: Names, category: str) -> dict[Role, Values]:
    parts: dict[Role, Values] = {Role.NAME: name}
    if category:
        parts[Role.CATEGORY] = text("category", category)
    return parts


def _batches(class_tables: Sequence[tuple[Common, Table]]) -> Iterator[Batch]:
    """Return the events in the order of time, and of calls."""
    if not class_tables:
        return
    ts, call, cpu, thread, track = (
        np.concatenate(arrays)
        for arrays in zip(*(common for common, _ in class_tables), strict=True)
    )
    sizes = [len(table) for _, table in class_tables]
    class_id = np.repeat(np.arange(len(class_tables), dtype=np.int32), sizes)
    row = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
    order = np.lexsort((call, ts))
    for start in range(0, len(order), _BATCH):
        chosen = order[start : start + _BATCH]
        classes = class_id[chosen]
        rows = np.zeros(len(chosen), np.int32)
        number_rows(classes, rows, np.zeros(len(class_tables), np.int32))
        tables = {
            number: class_tables[number][1].select(row[chosen[classes == number]])
            for number in np.unique(classes).tolist()
        }
        yield Batch(
            ts=ts[chosen],
            class_id=classes,
            row=rows,
            tables=tables,
            cpu=cpu[chosen],
            thread=thread[chosen],
            track=track[chosen],
        )

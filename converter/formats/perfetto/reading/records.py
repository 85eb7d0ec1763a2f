"""Packets of other kinds: log entries, profiler samples, and those that no kind represents, kept unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto import mapping
from converter.formats.perfetto.clocks import Clocks
from converter.formats.perfetto.layout import OF_KERNEL_EVENT, BuiltinClock, TaskStateField
from converter.formats.perfetto.protobuf.descriptors import ProgramField, field_name, program_of
from converter.formats.perfetto.protobuf.scan import (
    DATA,
    DATA_SIZE,
    DATA_START,
    FLAGS,
    SIZE,
    START,
    TIMED,
)
from converter.formats.perfetto.reading.assembly import UNTIMED, EventsOfClass, Part
from converter.formats.perfetto.reading.callstacks import CallStacks
from converter.formats.perfetto.reading.columns import MessageColumns, bytes_column
from converter.formats.perfetto.reading.packets import Window
from converter.formats.perfetto.reading.tracks import THREAD_SPACE, TrackTables
from converter.ir.columns import Column, concatenate, take
from converter.ir.distinct_values import distinct
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.protobuf.decode import (
    SPAN,
    VARINT,
    decode_repeated,
    repeated_spans,
)

_LOG = "AndroidLogPacket.LogEvent"


#: The field numbers of `mapping.SWITCH_WITH_STATE`, and of the CPU.
def _switch_program(*numbers: TaskStateField) -> tuple[ProgramField, ...]:
    numbered = (
        *zip(numbers, mapping.SWITCH_WITH_STATE.fields, strict=True),
        (TaskStateField.CPU, Field("cpu", IntegerClass(32, signed=True))),
    )
    return tuple(
        ProgramField(
            number, field.name, field.type, SPAN if isinstance(field.type, StringClass) else VARINT
        )
        for number, field in numbered
    )


_SWITCH = _switch_program(
    *(TaskStateField.PREV_TID, TaskStateField.PREV_COMM, TaskStateField.PREV_PRIO),
    *(TaskStateField.TID, TaskStateField.COMM, TaskStateField.PRIO),
    TaskStateField.PREV_STATE,
)
#: The same in the event of a task that leaves the CPU to an unknown one.
_SWITCH_FROM = _switch_program(
    *(TaskStateField.TID, TaskStateField.COMM, TaskStateField.PRIO),
    *(TaskStateField.NEXT_TID, TaskStateField.NEXT_COMM, TaskStateField.NEXT_PRIO),
    TaskStateField.PREV_STATE,
)
#: The field tid of a LogEvent and of a PerfSample, which is absent without a thread.
_TID = 3
_SAMPLE_SCALARS = (
    *("cpu", "pid", "tid", "callstack_iid"),
    *("cpu_mode", "timebase_count", "unwind_error"),
)
#: Fields of a PerfSample: where unwinding ended; further counters, and content in place of a sample.
_UNWIND_ERROR = 16
_OTHER_THAN_SAMPLES = (7, 17, 18)
_PRODUCER_EVENT = 19


class Records:
    """The classes of these packets. One object for all passes over the trace."""

    def __init__(self, trace: Trace, tables: TrackTables, clocks: Clocks) -> None:
        self._trace = trace
        self._tables = tables
        self._clocks = clocks
        self._ids: dict[EventClass, int] = {}

    def _class(self, event_class: EventClass) -> int:
        if event_class not in self._ids:
            self._ids[event_class] = self._trace.add_class(event_class)
        return self._ids[event_class]

    def native(
        self, window: Window, packets: NDArray[np.intp], ts: NDArray[np.int64]
    ) -> Part | None:
        """Return unchanged packets; `ts` are the times of all packets of the window."""
        if not len(packets):
            return None
        rows = window.rows[packets]
        timed = (rows[:, FLAGS] & TIMED) != 0
        kinds, which = np.unique(rows[:, DATA] << 1 | timed, return_inverse=True)
        classes = [self._class(_packet_class(kind >> 1, kind & 1)) for kind in kinds.tolist()]
        class_id = np.array(classes, np.int32)[which]

        def columns(_: int, events: EventsOfClass) -> list[Callable[[], Column]]:
            chosen = rows[events.positions]
            return [
                lambda: chosen[:, DATA].astype(np.uint32),
                lambda: bytes_column(window.data, chosen[:, [START, SIZE]]),
            ]

        return Part(
            packet=packets.astype(np.int32),
            ts=np.where(timed, ts[packets], UNTIMED),
            class_id=class_id,
            thread=None,
            cpu=None,
            track=None,
            columns=columns,
        )

    def logs(
        self, window: Window, packets: NDArray[np.intp]
    ) -> tuple[Part | None, NDArray[np.intp]]:
        """Return the entries of Android log packets, and the packets that hold more than text entries."""
        rows = window.rows[packets]
        starts, sizes = rows[:, DATA_START].copy(), rows[:, DATA_SIZE].copy()
        offsets = np.zeros(len(rows) + 1, np.int64)
        repeated_spans(window.data, starts, sizes, 2, offsets)
        has_statistics = np.diff(offsets) > 0
        spans = repeated_spans(window.data, starts, sizes, 1, offsets)
        of_packet = np.repeat(np.arange(len(rows)), np.diff(offsets))
        arguments = np.zeros(len(spans) + 1, np.int64)
        repeated_spans(window.data, spans[:, 0].copy(), spans[:, 1].copy(), 9, arguments)
        binary = np.bincount(of_packet, np.diff(arguments), len(rows)) > 0
        plain = (np.diff(offsets) > 0) & ~has_statistics & ~binary
        others = packets[~plain]
        spans, of_packet = spans[plain[of_packet]], of_packet[plain[of_packet]]
        if not len(spans):
            return None, others
        starts, sizes = spans[:, 0].copy(), spans[:, 1].copy()
        program = _some_fields(_LOG, (*mapping.LOG_ROLES, "pid", "tid", "timestamp"))
        messages = MessageColumns(window.data, starts, sizes, program, self._trace.strings)
        numbers = {item.name: messages.raw(i) for i, item in enumerate(program)}
        ts = numbers["timestamp"].view(np.int64)
        converted = self._clocks.convert((0, int(BuiltinClock.REALTIME)), ts)
        fields = mapping.log_fields()
        has_thread = _are_there(window.data, starts, sizes, _TID)

        def columns(_: int, events: EventsOfClass) -> list[Callable[[], Column]]:
            positions = events.positions
            return [_selected(thunk, positions) for thunk in messages.thunks()[: len(fields)]]

        part = Part(
            packet=packets[of_packet].astype(np.int32),
            ts=ts if converted is None else converted,
            class_id=np.full(
                len(spans), self._class(EventClass(Kind.LOG, fields=fields)), np.int32
            ),
            thread=self._threads(numbers["pid"], numbers["tid"], has_thread),
            cpu=None,
            track=None,
            columns=columns,
        )
        return part, others

    def samples(
        self,
        window: Window,
        packets: NDArray[np.intp],
        ts: NDArray[np.int64],
        scope: NDArray[np.int64],
        callstacks: CallStacks,
    ) -> tuple[Part | None, NDArray[np.intp]]:
        """Return PerfSamples of a timebase counter, and the packets with other content.

        Samples of kernel events, which also have their call stacks, are in neither.
        """
        rows = window.rows[packets]
        starts, sizes = rows[:, DATA_START].copy(), rows[:, DATA_SIZE].copy()
        of_events = _are_there(window.data, starts, sizes, OF_KERNEL_EVENT)
        plain = ~of_events
        for number in _OTHER_THAN_SAMPLES:
            plain &= ~_are_there(window.data, starts, sizes, number)
        offsets = np.zeros(len(rows) + 1, np.int64)
        repeated_spans(window.data, starts, sizes, _PRODUCER_EVENT, offsets)
        plain &= np.diff(offsets) == 0
        others = packets[~plain & ~of_events]
        packets, starts, sizes = packets[plain], starts[plain], sizes[plain]
        if not len(packets):
            return None, others
        messages = MessageColumns(
            window.data,
            starts,
            sizes,
            _some_fields("PerfSample", _SAMPLE_SCALARS),
            self._trace.strings,
        )
        numbers = {name: messages.raw(i) for i, name in enumerate(_SAMPLE_SCALARS)}
        stacks, which = callstacks.columns(scope[packets], numbers["callstack_iid"])
        has_error = _are_there(window.data, starts, sizes, _UNWIND_ERROR)

        def columns(_: int, events: EventsOfClass) -> list[Callable[[], Column]]:
            chosen = events.positions
            scalars = ("cpu_mode", "timebase_count", "unwind_error")
            return [
                lambda: take(stacks, which[chosen]),
                *(_selected(partial(numbers.__getitem__, name), chosen) for name in scalars),
            ]

        has_thread = _are_there(window.data, starts, sizes, _TID)
        part = Part(
            packet=packets.astype(np.int32),
            ts=ts[packets],
            class_id=self._sample_classes(scope[packets], has_error, callstacks),
            thread=self._threads(numbers["pid"], numbers["tid"], has_thread),
            cpu=numbers["cpu"].astype(np.int32),
            track=None,
            columns=columns,
        )
        return part, others

    def _sample_classes(
        self, scope: NDArray[np.int64], has_error: NDArray[np.bool_], callstacks: CallStacks
    ) -> NDArray[np.int32]:
        """Return the class of each sample, which has the name of its sequence's counter."""
        scopes, which = distinct(scope)
        classes = np.empty((len(scopes), 2), np.int32)
        for i, one in enumerate(scopes.tolist()):
            name, unit = callstacks.timebase(one)
            fields = mapping.sample_fields(unit)
            for j, further in enumerate(((), (mapping.UNWIND_ERROR,))):
                if (has_error[which == i] == bool(j)).any():
                    event_class = EventClass(Kind.SAMPLE, name, fields=(*fields, *further))
                    classes[i, j] = self._class(event_class)
        return classes[which, has_error.view(np.uint8)]

    def switches(
        self, window: Window, packets: NDArray[np.intp], ts: NDArray[np.int64]
    ) -> tuple[Part | None, NDArray[np.intp]]:
        """Return complete switches between two tasks, and the packets with one task's state alone."""
        rows = window.rows[packets]
        starts, sizes = rows[:, DATA_START].copy(), rows[:, DATA_SIZE].copy()

        def have(field: TaskStateField) -> NDArray[np.bool_]:
            return _are_there(window.data, starts, sizes, field)

        is_duplicate = have(TaskStateField.IS_DUPLICATE)
        into = have(TaskStateField.PREV_TID) & ~is_duplicate
        only = have(TaskStateField.NEXT_TID) & ~is_duplicate & ~into
        others = packets[~into & ~only & ~is_duplicate]
        forms = [
            (np.flatnonzero(chosen), program)
            for chosen, program in ((into, _SWITCH), (only, _SWITCH_FROM))
            if chosen.any()
        ]
        if not forms:
            return None, others
        messages = [
            MessageColumns(window.data, starts[rows], sizes[rows], program, self._trace.strings)
            for rows, program in forms
        ]
        positions = np.concatenate([rows for rows, _ in forms])
        order = np.argsort(positions)
        positions = positions[order]
        with_state = have(TaskStateField.PREV_STATE)[positions]
        class_id = np.empty(len(positions), np.int32)
        for chosen, event_class in (
            (~with_state, mapping.SWITCH),
            (with_state, mapping.SWITCH_WITH_STATE),
        ):
            if chosen.any():
                class_id[chosen] = self._class(event_class)

        def columns(id: int, events: EventsOfClass) -> list[Callable[[], Column]]:
            chosen = order[events.positions]
            count = len(self._trace.event_classes[id].fields)
            forms = zip(*(one.thunks()[:count] for one in messages), strict=True)
            return [_selected(_joined(thunks), chosen) for thunks in forms]

        cpus = np.concatenate([one.raw(len(_SWITCH) - 1) for one in messages])
        part = Part(
            packet=packets[positions].astype(np.int32),
            ts=ts[packets[positions]],
            class_id=class_id,
            thread=None,
            cpu=cpus[order].astype(np.int32),
            track=None,
            columns=columns,
        )
        return part, others

    def _threads(
        self, pids: NDArray[Any], tids: NDArray[Any], there: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """Return the thread of each record, -1 where there is none."""
        keys = pids[there].astype(np.uint32).astype(np.uint64) << np.uint64(32)
        keys |= tids[there].astype(np.uint32).astype(np.uint64)
        result = np.full(len(pids), -1, np.int32)
        result[there] = self._tables.resolve(keys, np.full(len(keys), THREAD_SPACE, np.uint8))[1]
        return result


@cache
def _packet_class(number: int, timed: bool) -> EventClass:
    """Return the class of packets with their data in a field of that number."""
    return replace(
        mapping.NATIVE_PACKET,
        name=field_name(mapping.PACKETS, number),
        category=mapping.PACKETS,
        timed=bool(timed),
    )


def _some_fields(message: str, names: tuple[str, ...] | None) -> tuple[ProgramField, ...]:
    """Return fields of a message, in the order of `names`; all if None."""
    program = program_of(message)
    if names is None:
        return program
    by_name = {item.name: item for item in program}
    return tuple(by_name[name] for name in names)


def _are_there(
    data: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64], number: int
) -> NDArray[np.bool_]:
    """Return a mask of messages that have a numeric field."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    decode_repeated(data, starts, sizes, number, offsets)
    return np.diff(offsets) > 0


def _selected(thunk: Callable[[], Column], positions: NDArray[np.intp]) -> Callable[[], Column]:
    return lambda: take(thunk(), positions)


def _joined(thunks: tuple[Callable[[], Column], ...]) -> Callable[[], Column]:
    return lambda: concatenate([thunk() for thunk in thunks])

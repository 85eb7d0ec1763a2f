"""Records as separate packets: log entries, samples with interned call stacks, switches of kernels other than Linux."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import UnsupportedError
from converter.formats.perfetto import mapping
from converter.formats.perfetto.clocks import Clocks
from converter.formats.perfetto.layout import (
    OF_KERNEL_EVENT,
    TIMEBASE_UNIT,
    BuiltinClock,
    PacketField,
    TaskState,
    TaskStateField,
)
from converter.formats.perfetto.protobuf.messages import encode, varint
from converter.formats.perfetto.writing.callstacks import InternedStacks
from converter.formats.perfetto.writing.instructions import (
    BYTES,
    VARINT,
    Getter,
    Steps,
    field_getter,
    tag_of,
    text_field,
    text_getter,
)
from converter.formats.perfetto.writing.kernel_stacks import KernelStack
from converter.formats.perfetto.writing.kernels import emit as kernel
from converter.formats.perfetto.writing.metadata import (
    SAMPLE_SEQUENCES,
    UNKNOWN_WALL_CLOCK,
    new_packet,
    sidecar_clocks,
    wall_clock_offset,
)
from converter.formats.perfetto.writing.row_positions import RowPositions
from converter.ir.events import EventClass, Field, Table
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.domain.scheduling.switched_tasks import UNKNOWN_TASK

_SWITCHES: Final = (mapping.SWITCH, mapping.SWITCH_WITH_STATE)
#: By number of a thread state.
_TASK_STATES: Final[NDArray[np.uint8]] = np.zeros(256, np.uint8)
_TASK_STATES[list(mapping.TASK_STATES)] = list(mapping.TASK_STATES.values())

# Fields of AndroidLogPacket.LogEvent (android_log.proto) and of PerfSample (profile_packet.proto).
_LOG_EVENTS, _LOG_PID, _LOG_TIMESTAMP = 1, 2, 5
_SAMPLE_CPU, _SAMPLE_PID, _SAMPLE_CALLSTACK = 1, 2, 4
_LOG_NUMBERS: Final = {"log_id": 1, "uid": 4, "tag": 6, "prio": 7, "message": 8}
_SAMPLE_MODE: Final = 5
_SAMPLE_NUMBERS: Final = {"cpu_mode": _SAMPLE_MODE, "timebase_count": 6, "unwind_error": 16}

#: The numbers of `mapping.SWITCH`'s fields: in the event of their task and, for the leaving task, in the other's event.
_SWITCH_NUMBERS: Final = (
    *(TaskStateField.TID, TaskStateField.COMM, TaskStateField.PRIO),
    *(TaskStateField.TID, TaskStateField.COMM, TaskStateField.PRIO),
)
_KEPT: Final = (
    *(TaskStateField.PREV_TID, TaskStateField.PREV_COMM, TaskStateField.PREV_PRIO),
    *(None, None, None),
)
#: Fields of the task that gets the CPU, in the event of the one that leaves it.
_LAST: Final = (
    (3, TaskStateField.NEXT_TID),
    (4, TaskStateField.NEXT_COMM),
    (5, TaskStateField.NEXT_PRIO),
)

_U32: Final = IntegerClass(32)
_U64: Final = IntegerClass(64)


class RecordOutput:
    """Programs of classes of records; converts times of log entries to the wall clock.

    `positions` has the times, threads and CPUs of the rows of the class whose columns are requested next.
    """

    def __init__(self, trace: Trace, stacks: InternedStacks, positions: RowPositions) -> None:
        self._trace = trace
        self._stacks = stacks
        self._positions = positions
        self._clocks: Clocks | None = sidecar_clocks(trace)
        #: The sequences of samples by the name and the unit of their counter, each with its number and its stacks.
        self._sequences: dict[tuple[str, str], tuple[int, InternedStacks]] = {("", ""): (0, stacks)}

    def stack_packets(self) -> bytes:
        """Return packets with the call stacks that sequences of samples interned since the last call."""
        return b"".join(
            stacks.take_packet() for number, stacks in self._sequences.values() if number
        )

    def program(self, event_class: EventClass) -> tuple[Steps, bytes, int, int]:
        """Return a class's instructions, the bytes before its first event, the start of a second packet's, if any, and
        the sequence of its packets, if it has one of its own.

        Raises:
            UnsupportedError: no such packet can hold the class.

        """
        fields = event_class.fields
        if event_class.kind is Kind.LOG and fields == mapping.log_fields():
            return self._log(fields), self._wall_clock(), 0, 0
        if event_class.kind is Kind.SAMPLE and mapping.is_perf_sample(fields):
            preceding = b""
            key = event_class.name, fields[2].unit
            if key not in self._sequences:
                number = SAMPLE_SEQUENCES + len(self._sequences)
                self._sequences[key] = number, InternedStacks(self._trace.strings, number)
                preceding = _first_of_samples(number, *key)
            number, stacks = self._sequences[key]
            return self._sample(fields, stacks), preceding, 0, number
        if event_class in _SWITCHES:
            steps, middle = self._switch(fields)
            return steps, b"", middle, 0
        raise UnsupportedError(
            "no packet holds events of this class",
            format="perfetto",
            field=event_class.kind.name.lower(),
        )

    # Log entries

    def _log(self, fields: tuple[Field, ...]) -> Steps:
        parts: list[tuple[int, Steps]] = [(_LOG_PID, self._on_thread(_LOG_PID))]
        parts.append((_LOG_TIMESTAMP, self._number(_LOG_TIMESTAMP, lambda _: self._wall_times())))
        parts += [
            (_LOG_NUMBERS[field.name], _field(_LOG_NUMBERS[field.name], field, field_getter(index)))
            for index, field in enumerate(fields)
        ]
        steps = Steps()
        steps.message(_LOG_EVENTS, _in_order(parts))
        message = Steps()
        message.message(PacketField.ANDROID_LOG, steps)
        return message

    def _wall_clock(self) -> bytes:
        """Return a snapshot of both clocks if the time is unknown: without one importers drop log entries."""
        if self._clocks is not None or wall_clock_offset(self._trace) is not None:
            return b""
        return new_packet(clock_snapshot=UNKNOWN_WALL_CLOCK)

    def _wall_times(self) -> NDArray[np.uint64]:
        if self._clocks is not None:
            inverted = self._clocks.invert((0, int(BuiltinClock.REALTIME)), self._positions.ts)
            times = self._positions.ts if inverted is None else inverted
        else:
            times = self._positions.ts + np.int64(wall_clock_offset(self._trace) or 0)
        return times.view(np.uint64)

    # Samples

    def _sample(self, fields: tuple[Field, ...], stacks: InternedStacks) -> Steps:
        frames = field_getter(0)
        parts = self._sampled(lambda table: stacks.iids(frames(table)))
        parts += [
            (_SAMPLE_NUMBERS[field.name], _field(_SAMPLE_NUMBERS[field.name], field, getter))
            for field, getter in zip(
                fields[1:], map(field_getter, range(1, len(fields))), strict=True
            )
        ]
        message = Steps()
        message.message(PacketField.PERF_SAMPLE, _in_order(parts))
        return message

    def kernel_stack(self, stack: KernelStack) -> Steps:
        """Return the instructions of a kernel event's call stack as a sample, marked as not independent."""
        mode, of_event, message, steps = Steps(), Steps(), Steps(), Steps()
        mode.literal(_number_field(_SAMPLE_MODE, stack.mode))
        of_event.literal(_number_field(OF_KERNEL_EVENT, 1))
        sampled = self._sampled(lambda table: stack.iids(table, self._stacks))
        parts = [*sampled, (_SAMPLE_MODE, mode), (OF_KERNEL_EVENT, of_event)]
        message.message(PacketField.PERF_SAMPLE, _in_order(parts))
        steps.enclosing(kernel.OPTIONAL, message, stack.is_there)
        return steps

    def _sampled(self, iids: Callable[[Table], NDArray[np.uint64]]) -> list[tuple[int, Steps]]:
        """Return the fields for the position of a sample, and its call stack."""
        cpu = Steps()
        present = self._number(_SAMPLE_CPU, lambda _: self._positions.cpu.astype(np.uint32))
        cpu.enclosing(kernel.OPTIONAL, present, lambda _: (self._positions.cpu >= 0).view(np.uint8))
        callstack = Steps()
        callstack.scalar(_SAMPLE_CALLSTACK, _U64, iids, sparse=True)
        return [
            (_SAMPLE_CPU, cpu),
            (_SAMPLE_PID, self._on_thread(_SAMPLE_PID)),
            (_SAMPLE_CALLSTACK, callstack),
        ]

    # Switches

    def _switch(self, fields: tuple[Field, ...]) -> tuple[Steps, int]:
        """Return instructions for the task that leaves the CPU, then the one that gets it, and the start of the latter.

        The event of the latter also has the leaving task's fields, for this package's reader.
        An unknown task has no event, and one of unknown state needs none: it leaves when the other one gets the CPU.
        If the next task is unknown, the event of the leaving task has all data.
        """
        left, got = [self._at_cpu()], [self._at_cpu()]
        prev: list[tuple[int, Steps]] = []
        numbers = zip(fields[:6], _SWITCH_NUMBERS, _KEPT, strict=True)
        for index, (field, own, kept) in enumerate(numbers):
            part = (own, _field(own, field, field_getter(index)))
            (left if kept else got).append(part)
            if kept:
                prev.append((kept, _field(kept, field, field_getter(index))))
        last: list[tuple[int, Steps]] = [
            (number, _field(number, fields[i], field_getter(i))) for i, number in _LAST
        ]
        state = Steps()
        state.literal(_number_field(TaskStateField.STATE, TaskState.RUNNABLE))
        if mapping.SWITCH_STATE in fields:
            getter = field_getter(len(fields) - 1)
            state = self._number(
                TaskStateField.STATE,
                lambda table: _TASK_STATES[np.asarray(getter(table))],
                IntegerClass(8),
            )
            kept_state = _field(TaskStateField.PREV_STATE, mapping.SWITCH_STATE, getter)
            prev.append((TaskStateField.PREV_STATE, kept_state))
            last.append((TaskStateField.PREV_STATE, kept_state))
        running, duplicate = Steps(), Steps()
        running.literal(_number_field(TaskStateField.STATE, TaskState.RUNNING))
        duplicate.literal(_number_field(TaskStateField.IS_DUPLICATE, 1))
        prev_tid, next_tid = field_getter(0), field_getter(3)

        def leaves(table: Table) -> NDArray[np.bool_]:
            return _is_known(prev_tid(table))

        def gets(table: Table) -> NDArray[np.bool_]:
            return _is_known(next_tid(table))

        left += [
            (TaskStateField.STATE, state),
            (TaskStateField.IS_DUPLICATE, _where(gets, duplicate)),
            (TaskStateField.NEXT_TID, _where(lambda table: ~gets(table), _in_order(last))),
        ]
        got += [(TaskStateField.STATE, _where(gets, running)), *prev]
        steps, following = Steps(), Steps()
        steps.message(PacketField.GENERIC_KERNEL_TASK_STATE_EVENT, _in_order(left))
        following.message(PacketField.GENERIC_KERNEL_TASK_STATE_EVENT, _in_order(got))
        has_state = mapping.SWITCH_STATE in fields
        steps = _where(lambda table: leaves(table) & (has_state | ~gets(table)), steps)
        middle = len(steps.steps)
        steps.extend(_where(lambda table: gets(table) | ~leaves(table), following))
        return steps, middle

    def _at_cpu(self) -> tuple[int, Steps]:
        cpu = self._number(
            TaskStateField.CPU, lambda _: self._positions.cpu, IntegerClass(32, signed=True)
        )
        return TaskStateField.CPU, cpu

    # Parts of all

    def _number(self, number: int, column: Any, field_class: IntegerClass = _U64) -> Steps:
        steps = Steps()
        steps.scalar(number, field_class, column)
        return steps

    def _on_thread(self, number: int) -> Steps:
        """Return instructions for the fields pid and, with the next number, tid, if the event is on a thread."""
        inner = self._number(number, lambda _: self._positions.ids(0), _U32)
        inner.extend(self._number(number + 1, lambda _: self._positions.ids(1), _U32))
        steps = Steps()
        steps.enclosing(
            kernel.OPTIONAL, inner, lambda _: (self._positions.thread >= 0).view(np.uint8)
        )
        return steps


def _first_of_samples(sequence: int, name: str, unit: str) -> bytes:
    """Return the first packet of a sequence of samples, which names their counter."""
    timebase = encode("PerfEvents.Timebase", {"name": name.encode()} if name else {})
    if unit:
        timebase += text_field(TIMEBASE_UNIT, unit.encode())
    defaults = {"perf_sample_defaults": {"timebase": timebase}}
    return new_packet(starts=True, sequence=sequence, trace_packet_defaults=defaults)


def _field(number: int, field: Field, getter: Getter) -> Steps:
    steps = Steps()
    if isinstance(field.type, StringClass):
        steps.add(kernel.TEXT, tag_of(number, BYTES), text_getter(getter))
    else:
        steps.scalar(number, field.type, getter)
    return steps


def _is_known(tids: Any) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = np.not_equal(tids, UNKNOWN_TASK)
    return known


def _where(condition: Callable[[Table], NDArray[np.bool_]], inner: Steps) -> Steps:
    """Return instructions that only run in some rows."""
    steps = Steps()
    steps.enclosing(kernel.OPTIONAL, inner, lambda table: condition(table).view(np.uint8))
    return steps


def _in_order(parts: list[tuple[int, Steps]]) -> Steps:
    steps = Steps()
    for _, part in sorted(parts, key=lambda item: item[0]):
        steps.extend(part)
    return steps


def _number_field(number: int, value: int) -> bytes:
    return varint(tag_of(number, VARINT)) + varint(value)

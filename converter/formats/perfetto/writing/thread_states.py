"""Thread states with a duration (those of JSON), written as importers show them, in addition to their track events.

Importers derive thread states from states of tasks, not from track events; each lasts until the next one of its task.
This package's reader skips them, as the track events have all data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.layout import PacketField, TaskState, TaskStateField
from converter.formats.perfetto.protobuf.messages import varint
from converter.formats.perfetto.thread_states import shown_states
from converter.formats.perfetto.writing.instructions import VARINT, Steps, field_getter, tag_of
from converter.formats.perfetto.writing.kernels import emit as kernel
from converter.formats.perfetto.writing.kernels.emit import Emitter, PacketSequence
from converter.ir.events import Batch, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.trace import Trace
from converter.kernels.batches.event_arrays import EventArrays

#: Columns of states: start, end, and the contents of their events.
_TS, _END, _TID, _CPU, _STATE = range(5)
_NONE: Final[NDArray[np.int64]] = np.zeros((0, 5), np.int64)


class ThreadStateOutput:
    """Gathers the states of a batch, and writes them with an emitter."""

    def __init__(self, trace: Trace, sequence: PacketSequence, emitter: Emitter) -> None:
        self._trace = trace
        self._sequence = sequence
        self._emitter = emitter
        self._gathered: list[NDArray[np.int64]] = []
        #: The last state of each running task.
        self._running = _NONE
        self._program = -1

    def gather(self, batch: Batch, class_id: int) -> None:
        """Gather the states of a class."""
        trace = self._trace
        event_class, table = trace.event_classes[class_id], batch.tables[class_id]
        positions = batch.positions(class_id)
        thread = batch.thread[positions]
        found = shown_states(event_class, table, thread, trace.threads, trace.strings)
        ts = batch.ts[positions[found.rows]]
        ends = ts + found.duration
        self._gathered.append(np.stack((ts, ends, found.tid, found.cpu, found.state), 1))

    def write(self, flush: Callable[[], None], *, is_last: bool = False) -> None:
        """Write the gathered states; `flush` empties the buffer.

        A running task stops when its state ends, unless the next one begins there: its state is then unknown.
        """
        gathered, self._gathered = self._gathered, []
        if not gathered and not is_last:
            return
        states = np.concatenate((self._running, *gathered))
        is_new = np.arange(len(states)) >= len(self._running)
        order = np.lexsort((states[:, _TS], states[:, _TID]))
        states, is_new = states[order], is_new[order]
        followed = np.append(states[1:, _TID] == states[:-1, _TID], False)
        next_ts = np.append(states[1:, _TS], 0)
        runs = states[:, _STATE] == TaskState.RUNNING
        self._running = _NONE if is_last else states[runs & ~followed]
        ended = states[runs & (followed & (states[:, _END] < next_ts) | ~followed & is_last)]
        ended[:, _TS], ended[:, _STATE] = ended[:, _END], TaskState.INTERRUPTIBLE_SLEEP
        # In importers a task leaves its CPU only if its next state names the CPU.
        leaves = np.flatnonzero(runs & followed & (states[:, _END] >= next_ts)) + 1
        leaves = leaves[~runs[leaves]]
        states[leaves, _CPU] = states[leaves - 1, _CPU]
        self._emit(np.concatenate((ended, states[is_new])), flush)

    def _emit(self, states: NDArray[np.int64], flush: Callable[[], None]) -> None:
        if not len(states):
            return
        count = len(states)
        columns = np.ascontiguousarray(states[np.argsort(states[:, _TS], kind="stable")].T)
        table = Table(count, list(columns))
        steps = _steps()
        if self._program < 0:
            self._program = self._sequence.add_program(kernel.FRAME_RECORD, steps.steps)
        self._sequence.bind(self._program, count, [get(table) for get in steps.columns])
        nowhere = np.full(count, -1, np.int32)
        program = np.full(count, self._program, np.int32)
        rows = np.arange(count, dtype=np.int32)
        events = {"ts": columns[_TS], "class_id": program, "row": rows}
        self._sequence.begin(EventArrays(**events, thread=nowhere, cpu=nowhere, track=nowhere))
        done = 0
        while done < count:
            _, done = self._emitter.emit(done, count, follows=True)
            flush()


def _has_cpu(table: Table) -> NDArray[np.uint8]:
    has = np.asarray(table.column(_CPU)) >= 0
    return has.view(np.uint8)


def _steps() -> Steps:
    """Return the instructions of a task state, marked as a duplicate of another event."""
    number = IntegerClass(64, signed=True)
    cpu, message = Steps(), Steps()
    cpu.scalar(TaskStateField.CPU, number, field_getter(_CPU))
    message.enclosing(kernel.OPTIONAL, cpu, _has_cpu)
    message.scalar(TaskStateField.TID, number, field_getter(_TID))
    message.scalar(TaskStateField.STATE, number, field_getter(_STATE))
    message.literal(varint(tag_of(TaskStateField.IS_DUPLICATE, VARINT)) + varint(1))
    steps = Steps()
    steps.message(PacketField.GENERIC_KERNEL_TASK_STATE_EVENT, message)
    return steps

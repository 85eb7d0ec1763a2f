"""Turns messages into flows, from the sending event to the call that handles the message.

A receive is recorded before the call that handles the message. There may be more events in between, and without a call
there is nothing that a flow could end at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.batches.union import looked_up
from converter.projection.instants import CATEGORY, NAME
from converter.projection.losses import LossReport
from converter.projection.passes.message_flows import MessageFlows
from converter.projection.passes.renumbering import in_classes, with_events_behind
from converter.projection.timeline_fields import number_id

#: The meaning of an event to `MessageFlows`.
_STEPS: Final = {
    Kind.MESSAGE_SEND: 1,
    Kind.MESSAGE_RECEIVE: 2,
    Kind.FUNCTION_ENTRY: 3,
    Kind.SLICE_BEGIN: 3,
}
_SEND, _CALL = _STEPS[Kind.MESSAGE_SEND], _STEPS[Kind.FUNCTION_ENTRY]
MESSAGES: Final = frozenset({Kind.MESSAGE_SEND, Kind.MESSAGE_RECEIVE})
#: Flows of all messages have the same name, as their ends can be distinguished by ids alone.
_TEXT: Final = b"message"
_FIELDS: Final = (number_id("id"), NAME, CATEGORY)
_BEGIN: Final = EventClass(Kind.FLOW_BEGIN, fields=_FIELDS)
_END: Final = EventClass(Kind.FLOW_END, fields=_FIELDS)
#: Spreads process ids over 64 bits: pointers of two processes may be equal.
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


def with_flows(trace: Trace, report: LossReport, *, forks: bool) -> Trace:
    """Return the trace with a flow's begin after each message that is sent, and its end in the call that handles it.

    Unless flows fork, a flow ends at the first receiver only.
    """
    result = dataclasses.replace(trace, event_classes=[])
    result.make_batches = _Messages(trace, result, report, forks=forks).batches
    return result


class _Messages:
    def __init__(self, source: Trace, result: Trace, report: LossReport, *, forks: bool) -> None:
        self._source = source
        self._result = result
        self._report = report
        self._forks = forks
        #: By the number of a class in the source: its number in the result, and the meaning of its events.
        self._numbers: list[int] = []
        self._steps: list[int] = []
        self._flows: dict[Kind, int] = {}

    def batches(self) -> Iterator[Batch]:
        flows = MessageFlows()
        received = np.zeros(0, np.int64)
        under_way = False
        for batch in self._source.batches():
            self._follow_classes()
            present = [
                number
                for number, table in batch.tables.items()
                if self._source.event_classes[number].kind in MESSAGES and len(table)
            ]
            under_way = under_way or bool(present)
            renumbered = in_classes(batch, self._numbers)
            if not under_way:
                yield renumbered
                continue
            more = len(self._source.threads) - len(received)
            received = np.concatenate([received, np.zeros(max(more, 0), np.int64)])
            step = looked_up(np.array(self._steps, np.int32), batch.class_id)
            scope, id = self._identities(batch, present, step)
            flow = flows.match(step, batch.thread, scope, id, received)
            under_way = bool(received.any())
            if not self._forks:
                flow = self._first_receivers(batch, flow)
            at = np.flatnonzero(flow)
            numbers = np.abs(flow[at])
            yield self._with_flows(renumbered, at, numbers, step[at]) if len(at) else renumbered

    def _follow_classes(self) -> None:
        for event_class in self._source.event_classes[len(self._numbers) :]:
            self._numbers.append(self._result.add_class(event_class))
            self._steps.append(_STEPS.get(event_class.kind, 0))

    def _identities(
        self, batch: Batch, present: list[int], step: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return scope and id of each message; events that turn out to be none are removed from `step`."""
        scope, id = np.zeros(len(batch), np.uint64), np.zeros(len(batch), np.uint64)
        for number in present:
            at = batch.positions(number)
            found = identities(self._source, batch, number)
            if found is None:
                step[at] = 0
                continue
            scope[at], id[at], is_message = found
            step[at[~is_message]] = 0
        return scope, id

    def _first_receivers(self, batch: Batch, flow: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the flows without those to receivers after the first."""
        further = np.flatnonzero(flow < 0)
        if not len(further):
            return flow
        self._report.add_at("message-second-receiver", self._source, batch, further)
        return np.maximum(flow, 0)

    def _with_flows(
        self, batch: Batch, at: NDArray[np.intp], flow: NDArray[np.int64], step: NDArray[np.int32]
    ) -> Batch:
        """Return the batch with the begin or end of a flow after each event at these positions."""
        added = {}
        text = np.int32(self._source.strings.intern(_TEXT))
        for event_class, which in ((_BEGIN, step == _SEND), (_END, step == _CALL)):
            rows = np.flatnonzero(which)
            if not len(rows):
                continue
            number = self._flows.get(event_class.kind)
            if number is None:
                number = self._flows[event_class.kind] = self._result.add_class(event_class)
            named = constant_column(text, len(rows))
            added[number] = rows, Table(len(rows), [flow[rows].astype(np.uint64), named, named])
        return with_events_behind(batch, at, added, constant_column(np.int32(-1), len(at)))


def identities(
    trace: Trace, batch: Batch, number: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.bool_]] | None:
    """Return scopes and ids of the messages of a class, and which rows are messages; None if nothing
    identifies them.
    """
    ids = _integers(trace, batch, number, Role.ID)
    if ids is None:
        return None
    scopes = _integers(trace, batch, number, Role.SCOPE)
    counts = _integers(trace, batch, number, Role.COUNT)
    if scopes is None:
        scopes = np.zeros(len(ids), np.uint64)
    else:
        scopes = scopes ^ _pids(trace, batch.thread[batch.positions(number)]) * _SPREAD
    return scopes, ids, np.ones(len(ids), np.bool_) if counts is None else counts != 0


def _integers(trace: Trace, batch: Batch, number: int, role: Role) -> NDArray[np.uint64] | None:
    event_class = trace.event_classes[number]
    index = event_class.index_of(role)
    if index is None or not isinstance(event_class.fields[index].type, IntegerClass):
        return None
    column = batch.tables[number].column(index)
    assert isinstance(column, np.ndarray)
    return column.astype(np.uint64)


def _pids(trace: Trace, threads: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return the ids of the threads' processes."""
    distinct, which = np.unique(threads, return_inverse=True)
    pids = [
        0 if one < 0 else trace.processes[trace.threads[one].process].pid
        for one in distinct.tolist()
    ]
    return np.array([pid & (1 << 64) - 1 for pid in pids], np.uint64)[which]

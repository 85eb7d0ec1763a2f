"""Profiles of V8 as samples: their call stacks are stored as trees and times in the arguments of events of phase P.

`Profile` starts a profile; each `ProfileChunk` adds nodes to its tree, and samples as node numbers with the time since
the previous one, in microseconds. The events stay; viewers of formats with call stacks need samples.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import constant_column, value
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    StringClass,
    StructureClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.call_stacks import SAMPLE, sample_batches
from converter.projection.losses import LossReport
from converter.projection.passes.renumbering import in_classes
from converter.projection.timeline_fields import PHASE

_NAMES: Final = (b"Profile", b"ProfileChunk")
_ARGUMENT: Final = "data"
_ANONYMOUS: Final = "(anonymous)"
_MAX_TIME: Final = 1 << 62
_NANOSECONDS: Final = Fraction(10**9)
_MICROSECONDS: Final = 10**6


def with_samples(trace: Trace, report: LossReport) -> Trace:
    """Return the trace with the samples of V8's profiles after the events that contain them."""
    result = dataclasses.replace(trace, event_classes=[])
    result.make_batches = _Profiles(trace, result, report).batches
    return result


class _Profile:
    """The tree of a profile, as tables by the number of a node here, and the time of its last sample."""

    def __init__(self) -> None:
        self.now = 0
        self.number: dict[int, int] = {}
        self.prefix: list[int] = []
        self.function: list[int] = []

    def add(
        self, data: dict[str, Any], trace: Trace
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Add the contents of an event, and return the times and nodes of its samples."""
        self.now = _integer_or(data.get("startTime"), self.now)
        tree = data.get("cpuProfile")
        tree = tree if isinstance(tree, dict) else {}
        self._add_nodes(_list_or_empty(tree.get("nodes")), trace.strings)
        samples = _list_or_empty(tree.get("samples"))
        deltas = _list_or_empty(data.get("timeDeltas")) or _list_or_empty(tree.get("timeDeltas"))
        ticks = (trace.clock.ticks_per_second or _NANOSECONDS) / _MICROSECONDS
        ts, stack = [], []
        for sample, delta in zip(samples, deltas, strict=False):
            self.now += _integer_or(delta, 0)
            node = self.number.get(_integer_or(sample, 0))
            at = int(self.now * ticks)
            if node is not None and abs(at) < _MAX_TIME:
                ts.append(at)
                stack.append(node)
        return np.array(ts, np.int64), np.array(stack, np.int64)

    def _add_nodes(self, nodes: list[Any], strings: StringTable) -> None:
        children: dict[int, int] = {}
        for node in nodes:
            frame = node.get("callFrame") if isinstance(node, dict) else None
            if not isinstance(frame, dict):
                continue
            number = node.get("id")
            if not isinstance(number, int) or number in self.number:
                continue
            parent = self.number.get(_integer_or(node.get("parent"), children.get(number, 0)), -1)
            name = frame.get("functionName")
            text = name if isinstance(name, str) and name else _ANONYMOUS
            self.number[number] = len(self.prefix)
            self.prefix.append(parent)
            self.function.append(strings.intern(text.encode("utf-8", "surrogateescape")))
            for child in _list_or_empty(node.get("children")):
                children[_integer_or(child, 0)] = number


class _Profiles:
    def __init__(self, source: Trace, result: Trace, report: LossReport) -> None:
        self._source = source
        self._result = result
        self._report = report
        #: By the number of a class in the source: its number in the result, and the fields of profile events.
        self._numbers: list[int] = []
        self._fields: list[tuple[int, int, int, int | None] | None] = []
        self._sample = -1

    def batches(self) -> Iterator[Batch]:
        profiles: dict[tuple[int, Any], _Profile] = {}
        for batch in self._source.batches():
            for event_class in self._source.event_classes[len(self._numbers) :]:
                self._numbers.append(self._result.add_class(event_class))
                self._fields.append(_fields(event_class))
            yield in_classes(batch, self._numbers)
            if any(self._fields[number] for number in batch.tables):
                yield from self._samples(batch, profiles)

    def _samples(self, batch: Batch, profiles: dict[tuple[int, Any], _Profile]) -> Iterator[Batch]:
        """Return the samples in a batch's events, one batch per event."""
        found: list[tuple[int, dict[str, Any], tuple[int, Any]]] = []
        for number, table in batch.tables.items():
            if self._fields[number] is not None and len(table):
                positions = batch.positions(number)
                for row, (id, data) in self._events(number, table):
                    thread = int(batch.thread[positions[row]])
                    process = self._source.threads[thread].process if thread >= 0 else -1
                    found.append((int(positions[row]), data, (process, id)))
        # Chunks continue those before them.
        for at, data, key in sorted(found, key=lambda one: (int(batch.ts[one[0]]), one[0])):
            profile = profiles.setdefault(key, _Profile())
            ts, stack = profile.add(data, self._source)
            if len(ts):
                yield from self._batches_of(ts, stack, int(batch.thread[at]), profile)

    def _events(
        self, number: int, table: Table
    ) -> Iterator[tuple[int, tuple[Any, dict[str, Any]]]]:
        """Return the rows of profile events, each with the profile's id and its contents."""
        fields, strings = self._source.event_classes[number].fields, self._source.strings
        fields_used = self._fields[number]
        assert fields_used is not None
        phase, name, argument, id = fields_used

        def value_at(index: int, row: int) -> Any:
            return value(table.column(index), fields[index].type, row, strings)

        for row in range(len(table)):
            if value_at(phase, row) == b"P" and value_at(name, row) in _NAMES:
                data = _as_json(value_at(argument, row), fields[argument].type)
                if isinstance(data, dict):
                    yield row, (None if id is None else value_at(id, row), data)

    def _batches_of(
        self, ts: NDArray[np.int64], stack: NDArray[np.int64], thread: int, profile: _Profile
    ) -> Iterator[Batch]:
        if self._sample < 0:
            self._sample = self._result.add_class(SAMPLE)
        self._report.add("call-stacks-added", len(ts), int(ts[0]), profiler="V8's CPU profiles")
        tables = np.array(profile.prefix, np.int64), np.array(profile.function, np.int32)
        return sample_batches(
            self._sample,
            ts,
            stack,
            tables,
            thread=constant_column(np.int32(thread), len(ts)),
            cpu=constant_column(np.int32(-1), len(ts)),
        )


def _fields(event_class: EventClass) -> tuple[int, int, int, int | None] | None:
    """Return the fields of phase, name, argument and id of an event class that may belong to a profile."""
    name = event_class.index_of(Role.NAME)
    named = {field.name: index for index, field in enumerate(event_class.fields)}
    if event_class.kind is not Kind.INSTANT or PHASE not in event_class.fields or name is None:
        return None
    if _ARGUMENT not in named:
        return None
    id = event_class.index_of(Role.ID)
    return event_class.fields.index(PHASE), name, named[_ARGUMENT], id


def _as_json(item: Any, field_class: FieldClass) -> Any:
    """Convert a value of `ir.columns.value` to its JSON representation."""
    match field_class:
        case StructureClass(members):
            parts = zip(item, members, strict=True)
            return {name: _as_json(part, member.type) for (name, part), member in parts}
        case ArrayClass(element):
            return [_as_json(part, element) for part in item]
        case StringClass():
            return item.decode("utf-8", "surrogateescape")
        case BytesClass():
            try:
                return json.loads(item)
            except (ValueError, RecursionError):
                return None
    return item


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _integer_or(value: Any, missing: int) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) < _MAX_TIME else missing

"""Writes CPU profiles: one that was read unchanged is copied, all else is a tree of nodes from samples."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.copies import copy_or_encode
from converter.formats.profiles.cpuprofile.document import ANONYMOUS, IDLE, ROOT, CallFrame
from converter.ir.columns import ListColumn
from converter.ir.events import Batch
from converter.ir.field_classes import ArrayClass, StringClass
from converter.ir.trace import Trace
from converter.projection.domain.stack_table import StackTable
from converter.projection.timeline_fields import FRAME
from converter.storage.sink import Sink

_LINES: Final = 1 << 12
_UNIT: Final = 1000


def write(trace: Trace, sink: Sink, variant: str) -> None:
    """Write a trace of samples that was projected to the format, or read from it.

    Args:
        trace: projected to `capabilities.capabilities`, or from the reader of CPU profiles.
        sink: the output file.
        variant: not used.

    """
    del variant
    copy_or_encode(trace, sink, "cpuprofile", _Encoder)


class _Encoder:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._stacks = StackTable(trace.strings)
        self._ts: list[NDArray[np.int64]] = []
        self._ends: list[NDArray[np.int64]] = []
        self._nodes: list[NDArray[np.int32]] = []
        self._known: dict[tuple[str, str, int], dict[str, Any]] = {}
        kept = trace.sidecar.get("cpuprofile", {})
        for form in kept.get("frames", ()) if isinstance(kept.get("frames"), list) else ():
            if isinstance(form, dict) and form.keys() == CallFrame().form().keys():
                key = form["functionName"] or ANONYMOUS, form["url"], max(form["lineNumber"], -1)
                self._known.setdefault(key, form)
        members = kept.get("members")
        self._members = members if isinstance(members, dict) else {}

    def add(self, batch: Batch) -> None:
        """Add the samples of a batch."""
        for number, table in batch.tables.items():
            positions = batch.positions(number)
            element = self._trace.event_classes[number].fields[0].type
            assert isinstance(element, ArrayClass)
            assert element.element == FRAME
            self._ts.append(batch.ts[positions])
            self._ends.append(batch.ts[positions] + np.asarray(table.column(1)))
            self._nodes.append(self._stacks.add(table.column(0), element.element))

    def close(self) -> None:
        """Nothing to release: all is in memory."""

    def write(self, sink: Sink) -> None:
        """Write the profile."""
        ts = np.concatenate([np.zeros(0, np.int64), *self._ts])
        # Node 1 is the root: the empty stack, number 0.
        nodes = np.concatenate([np.zeros(0, np.int32), *self._nodes]) + 1
        ends = np.concatenate([np.zeros(0, np.int64), *self._ends])
        end = int(ends[-1]) if len(ends) else 0
        # Between samples that are not all those of a profile, nothing runs.
        idle = np.flatnonzero(ends[:-1] < ts[1:])
        if len(idle):
            ts = np.insert(ts, idle + 1, ends[idle])
            nodes = np.insert(nodes, idle + 1, self._idle_node())
        sink.write(b'{"nodes":[')
        self._write_nodes(nodes, sink)
        first = int(ts[0]) if len(ts) else 0
        sink.write(b'],\n"startTime":%b,"endTime":%b,\n"samples":[' % (_time(first), _time(end)))
        _write_numbers(nodes, sink)
        sink.write(b'],\n"timeDeltas":[')
        deltas = np.diff(ts, prepend=ts[:1])
        if (deltas % _UNIT).any():
            _write_numbers(deltas, sink, fractions=True)
        else:
            _write_numbers(deltas // _UNIT, sink)
        sink.write(b"]")
        for name, value in self._members.items():
            sink.write(b",\n" + _json(name) + b":" + _json(value))
        sink.write(b"}\n")

    def _idle_node(self) -> int:
        strings = self._trace.strings
        column = ListColumn(np.array([0, 1], np.int64), np.array([strings.intern(IDLE)], np.int32))
        return int(self._stacks.add(column, StringClass())[0]) + 1

    def _write_nodes(self, nodes: NDArray[np.int64], sink: Sink) -> None:
        stacks = self._stacks.stacks
        frames = [self._form(one) for one in self._stacks.frames]
        frames[0] = CallFrame(ROOT).form()
        hits = np.bincount(nodes, minlength=len(stacks) + 1)
        # Children in the order of their numbers, by the node around them.
        outer = stacks["outer"][1:]
        order = np.argsort(outer, kind="stable")
        bounds = np.searchsorted(outer[order], np.arange(len(stacks) + 1))
        children = (order + 2).tolist()
        lines: list[bytes] = []
        for number, frame in enumerate(stacks["frame"].tolist()):
            node = {"id": number + 1, "callFrame": frames[frame], "hitCount": int(hits[number + 1])}
            inner = children[bounds[number] : bounds[number + 1]]
            if inner:
                node["children"] = inner
            lines.append((b",\n" if number else b"\n") + _json(node))
            if len(lines) == _LINES:
                sink.write(b"".join(lines))
                lines.clear()
        sink.write(b"".join(lines) + b"\n")

    def _form(self, frame: np.void) -> dict[str, Any]:
        """Return a frame as V8 writes it."""
        name, url = (
            self._trace.strings[int(frame[key])].decode("utf-8", "replace")
            for key in ("function", "source")
        )
        line = int(frame["line"]) - 1
        known = self._known.get((name, url, line))
        return known or CallFrame(name, url=url, line=line).form()


def _write_numbers(
    values: NDArray[np.integer[Any]], sink: Sink, *, fractions: bool = False
) -> None:
    """Write numbers, or nanoseconds as microseconds with a fraction."""
    for first in range(0, len(values), _LINES):
        part = values[first : first + _LINES].tolist()
        texts = [_time(one).decode() for one in part] if fractions else map(str, part)
        sink.write((b"," if first else b"") + ",".join(texts).encode())


def _time(nanoseconds: int) -> bytes:
    """Return a time in microseconds, with a fraction if it has one."""
    whole, rest = divmod(abs(nanoseconds), _UNIT)
    text = f"{whole}.{rest:03}".rstrip("0") if rest else f"{whole}"
    return (b"-" if nanoseconds < 0 else b"") + text.encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

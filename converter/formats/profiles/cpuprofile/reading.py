"""Reads CPU profiles: an event per sample, in the order of time, as DevTools has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, note
from converter.formats.profiles.cpuprofile.capabilities import SAMPLE
from converter.formats.profiles.cpuprofile.document import (
    ANONYMOUS,
    MEMBERS,
    ROOT,
    Nodes,
    nodes_of,
    parse,
    span_of,
    times_of,
    without_root,
    wrong_ends,
)
from converter.formats.profiles.cut_json import cut_warning
from converter.formats.profiles.trees import FrameTable
from converter.ir.columns import Column, constant_column
from converter.ir.events import Batch, NativeRecords, Table
from converter.ir.kinds import Kind
from converter.ir.semantics import Semantics
from converter.ir.trace import Trace
from converter.limits import allowed, limit
from converter.projection.domain.call_stacks import depths_of_tree, parts_of
from converter.storage.source import Source


def read(source: Source) -> Trace:
    """Read a profile as a trace.

    Raises:
        TraceError: it is too large, or no profile.

    """
    if source.size > limit("cpuprofile.profile"):
        expected = f"a profile, which is read as a whole, of {allowed('cpuprofile.profile')}"
        raise TraceError(path=source.name, expected=expected, found=f"{source.size} bytes")
    return _Reader(source).trace


class _Reader:
    def __init__(self, source: Source) -> None:
        self._path = source.name
        profile, self._data, damage = parse(source.read_exactly(0, source.size), source.name)
        self.trace = Trace("cpuprofile", make_batches=self._batches)
        self.trace.source_batches = self.trace.make_batches
        self.trace.semantics = Semantics(kinds=frozenset({Kind.SAMPLE}))
        self.trace.in_time_order = True
        if damage is not None:
            note(self.trace.warnings, cut_warning("cpuprofile", source.name, damage))
            # Times are not made up of the hits of some nodes.
            profile.setdefault("samples", [])
        nodes = nodes_of(profile)
        self._frames = self._table(nodes)
        self._outer = np.array(list(without_root(nodes)), np.int64)
        self._frame = np.array(nodes.frame, np.int32)
        # The root by itself is no function.
        names = [one.name for one in nodes.frames]
        self._is_root = np.array(
            [
                outer < 0 and names[frame] == ROOT
                for outer, frame in zip(nodes.outer, nodes.frame, strict=True)
            ],
            np.bool_,
        )
        self._ts, self._node = self._samples(profile, nodes)
        # A sample lasts until the next one, the last until the end.
        last = max(span_of(profile)[1], int(self._ts[-1])) if len(self._ts) else 0
        self._weights = np.diff(self._ts, append=last) if len(self._ts) else self._ts
        for name in wrong_ends(profile):
            self._warn("no time: left out", name)
        if nodes.damaged:
            self._warn(
                f"nodes that are none, or in a circle, are left out: {nodes.damaged:,}", "nodes"
            )
        self._number = self.trace.add_class(SAMPLE)
        self.trace.sidecar["cpuprofile"] = {
            "frames": [one.form() for one in nodes.frames],
            "members": {
                name: _plain(value) for name, value in profile.items() if name not in MEMBERS
            },
        }

    def _table(self, nodes: Nodes) -> FrameTable:
        strings = self.trace.strings

        def texts(values: list[str]) -> NDArray[np.int32]:
            ids = [strings.intern(text.encode("utf-8", "surrogatepass")) for text in values]
            return np.array(ids, np.int32)

        frames = list(nodes.frames)
        lines = [one.line + 1 if one.line >= 0 else 0 for one in frames]
        return FrameTable.of(
            texts([one.name or ANONYMOUS for one in frames]),
            source=texts([one.url for one in frames]),
            line=np.array(lines, np.uint32),
        )

    def _samples(
        self, profile: dict[str, Any], nodes: Nodes
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the times of samples, in order, and the numbers of their nodes."""
        listed = profile.get("samples")
        if not isinstance(listed, list):
            return self._hits(profile, nodes)
        ts, wrong = times_of(profile, len(listed))
        numbers = {id: number for number, id in enumerate(nodes.ids) if isinstance(id, int | str)}
        try:
            node = np.array([numbers.get(id, -1) for id in listed[: len(ts)]], np.int64)
        except TypeError:
            known = (id if isinstance(id, int | str) else "" for id in listed[: len(ts)])
            node = np.array([numbers.get(id, -1) for id in known], np.int64)
        lost = int(np.count_nonzero(node < 0)) + len(listed) - len(ts) + wrong
        if lost:
            self._warn(f"samples without a node or a time: {lost:,}", "samples")
        ts, node = ts[node >= 0], node[node >= 0]
        # Deltas may be negative.
        order = np.argsort(ts, kind="stable")
        return ts[order], node[order]

    def _hits(
        self, profile: dict[str, Any], nodes: Nodes
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return samples of a profile that has only their numbers: at equal distances, node by node."""
        count = sum(nodes.hits)
        if count > limit("cpuprofile.hits"):
            expected = f"hits of {allowed('cpuprofile.hits')}"
            raise TraceError(path=self._path, field="hitCount", expected=expected, found=count)
        if count:
            self._warn("there are no samples: their times are made up of the hits of nodes", None)
        first, last = span_of(profile)
        node = np.repeat(np.arange(len(nodes.hits)), np.array(nodes.hits, np.int64))
        step = (last - first) / max(count, 1)
        return first + (np.arange(count) * step).astype(np.int64), node

    def _batches(self) -> Iterator[Batch]:
        # All bytes are those of the first batch: a profile is one record.
        data = memoryview(self._data)
        for at in parts_of(depths_of_tree(self._outer)[self._node]) or [slice(0, 0)]:
            yield self._batch(at, data)
            data = data[:0]

    def _batch(self, at: slice, data: memoryview) -> Batch:
        node = self._node[at]
        size = len(node)

        def stacks() -> Column:
            is_root = self._is_root[node] if len(self._is_root) else np.zeros(0, np.bool_)
            stack = np.where(is_root, -1, node)
            return self._frames.stacks_of_tree(stack, self._outer, self._frame)

        batch = Batch(
            ts=self._ts[at],
            class_id=constant_column(np.int32(self._number), size),
            row=np.arange(size, dtype=np.int32),
            tables={self._number: Table(size, [stacks, self._weights[at]])} if size else {},
        )
        zeros = np.zeros(size, np.int64)
        batch.native = NativeRecords("cpuprofile", data, zeros, zeros + len(data))
        return batch

    def _warn(self, message: str, field: str | None) -> None:
        warning = TraceWarning(
            message=message,
            format="cpuprofile",
            path=self._path,
            field=field,
            is_damage=field is not None,
        )
        note(self.trace.warnings, warning)


def _plain(value: Any) -> Any:
    """Return a value of JSON with numbers that any encoder takes."""
    return json.loads(json.dumps(value, default=_number))


def _number(value: Decimal) -> float:
    return float(value)

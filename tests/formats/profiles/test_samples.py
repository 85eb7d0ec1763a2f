"""Samples of any source, as formats of profiles hold them, and columns of samples for their writers and readers."""

from __future__ import annotations

import numpy as np
import pytest

from converter.formats.profiles.capabilities import (
    sample_support,
    with_function_names,
    with_shown_frames,
    with_whole_frames,
)
from converter.formats.profiles.samples import SampleColumns, unit_of
from converter.formats.profiles.trees import FrameTable
from converter.ir.columns import ListColumn, StructColumn, column_from_values
from converter.ir.events import Batch, EventClass, Field, Table
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.capabilities import Capabilities
from converter.projection.domain import call_stacks
from converter.projection.domain.stack_table import StackTable
from converter.projection.losses import LossClass
from converter.projection.project import project
from converter.projection.timeline_fields import ADDRESSES, FRAME, FRAMES, FUNCTIONS, weight

WEIGHTS = [3, 4]


def frame(function="", *, mapping="", rel_pc=0, source="", line=0):
    """A value of `FRAME`."""
    values = (function, mapping, rel_pc, source, line)
    return [(member.name, value) for member, value in zip(FRAME.members, values, strict=True)]


def trace_of(fields, *columns):
    """Two samples of a class."""
    trace = Trace(format="made")
    number = trace.add_class(EventClass(Kind.SAMPLE, "cycles", fields=tuple(fields)))
    found = [
        column_from_values(field.type, values, trace.strings)
        for field, values in zip(fields, columns, strict=True)
    ]
    trace.make_batches = lambda: iter(
        [
            Batch(
                ts=np.array([5, 7]),
                class_id=np.full(2, number, np.int32),
                row=np.arange(2, dtype=np.int32),
                tables={number: Table(2, tuple(found))},
            )
        ]
    )
    return trace


def projected(trace, adapter, **support):
    held = Capabilities({Kind.SAMPLE: sample_support(**support)}, adapters={Kind.SAMPLE: adapter})
    result, report = project(trace, held, "some")
    stacks = StackTable(result.strings)
    columns = SampleColumns(result, stacks)
    (samples,) = [columns.of(batch) for batch in result.batches()]
    return result, stacks, samples, {loss.code: loss.count for loss in report}


def names_of(trace, stacks, stack):
    """The names of the functions of a stack, innermost first."""
    found = []
    while stack:
        outer, frame = stacks.stacks[stack]
        found.append(trace.strings[stacks.frames[frame]["function"]])
        stack = outer
    return found


@pytest.mark.parametrize(
    ("field", "values", "names"),
    [
        (FUNCTIONS, [["b", "a"], []], [b"b", b"a"]),
        (ADDRESSES, [[0xBEEF, 0], []], [b"0xbeef", b"[unknown]"]),
        (
            FRAMES,
            [[frame(mapping="/lib/libc.so", rel_pc=16), frame("a", source="a.c", line=3)], []],
            [b"[libc.so]", b"a"],
        ),
    ],
    ids=["functions", "addresses", "frames"],
)
@pytest.mark.parametrize("adapter", [with_shown_frames, with_function_names])
def test_frames_without_a_function_are_called_as_their_place(adapter, field, values, names):
    frames = FUNCTIONS if adapter is with_function_names else FRAMES
    trace = trace_of((field, weight("ns")), values, WEIGHTS)
    trace, stacks, samples, _ = projected(trace, adapter, frames=frames)
    assert [names_of(trace, stacks, stack) for stack in samples.stack.tolist()] == [names, []]
    assert samples.weight.tolist() == WEIGHTS
    assert samples.ts.tolist() == [5, 7]


def test_a_format_without_addresses_says_that_they_are_missing():
    frames = [[frame("a", mapping="/bin/x", rel_pc=1)], [frame("b", source="b.c", line=2)]]
    trace = trace_of((FRAMES, weight("ns")), frames, WEIGHTS)
    _, stacks, _, losses = projected(trace, with_shown_frames)
    assert losses["frame-binary-as-source"] == losses["frame-address-dropped"] == 1
    assert not stacks.frames["mapping"].any()
    _, _, _, losses = projected(trace, with_function_names, frames=FUNCTIONS)
    assert losses["frame-place-dropped"] == 2
    _, _, _, losses = projected(trace, with_whole_frames)
    assert not losses.keys() & {"frame-binary-as-source", "frame-address-dropped"}


def test_what_counts_otherwise_is_no_weight():
    """The value of a counter at the sample, as perf's time base, is no amount."""
    counter = Field("timebase_count", IntegerClass(64), Role.COUNT)
    trace = trace_of((FUNCTIONS, counter), [["a"], ["a"]], [1000, 2000])
    trace, _, samples, losses = projected(trace, with_whole_frames)
    assert samples.weight.tolist() == [1, 1]
    assert unit_of(trace.event_classes[samples.event[0]]) == "count"
    assert losses["sample-weight-added"] == losses["field-dropped"] == 2


def test_numbers_of_perf_are_missing_details():
    numbers = [Field(name, IntegerClass(64)) for name in ("ip", "id", "stream_id", "other")]
    trace = trace_of((FUNCTIONS, weight("ns"), *numbers), [["a"], ["b"]], WEIGHTS, *[[1, 2]] * 4)
    adapters = {Kind.SAMPLE: with_whole_frames}
    held = Capabilities({Kind.SAMPLE: sample_support()}, adapters=adapters)
    result, report = project(trace, held, "some")
    list(result.batches())
    dropped = [loss for loss in report if loss.code == "field-dropped"]
    assert {dict(one.parameters)["field"]: (one.count, one.loss_class) for one in dropped} == {
        "ip": (2, LossClass.DETAIL),
        "id": (2, LossClass.DETAIL),
        "stream_id": (2, LossClass.DETAIL),
        "other": (2, LossClass.SHOWN),
    }


def test_frames_of_a_file_are_columns():
    table = FrameTable.of(np.array([1, 2, 3], np.int32), line=np.array([7, 8, 9], np.uint32))
    offsets = np.array([0, 2, 2, 5])
    frames = np.array([0, 1, 2, 1, 0])
    inner = table.stacks_outermost_first(offsets, frames)
    assert isinstance(inner.values, StructColumn)
    assert inner.values.members[0].tolist() == [2, 1, 1, 2, 3]
    assert inner.values.members[4].tolist() == [8, 7, 7, 8, 9]
    # Stack 0 is frame 1, stack 1 is frame 2 inside of it.
    outer, frame = np.array([-1, 0]), np.array([1, 2], np.int32)
    found = table.stacks_of_tree(np.array([1, -1, 0]), outer, frame)
    assert isinstance(found, ListColumn)
    assert found.offsets.tolist() == [0, 2, 2, 3]
    assert found.values.members[0].tolist() == [3, 2, 2]
    none = FrameTable.of(np.zeros(0, np.int32)).stacks_of_tree(
        np.array([-1]), np.zeros(0, np.int64), np.zeros(0, np.int32)
    )
    assert none.offsets.tolist() == [0, 0]


@pytest.mark.parametrize("depth", [call_stacks.MAX_DEPTH + more for more in (-1, 0, 1, 5000)])
def test_deep_stacks_are_cut(depth):
    """The stack before a circle, too."""
    outer = np.arange(-1, depth - 1)
    found = call_stacks.call_stacks(np.array([depth - 1, -1, 0]), outer, outer.astype(np.int32))
    kept = min(depth, call_stacks.MAX_DEPTH)
    assert np.diff(found.offsets).tolist() == [kept, 0, 1]
    assert found.values[: kept + 1].tolist() == [*range(depth - 2, depth - 2 - kept, -1), -1]
    depths = call_stacks.depths_of_tree(outer)
    assert (depths[depth - 1] > call_stacks.MAX_DEPTH) == (depth > call_stacks.MAX_DEPTH)
    assert depths[[0, 1, -1]].tolist() == [1, 2, 0]
    circle = call_stacks.call_stacks(np.array([0]), np.array([0]), np.array([7], np.int32))
    assert len(circle.values) == call_stacks.MAX_DEPTH
    assert call_stacks.depths_of_tree(np.array([0]))[0] > call_stacks.MAX_DEPTH


def test_batches_have_few_frames(monkeypatch):
    monkeypatch.setattr(call_stacks, "_BATCH_FRAMES", 4)
    monkeypatch.setattr(call_stacks, "_BATCH_SIZE", 3)
    sizes = np.array([1, 3, 1, 9, 0, 0, 0, 0, 4, 0])
    parts = [(one.start, one.stop) for one in call_stacks.parts_of(sizes)]
    assert parts == [(0, 2), (2, 3), (3, 4), (4, 7), (7, 10)]
    assert call_stacks.parts_of(sizes[:0]) == []

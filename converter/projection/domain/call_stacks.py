"""Call stacks of samples: from tables with the innermost function of each stack and the stack around it, and as
frames, whatever the source has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import ListColumn, StructColumn, constant_column, string_ids
from converter.ir.events import Batch, EventClass, Table
from converter.ir.field_classes import FieldClass, StringClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.projection.timeline_fields import FRAME, FUNCTIONS

#: The maximum depth of a call stack; further frames are dropped.
MAX_DEPTH: Final = 1 << 10
_BATCH_SIZE: Final = 1 << 14
_BATCH_FRAMES: Final = 1 << 20
#: The name of a frame of which nothing is known.
UNKNOWN: Final = b"[unknown]"
#: A sample of function names, innermost first.
SAMPLE: Final = EventClass(Kind.SAMPLE, fields=(FUNCTIONS,))


def sample_batches(
    number: int,
    ts: NDArray[np.int64],
    stack: NDArray[np.int64],
    tables: tuple[NDArray[np.int64], NDArray[np.int32]],
    *,
    thread: NDArray[np.int32],
    cpu: NDArray[np.int32],
) -> Iterator[Batch]:
    """Return samples in time order, of the class `SAMPLE` under its number; `tables` are those of `call_stacks`."""
    for at in parts_of(depths_of_tree(tables[0])[stack]):
        count = at.stop - at.start
        yield Batch(
            ts=ts[at],
            class_id=np.full(count, number, np.int32),
            row=np.arange(count, dtype=np.int32),
            tables={number: Table(count, (call_stacks(stack[at], *tables),))},
            cpu=cpu[at],
            thread=thread[at],
        )


def call_stacks(
    stack: NDArray[np.int64], prefix: NDArray[np.int64], function: NDArray[np.int32]
) -> ListColumn:
    """Return the functions of each stack, none of stack -1; all are walked at once, from the innermost frame outwards.

    By the number of a stack, `prefix` has the one around it (-1: none) and `function` its innermost function.
    """
    count = len(stack)
    offsets = np.zeros(count + 1, np.int64)
    for row, _ in _levels(stack, prefix):
        offsets[1:][row] += 1
    np.cumsum(offsets, out=offsets)
    values = np.empty(int(offsets[-1]), np.int32)
    for level, (row, at) in enumerate(_levels(stack, prefix)):
        values[offsets[row] + level] = function[at]
    return ListColumn(offsets, values)


def _levels(
    stack: NDArray[np.int64], prefix: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the rows of stacks that have further frames, and the stacks around them, from the innermost on."""
    row = np.arange(len(stack))
    for _ in range(MAX_DEPTH):
        row, stack = row[stack >= 0], stack[stack >= 0]
        if not len(row):
            return
        yield row, stack
        stack = prefix[stack]


def depths_of_tree(outer: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the depth of each stack of a tree, exact up to `MAX_DEPTH`, and last 0, that of stack -1."""
    around = np.append(outer, -1)
    depths = np.append(np.ones(len(outer), np.int64), 0)
    # Each step doubles how far is looked.
    for _ in range(MAX_DEPTH.bit_length()):
        if not (around >= 0).any():
            break
        depths += depths[around]
        around = around[around]
    return depths


def parts_of(sizes: NDArray[np.int64]) -> list[slice]:
    """Return the samples of each batch, by the numbers of their frames: a few thousand, fewer of deep stacks."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    parts: list[slice] = []
    first, count = 0, len(sizes)
    while first < count:
        last = int(np.searchsorted(ends, ends[first] + _BATCH_FRAMES, "right")) - 1
        last = min(max(last, first + 1), first + _BATCH_SIZE)
        parts.append(slice(first, last))
        first = last
    return parts


def frames_of(column: Any, element: FieldClass, trace: Trace, mapping_name: int = 0) -> ListColumn:
    """Return call stacks of frames (`timeline_fields.FRAME`), from addresses, names of functions, or such stacks.

    Addresses get the names that the trace's symbols have for them. `mapping_name` is the id of the text that all
    frames have as mapping.
    """
    assert isinstance(column, ListColumn)
    if isinstance(column.values, StructColumn):
        return column
    values = column.values
    none = constant_column(np.int32(0), len(values))
    mappings = constant_column(np.int32(mapping_name), len(values))
    functions, addresses = none, constant_column(np.uint64(0), len(values))
    if isinstance(element, StringClass):
        functions = string_ids(values, trace.strings)
    else:
        addresses = np.asarray(values).astype(np.uint64)
        functions = _named(addresses, trace)
    lines = constant_column(np.uint32(0), len(values))
    members = (functions, mappings, addresses, none, lines)
    return ListColumn(column.offsets, StructColumn(len(values), members))


def members_of(frames: StructColumn, strings: StringTable) -> tuple[NDArray[Any], ...]:
    """Return the members of frames (`timeline_fields.FRAME`) as arrays, texts as ids."""
    members = zip(FRAME.members, frames.members, strict=True)
    return tuple(
        string_ids(part, strings) if isinstance(member.type, StringClass) else np.asarray(part)
        for member, part in members
    )


def frame_names(frames: StructColumn, strings: StringTable) -> NDArray[np.int32]:
    """Return what frames are called: the function, or else the binary, or the address."""
    function, mapping, rel_pc = members_of(frames, strings)[:3]
    at = np.flatnonzero(function == 0)
    if not len(at):
        return function
    names = function.copy()
    unnamed = np.empty(len(at), np.dtype([("mapping", np.int32), ("rel_pc", np.uint64)]))
    unnamed["mapping"], unnamed["rel_pc"] = mapping[at], rel_pc[at]
    found, which = np.unique(unnamed, return_inverse=True)
    texts = [_place_name(strings[one["mapping"]], int(one["rel_pc"])) for one in found]
    ids = np.array([strings.intern(text) for text in texts], np.int32)
    names[at] = ids[which.reshape(-1)]
    return names


def _place_name(binary: bytes, address: int) -> bytes:
    """Return the name of a frame without a function, as `stackcollapse-perf.pl` has it for a binary."""
    name = binary.rstrip(b"/").rpartition(b"/")[2].strip(b"[]")
    if name:
        return b"[" + name + b"]"
    return b"0x%x" % address if address else UNKNOWN


def _named(addresses: NDArray[np.uint64], trace: Trace) -> NDArray[np.int32]:
    """Return the names of functions at addresses, where there are any."""
    unique, which = np.unique(addresses, return_inverse=True)
    symbols, strings = trace.symbols, trace.strings
    names = [None] * len(unique) if symbols is None else symbols.names(unique)
    ids = [0 if name is None else strings.intern(name) for name in names]
    return np.array(ids, np.int32)[which.reshape(-1)]

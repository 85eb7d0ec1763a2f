"""Call stacks as a tree, each frame and each stack once: as formats of profiles and pages have them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import (
    Column,
    ListColumn,
    StructColumn,
    TakenColumn,
    TakenListColumn,
    string_ids,
    take,
)
from converter.ir.field_classes import FieldClass, StringClass
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.call_stacks import members_of
from converter.projection.timeline_fields import FRAME

#: A frame as bytes: the string of the function, the string of the mapping, the offset in it or the address, the string
#: of the source file, the line.
_FRAME_BYTES: Final = np.dtype(
    [
        ("function", np.int32),
        ("mapping", np.int32),
        ("address", np.uint64),
        ("source", np.int32),
        ("line", np.uint32),
    ]
)
#: A stack as bytes: the stack around it, and its innermost frame.
_STACK_BYTES: Final = np.dtype([("outer", np.int32), ("frame", np.int32)])
#: Tables whose rows have numbers; those of older ones get further numbers.
_KEPT_ORIGINS: Final = 8


class DistinctStacks:
    """Call stacks by number from 1 on, in the order of first use.

    Stacks of a number are equal. Equal stacks of one column have the same number, those of different columns may have
    several. Stacks are compared as a whole, so that frames are looked at once for each distinct stack, not each sample.
    """

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        #: By the kind of frames and the number of a part: the values of that part in all frames of a stack.
        self._parts: dict[tuple[int, int], StringTable] = {}
        #: Where columns of frames that are rows of tables are from; kinds of their own.
        self._origins: dict[object, int] = {}
        #: By origin, of columns of stacks that are rows of tables: the number of each row so far, 0 for none.
        self._taken: dict[object, NDArray[np.int32]] = {}
        self._stacks = StringTable()
        #: The number of each of `_stacks`, whose first is none.
        self._number_of = np.zeros(1, np.int32)
        self._next = 1

    def number(
        self, column: ListColumn, element: FieldClass
    ) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Return the number of each row's stack, and a row of each new stack, in the order of their numbers."""
        if isinstance(column, TakenListColumn):
            return self._number_rows(column)
        kind, parts = self._parts_of(column.values, element)
        offsets = np.asarray(column.offsets, np.int64)
        sizes = np.diff(offsets)
        keys = np.zeros((len(sizes), 2 + len(parts)), np.uint64)
        keys[:, 0], keys[:, 1] = kind, sizes
        first, last = int(offsets[0]), int(offsets[-1])
        for index, part in enumerate(parts):
            used = part[first:last]
            if not len(used) or (used[0] == used[-1] and (used == used[0]).all()):
                keys[:, 2 + index] = used[0] if len(used) else 0
                continue
            table = self._parts.setdefault((kind, index), StringTable())
            ids = np.empty(len(sizes), np.int32)
            octets = np.ascontiguousarray(used).view(np.uint8)
            width = used.itemsize
            table.intern_spans(octets, (offsets[:-1] - first) * width, sizes * width, ids)
            # Numbers are not taken for values that all frames have.
            keys[:, 2 + index] = ids.astype(np.uint64) | np.uint64(1 << 63)
        known = len(self._stacks)
        rows = _interned(self._stacks, keys.view([("", keys.dtype, keys.shape[1])]).reshape(-1))
        added = self._numbers(len(self._stacks) - known)
        self._number_of = np.concatenate([self._number_of, added])
        return self._number_of[rows], _first_rows(rows, known)

    def _numbers(self, count: int) -> NDArray[np.int32]:
        """Return the next numbers."""
        self._next += count
        return np.arange(self._next - count, self._next, dtype=np.int32)

    def _number_rows(self, column: TakenListColumn) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
        """Do what `number` does, with one look at each row of the table; new ones are in the order of their rows."""
        numbers = self._taken.get(column.origin, np.zeros(0, np.int32))
        missing = len(column.table) - len(numbers)
        if missing > 0:
            numbers = self._taken[column.origin] = np.append(numbers, np.zeros(missing, np.int32))
            for origin in [*self._taken][:-_KEPT_ORIGINS]:
                del self._taken[origin]
        at = np.flatnonzero(numbers[column.rows] == 0)
        if not len(at):
            return numbers[column.rows], at
        first = np.full(len(numbers), -1)
        # Of several with a row the first is assigned last.
        first[column.rows[at[::-1]]] = at[::-1]
        rows = np.flatnonzero(first >= 0)
        numbers[rows] = self._numbers(len(rows))
        return numbers[column.rows], first[rows]

    def _parts_of(self, values: Column, element: FieldClass) -> tuple[int, list[NDArray[Any]]]:
        if isinstance(values, TakenColumn):
            return self._origins.setdefault(values.origin, 3 + len(self._origins)), [values.rows]
        if element == FRAME:
            assert isinstance(values, StructColumn)
            return 0, [*members_of(values, self._strings)]
        if isinstance(element, StringClass):
            return 1, [string_ids(values, self._strings)]
        return 2, [np.asarray(values).astype(np.uint64)]


def _first_rows(numbers: NDArray[np.int32], known: int) -> NDArray[np.intp]:
    """Return the first row of each number from `known` on; these are all numbers up to the highest."""
    at = np.flatnonzero(numbers >= known)
    if not len(at):
        return at
    found = np.empty(int(numbers[at].max()) + 1 - known, np.intp)
    # Of several rows of a number the first is assigned last.
    found[numbers[at[::-1]] - known] = at[::-1]
    return found


class StackTable:
    """Frames and call stacks by number, in the order of first use; 0 is no frame, and the empty stack.

    Memory is that of the distinct stacks, never of the samples.
    """

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        self._frames = StringTable()
        self._stacks = StringTable()
        self._distinct = DistinctStacks(strings)
        #: The stack of each distinct one, by its number there.
        self._stack_of = np.zeros(1, np.int32)

    def add(self, column: Column, element: FieldClass) -> NDArray[np.int32]:
        """Return the stack of each row of a column of call stacks, innermost frame first.

        Args:
            column: a list of frames per row.
            element: the type of a frame: `timeline_fields.FRAME`, a string or an integer.

        """
        assert isinstance(column, ListColumn)
        numbers, new = self._distinct.number(column, element)
        if len(new):
            added = take(column, new)
            assert isinstance(added, ListColumn)
            frames = self._frame_numbers(added.values, element)
            offsets = np.asarray(added.offsets, np.int64)
            stacks = self._walk(frames, offsets[:-1], np.diff(offsets))
            self._stack_of = np.concatenate([self._stack_of, stacks])
        return self._stack_of[numbers]

    @property
    def frames(self) -> NDArray[np.void]:
        """All frames by number: `function`, `mapping`, `address`, `source`, `line`; texts are ids of strings."""
        return _rows(self._frames, _FRAME_BYTES, 1)

    @property
    def stacks(self) -> NDArray[np.void]:
        """All stacks by number, with `outer`, the number of the stack around it, and `frame`, its innermost frame."""
        return _rows(self._stacks, _STACK_BYTES, 1)

    def new_frames(self, known: int) -> NDArray[np.void]:
        """Return the frames from the number `known` on."""
        return _rows(self._frames, _FRAME_BYTES, known)[known:]

    def new_stacks(self, known: int) -> NDArray[np.void]:
        """Return the stacks from the number `known` on."""
        return _rows(self._stacks, _STACK_BYTES, known)[known:]

    def _frame_numbers(self, values: Column, element: FieldClass) -> NDArray[np.int32]:
        data = np.zeros(len(values), _FRAME_BYTES)
        if element == FRAME:
            assert isinstance(values, StructColumn)
            for name, member in zip(_FRAME_BYTES.names or (), values.members, strict=True):
                is_text = name in ("function", "mapping", "source")
                data[name] = string_ids(member, self._strings) if is_text else np.asarray(member)
        elif isinstance(element, StringClass):
            data["function"] = string_ids(values, self._strings)
        else:
            data["address"] = np.asarray(values).astype(np.uint64)
        return _interned(self._frames, data)

    def _walk(
        self, frames: NDArray[np.int32], starts: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the stack of each sequence of frames; all are walked at once, from the outermost frame inwards."""
        found = np.zeros(len(starts), np.int32)
        deep = np.flatnonzero(sizes)
        level = 1
        while len(deep):
            data = np.empty(len(deep), _STACK_BYTES)
            data["outer"] = found[deep]
            data["frame"] = frames[starts[deep] + sizes[deep] - level]
            found[deep] = _interned(self._stacks, data)
            deep = deep[sizes[deep] > level]
            level += 1
        return found


def _interned(table: StringTable, data: NDArray[np.void]) -> NDArray[np.int32]:
    """Return the number of each row in a table of rows as bytes."""
    ids = np.empty(len(data), np.int32)
    size = data.dtype.itemsize
    starts = np.arange(len(data), dtype=np.int64) * size
    table.intern_spans(data.view(np.uint8), starts, np.full(len(data), size, np.int64), ids)
    return ids


def _rows(table: StringTable, dtype: np.dtype[np.void], known: int) -> NDArray[np.void]:
    """Return a table's rows by number; those before `known` are zeros."""
    rows = np.zeros(len(table), dtype)
    rows[known:] = table.joined(known)[0].view(dtype)
    return rows

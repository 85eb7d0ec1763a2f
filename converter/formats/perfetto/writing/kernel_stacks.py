"""Call stacks of kernel events: importers only show those of samples, so each is written as an additional sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.ir.columns import ListColumn
from converter.ir.events import EventClass, Table
from converter.ir.field_classes import ArrayClass, FieldClass, IntegerClass
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.call_stacks import frames_of
from converter.projection.engine.types import is_stack

if TYPE_CHECKING:
    from converter.formats.perfetto.writing.callstacks import InternedStacks

#: The kernel's event with the program's stack, whose functions have no known names.
_USER_STACK: Final = ("ftrace", "user_stack", "caller")
#: Profiling.CpuMode (profile_packet.proto).
_MODE_KERNEL, _MODE_USER = 1, 2
#: The mapping of kernel functions, as named by traced_perf.
_KERNEL: Final = b"/kernel"


class KernelStack:
    """The call stack in a class of kernel events: its field, and the columns of its samples."""

    def __init__(self, index: int, element: FieldClass, mode: int, trace: Trace) -> None:
        self.mode = mode
        self._index = index
        self._element = element
        self._trace = trace
        self._mapping = trace.strings.intern(_KERNEL) if mode == _MODE_KERNEL else 0
        #: Stacks repeat: each distinct stack has its addresses here, followed by its iid.
        self._known = StringTable()
        self._iids: NDArray[np.uint64] = np.zeros(1, np.uint64)

    def iids(self, table: Table, interned: InternedStacks) -> NDArray[np.uint64]:
        """Return the iid of each stack."""
        stacks = _without_ends(table.column(self._index))
        frames = np.ascontiguousarray(stacks.values, np.uint64)
        bounds = np.asarray(stacks.offsets, np.int64) * frames.itemsize
        which = np.empty(len(stacks), np.int32)
        self._known.intern_spans(frames.view(np.uint8), bounds[:-1], np.diff(bounds), which)
        new = [
            np.frombuffer(self._known[i], np.uint64)
            for i in range(len(self._iids), len(self._known))
        ]
        if new:
            offsets = np.cumsum([0, *map(len, new)])
            column = ListColumn(offsets, np.concatenate(new))
            callstacks = frames_of(column, self._element, self._trace, self._mapping)
            self._iids = np.append(self._iids, interned.iids(callstacks))
        return self._iids[which]

    def is_there(self, table: Table) -> Any:
        """Return 1 for stacks that have a frame, else 0."""
        return (np.diff(_without_ends(table.column(self._index)).offsets) > 0).view(np.uint8)


def stack_of(event_class: EventClass, trace: Trace) -> KernelStack | None:
    """Return the call stack of a class of kernel events; None if it has none."""
    for index, field in enumerate(event_class.fields):
        if not isinstance(field.type, ArrayClass):
            continue
        if is_stack(field.type):
            return KernelStack(index, field.type.element, _MODE_KERNEL, trace)
        name = (event_class.category, event_class.name, field.name)
        if name == _USER_STACK and isinstance(field.type.element, IntegerClass):
            return KernelStack(index, field.type.element, _MODE_USER, trace)
    return None


def _without_ends(column: Any) -> ListColumn:
    """Cut stacks at the first 0 or, in old kernels, all ones, with which the rest of an array is filled."""
    assert isinstance(column, ListColumn)
    values = np.ascontiguousarray(column.values)
    offsets = np.asarray(column.offsets, np.int64)
    ends = np.flatnonzero((values == 0) | (values.view(f"i{values.itemsize}") == -1))
    if not len(ends):
        return column
    # The first end marker at or after each stack's beginning, if it is still within that stack.
    first = np.append(ends, len(values))[np.searchsorted(ends, offsets[:-1])]
    sizes = np.minimum(first, offsets[1:]) - offsets[:-1]
    starts = np.cumsum(np.append(0, sizes))
    kept = np.arange(starts[-1]) + np.repeat(offsets[:-1] - starts[:-1], sizes)
    return ListColumn(starts, values[kept])

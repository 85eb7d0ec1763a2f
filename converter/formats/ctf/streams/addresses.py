"""Resolves user-space addresses by the handles that ROS 2 registers, and by LTTng's records of libraries.

LTTng-UST records where executables and libraries are mapped in each process, in its state dump and when they are
loaded. The trace does not contain their symbols: as in Babeltrace, an address in one becomes the file's name and the
offset in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ctf.streams.tasks import NO_ID
from converter.ir.columns import ListColumn
from converter.ir.distinct_values import values_of
from converter.ir.events import Batch, EventClass
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.trace import Trace

#: ros2_tracing (tracetools): associates a callback, by its handle, with the name of its function.
_CALLBACK: Final = ("ros2", "rclcpp_callback_register")
#: lttng-ust (liblttng-ust, liblttng-ust-dl): an object file is mapped at an address.
_OBJECTS: Final = frozenset(
    {
        ("lttng_ust_statedump", "bin_info"),
        ("lttng_ust_lib", "load"),
        ("lttng_ust_dl", "dlopen"),
        ("lttng_ust_dl", "dlmopen"),
    }
)
#: All events that name addresses.
NAMING: Final = frozenset({_CALLBACK, *_OBJECTS})
#: liblttng-ust-cyg-profile: events whose addresses are looked up.
_CALLS: Final = frozenset(
    {
        ("lttng_ust_cyg_profile", "func_entry"),
        ("lttng_ust_cyg_profile", "func_exit"),
        ("lttng_ust_cyg_profile_fast", "func_entry"),
    }
)


def are_named(classes: Iterable[tuple[str, str]]) -> bool:
    """Return True if record classes of these categories and names include some that name addresses."""
    known = set(classes)
    return _CALLBACK in known or not (_OBJECTS.isdisjoint(known) or _CALLS.isdisjoint(known))


class Addresses:
    """The names of addresses that the events of a trace record."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        #: By process and handle.
        self._callbacks: dict[tuple[int, int], bytes] = {}
        #: By process: the addresses of functions, and (start, size, name, offset by start) of object files.
        self._called: dict[int, set[int]] = {}
        self._objects: dict[int, set[tuple[int, int, bytes, bool]]] = {}

    def learn(self, batch: Batch) -> None:
        """Learn the names in the events of a batch."""
        for id in batch.tables:
            declared = self._trace.event_classes[id]
            event = (declared.category, declared.name)
            if event == _CALLBACK:
                handles, names = (
                    self._integers(batch, id, "callback"),
                    self._texts(batch, id, "symbol"),
                )
                for pid, handle, name in zip(self._pids(batch, id), handles, names, strict=False):
                    self._callbacks[pid, handle] = name
            elif event in _OBJECTS:
                self._learn_objects(batch, id)
            elif event in _CALLS:
                for field in ("addr", "call_site"):
                    self._learn_calls(batch, id, field)

    def entries(self) -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        """Return the addresses that have the same name in all processes, ascending, and their names."""
        names: dict[int, set[bytes]] = {}
        for (_, handle), name in self._callbacks.items():
            names.setdefault(handle, set()).add(name)
        for address, name in self._in_objects():
            names.setdefault(address, set()).add(name)
        known = sorted(
            (address, found.pop()) for address, found in names.items() if len(found) == 1
        )
        return np.array([address for address, _ in known], np.uint64), [name for _, name in known]

    def _in_objects(self) -> Iterator[tuple[int, bytes]]:
        for pid, objects in self._objects.items():
            called = np.array(sorted(self._called.get(pid, ())), np.uint64)
            for start, size, name, relative in objects:
                first, end = np.searchsorted(called, np.array([start, start + size], np.uint64))
                for address in called[first:end].tolist():
                    place = f"+{address - start:#x}" if relative else f"@{address:#x}"
                    yield address, name + place.encode()

    def _learn_objects(self, batch: Batch, id: int) -> None:
        starts = self._integers(batch, id, "baddr")
        relative = self._integers(batch, id, "is_pic") or [1] * len(starts)
        rows = zip(
            self._pids(batch, id),
            starts,
            self._integers(batch, id, "memsz"),
            self._texts(batch, id, "path"),
            relative,
            strict=False,
        )
        for pid, start, size, path, is_relative in rows:
            if start + size < 1 << 64:
                name = path.rpartition(b"/")[2]
                self._objects.setdefault(pid, set()).add((start, size, name, bool(is_relative)))

    def _learn_calls(self, batch: Batch, id: int, name: str) -> None:
        column = self._column(batch, id, name, IntegerClass)
        if isinstance(column, np.ndarray):
            pids = np.array(self._pids(batch, id), np.int64)
            for pid in values_of(pids).tolist():
                here = values_of(column[pids == pid].astype(np.uint64))
                self._called.setdefault(pid, set()).update(here.tolist())

    # Columns

    def _pids(self, batch: Batch, id: int) -> list[int]:
        """Return the process of each row, -1 if unknown."""
        trace = self._trace
        pids = [trace.processes[thread.process].pid for thread in trace.threads]
        threads = batch.thread[batch.positions(id)].tolist()
        return [pids[thread] if thread >= 0 else NO_ID for thread in threads]

    def _column(self, batch: Batch, id: int, name: str, kind: type) -> object:
        declared: EventClass = self._trace.event_classes[id]
        for index, field in enumerate(declared.fields):
            if field.name == name and isinstance(field.type, kind):
                return batch.tables[id].column(index)
        return None

    def _integers(self, batch: Batch, id: int, name: str) -> list[int]:
        column = self._column(batch, id, name, IntegerClass)
        return column.astype(np.uint64).tolist() if isinstance(column, np.ndarray) else []

    def _texts(self, batch: Batch, id: int, name: str) -> list[bytes]:
        column = self._column(batch, id, name, StringClass)
        if isinstance(column, ListColumn):
            assert isinstance(column.values, np.ndarray)
            data = column.values.tobytes()
            return [data[start:end] for start, end in pairwise(column.offsets.tolist())]
        if isinstance(column, np.ndarray):
            return [self._trace.strings[one] for one in column.tolist()]
        return []

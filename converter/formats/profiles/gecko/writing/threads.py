"""Threads of the document: their markers and samples while batches pass, and then their tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.gecko.layout import (
    FRAMES,
    FUNCTIONS,
    LIBRARY,
    NATIVE_SYMBOLS,
    RESOURCES,
    STACKS,
)
from converter.kernels.tables.strings import StringTable
from converter.projection.domain.stack_table import StackTable

#: The columns of the tables that grow while batches pass, in the order of the document.
MARKER_COLUMNS: Final = ("data", "name", "startTime", "endTime", "phase", "category")
SAMPLE_COLUMNS: Final = ("stack", "time", "weight", "threadCPUDelta", "eventDelay")


@dataclass(slots=True)
class ThreadTables:
    """The tables of one thread of the document: strings, and stacks by local number with their category."""

    #: The thread or the track of the trace that it is; -1 for none.
    thread: int = -1
    track: int = -1
    #: The class of its samples in the trace; None before the first.
    sampled: int | None = None
    strings: dict[int, int] = field(default_factory=dict)
    markers: int = 0
    samples: int = 0
    #: The local number of each stack of the trace with each category, and what they are.
    local: dict[tuple[int, int], int] = field(default_factory=dict)
    prefix: list[int] = field(default_factory=list)
    stack: list[int] = field(default_factory=list)
    category: list[int] = field(default_factory=list)
    has_tracks: bool = False
    has_weights: bool = False
    last_time: int = -(1 << 63)
    is_sorted: bool = True

    @property
    def is_extra(self) -> bool:
        """True if it has samples of a thread that is another one as well."""
        return self.thread >= 0 and self.track == _EXTRA

    def string(self, id: int) -> int:
        """Return the number of a string of the trace."""
        return self.strings.setdefault(id, len(self.strings))

    def string_numbers(self, ids: NDArray[np.int32]) -> list[int]:
        """Return the numbers of strings."""
        found, which = np.unique(ids, return_inverse=True)
        numbers = np.array([self.string(id) for id in found.tolist()], np.int64)
        local: list[int] = numbers[which.reshape(-1)].tolist()
        return local

    def stack_numbers(
        self, stacks: NDArray[np.int32], categories: NDArray[np.int32], outer: list[int]
    ) -> list[int | None]:
        """Return the local numbers of stacks of the trace, None for the empty one; `outer` has the stacks around."""
        keys = (stacks.astype(np.int64) << 32) | categories
        found, which = np.unique(keys, return_inverse=True)
        numbers: list[int | None] = []
        for key in found.tolist():
            number, category = key >> 32, key & 0xFFFF_FFFF
            numbers.append(self._local(number, category, outer) if number else None)
        return [numbers[one] for one in which.reshape(-1).tolist()]

    def _local(self, number: int, category: int, outer: list[int]) -> int:
        chain = []
        while number and (number, category) not in self.local:
            chain.append(number)
            number = outer[number]
        around = self.local[number, category] if number else -1
        for one in reversed(chain):
            self.local[one, category] = len(self.stack)
            self.prefix.append(around)
            self.stack.append(one)
            self.category.append(category)
            around = len(self.stack) - 1
        return around


_EXTRA: Final = -2
EXTRA: Final = _EXTRA


class FrameTables:
    """The tables of frames of a thread, from the frames of the trace."""

    def __init__(self, stacks: StackTable, strings: StringTable) -> None:
        self._frames = stacks.frames
        self._frame_of = stacks.stacks["frame"]
        self._strings = strings
        #: Libraries of all threads, by the string of their name.
        self.libs: dict[int, int] = {}

    def of(self, thread: ThreadTables) -> dict[str, Any]:
        """Return the tables of a thread. Strings are added to it."""
        frame = (
            self._frame_of[np.array(thread.stack, np.int64)] if thread.stack else np.zeros(0, int)
        )
        used, local_frame = np.unique(frame, return_inverse=True)
        frames = self._frames[used]
        keys = np.stack([frames["function"], frames["mapping"], frames["source"]], axis=1)
        # A frame without a name is a function of its own, called after its address.
        address = np.where(frames["function"] == 0, frames["address"], 0).astype(np.uint64)
        keys = np.concatenate([keys.astype(np.uint64), address[:, None]], axis=1)
        functions, function = np.unique(keys, axis=0, return_inverse=True)
        function = function.reshape(-1)
        mappings, resource = np.unique(functions[:, 1], return_inverse=True)
        resource = resource.reshape(-1)
        if len(mappings) and not mappings[0]:
            mappings, resource = mappings[1:], resource - 1
        libs = [self._lib(int(one)) for one in mappings.tolist()]
        names = [self._name(thread, int(row[0]), int(row[3])) for row in functions.tolist()]
        count = len(used)
        lines = [line or None for line in frames["line"].tolist()]
        addresses = [one or -1 for one in frames["address"].tolist()]
        return {
            "frameTable": FRAMES.form(
                count,
                address=addresses,
                inlineDepth=[0] * count,
                func=function.tolist(),
                line=lines,
            ),
            "funcTable": FUNCTIONS.form(
                len(functions),
                name=names,
                isJS=[False] * len(functions),
                relevantForJS=[False] * len(functions),
                resource=resource.tolist(),
                fileName=[thread.string(one) if one else None for one in functions[:, 2].tolist()],
            ),
            "resourceTable": RESOURCES.form(
                len(mappings),
                lib=libs,
                name=[thread.string(int(one)) for one in mappings.tolist()],
                type=[LIBRARY] * len(mappings),
            ),
            "nativeSymbols": NATIVE_SYMBOLS.form(0),
            "stackTable": STACKS.form(
                len(thread.stack),
                frame=local_frame.reshape(-1).tolist(),
                prefix=[None if one < 0 else one for one in thread.prefix],
                category=thread.category,
                subcategory=[0] * len(thread.stack),
            ),
        }

    def _lib(self, name: int) -> int:
        return self.libs.setdefault(name, len(self.libs))

    def _name(self, thread: ThreadTables, function: int, address: int) -> int:
        if function:
            return thread.string(function)
        return thread.string(self._strings.intern(b"0x%x" % address if address else b""))

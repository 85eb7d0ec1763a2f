"""Assigns events to data streams, one for each CPU, and the streams to files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.ctf.layout import IndexEntry
from converter.formats.ctf.writing.emit import Emitter
from converter.ir.distinct_values import distinct
from converter.storage.sink import Sink

#: A bit of the IDs of stream classes, and the number of classes with the same contexts.
TRACKED: Final = 2
KINDS: Final = 4
#: Bits of a key before the number of its contexts.
_CPU_BITS: Final = 34


@dataclass(slots=True)
class OutputStream:
    """A data stream: a file of packets, and its index."""

    number: int
    class_id: int
    instance: int
    name: str
    last: int = 0
    sink: Sink | None = None
    index: list[IndexEntry] = field(default_factory=list)


class Streams:
    """The streams so far.

    There is one for each CPU and one for events without a CPU, and another for those on tracks. Times rise in a stream
    (readers reject others), so that events that come late go to a further stream of the same kind. Classes of
    streams: 0 has a CPU, 1 has none, 2 and 3 have a track as well; 4 to 7 are the same with other common contexts, and
    so on. Without `timed` events have no times.
    """

    def __init__(self, emitter: Emitter, *, timed: bool) -> None:
        self._emitter = emitter
        self.timed = timed
        self._by_key: dict[int, list[OutputStream]] = {}
        self.all: list[OutputStream] = []
        #: The programs whose events are in each class of streams; one always exists.
        self.programs: dict[int, set[int]] = {self._class_of(1): set()}

    def assign(
        self,
        ts: NDArray[np.int64],
        program: NDArray[np.int32],
        cpu: NDArray[np.int32],
        track: NDArray[np.int32],
        contexts: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """Return the stream of each event, such that times rise in each. `contexts`: the number of its contexts."""
        places = (cpu.astype(np.int64) + 1) * 2 + (track >= 0)
        keys, which = distinct(places + (contexts << _CPU_BITS))
        result = np.zeros(len(ts), np.int32)
        for index, key in enumerate(keys.tolist()):
            rows = np.flatnonzero(which == index) if len(keys) > 1 else np.arange(len(ts))
            self._note(key, program[rows])
            for stream in self._by_key.setdefault(key, []):
                first = int(np.searchsorted(ts[rows], stream.last))
                if first < len(rows):
                    result[rows[first:]] = stream.number
                    stream.last = int(ts[rows[-1]])
                rows = rows[:first]
                if not len(rows):
                    break
            else:
                stream = self._add(key)
                result[rows] = stream.number
                stream.last = int(ts[rows[-1]])
        return result

    def _note(self, key: int, program: NDArray[np.int32]) -> None:
        stream_class = self._class_of(key)
        present = np.flatnonzero(np.bincount(program)).tolist()
        self.programs.setdefault(stream_class, set()).update(present)

    def _add(self, key: int) -> OutputStream:
        """Add a further stream of a CPU."""
        cpu, tracked = key % (1 << _CPU_BITS) // 2 - 1, key % 2 == 1
        streams = self._by_key.setdefault(key, [])
        class_id = self._class_of(key)
        name = f"channel{class_id}_{max(cpu, 0)}"
        if streams:
            name += f"_late{len(streams)}"
        instance = len(self.all)
        number = self._emitter.add_stream(class_id, instance, cpu, tracked, self.timed)
        stream = OutputStream(number, class_id, instance, name)
        streams.append(stream)
        self.all.append(stream)
        return stream

    def _class_of(self, key: int) -> int:
        """Return the stream class of a key: twice the CPU's number and 2, and 1 for events on tracks."""
        contexts, place = divmod(key, 1 << _CPU_BITS)
        return contexts * KINDS + (0 if place >= 2 else 1) + TRACKED * (place % 2)

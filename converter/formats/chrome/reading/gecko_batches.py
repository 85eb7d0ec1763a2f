"""Batches of profiles: markers on their own tracks, and samples, whose stacks are indexes into tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from converter.ir.events import Batch, Table
from converter.ir.kinds import Role
from converter.ir.trace import Trace, Track, TrackScope
from converter.projection.domain.call_stacks import SAMPLE, call_stacks

_BATCH_SIZE: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one thread: times, and indexes into tables of stacks with their frame and outer stack."""

    thread: tuple[Any, Any]
    ts: NDArray[np.int64]
    stack: NDArray[np.int64]
    prefix: NDArray[np.int64]
    #: Names of the stacks' innermost functions, by their ids.
    function: NDArray[np.int32]


class MarkerTracks:
    """A track for each thread and marker name, as viewers have them: markers of different names overlap."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._tracks: dict[tuple[int, int], int] = {}

    def place(self, batch: Batch) -> Batch:
        """Return the batch with its events on their tracks."""
        names = np.zeros(len(batch), np.int32)
        for number in batch.tables:
            index = self._trace.event_classes[number].index_of(Role.NAME)
            if index is not None:
                positions = batch.positions(number)
                rows = batch.row[positions]
                names[positions] = cast(NDArray[np.int32], batch.tables[number].column(index))[rows]
        keys = np.stack([batch.thread, names], axis=1)
        found, which = np.unique(keys, axis=0, return_inverse=True)
        tracks = [self._track(thread, name) for thread, name in found.tolist()]
        return Batch(
            ts=batch.ts,
            class_id=batch.class_id,
            row=batch.row,
            tables=batch.tables,
            thread=batch.thread,
            cpu=batch.cpu,
            track=np.array(tracks, np.int32)[which.reshape(-1)],
        )

    def _track(self, thread: int, name: int) -> int:
        if thread < 0 or not name:
            return -1
        if (thread, name) not in self._tracks:
            text = self._trace.strings[name].decode("utf-8", "surrogateescape")
            self._tracks[thread, name] = len(self._trace.tracks)
            self._trace.tracks.append(Track(text, TrackScope.THREAD, thread))
        return self._tracks[thread, name]


def sample_batches(
    trace: Trace, samples: Sequence[Samples], ids: NDArray[np.int32]
) -> Iterator[Batch]:
    """Yield the samples. Stacks are walked from the innermost frame outwards, for all of a batch at a time."""
    if not samples:
        return
    number = next((i for i, one in enumerate(trace.event_classes) if one == SAMPLE), -1)
    number = trace.add_class(SAMPLE) if number < 0 else number
    texts = {text: int(id) for id, text in trace.sidecar["chrome"].get("text_ids", {}).items()}
    threads = {
        (trace.processes[one.process].pid, one.tid): i for i, one in enumerate(trace.threads)
    }
    for part in samples:
        pid, tid = (texts.get(one, one) for one in part.thread)
        thread = threads.get((pid, tid), -1)
        for first in range(0, len(part.ts), _BATCH_SIZE):
            window = slice(first, first + _BATCH_SIZE)
            count = len(part.ts[window])
            yield Batch(
                ts=part.ts[window],
                class_id=np.full(count, number, np.int32),
                row=np.arange(count, dtype=np.int32),
                tables={
                    number: Table(
                        count, (call_stacks(part.stack[window], part.prefix, ids[part.function]),)
                    )
                },
                thread=np.full(count, thread, np.int32),
            )

"""Emission by several threads: each emits a part of a batch's events; their blocks are returned in event order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from converter.storage.pool.workers import workers
from converter.streaming.ordered_work import OrderedWork

Emitter = TypeVar("Emitter")
Block = TypeVar("Block")

#: The maximum number of concurrent emitters: from about three on, they only wait for batches.
_MOST_EMITTERS = 4
#: The number of events that an emitter processes at a time, unless their size is known.
_EVENTS_AT_ONCE = 1 << 13
#: The approximate number of bytes of a part that an emitter buffers for the writer.
MOST_HELD = 1 << 22


def emitter_count() -> int:
    """Return the number of emitters that an output has."""
    return min(workers(), _MOST_EMITTERS)


def parts_of(events: range, at_once: int | None = None) -> Iterator[range]:
    """Split events into parts, each for one emitter."""
    at_once = at_once or _EVENTS_AT_ONCE
    for at in events[::at_once]:
        yield range(at, min(at + at_once, events.stop))


class BlockEmission(Generic[Emitter, Block]):
    """Runs several emitters; each works on one part at a time."""

    def __init__(self, emitters: Sequence[Emitter]) -> None:
        self._work = OrderedWork(emitters)

    def blocks(
        self,
        emit: Callable[[Emitter, range, bool], tuple[list[Block], int]],
        parts: Iterable[range],
        ground: Callable[[], int] = lambda: 0,
    ) -> Iterator[Block]:
        """Return the blocks of all parts, in the order of the parts.

        Args:
            emit: emits events of a part; returns the blocks, and the number of the event after the last one, which can
                be the first of the next part. The rest of a part is emitted with True, after all events whose blocks
                have been returned so far; then it must emit at least one event.
            parts: in order. The output of a part is discarded if the emission of the previous one has already covered
                its first events.
            ground: returns the state that parts are emitted on. A part that was started on a state other than the one
                when its turn comes is also discarded.
        """
        done = 0
        results = self._work.results(
            lambda emitter, part: (part, ground(), *emit(emitter, part, False)), parts
        )
        for part, began_on, blocks, end in results:
            done = max(done, part.start)
            if done == part.start and began_on == ground():
                yield from blocks
                done = end
            while done < part.stop:
                rest = self._work.results(
                    lambda emitter, part: emit(emitter, part, True), [range(done, part.stop)]
                )
                following, done = next(rest)
                yield from following

    def close(self) -> None:
        """Wait for the parts that have been started."""
        self._work.close()

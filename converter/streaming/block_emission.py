"""Emission by several threads: each emits a part of a batch's events, and their blocks come in the order of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from converter.storage.pool.workers import workers
from converter.streaming.ordered_work import OrderedWork

Emitter = TypeVar("Emitter")
Block = TypeVar("Block")

#: Emitters at work at the same time: from about three on, it is batches that they wait for.
_MOST_EMITTERS = 4
#: How many events one of them emits at a time, unless it is known how large they are.
_EVENTS_AT_ONCE = 1 << 13
#: How many bytes of a part an emitter holds for who writes, about.
MOST_HELD = 1 << 22


def emitter_count() -> int:
    """How many emitters an output has."""
    return min(workers(), _MOST_EMITTERS)


def parts_of(events: range, at_once: int | None = None) -> Iterator[range]:
    """Events in parts, each for one emitter."""
    at_once = at_once or _EVENTS_AT_ONCE
    for at in events[::at_once]:
        yield range(at, min(at + at_once, events.stop))


class BlockEmission(Generic[Emitter, Block]):
    """Has emitters emit; each is at work on one part at a time."""

    def __init__(self, emitters: Sequence[Emitter]) -> None:
        self._work = OrderedWork(emitters)

    def blocks(
        self,
        emit: Callable[[Emitter, range, bool], tuple[list[Block], int]],
        parts: Iterable[range],
        ground: Callable[[], int] = lambda: 0,
    ) -> Iterator[Block]:
        """The blocks of all parts, one part's behind the other's.

        Args:
            emit: emits events of a part: the blocks, and the number of the event behind the last one, which can be the
                next part's. What is left of a part is emitted with True: it follows all events whose blocks were
                given so far. Then one event must be emitted.
            parts: in order. What is emitted of one that was begun before is thrown away.
            ground: what parts were emitted on: one that was begun on another than there is when its turn comes is
                thrown away, too.

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
        """Wait for what has been begun."""
        self._work.close()

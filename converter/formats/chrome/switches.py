"""Switches of threads as Perfetto's JSON importer takes them: states "Running" that last until the CPU's next switch.

How long that is, is only known at the next switch, which may be in a later batch. The text then has room for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

from converter.errors import OutputError
from converter.storage.sink import Sink

#: Room for a duration, in characters (the emitter's placeholder).
_ROOM = 20
#: How much is held back in memory, and the size of the blocks that are moved at a time.
_MOST_IN_MEMORY = 32 << 20
_BLOCK = 1 << 18


@dataclass(slots=True)
class Durations:
    """How long the thread of each switch runs; remembers the last switch of each CPU."""

    #: By CPU; the place is None where another process writes the switch.
    _open: dict[int, tuple[int | None, int]] = field(default_factory=dict)
    _waiting: deque[tuple[int, int]] = field(default_factory=deque)

    def of_batch(
        self, firsts: list[tuple[int, int]], lasts: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """(place in the output, duration) of earlier switches, by the first and last one, (CPU, time), of each CPU.

        `place` must be told where the text of the last ones is, in the same order.
        """
        known = []
        for number, ts in firsts:
            place, since = self._open.pop(number, (None, 0))
            if place is not None:
                known.append((place, max(ts - since, 0)))
        self._waiting.extend(lasts)
        return known

    def place(self, places: list[int]) -> None:
        """Where in the output the next durations of the batch stand that are not known yet."""
        for place in places:
            number, since = self._waiting.popleft()
            self._open[number] = (place, since)

    def pass_over(self) -> None:
        """The text of the batch is not written here."""
        self._open |= {number: (None, since) for number, since in self._waiting}
        self._waiting.clear()

    def rest(self, end: int) -> list[tuple[int, int]]:
        """(place, duration) of all that no switch ends, when the trace ends at `end`."""
        return [
            (place, max(end - since, 0))
            for place, since in self._open.values()
            if place is not None
        ]

    def earliest(self) -> int | None:
        """The first place in the output that is not known yet."""
        return min((place for place, _ in self._open.values() if place is not None), default=None)


class Patched:
    """Output of which some durations are filled in later: in place where the sink can, else it is held back.

    What is held back waits for the next switch of one CPU, which may never come: it goes to a temporary file when it is
    large.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._held: IO[bytes] | None = None
        # What `_held` holds: its place in the output, its size, and how much of it was passed on.
        self._start = self._size = self._passed = 0

    def begin_batch(self, events: int | None) -> bool:
        """Whether what follows is written here, as the sink says it."""
        return self._sink.begin_batch(events)

    @property
    def holds(self) -> bool:
        """Whether something waits for `release`."""
        return self._size > 0

    def tell(self) -> int:
        """The place in the output of what is written next."""
        return self._start + self._size if self._size else self._sink.tell()

    def write(self, data: bytes | memoryview, *, hold: bool) -> None:
        """Append what nobody will change. In a stream it waits for `release`, with `hold` or behind what is held."""
        if not (hold or self._size) or self._sink.seekable:
            self._sink.write(data, handover=True)
            return
        if not self._size:
            self._start = self._sink.tell()
        with _temporary_errors():
            if self._held is None:
                # Imported only now: files need no such thing.
                from tempfile import SpooledTemporaryFile

                self._held = SpooledTemporaryFile(_MOST_IN_MEMORY)  # noqa: SIM115 - `close` does
            self._held.seek(self._size)
            self._held.write(data)
        self._size += len(data)

    def patch(self, place: int, text: bytes) -> None:
        """Fill in a duration."""
        text = text.ljust(_ROOM)
        if self._held is None:
            self._sink.write_at(place, text)
            return
        with _temporary_errors():
            self._held.seek(place - self._start)
            self._held.write(text)

    def release(self, before: int | None) -> None:
        """Pass on what is held in front of a place, or everything."""
        if self._held is None:
            return
        end = self._size if before is None else min(before - self._start, self._size)
        while self._passed < end:
            size = min(end - self._passed, _BLOCK)
            self._sink.write(self._moved(self._held, self._passed, size))
            self._passed += size
        rest = self._size - self._passed
        if rest > self._passed:
            return
        # What was passed on is given up as soon as that is less to move than was gained.
        for start in range(0, rest, _BLOCK):
            size = min(rest - start, _BLOCK)
            block = self._moved(self._held, self._passed + start, size)
            with _temporary_errors():
                self._held.seek(start)
                self._held.write(block)
        with _temporary_errors():
            self._held.truncate(rest)
        self._start += self._passed
        self._size, self._passed = rest, 0

    def close(self) -> None:
        """Give up what is still held."""
        if self._held is not None:
            self._held.close()

    @staticmethod
    def _moved(held: IO[bytes], at: int, size: int) -> bytes:
        with _temporary_errors():
            held.seek(at)
            return held.read(size)


@contextmanager
def _temporary_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        from tempfile import gettempdir

        raise OutputError(error.strerror or str(error), path=gettempdir()) from error

"""An output that several processes write together: each writes some runs of batches, which are joined in order."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from converter.errors import OutputError
from converter.storage.sink import Sink

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

#: The events of a run, which ends with the batch that reaches this number. Each run repeats a few registrations.
RUN_EVENTS: Final = 1 << 18
#: The same for outputs in which each run has its own files.
FILE_EVENTS: Final = 1 << 20
_BLOCK: Final = 1 << 20


@dataclass(slots=True)
class Turns:
    """The assignment of runs of batches to processes, in turn. The first process also writes what follows the last
    batch.
    """

    writer: int
    writers: int
    run_events: int = RUN_EVENTS
    #: Events so far, and the run of the next batch.
    events: int = 0
    run: int = 0
    _in_run: int = field(default=0, init=False)

    @property
    def is_own(self) -> bool:
        """True if the next batch is written by this process."""
        return self.run % self.writers == self.writer

    def pass_batch(self, events: int) -> None:
        """Skip the next batch, of `events` events."""
        self.events += events
        self._in_run += events
        if self._in_run >= self.run_events:
            self.run += 1
            self._in_run = 0


class Stretch(NamedTuple):
    """The range of a file that belongs to a run of batches; the last run is what follows all batches."""

    run: int
    start: int
    size: int


class SharedSink(Sink):
    """The part of an output that one of several processes writes; it drops data of the others.

    Writers call `begin_batch`. Offsets are those in the part that is written here.
    """

    def __init__(self, sink: Sink, turns: Turns) -> None:
        super().__init__(sink.name)
        self.seekable = sink.seekable
        self.is_directory = sink.is_directory
        self.turns = turns
        self.stretches: list[Stretch] = []
        self._sink = sink
        self._run = 0
        self._noted = 0
        self._is_own = turns.is_own

    @property
    def writers(self) -> tuple[int, int]:
        return self.turns.writer, self.turns.writers

    @property
    def run(self) -> int:
        return self._run

    def begin_batch(self, events: int | None) -> bool:
        if events is None:
            self._turn_to(self.turns.run + 1, is_own=self.turns.writer == 0)
        else:
            self._turn_to(self.turns.run, is_own=self.turns.is_own)
            self.turns.pass_batch(events)
        return self._is_own

    def _turn_to(self, run: int, *, is_own: bool) -> None:
        if run != self._run:
            self._note()
        self._run = run
        self._is_own = is_own

    def _note(self) -> None:
        """Record what was written since the last call as part of the run."""
        end = self.tell()
        if end > self._noted:
            self.stretches.append(Stretch(self._run, self._noted, end - self._noted))
        self._noted = end

    def write(self, data: Buffer, *, handover: bool = False) -> None:
        if self._is_own:
            self._sink.write(data, handover=handover)

    def write_at(self, offset: int, data: Buffer) -> None:
        self._sink.write_at(offset, data)

    def tell(self) -> int:
        return 0 if self.is_directory else self._sink.tell()

    def create(self, relative: str) -> Sink:
        return self._sink.create(relative)

    def close(self) -> None:
        self._note()
        self._sink.close()
        self._closed = True

    def abort(self) -> None:
        self._sink.abort()
        self._closed = True


def join_files(parts: Sequence[tuple[str, Sequence[Stretch]]], sink: Sink) -> None:
    """Join what several processes have written, each to a file, in the order of the runs.

    Raises:
        OutputError: a file is shorter than what was written to it.

    """
    with ExitStack() as stack:
        files = {path: stack.enter_context(open(path, "rb")) for path, _ in parts}
        stretches = [(stretch, files[path]) for path, found in parts for stretch in found]
        for stretch, file in sorted(stretches, key=lambda one: one[0].run):
            file.seek(stretch.start)
            left = stretch.size
            while left:
                data = file.read(min(left, _BLOCK))
                if not data:
                    raise OutputError("what a worker has written is cut off", path=file.name)
                sink.write(data)
                left -= len(data)

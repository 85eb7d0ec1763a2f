"""Stages of a conversion: one batch is read while the previous one is projected and the one before that is written.

Most of the work of each stage is done by kernels, which release the GIL.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from types import TracebackType
from typing import Any, Final, NamedTuple

from converter.ir.columns import Column
from converter.ir.events import Batch, EventClass
from converter.ir.trace import Process, Thread, Trace, Track
from converter.storage.pool.ahead import Ahead
from converter.storage.pool.workers import Future, TaskGroup, workers

#: Traces with smaller batches are not worth a thread.
_WORTHWHILE = 1 << 14
#: Tables with fewer rows are not worth handing over: their cost is mostly the interpreter's, which has one lock.
_LARGE_TABLE = 1 << 12
#: The fields of a process and of a thread.
_PROCESS: Final = attrgetter(*Process.__match_args__)
_THREAD: Final = attrgetter(*Thread.__match_args__)


class Pipeline:
    """A context manager that returns a trace with the batches of another one, which are prepared ahead.

    At most one batch is prepared ahead. Unless the stage only reads, all columns are decoded there (`Decoder`). The
    tables and the lists of sidecars are copies, in the state that the other trace's had when the batch was made:
    later stages do not depend on timing. Strings are safe to share, and shared. An error is raised where the batch
    that it prevents would have been returned. Leaving the context ends the work in progress.
    """

    def __init__(self, source: Trace, *, decodes: bool = True) -> None:
        self._tables = _Tables(source)
        self._source = source
        self._decodes = decodes
        self._source_batches: Iterator[Batch] = iter(())
        self._workers: TaskGroup | None = None
        self._decoder: Decoder | None = None
        self._trace = self._tables.copy
        self._trace.make_batches = self._batches
        self._tables.follow(self._tables.growth())

    def __enter__(self) -> Trace:
        return self._trace

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._workers is not None:
            self._workers.close()
            self._workers = None
        if isinstance(self._source_batches, Generator):
            self._source_batches.close()
        if self._decoder is not None:
            self._decoder.close()
            self._decoder = None

    def _batches(self) -> Iterator[Batch]:
        self._stop()
        batches = self._source_batches = self._source.batches()
        for batch in batches:
            self._tables.follow(self._tables.growth())
            if len(batch) >= _WORTHWHILE:
                if self._decodes:
                    self._decoder = Decoder(self._source)
                    self._decoder.decode(batch)
                self._workers = TaskGroup(may_block=True, worthwhile=True)
                ahead = Ahead(self._next_batch, self._workers)
                yield batch
                # Do not keep it while the next one is prepared.
                del batch
                yield from self._prefetched(ahead)
                break
            yield batch
        self._tables.follow(self._tables.growth())

    def _next_batch(self) -> tuple[Batch, _Growth] | None:
        """Return the next batch, with the growth of the tables that comes with it."""
        batch = next(self._source_batches, None)
        if batch is None:
            return None
        if self._decoder is not None:
            self._decoder.decode(batch)
        return batch, self._tables.growth()

    def _prefetched(self, ahead: Ahead[tuple[Batch, _Growth]]) -> Iterator[Batch]:
        while (prepared := ahead.next()) is not None:
            batch, growth = prepared
            self._tables.follow(growth)
            yield batch
            del batch, prepared


class _Growth(NamedTuple):
    """The growth of the tables since the last time, and names that were filled in, by index."""

    processes: list[Process]
    threads: list[Thread]
    tracks: list[Track]
    event_classes: list[EventClass]
    process_names: dict[int, str]
    thread_names: dict[int, str]
    #: By format and name: the new entries of lists, and all other content.
    sidecar: dict[str, dict[str, Any]]


class _Tables:
    """The tables of a trace and their copies."""

    def __init__(self, source: Trace) -> None:
        self._source = source
        # Of the source: the number of entries that are known, and the entries that have no name yet.
        self._processes = self._threads = self._tracks = self._classes = 0
        self._unnamed_processes: set[int] = set()
        self._unnamed_threads: set[int] = set()
        self._listed: dict[tuple[str, str], int] = {}
        self.copy = replace(
            source, processes=[], threads=[], tracks=[], event_classes=[], sidecar={}
        )

    def growth(self) -> _Growth:
        """Return what is new in the source's tables."""
        source = self._source
        process_names = _named(source.processes, self._unnamed_processes)
        thread_names = _named(source.threads, self._unnamed_threads)
        # Copies: a name that is filled in later must not appear earlier.
        processes = [Process(*_PROCESS(one)) for one in source.processes[self._processes :]]
        threads = [Thread(*_THREAD(one)) for one in source.threads[self._threads :]]
        tracks = source.tracks[self._tracks :]
        classes = source.event_classes[self._classes :]
        self._unnamed_processes |= _unnamed(processes, self._processes)
        self._unnamed_threads |= _unnamed(threads, self._threads)
        self._processes += len(processes)
        self._threads += len(threads)
        self._tracks += len(tracks)
        self._classes += len(classes)
        return _Growth(
            processes,
            threads,
            tracks,
            classes,
            process_names,
            thread_names,
            {name: self._new_content(name, content) for name, content in source.sidecar.items()},
        )

    def _new_content(self, name: str, content: dict[str, Any]) -> dict[str, Any]:
        new: dict[str, Any] = {}
        for key, value in content.items():
            if isinstance(value, list):
                new[key] = value[self._listed.get((name, key), 0) :]
                self._listed[name, key] = len(value)
            else:
                new[key] = value
        return new

    def follow(self, growth: _Growth) -> None:
        """Apply the growth to the copies."""
        copy = self.copy
        copy.processes += growth.processes
        copy.threads += growth.threads
        copy.tracks += growth.tracks
        copy.event_classes += growth.event_classes
        for index, name in growth.process_names.items():
            copy.processes[index].name = name
        for index, name in growth.thread_names.items():
            copy.threads[index].name = name
        for format_name, content in growth.sidecar.items():
            kept = copy.sidecar.setdefault(format_name, {})
            for key, value in content.items():
                if isinstance(value, list):
                    kept.setdefault(key, []).extend(value)
                else:
                    kept[key] = value


def _unnamed(table: Sequence[Process | Thread], start: int) -> set[int]:
    return {index for index, item in enumerate(table, start) if not item.name}


def _named(table: Sequence[Process | Thread], unnamed: set[int]) -> dict[int, str]:
    """Return the names of entries that had none, and remove these from `unnamed`."""
    names = {index: table[index].name for index in sorted(unnamed) if table[index].name}
    unnamed -= names.keys()
    return names


class Decoder:
    """Decodes the batches of a trace, using other threads besides the caller's.

    `decode` returns when all tables of the batch are decoded, so that strings are interned batch by batch, and what
    is known of a batch does not depend on the number of threads.
    """

    def __init__(self, trace: Trace) -> None:
        in_parallel = trace.decodes_in_parallel and workers() > 1
        self._workers = TaskGroup() if in_parallel else None

    def close(self) -> None:
        """Release the threads; nothing more will be decoded."""
        if self._workers is not None:
            self._workers.close()

    def decode(self, batch: Batch) -> None:
        """Decode all columns; afterwards any thread may read the batch."""
        large = []
        for table in batch.tables.values():
            if self._workers is None or len(table) < _LARGE_TABLE:
                table.columns()
            else:
                large.append(table)
        large.sort(key=len, reverse=True)
        started: list[Future[list[Column]]] = []
        if self._workers is not None:
            started = [self._workers.submit(table.columns) for table in large]
        # In reverse, as other threads take the first ones meanwhile. Nothing is left running, whatever fails.
        failures = [work.failure() for work in reversed(started)]
        for error in filter(None, failures):
            raise error

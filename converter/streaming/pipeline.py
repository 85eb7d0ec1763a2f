"""Stages of a conversion, each on a thread of its own: a batch is read while the one before is projected and the one
before that is written.

Most of each is done by kernels, which release the GIL.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from contextvars import copy_context
from dataclasses import replace
from queue import SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple

from converter.ir.events import Batch, EventClass
from converter.ir.trace import Process, Thread, Trace, Track
from converter.streaming.decoding import Decoder

#: Traces of smaller batches are not worth a thread.
_WORTHWHILE = 1 << 14


class Pipeline:
    """A context manager that gives a trace with the batches of another, made ahead by a thread of their own.

    What is made ahead is bounded by one batch. Unless the stage only reads, all columns are decoded there (`Decoder`).
    The tables and the lists of sidecars are copies that have what the other trace's had when the batch was made: what
    comes behind does not depend on timing. Strings, which are safe to share, are shared. Errors are raised where the
    batch that they prevent would have come. Leaving the context stops the thread.
    """

    def __init__(self, source: Trace, name: str, *, decodes: bool = True) -> None:
        self._tables = _Tables(source)
        self._source = source
        self._name = name
        self._decodes = decodes
        self._run: _Run | None = None
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
        if self._run is not None:
            self._run.stop()
            self._run = None
        if self._decoder is not None:
            self._decoder.close()
            self._decoder = None

    def _batches(self) -> Iterator[Batch]:
        self._stop()
        batches = self._source.batches()
        for batch in batches:
            self._tables.follow(self._tables.growth())
            if len(batch) >= _WORTHWHILE:
                if self._decodes:
                    self._decoder = Decoder(self._source)
                    self._decoder.decode(batch)
                self._run = run = _Run(batches, self._tables, self._decoder, self._name)
                yield batch
                del batch
                yield from run.results()
                return
            yield batch
        self._tables.follow(self._tables.growth())


class _Growth(NamedTuple):
    """What tables have become since the last time, and names that were filled in, by index."""

    processes: list[Process]
    threads: list[Thread]
    tracks: list[Track]
    event_classes: list[EventClass]
    process_names: dict[int, str]
    thread_names: dict[int, str]
    #: By format and name: what lists have got, and all other content.
    sidecar: dict[str, dict[str, Any]]


class _Tables:
    """The tables of a trace and their copies."""

    def __init__(self, source: Trace) -> None:
        self._source = source
        # Of the source: how much is known, and what has no name yet.
        self._processes = self._threads = self._tracks = self._classes = 0
        self._unnamed_processes: set[int] = set()
        self._unnamed_threads: set[int] = set()
        self._listed: dict[tuple[str, str], int] = {}
        self.copy = replace(
            source, processes=[], threads=[], tracks=[], event_classes=[], sidecar={}
        )

    def growth(self) -> _Growth:
        """What is new in the source's tables."""
        source = self._source
        process_names = _named(source.processes, self._unnamed_processes)
        thread_names = _named(source.threads, self._unnamed_threads)
        # Copies: a name that is filled in later must not show before.
        processes = [replace(process) for process in source.processes[self._processes :]]
        threads = [replace(thread) for thread in source.threads[self._threads :]]
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
        """Add it to the copies."""
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
    """The names of what had none, which is struck off."""
    names = {index: table[index].name for index in sorted(unnamed) if table[index].name}
    unnamed -= names.keys()
    return names


class _Run:
    """One iteration over the rest of a trace's batches, on a thread."""

    def __init__(
        self, batches: Iterator[Batch], tables: _Tables, decoder: Decoder | None, name: str
    ) -> None:
        self._batches = batches
        self._tables = tables
        self._decoder = decoder
        # A batch with the tables as of then, an error, or None at the end.
        self._made: SimpleQueue[tuple[Batch | None, _Growth] | BaseException] = SimpleQueue()
        self._wanted = threading.Semaphore()
        self._stopped = False
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._make,), name=f"traceconv-{name}", daemon=True
        )
        self._thread.start()

    def results(self) -> Iterator[Batch]:
        """The batches, each while the next is being made."""
        while True:
            made = self._made.get()
            if isinstance(made, BaseException):
                raise made
            batch, growth = made
            self._tables.follow(growth)
            if batch is None:
                return
            self._wanted.release()
            yield batch
            # Not to be kept while the next one comes.
            del batch, made

    def stop(self) -> None:
        """Stop after the batch under way."""
        self._stopped = True
        self._wanted.release()
        self._thread.join()

    def _make(self) -> None:
        try:
            batch: Batch | None
            for batch in self._ahead():
                self._made.put((batch, self._tables.growth()))
                del batch
            self._made.put((None, self._tables.growth()))
        except BaseException as error:  # noqa: BLE001 - raised again where the batch would have come
            self._made.put(error)
        finally:
            if isinstance(self._batches, Generator):
                self._batches.close()

    def _ahead(self) -> Iterator[Batch]:
        while True:
            self._wanted.acquire()
            batch = None if self._stopped else next(self._batches, None)
            if batch is None:
                return
            if self._decoder is not None:
                self._decoder.decode(batch)
            yield batch
            del batch

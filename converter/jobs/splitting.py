"""Splits one trace into several files in one pass: by time, by size, by CPU or by process."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from converter import registry
from converter.errors import TraceWarning, UnsupportedError, note
from converter.formats.descriptor import Format
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.jobs.conversion import (
    Strictness,
    check_strictness,
    refuse,
    reporting_warnings,
    write,
)
from converter.jobs.reading import open_trace
from converter.jobs.transcription import transcribe
from converter.projection.losses import LossReport
from converter.selection.consecutive import Consecutive
from converter.selection.parts import Division, Part, parse_division
from converter.selection.side_by_side import SideBySide
from converter.storage.compression.wrapping import unwrapped_name
from converter.storage.outputs import open_sink
from converter.storage.sink import Sink

if TYPE_CHECKING:
    from converter.selection.parts import TimeLength
    from converter.selection.selection import Selection
    from converter.storage.opening import SourceArgument

#: Each part that is written simultaneously takes a file and memory.
MOST_BESIDE: Final = 256
_DIGITS: Final = 4


@dataclass(slots=True)
class SplitPart:
    """A finished part.

    `events` counts those of the trace, `added` those that restore the state when the part began or ended; `first` and
    `last` are its range in ticks, None if it has no events. `size` is in bytes, before the compression of its suffix.
    """

    path: str
    first: int | None
    last: int | None
    events: int
    added: int
    size: int
    report: LossReport = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The way to write parts: the function that opens an output, the format, and the losses to refuse."""

    path: str
    open: Callable[[str], Sink]
    format: Format
    variant: str
    strict: bool | Strictness = False
    lossless: bool = False

    def path_of(self, label: str) -> str:
        """Return the path of a part: that of the whole with a label before its suffixes."""
        stem, suffixes = without_suffixes(self.path, self.format)
        return f"{stem}-{label}{suffixes}"

    def write(self, part: Part, *, ahead: bool = True) -> SplitPart:
        """Write a part. It appears whole or not at all."""
        path = self.path_of(part.label)
        with self.open(path) as sink, ExitStack() as stack:
            part.written = sink.tell
            trace = part.trace
            if self.format.reads_twice:
                trace = stack.enter_context(_stored_in_file(trace))
            report = transcribe(
                trace, sink, self.format, self.variant, lossless=self.lossless, ahead=ahead
            )
            refuse(trace, report, self.strict, lossless=self.lossless)
            size = sink.tell()
        return SplitPart(path, part.first, part.last, part.events, part.added, size, report)


@contextmanager
def _stored_in_file(trace: Trace) -> Iterator[Trace]:
    """Store the batches of a part, which come once, in a temporary file, so that a format can read them several
    times.
    """
    with tempfile.TemporaryDirectory(prefix="traceconv-") as folder:
        path = os.path.join(folder, "part.tcir")
        write(trace, path)
        with open_trace(path) as kept:
            note(kept.warnings, *trace.warnings)
            yield kept


def split(
    source: SourceArgument,
    target: str | os.PathLike[str],
    by: str,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    options: Mapping[str, str] | None = None,
    selection: Selection | None = None,
    force: bool = False,
    strict: bool | Strictness = False,
    lossless: bool = False,
    on_warning: Callable[[TraceWarning], object] | None = None,
) -> list[SplitPart]:
    """Convert an input to several files, in one pass over it.

    Args:
        source: as `open_trace` accepts it.
        target: the pattern for the names of parts: "out.json" becomes "out-0001.json" and so on, or "out-cpu0.json",
            "out-pid17.json". Each is a whole trace, which begins with everything that was running or open then.
        by: a length of time ("10s", "200ms") or a size ("1GB", "64MiB") of the parts, "cpu" or "process".
        source_format: as `convert` accepts it.
        target_format: as `convert` accepts it.
        options: as `convert` accepts them.
        selection: as `convert` accepts it.
        force: as `convert` accepts it, for each part.
        strict: as `convert` accepts it, for each part.
        lossless: as `convert` accepts it, for each part.
        on_warning: as `convert` accepts it, for all damage in the input.

    Returns:
        The parts that were written, in the order in which they began.

    Raises:
        SelectionError: `by` is none of these, or the clock has no seconds.
        ValueError: `strict` has an unknown value.
        UnsupportedError: there are more CPUs or processes than can be written at a time; or parts of a size are
            requested in a format that takes two passes.
        Exception: whatever `convert` raises; parts that were written before stay.

    """
    check_strictness(strict)
    division = parse_division(by)
    path = os.fspath(target)
    format, variant = registry.target_format(path, target_format)
    avoid = source if isinstance(source, str | os.PathLike) else None
    outputs = Outputs(
        path=path,
        open=lambda path: open_sink(
            path,
            force=force,
            directory=format.is_directory(variant),
            avoid=avoid,
            seekable=format.patches_output or lossless,
        ),
        format=format,
        variant=variant,
        strict=strict,
        lossless=lossless,
    )
    with (
        open_trace(source, source_format, options, selection) as trace,
        reporting_warnings(trace, on_warning),
    ):
        return list(split_trace(trace, division, outputs))


def split_trace(
    trace: Trace,
    division: TimeLength | int | Division,
    outputs: Outputs,
    wanted: Callable[[int], bool] = lambda _: True,
) -> Iterator[SplitPart]:
    """Write the parts of a trace, each as it becomes complete; when splitting by time, only parts whose number is
    `wanted`.

    Numbers start at 0.
    """
    if outputs.format.name == trace.format and trace.keep_records is not None:
        # Batches are read before a writer sees the first part.
        trace.keep_records()
    if isinstance(division, Division):
        yield from _side_by_side(trace, division, outputs)
        return
    if isinstance(division, int) and outputs.format.reads_twice:
        raise UnsupportedError(
            "how large a part is shows when all of it is written",
            format=outputs.format.name,
            path=outputs.path,
            expected="parts of a length of time, CPU or process",
        )
    # The size of a part must not depend on how far a thread is ahead.
    ahead = not isinstance(division, int)
    for number, part in enumerate(Consecutive(trace, division).parts()):
        if not wanted(number):
            for _ in part.trace.batches():
                pass  # the state after it is still tracked
            continue
        part.label = f"{number + 1:0{_DIGITS}}"
        yield outputs.write(part, ahead=ahead)


def without_suffixes(path: str, format: Format) -> tuple[str, str]:
    """Split a path into its stem and its suffixes: that of the format, and those of compression."""
    plain, wrapping = unwrapped_name(path)
    path = path.rstrip("/")
    folder = len(path) - len(os.path.basename(path))
    end = folder + len(plain) if wrapping is not None else len(path)
    for suffix in sorted(format.suffixes, key=len, reverse=True):
        if plain.endswith(suffix) and len(plain) > len(suffix):
            end -= len(suffix)
            break
    return path[:end], path[end:]


def _side_by_side(trace: Trace, division: Division, outputs: Outputs) -> Iterator[SplitPart]:
    splitting = SideBySide(trace, division)
    writings: list[_Writing] = []
    try:
        for batch in trace.batches():
            for number, piece in splitting.pieces(batch):
                while number >= len(writings):
                    if len(writings) == MOST_BESIDE:
                        raise UnsupportedError(
                            f"more than {MOST_BESIDE} parts, one for each {division.value}; "
                            f"--{'pid' if division is Division.PROCESS else 'cpu'} leaves some out"
                        )
                    label = splitting.labels[len(writings)]
                    writings.append(_Writing(trace, label, outputs))
                writings[number].write_batch(piece)
        for writing in writings:
            yield writing.finish()
    finally:
        for writing in writings:
            writing.stop()


class _StoppedError(Exception):
    """There will be no more batches, and no output."""


class _Writing:
    """A part that is written by a thread of its own, since a writer pulls batches and the caller pushes them.

    The two take turns: while one runs, the other waits, since both use the tables of the trace, and no output may
    depend on timing.
    """

    def __init__(self, source: Trace, label: str, outputs: Outputs) -> None:
        self._source = source
        self._outputs = outputs
        self._part = Part(replace(source, source_batches=None, seeking=None), label)
        self._part.trace.describe = self._part.trace.check = None
        self._part.trace.make_batches = self._batches
        self._queue: SimpleQueue[Batch | _StoppedError | None] = SimpleQueue()
        self._turn = threading.Semaphore(0)
        self._result: SplitPart | BaseException | None = None
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._write,), name=f"traceconv-{label}", daemon=True
        )
        self._thread.start()
        self._turn.acquire()

    def write_batch(self, batch: Batch) -> None:
        """Write a batch; more will follow."""
        part = self._part
        first, last = int(batch.ts.min()), int(batch.ts.max())
        part.first = first if part.first is None else min(part.first, first)
        part.last = last if part.last is None else max(part.last, last)
        part.events += len(batch)
        if self._result is None:
            self._queue.put(batch)
            self._turn.acquire()
        if isinstance(self._result, BaseException):
            raise self._result

    def finish(self) -> SplitPart:
        """Write the rest, and complete the part."""
        self._queue.put(None)
        self._thread.join()
        if isinstance(self._result, BaseException):
            raise self._result
        assert self._result is not None, "the thread has ended"
        return self._result

    def stop(self) -> None:
        """Remove the output, unless it is finished."""
        self._queue.put(_StoppedError())
        self._thread.join()

    def _write(self) -> None:
        try:
            self._result = self._outputs.write(self._part, ahead=False)
        except BaseException as error:  # noqa: BLE001 - it is raised by the other thread
            self._result = error
        finally:
            self._turn.release()

    def _batches(self) -> Iterator[Batch]:
        while True:
            self._turn.release()
            batch = self._queue.get()
            if isinstance(batch, _StoppedError):
                raise batch
            if batch is None:
                return
            yield batch

"""One trace to several files: parts of its time, or of what its events are of, in one pass."""

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
from converter.conversion import Strictness, check_strictness, refuse, warnings_told, write
from converter.errors import TraceWarning, UnsupportedError, note
from converter.formats.descriptor import Format
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.reading import open_trace
from converter.selection.consecutive import Consecutive
from converter.selection.parts import Division, Part, parse_division
from converter.selection.side_by_side import SideBySide
from converter.storage.compression.wrapping import unwrapped_name
from converter.storage.outputs import open_sink
from converter.storage.sink import Sink
from converter.transcription import transcribe

if TYPE_CHECKING:
    from converter.selection.parts import TimeLength
    from converter.selection.selection import Selection
    from converter.storage.opening import SourceArgument

#: Each part that is written beside others takes a file and memory of its own.
MOST_BESIDE: Final = 256
_DIGITS: Final = 4


@dataclass(slots=True)
class SplitPart:
    """A part that is written.

    `events` are those of the trace, `added` say what was so when the part began or ended; `first` and `last` are the
    ticks that it is of, None where it has no events. `size` is in bytes, before what its suffix compresses it by.
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
    """How parts are written: what opens the output of a path, the format, and what may be lost."""

    path: str
    open: Callable[[str], Sink]
    format: Format
    variant: str
    strict: bool | Strictness = False
    lossless: bool = False

    def place(self, label: str) -> str:
        """The path of a part: that of the whole with a label in front of its suffixes."""
        stem, suffixes = without_suffixes(self.path, self.format)
        return f"{stem}-{label}{suffixes}"

    def write(self, part: Part, *, ahead: bool = True) -> SplitPart:
        """Write a part. It appears whole or not at all."""
        place = self.place(part.label)
        with self.open(place) as sink, ExitStack() as stack:
            part.written = sink.tell
            trace = part.trace
            if self.format.reads_twice:
                trace = stack.enter_context(_kept(trace))
            report = transcribe(
                trace, sink, self.format, self.variant, lossless=self.lossless, ahead=ahead
            )
            refuse(trace, report, self.strict, lossless=self.lossless)
            size = sink.tell()
        return SplitPart(place, part.first, part.last, part.events, part.added, size, report)


@contextmanager
def _kept(trace: Trace) -> Iterator[Trace]:
    """The trace of a part, whose batches come once, to be read as often as a format needs it: from a file of ours."""
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
        source: as `open_trace` takes it.
        target: what parts are called after: "out.json" becomes "out-0001.json" and so on, or "out-cpu0.json",
            "out-pid17.json". Each is a whole trace, which begins with what was so then.
        by: a length of time ("10s", "200ms") or a size ("1GB", "64MiB") of the parts, "cpu" or "process".
        source_format: as `convert` takes it, like all others.
        target_format: likewise.
        options: likewise.
        selection: likewise.
        force: likewise, of each part.
        strict: likewise, of each part.
        lossless: likewise, of each part.
        on_warning: likewise, of all that is damaged in the input.

    Returns:
        What was written, in the order in which it began.

    Raises:
        SelectionError: `by` says none of these, or the clock knows no seconds.
        ValueError: there is no such strictness.
        UnsupportedError: there are more CPUs or processes than can be written at a time; or parts of a size are wanted
            in a format that takes two passes.
        Exception: whatever `convert` raises; parts that were written before stay.

    """
    check_strictness(strict)
    division = parse_division(by)
    path = os.fspath(target)
    format, variant = registry.target_format(path, target_format)
    avoid = source if isinstance(source, str | os.PathLike) else None
    outputs = Outputs(
        path=path,
        open=lambda place: open_sink(
            place,
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
        warnings_told(trace, on_warning),
    ):
        return list(split_trace(trace, division, outputs))


def split_trace(
    trace: Trace,
    division: TimeLength | int | Division,
    outputs: Outputs,
    wanted: Callable[[int], bool] = lambda _: True,
) -> Iterator[SplitPart]:
    """Write the parts of a trace, each as it becomes complete; of parts of its time those of wanted numbers, from 0."""
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
    # How large a part is must not depend on how far a thread is ahead.
    ahead = not isinstance(division, int)
    for number, part in enumerate(Consecutive(trace, division).parts()):
        if not wanted(number):
            for _ in part.trace.batches():
                pass  # what is so behind it is followed
            continue
        part.label = f"{number + 1:0{_DIGITS}}"
        yield outputs.write(part, ahead=ahead)


def without_suffixes(path: str, format: Format) -> tuple[str, str]:
    """A path, and the suffixes at its end: that of the format, and of what wraps it."""
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
                writings[number].give(piece)
        for writing in writings:
            yield writing.finish()
    finally:
        for writing in writings:
            writing.stop()


class _StoppedError(Exception):
    """There will be no more batches, and no output."""


class _Writing:
    """A part that is written by a thread of its own, as a writer asks for batches that others bring.

    The two take turns: one reads and the other stands still until it is asked for more, since both look at the tables
    of the trace, and no output may depend on timing.
    """

    def __init__(self, source: Trace, label: str, outputs: Outputs) -> None:
        self._source = source
        self._outputs = outputs
        self._part = Part(replace(source, source_batches=None, seeking=None), label)
        self._part.trace.describe = self._part.trace.check = None
        self._part.trace.make_batches = self._batches
        self._given: SimpleQueue[Batch | _StoppedError | None] = SimpleQueue()
        self._turn = threading.Semaphore(0)
        self._result: SplitPart | BaseException | None = None
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._write,), name=f"traceconv-{label}", daemon=True
        )
        self._thread.start()
        self._turn.acquire()

    def give(self, batch: Batch) -> None:
        """Have a batch written, with others to come."""
        part = self._part
        first, last = int(batch.ts.min()), int(batch.ts.max())
        part.first = first if part.first is None else min(part.first, first)
        part.last = last if part.last is None else max(part.last, last)
        part.events += len(batch)
        if self._result is None:
            self._given.put(batch)
            self._turn.acquire()
        if isinstance(self._result, BaseException):
            raise self._result

    def finish(self) -> SplitPart:
        """Have the rest written: the part appears."""
        self._given.put(None)
        self._thread.join()
        if isinstance(self._result, BaseException):
            raise self._result
        assert self._result is not None, "the thread has ended"
        return self._result

    def stop(self) -> None:
        """Leave nothing behind, unless it is finished."""
        self._given.put(_StoppedError())
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
            batch = self._given.get()
            if isinstance(batch, _StoppedError):
                raise batch
            if batch is None:
                return
            yield batch

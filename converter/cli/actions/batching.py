"""``traceconv batch``: many conversions, each in a process that may fail alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

import click

from converter import registry
from converter.cli.actions.batch_record import BatchRecord
from converter.cli.exit_codes import FAILED, LOSS, NOTHING
from converter.cli.options.paths import output_stem, suffix_of
from converter.cli.output import messages
from converter.cli.output.loss_summary import verdict
from converter.cli.output.tables import table
from converter.cli.signals import handled
from converter.errors import NothingLeftError, StrictLossError, TraceError
from converter.errors.advice import for_the_command
from converter.errors.guarding import as_trace_error
from converter.errors.terminal import printable
from converter.formats.descriptor import Format
from converter.jobs.conversion import Strictness
from converter.limits import changed_limits, limited
from converter.storage.locations import folders_below, is_remote, join, local, name_of, shown
from converter.storage.lookup import make_folder, matches, modified
from converter.storage.pool.workers import most_workers, use_workers, workers
from converter.storage.writing.placing import whole_folder

if TYPE_CHECKING:
    from converter.selection.parts import Division, TimeLength

#: Appended to the name of an input to get the name of the folder of its parts.
_PARTS = ".parts"
_DONE, _SKIPPED, _FAILED, _REFUSED, _LOST = "done", "skipped", "failed", "refused", "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options of all conversions."""

    target_format: str
    suffix: str
    source_format: str | None
    reader_options: dict[str, str]
    strict: bool | Strictness
    lossless: bool
    force: bool
    split: TimeLength | int | Division | None = None
    #: The limits in force here also apply in other processes.
    limits: Mapping[str, int] = field(default_factory=changed_limits)

    def ending(self, format: Format, variant: str) -> str:
        """Return the suffixes of an output, which follow the input's stem."""
        archive = ".tar" if self.suffix and format.is_directory(variant) else ""
        return f"{suffix_of(format)}{archive}{self.suffix}"


@dataclass(frozen=True, slots=True)
class Job:
    """One conversion."""

    source: str
    target: str
    wanted: Wanted
    #: True if a crash left the existing output incomplete.
    is_broken: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a conversion, with a text for people."""

    job: Job
    state: str
    says: str
    #: None if the files were copied without being read.
    events: int | None = 0
    seconds: float = 0.0


def run(
    patterns: Sequence[str],
    folder: str,
    wanted: Wanted,
    *,
    jobs: int | None,
    scheduler: str | None,
    quiet: bool,
) -> int:
    """Convert the inputs that match the patterns, print a table, and return the exit code."""
    if wanted.split is not None and is_remote(folder):
        raise click.UsageError("--split: the folders of parts are made on this machine only")
    try:
        format, variant = registry.format_named(wanted.target_format)
        format.writer()
    except TraceError as error:
        raise click.UsageError(error.detail) from None
    ending = wanted.ending(format, variant) if wanted.split is None else _PARTS
    planned = [
        Job(source, target, wanted)
        for source, target in _inputs_and_outputs(patterns, folder, ending)
    ]
    record = None if is_remote(folder) else BatchRecord(folder)
    planned = [_repaired(job, record) for job in planned]
    outcomes = {job.target: skipped for job in planned if (skipped := _skipped(job))}
    todo = [job for job in planned if job.target not in outcomes]
    if scheduler is None:
        converted = _converted(todo, jobs or os.cpu_count() or 1, record)
    else:
        converted = _scheduled(todo, scheduler, record)
    for number, outcome in enumerate(converted, 1):
        outcomes[outcome.job.target] = outcome
        _note_outcome(outcome, record)
        if not quiet:
            line = f"{number} of {len(todo)}: {shown(outcome.job.source)}: {outcome.state}"
            messages.note(printable(line))
    _print_table([outcomes[job.target] for job in planned])
    states = {outcome.state for outcome in outcomes.values()}
    codes = {_FAILED: FAILED, _LOST: NOTHING, _REFUSED: LOSS}
    return next((code for state, code in codes.items() if state in states), 0)


def _inputs_and_outputs(patterns: Sequence[str], folder: str, ending: str) -> list[tuple[str, str]]:
    """Return each input with its output, which is in the same subfolder of `folder` as the input in the common
    folder.
    """
    sources = list(dict.fromkeys(source for pattern in patterns for source in _matches(pattern)))
    stems = [
        join(folder, inside, output_stem(source))
        for source, inside in zip(sources, folders_below(sources), strict=True)
    ]
    common = {stem for stem, count in Counter(stems).items() if count > 1}
    return [
        (source, (_with_whole_name(stem, source) if stem in common else stem) + ending)
        for source, stem in zip(sources, stems, strict=True)
    ]


def _with_whole_name(stem: str, source: str) -> str:
    """Name an output not ``a``, as both ``a.dat`` and ``a.fxt`` would be, but ``a.dat``."""
    return os.path.join(os.path.dirname(stem), name_of(source))


def _matches(pattern: str) -> list[str]:
    try:
        found = matches(pattern)
    except TraceError as error:
        raise click.UsageError(str(error)) from None
    if not found:
        raise click.UsageError(f"{shown(pattern)!r} matches nothing")
    return found


def _repaired(job: Job, record: BatchRecord | None) -> Job:
    """Return the job; if a crash left its output incomplete, one that replaces it."""
    if record is None or not record.is_broken(local(job.target)):
        return job
    return replace(job, wanted=replace(job.wanted, force=True), is_broken=True)


def _skipped(job: Job) -> Outcome | None:
    """Return the outcome if the output exists already, else None."""
    try:
        made = modified(job.target)
        read = None if made is None else modified(job.source)
    except TraceError as error:
        return Outcome(job, _FAILED, error.detail)
    if made is None or read is None or job.is_broken:
        return None
    if made >= read:
        return Outcome(job, _SKIPPED, "the output is newer than the input")
    if job.wanted.force:
        return None
    return Outcome(job, _FAILED, "the output is older than the input (--force replaces it)")


def _note_start(job: Job, record: BatchRecord | None) -> None:
    if record is not None:
        record.start(local(job.target))


def _note_outcome(outcome: Outcome, record: BatchRecord | None) -> None:
    if record is None:
        return
    output = local(outcome.job.target)
    if outcome.state == _DONE:
        record.finish(output)
    else:
        record.abandon(output)


def _converted(jobs: list[Job], processes: int, record: BatchRecord | None) -> Iterator[Outcome]:
    """Convert all of them in up to `processes` processes; yield outcomes in the order of completion."""
    context = multiprocessing.get_context("spawn")
    waiting = jobs[::-1]
    processes = min(processes, len(jobs), most_workers())
    # The processors are already used by the processes.
    threads = max(1, workers() // processes) if processes else 1
    running = [_Worker(context, threads) for _ in range(processes)]
    try:
        for worker in running:
            _note_start(waiting[-1], record)
            worker.start(waiting.pop())
        while busy := {worker.connection: worker for worker in running if worker.job is not None}:
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index] # only connections were waited for
                yield worker.outcome()
                if waiting:
                    _note_start(waiting[-1], record)
                    worker.start(waiting.pop())
    finally:
        for worker in running:
            worker.end()


def _scheduled(jobs: list[Job], name: str, record: BatchRecord | None) -> Iterator[Outcome]:
    """Convert all of them on the workers of a scheduler; yield outcomes in the order of completion."""
    from converter.scheduling import scheduler

    if not jobs:
        return
    for job in jobs:
        _note_start(job, record)
    with scheduler(name) as workers:
        for number, result in workers.run(_retried_outcome, jobs):
            if isinstance(result, BaseException):
                yield Outcome(jobs[number], _FAILED, f"its worker was lost: {result}")
            else:
                yield result


class _Worker:
    """A process that runs one job after the other; it is replaced when it dies."""

    def __init__(self, context: Any, threads: int) -> None:
        self._context = context
        self._threads = threads
        self.job: Job | None = None
        self._launch()

    def _launch(self) -> None:
        self.connection: Connection
        self.connection, theirs = self._context.Pipe()
        self._process = self._context.Process(
            target=_work, args=(theirs, self._threads), daemon=True
        )
        self._process.start()
        theirs.close()

    def start(self, job: Job) -> None:
        """Start a job in it."""
        self.job = job
        self.connection.send(job)

    def outcome(self) -> Outcome:
        """Return the outcome of its job, which is over."""
        assert self.job is not None
        job, self.job = self.job, None
        try:
            result = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            self._launch()
            reason = signal.Signals(-code).name if code is not None and code < 0 else f"code {code}"
            return Outcome(job, _FAILED, f"its process ended by {reason}")
        assert isinstance(result, Outcome)
        return result

    def end(self) -> None:
        """End the process, without leaving an incomplete output."""
        self._process.terminate()
        self._process.join()
        self.connection.close()


def _work(connection: Connection, threads: int) -> None:
    """Convert jobs until existing are no more; the main function of the process."""
    use_workers(threads)
    with handled(), suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            job = connection.recv()
            connection.send(_outcome(job))


def _outcome(job: Job) -> Outcome:
    # The job may be done by another process.
    with for_the_command():
        return _tried(job)


def _tried(job: Job) -> Outcome:
    from converter.cli.actions.converting import Options, checked_formats, converted

    wanted = job.wanted
    options = Options(
        sources=(job.source,),
        target=job.target,
        source_format=wanted.source_format,
        reader_options=wanted.reader_options,
        target_format=wanted.target_format,
        strict=wanted.strict,
        lossless=wanted.lossless,
        force=wanted.force,
        quiet=True,
        split=wanted.split,
    )
    try:
        make_folder(os.path.dirname(job.target))
        format, variant = checked_formats(options)
        with limited(wanted.limits):
            if wanted.split is None:
                done = converted(options, job.target, format, variant)
            else:
                with whole_folder(job.target, force=wanted.force) as folder:
                    output = os.path.join(folder, os.path.basename(job.target)[: -len(_PARTS)])
                    output += wanted.ending(format, variant)
                    done = converted(options, output, format, variant)
    except StrictLossError as error:
        return Outcome(job, _REFUSED, error.detail)
    except NothingLeftError as error:
        return Outcome(job, _LOST, error.detail)
    except TraceError as error:
        return Outcome(job, _FAILED, error.detail)
    except OSError as error:
        return Outcome(job, _FAILED, error.strerror or str(error))
    except click.UsageError as error:
        return Outcome(job, _FAILED, error.format_message())
    except Exception as error:  # noqa: BLE001 - one that fails does not end the others
        return Outcome(job, _FAILED, as_trace_error(error).detail)
    says = [f"{len(done.parts):,} parts"] if wanted.split is not None else []
    says += ["copied unchanged"] if done.events is None else []
    says += [] if wanted.lossless or not done.report else [verdict(done.report, done.events)]
    damage = [warning for warning in done.trace.warnings if warning.is_damage]
    says += [f"damaged: {warning.detail}" for warning in damage[:1]]
    return Outcome(job, _DONE, "; ".join(says), done.events, done.seconds)


def _retried_outcome(job: Job) -> Outcome:
    """Return the outcome of a job that was started without an output; a lost worker may have written it."""
    existing = None if job.is_broken else _skipped(job)
    if existing is not None and existing.state == _SKIPPED:
        return Outcome(job, _DONE, "written by a worker that was lost")
    return _outcome(job)


def _print_table(outcomes: list[Outcome]) -> None:
    rows = [("STATE", "INPUT", "OUTPUT", "EVENTS", "SECONDS", "")]
    for one in outcomes:
        events = "" if one.events is None else f"{one.events:,}"
        measured = (events, f"{one.seconds:.1f}") if one.state == _DONE else ("", "")
        row = (one.state, shown(one.job.source), shown(one.job.target), *measured, one.says)
        rows.append(tuple(map(printable, row)))  # type: ignore[arg-type] # as many columns as before
    for line in table(rows):
        print(line)
    counted = Counter(one.state for one in outcomes)
    print(", ".join(f"{count} {state}" for state, count in counted.items()))

"""``traceconv IN -o OUT``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from converter import registry
from converter.cli.options.merging import Relations, print_inputs
from converter.cli.options.paths import output_in
from converter.cli.output import messages
from converter.cli.output.progress import Progress
from converter.errors import OutputError, UnknownFormatError, UnsupportedError
from converter.errors.guarding import as_trace_error
from converter.formats.descriptor import Format
from converter.ir.trace import Trace
from converter.jobs.conversion import Strictness, refuse
from converter.jobs.reading import open_merged
from converter.jobs.transcription import transcribe
from converter.projection.losses import LossReport
from converter.storage.interrupts import expect_last
from converter.storage.locations import is_remote, shown_input, shown_output
from converter.storage.lookup import exists
from converter.storage.outputs import open_sink
from converter.storage.sink import DiscardingSink, Sink

if TYPE_CHECKING:
    from converter.jobs.splitting import SplitPart
    from converter.selection.parts import Division, TimeLength
    from converter.selection.selection import Selection

#: A constant of glibc's <malloc.h>.
_M_ARENA_MAX = -8
#: Seconds for which a thread keeps the interpreter's lock while another waits for it, unless it calls a kernel.
_TURN = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The parsed command line."""

    sources: tuple[str, ...]
    target: str | None
    source_format: str | None
    reader_options: dict[str, str]
    target_format: str | None
    strict: bool | Strictness
    lossless: bool
    force: bool
    losses: str | None = None
    no_clobber: bool = False
    quiet: bool = False
    verbose: bool = False
    dry_run: bool = False
    #: How the output is split.
    split: TimeLength | int | Division | None = None
    #: The scheduler whose workers write the output, or its parts.
    scheduler: str | None = None
    selection: Selection | None = None
    #: The options that relate several inputs.
    relations: Relations = field(
        default_factory=lambda: Relations(offsets={}, align=None, machines={})
    )

    @property
    def name(self) -> str:
        """The name of the input in lines on standard error."""
        if len(self.sources) == 1:
            return shown_input(self.sources[0])
        return shown_output(self.target or "-")


def run(options: Options, *, is_last: bool = True) -> None:
    """Convert, and print warnings and losses.

    Args:
        options: the parsed command line.
        is_last: the process has done its work once an output of one part has its name.

    Raises:
        TraceError: for any failure; the caller prints it.

    """
    target, variant = checked_formats(options)
    output = output_in(options.target or "-", options.sources[0], target, variant)
    if options.no_clobber and exists(output) and output != "-":
        messages.note(f"{shown_output(output)}: exists already, and is left as it is")
        return
    if options.scheduler is None:
        is_last = is_last and options.split is None
        done = converted(options, output, target, variant, is_last=is_last)
    else:
        done = _converted_by_workers(options, output)
    with reporting():
        _report(done, options, target)


@contextmanager
def reporting() -> Iterator[None]:
    """Report what was converted in this context. The output is complete: no failure changes the exit code."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - whatever it is
        from converter.cli.output.streams import abandon_standard_output

        if isinstance(error, OSError):
            abandon_standard_output()
        messages.warning(f"the output is complete, its report is not: {as_trace_error(error)}")


def _report(done: Conversion, options: Options, target: Format) -> None:
    """Print damage, losses and sizes."""
    if not options.quiet:
        print_warnings(done.trace, options.name)
        done.say(options.name)
        if not options.lossless or options.verbose:
            _print_losses(done, options, target)
        if options.split is not None:
            from converter.cli.actions.split_parts import print_parts

            print_parts(done.parts, done.trace.clock)
    if options.verbose:
        would = "would be " if options.dry_run else ""
        events = "copied unchanged" if done.events is None else f"{done.events:,} events"
        messages.note(
            f"{options.name}: {done.trace.format} to {target.name}: {events}, "
            f"{would}{done.size:,} bytes in {done.seconds:.2f} s"
        )


def _share_heap() -> None:
    """Make all threads allocate from one heap, so that memory freed by one is available to the next.

    The memory of a batch is allocated on one thread and freed on another, and the C library would keep it for the
    first.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another system's C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


class Conversion(NamedTuple):
    """A finished conversion: the part of a trace that was converted, and a function that reports its size."""

    trace: Trace
    say: Callable[[str], None]
    report: LossReport
    #: None if the files were copied without being read.
    events: int | None
    size: int
    seconds: float
    #: If the output is split.
    parts: Sequence[SplitPart] = ()


def converted(
    options: Options,
    output: str,
    target: Format,
    variant: str,
    watch: Callable[[Trace], None] = lambda _: None,
    *,
    is_last: bool = False,
    reads_all: bool = False,
) -> Conversion:
    """Convert to an output, and write the losses where they are requested.

    Args:
        options: the parsed command line.
        output: a single output, or the pattern of the names of parts.
        target: its format.
        variant: and the variant of that.
        watch: called with the trace before reading.
        is_last: the process has done its work once the output has its name.
        reads_all: also a trace whose files are copied is read.

    Raises:
        TraceError: for any failure.

    """
    _share_heap()
    # The other thread mostly goes on to call a kernel.
    sys.setswitchinterval(_TURN)
    with (
        _progress(options) as progress,
        open_merged(
            options.sources,
            options.source_format,
            options.reader_options,
            **(options.relations or {}),
            looked_through=progress.look_through,
        ) as whole,
    ):
        trace, say = _part(whole, options.selection)
        progress.watch(trace)
        watch(trace)
        if options.split is not None:
            from converter.cli.actions.split_parts import written
            from converter.jobs.splitting import Outputs

            outputs = Outputs(
                path=output,
                open=partial(_sink, options, target, variant),
                format=target,
                variant=variant,
                strict=options.strict,
                lossless=options.lossless and not options.dry_run,
            )
            report = LossReport()
            try:
                parts = written(trace, options.split, outputs, report)
            finally:
                _write_losses(report, options.losses)
            size = sum(part.size for part in parts)
            return Conversion(trace, say, report, progress.events, size, progress.seconds, parts)
        with _sink(options, target, variant, output) as sink:
            report = transcribe(
                trace, sink, target, variant, lossless=options.lossless and not options.dry_run
            )
            size = sink.tell()
            if reads_all and not progress.is_counted:
                for _ in trace.batches():
                    pass
            _write_losses(report, options.losses)
            refuse(trace, report, options.strict, lossless=options.lossless)
            if is_last:
                expect_last()
    events = progress.events if progress.is_counted else None
    return Conversion(trace, say, report, events, size, progress.seconds)


def _converted_by_workers(options: Options, output: str) -> Conversion:
    """Convert to an output, or to parts of it, that the workers of a scheduler write."""
    import time

    from converter.selection.parts import TimeLength

    assert options.scheduler is not None, "the caller has checked it"
    begin = time.monotonic()
    arguments: dict[str, Any] = {
        "source": options.sources[0],
        "path": output,
        "target_format": options.target_format,
        "source_format": options.source_format,
        "options": options.reader_options,
        "selection": options.selection,
        "strict": options.strict,
    }
    report = LossReport()
    parts: Sequence[SplitPart] = ()
    with open_merged(options.sources, options.source_format, options.reader_options) as trace:
        if isinstance(options.split, TimeLength):
            from converter.jobs.splitting_by_workers import Parts, split_by_workers

            shares = Parts(**arguments, division=options.split, lossless=options.lossless)
            found = split_by_workers(shares, options.scheduler, force=options.force)
            parts, trace.warnings[:] = found.parts, found.warnings
            events, size = sum(part.events for part in parts), sum(part.size for part in parts)
            for part in parts:
                report.include(part.report)
        else:
            from converter.jobs.joining_by_workers import Runs, convert_by_workers

            result = convert_by_workers(Runs(**arguments), options.scheduler, force=options.force)
            events, size, report = result.events, result.size, result.report
            trace.warnings[:] = result.warnings
    _write_losses(report, options.losses)
    seconds = time.monotonic() - begin
    return Conversion(trace, lambda _: None, report, events, size, seconds, parts)


def _progress(options: Options) -> Progress:
    progress = Progress(shown=not options.quiet)
    if any(map(is_remote, options.sources)):
        progress.watch_transfers()
    return progress


def _part(trace: Trace, selection: Selection | None) -> tuple[Trace, Callable[[str], None]]:
    if selection is None:
        return trace, lambda _: None
    from converter.cli.output.selected_part import part_of

    return part_of(trace, selection)


def _sink(options: Options, target: Format, variant: str, output: str) -> Sink:
    if options.dry_run:
        return DiscardingSink(output)
    return open_sink(
        output,
        force=options.force,
        directory=target.is_directory(variant),
        avoid=options.sources,
        seekable=target.patches_output or options.lossless,
    )


def checked_formats(options: Options) -> tuple[Format, str]:
    """Return the format and variant of the output. Errors about formats are raised before anything is read."""
    import click

    try:
        if options.target == "":
            raise click.UsageError("the name of the output is empty")
        target, variant = registry.target_format(options.target or "-", options.target_format)
        if options.source_format is not None:
            registry.source_format(options.source_format)[0].reader()
        target.writer()
    except (UnknownFormatError, UnsupportedError) as error:
        raise click.UsageError(error.detail) from None
    return target, variant


def _write_losses(report: LossReport, path: str | None) -> None:
    if path is None:
        return
    if path == "-":
        if sys.stdout is None:
            raise OutputError("standard output is closed", path="-")
        print(report.to_json(), end="", flush=True)
        return
    with open_sink(path, force=True) as sink:
        sink.write(report.to_json().encode())


def print_warnings(trace: Trace, source: str) -> None:
    """Print a line on standard error for each of several inputs, and for each damaged part."""
    print_inputs(trace)
    for warning in trace.warnings:
        path = warning.path if warning.path is not None else source
        messages.warning(f"warning: {path}: {warning.detail}")


def _print_losses(done: Conversion, options: Options, target: Format) -> None:
    if not len(done.report):
        return
    # Not for quiet conversions.
    from converter.cli.output.loss_summary import Converted, listing, summary

    source = shown_input(options.sources[0])
    if len(options.sources) > 1:
        source = f"{len(options.sources)} inputs"
    output = shown_output(options.target or "-")
    converted = Converted(source, output, done.trace.format, target.name, done.events)
    first, *others = (listing if options.verbose else summary)(done.report, converted)
    say = messages.warning if done.report.events_not_shown else messages.note
    say(first)
    messages.lines(others)

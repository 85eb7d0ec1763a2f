"""``traceconv IN -o OUT``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from converter import registry
from converter.cli.options.merging import Relations, print_inputs
from converter.cli.options.paths import output_in
from converter.cli.output import messages
from converter.cli.output.progress import Progress
from converter.conversion import Strictness, refuse
from converter.errors import UnknownFormatError, UnsupportedError
from converter.formats.descriptor import Format
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.reading import open_merged
from converter.storage.locations import is_remote, shown
from converter.storage.lookup import exists
from converter.storage.outputs import open_sink
from converter.storage.sink import DiscardingSink, Sink
from converter.transcription import transcribe

if TYPE_CHECKING:
    from converter.selection.parts import Division, TimeLength
    from converter.selection.selection import Selection
    from converter.splitting import SplitPart

#: Of glibc's <malloc.h>.
_M_ARENA_MAX = -8
#: Seconds for which a thread keeps the interpreter's lock while another waits for it, unless it calls a kernel.
_TURN = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says."""

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
    #: What the output is split by.
    split: TimeLength | int | Division | None = None
    #: Whose workers write the output, or its parts.
    scheduler: str | None = None
    selection: Selection | None = None
    #: What is said of several inputs.
    relations: Relations = field(
        default_factory=lambda: Relations(offsets={}, align=None, machines={})
    )

    @property
    def name(self) -> str:
        """What lines on standard error are about."""
        return shown(self.sources[0]) if len(self.sources) == 1 else shown(self.target or "-")


def run(options: Options) -> None:
    """Convert, and print what there is to say about it.

    Raises:
        TraceError: of what went wrong, for the caller to print.

    """
    target, variant = checked_formats(options)
    place = output_in(options.target or "-", options.sources[0], target, variant)
    if options.no_clobber and exists(place) and place != "-":
        messages.note(f"{shown(place)}: exists already, and is left as it is")
        return
    if options.scheduler is None:
        done = converted(options, place, target, variant)
    else:
        done = _converted_by_workers(options, place)
    if not options.quiet:
        print_warnings(done.trace, options.name)
        done.say(options.name)
        if not options.lossless or options.verbose:
            _print_losses(done, options)
        if options.split is not None:
            from converter.cli.actions.split_parts import print_parts

            print_parts(done.parts, done.trace.clock)
    if options.verbose:
        would = "would be " if options.dry_run else ""
        messages.note(
            f"{options.name}: {done.trace.format} to {target.name}: {done.events:,} events, "
            f"{would}{done.size:,} bytes in {done.seconds:.2f} s"
        )


def _share_heap() -> None:
    """Have all threads take memory from one heap: what one has let go of, the next one takes.

    What a batch needs is new on one thread and let go of on another, and the C library would keep it for the first.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another system's C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


class Conversion(NamedTuple):
    """A conversion that was done: of which part of a trace, and what tells how much that is."""

    trace: Trace
    say: Callable[[str], None]
    report: LossReport
    events: int
    size: int
    seconds: float
    #: Where the output is split.
    parts: Sequence[SplitPart] = ()


def converted(
    options: Options,
    place: str,
    target: Format,
    variant: str,
    watch: Callable[[Trace], None] = lambda _: None,
) -> Conversion:
    """Convert to an output, and write the losses where they are wanted. `watch` gets the trace before it is read.

    Raises:
        TraceError: of what went wrong.

    """
    _share_heap()
    # Mostly a kernel is what the other thread goes on with.
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
            from converter.splitting import Outputs

            outputs = Outputs(
                path=place,
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
        with _sink(options, target, variant, place) as sink:
            report = transcribe(
                trace, sink, target, variant, lossless=options.lossless and not options.dry_run
            )
            size = sink.tell()
            _write_losses(report, options.losses)
            refuse(trace, report, options.strict, lossless=options.lossless)
    return Conversion(trace, say, report, progress.events, size, progress.seconds)


def _converted_by_workers(options: Options, place: str) -> Conversion:
    """Convert to an output, or to parts of it, that the workers of a scheduler write."""
    import time

    from converter.selection.parts import TimeLength

    assert options.scheduler is not None, "the caller has checked it"
    begin = time.monotonic()
    what: dict[str, Any] = {
        "source": options.sources[0],
        "path": place,
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
            from converter.splitting_by_workers import Parts, split_by_workers

            shares = Parts(**what, division=options.split, lossless=options.lossless)
            found = split_by_workers(shares, options.scheduler, force=options.force)
            parts, trace.warnings[:] = found.parts, found.warnings
            events, size = sum(part.events for part in parts), sum(part.size for part in parts)
            for part in parts:
                report.include(part.report)
        else:
            from converter.joining_by_workers import Runs, convert_by_workers

            made = convert_by_workers(Runs(**what), options.scheduler, force=options.force)
            events, size, report = made.events, made.size, made.report
            trace.warnings[:] = made.warnings
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


def _sink(options: Options, target: Format, variant: str, place: str) -> Sink:
    if options.dry_run:
        return DiscardingSink(place)
    return open_sink(
        place,
        force=options.force,
        directory=target.is_directory(variant),
        avoid=options.sources,
        seekable=target.patches_output or options.lossless,
    )


def checked_formats(options: Options) -> tuple[Format, str]:
    """The format and variant of the output. What is wrong with the formats is said before anything is read."""
    import click

    try:
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
        print(report.to_json(), end="")
        return
    with open_sink(path, force=True) as sink:
        sink.write(report.to_json().encode())


def print_warnings(trace: Trace, source: str) -> None:
    """A line on standard error for each input of several, and for each thing that is damaged."""
    print_inputs(trace)
    for warning in trace.warnings:
        path = warning.path if warning.path is not None else source
        messages.warning(f"warning: {path}: {warning.detail}")


def _print_losses(done: Conversion, options: Options) -> None:
    from converter.cli.output.loss_summary import listing, summary  # not for quiet conversions

    lines = listing if options.verbose else summary
    say = messages.warning if done.report.events_not_shown else messages.note
    for line in lines(done.report, done.events, done.trace.format):
        say(f"{options.name}: {line}" if line[:1] != " " else line)

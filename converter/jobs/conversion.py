"""Whole conversions: read, project, write; and the refusal of losses."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, cast, get_args

from converter import registry
from converter.errors import (
    OutputError,
    StrictLossError,
    TraceWarning,
    UnknownFormatError,
    UnsupportedError,
)
from converter.errors.advice import advice
from converter.formats.table import format_read
from converter.ir.trace import Trace
from converter.jobs.reading import open_merged
from converter.jobs.transcription import transcribe
from converter.projection.loss_groups import grouped
from converter.projection.losses import LossClass, LossReport
from converter.storage.opening import SourceArgument
from converter.storage.outputs import open_sink
from converter.storage.pool.workers import using_workers

if TYPE_CHECKING:
    from converter.selection.selection import Selection

#: The outputs that `write` accepts: a path or URL ("-": standard output), or a binary file object.
OutputArgument = str | os.PathLike[str] | BinaryIO
_COPIED_AT_ONCE: Final = 1 << 20

#: Which losses to refuse: of what viewers show; also of what other readers find unchanged; or all.
Strictness = Literal["shown", "kept", "all"]
STRICTNESS: tuple[Strictness, ...] = get_args(Strictness)


def write(
    trace: Trace,
    path: OutputArgument,
    format: str | None = None,
    *,
    force: bool = False,
    strict: bool | Strictness = False,
    lossless: bool = False,
    source: str | os.PathLike[str] | Sequence[str] | None = None,
) -> LossReport:
    """Write a trace to a file or directory, to a binary file object, or to standard output ("-").

    Args:
        trace: any trace; its batches are read once.
        path: the output, a local path or a URL; it appears whole or not at all. A file object (`io.BytesIO`, a file
            open for writing) receives all of it at the end, if nothing went wrong, and stays open.
        format: the name of a format, "name+variant" for a variant of it; found by the suffix of `path` when None.
            A file object has none.
        force: replace what exists.
        strict: refuse to lose what a viewer of the output would show ("shown", True), that or what other readers of it
            would find ("kept"), or anything ("all"), and what is left of damaged input.
        lossless: also embed the original trace in the output, so that reading the output restores it.
        source: the input, or the paths of several, which are never replaced.

    Returns:
        The losses: everything that did not fit.

    Raises:
        StrictLossError: something that `strict` protects would be lost.
        ValueError: `strict` has an unknown value.
        UnknownFormatError: there is no such format.
        UnsupportedError: the format cannot represent the trace at all, or cannot be written.
        OutputError: the output cannot be written, or exists and not `force`.
        TraceError: as `Trace.batches` does.

    """
    check_strictness(strict)
    if not isinstance(path, str | os.PathLike):
        return _write_to_file_object(
            trace, path, format, strict=strict, lossless=lossless, source=source
        )
    target, variant = registry.target_format(path, format)
    with open_sink(
        path,
        force=force,
        directory=target.is_directory(variant),
        avoid=source,
        seekable=target.patches_output or lossless,
    ) as sink:
        report = transcribe(trace, sink, target, variant, lossless=lossless)
        refuse(trace, report, strict, lossless=lossless)
    return report


def _write_to_file_object(
    trace: Trace,
    file: BinaryIO,
    format: str | None,
    *,
    strict: bool | Strictness,
    lossless: bool,
    source: str | os.PathLike[str] | Sequence[str] | None,
) -> LossReport:
    """Write a trace to a temporary file, which is copied once it is whole."""
    if not hasattr(file, "write"):
        raise TypeError(f"neither a path nor a file object: {file!r}")
    if format is None:
        raise UnknownFormatError("a file object has no suffix: name the format", path=_name(file))
    target, variant = registry.target_format("-", format)
    if target.is_directory(variant):
        raise UnsupportedError(
            "this format is a directory: write it to a path that ends in .tar, and pass on that file",
            format=target.name,
        )
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="traceconv-") as folder:
        path = os.path.join(folder, "output")
        report = write(trace, path, format, strict=strict, lossless=lossless, source=source)
        try:
            with open(path, "rb") as made:
                shutil.copyfileobj(made, file, _COPIED_AT_ONCE)
        except TypeError as error:
            raise TypeError("the file object is of text: open it in binary mode (wb)") from error
        except OSError as error:
            raise OutputError(str(error), path=_name(file)) from error
    return report


def _name(file: BinaryIO) -> str:
    return str(getattr(file, "name", "<file object>"))


def convert(
    source: SourceArgument | Sequence[SourceArgument],
    target: OutputArgument,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    options: Mapping[str, str] | None = None,
    selection: Selection | None = None,
    limits: Mapping[str, int | str] | None = None,
    force: bool = False,
    strict: bool | Strictness = False,
    lossless: bool = False,
    jobs: int | None = None,
    on_warning: Callable[[TraceWarning], object] | None = None,
    progress: Callable[[int], object] | None = None,
) -> LossReport:
    """Convert an input, or the part of it that a selection wants, to a file.

    Args:
        source: as `open_trace` accepts it; a list of several is merged (`merge`).
        target: the output: the `path` of `write`.
        source_format: the `format` of `open_trace`.
        target_format: the `format` of `write`.
        options: as `open_trace` accepts them.
        selection: as `open_trace` accepts it.
        limits: as `open_trace` accepts them.
        force: as `write` accepts it.
        strict: as `write` accepts it.
        lossless: as `write` accepts it.
        jobs: threads for each step that can use several; by default one for each CPU. The output is the same.
        on_warning: called, at the end, for all damage in the input that was skipped.
        progress: called with the number of events that are written so far, from time to time.

    Returns:
        The losses: everything that did not fit.

    Raises:
        Exception: whatever `open_trace` and `write` raise.
        ValueError: `jobs` is less than 1.

    """
    sources: list[SourceArgument] = (
        [*source] if isinstance(source, list | tuple) else [cast("SourceArgument", source)]
    )
    paths = [os.fspath(one) for one in sources if isinstance(one, str | os.PathLike)]
    with (
        using_workers(jobs),
        open_merged(sources, source_format, options, selection=selection, limits=limits) as trace,
        reporting_warnings(trace, on_warning),
    ):
        if progress is not None:
            trace.watch(progress)
        return write(
            trace,
            target,
            target_format,
            force=force,
            strict=strict,
            lossless=lossless,
            source=paths,
        )


@contextmanager
def reporting_warnings(
    trace: Trace, on_warning: Callable[[TraceWarning], object] | None
) -> Iterator[None]:
    """Call a function for a trace's warnings at the end of the context, even if an error ends it."""
    try:
        yield
    finally:
        if on_warning is not None:
            for warning in trace.warnings:
                on_warning(warning)


def check_strictness(strict: bool | Strictness) -> None:
    """Raise ValueError for an unknown strictness."""
    if strict not in (False, True, *STRICTNESS):
        raise ValueError(f"no strictness {strict!r}: there are {', '.join(STRICTNESS)}")


def refuse(
    trace: Trace, report: LossReport, strict: bool | Strictness, *, lossless: bool = False
) -> None:
    """Raise an error if a strictness refuses the damage of a trace that was written, or its losses.

    What a `lossless` conversion loses is what reading does not restore, not what other readers miss.
    """
    if not strict:
        return
    if trace.check is not None:
        trace.check(True)
    if trace.warnings:
        raise trace.warnings[0].to_error()
    refuse_losses(_not_restored(trace) if lossless else report, strict)


def _not_restored(trace: Trace) -> LossReport:
    """Return what reading a finished lossless conversion of a trace does not restore."""
    from converter.merging.merged_trace import MergedTrace

    report = LossReport()
    source = format_read(trace)
    if source is not None:
        text = trace.sidecar.get(source.name, {}).get("left_behind")
        if text is not None:
            report.add("file-layout", part=text)
    if isinstance(trace, MergedTrace):
        report.include(trace.losses)
    return report


def refuse_losses(report: LossReport, strict: bool | Strictness) -> None:
    """Raise StrictLossError for a loss that a strictness refuses."""
    if not strict:
        return
    level = "shown" if strict is True else strict
    refused, tolerated = {
        "shown": ((LossClass.SHOWN,), "no loss of what is shown"),
        "kept": ((LossClass.SHOWN, LossClass.KEPT), "no loss but of details"),
        "all": (tuple(LossClass), "no loss"),
    }[level or "shown"]
    losses = grouped(loss for one in refused for loss in report.of_class(one))
    if losses:
        more = f", and {len(losses) - 1} more" if len(losses) > 1 else ""
        how = advice(
            "the error's `report` lists all, lossless=True keeps all",
            "--dry-run -v lists all, --lossless keeps all",
        )
        error = StrictLossError(
            f"not everything fits: {losses[0].sentence()}{more}; strict allows {tolerated} ({how})"
        )
        error.report = report
        raise error

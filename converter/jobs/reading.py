"""Opens, recognises and reads the traces of inputs; merges several of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from converter import registry
from converter.errors import (
    ArgumentError,
    NothingLeftError,
    TraceError,
    TraceWarning,
    TruncatedError,
    UnknownFormatError,
    note,
    too_many_classes,
)
from converter.errors.guarding import guarded
from converter.formats.descriptor import COMMON_OPTIONS, Format
from converter.formats.lossless.footer import has_residual
from converter.ir.events import Batch
from converter.ir.trace import Seeking, Trace
from converter.limits import allowed, changed_limits, iterated, limit, limited
from converter.storage.opening import SourceArgument, open_source
from converter.storage.source import Source

if TYPE_CHECKING:
    from converter.selection.selection import Selection


_Result = TypeVar("_Result")

#: What is said of a file in a folder that is not a trace.
LEFT_OUT: Final = "no trace, left out"


def detect(source: SourceArgument) -> Format:
    """Return the format of an input.

    Args:
        source: a path or URL ("-": standard input), a binary file object, or the bytes themselves.

    Raises:
        UnknownFormatError: no format recognises it.
        TraceError: it cannot be read.

    """
    with guarded(), open_source(source) as opened:
        return registry.detect(opened)


def open_trace(
    source: SourceArgument,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    selection: Selection | None = None,
    limits: Mapping[str, int | str] | None = None,
) -> Trace:
    """Open the trace of an input for streaming.

    The input is closed with the trace: at the end of a ``with`` statement, or by `Trace.close`. A trace that is
    forgotten without that is closed with a ResourceWarning.

    Args:
        source: as `detect` accepts it; compression is removed. The traces of a folder or archive with several are
            merged (`open_merged`).
        format: the name of a format, for inputs that are not recognised.
        options: options of its reader, by name (`Format.options`).
        selection: the part of it to read; what that does not need is not read, where the format lets a reader find its
            way (docs/command/selections.md says what may then be missing at the start).
        limits: limits on what the input may use, by name, if not the defaults (docs/security.md).

    Raises:
        SelectionError: when batches are read: the trace's clock cannot express the selected times.
        UnknownFormatError: no format recognises the input, or none has this name.
        TraceError: the input cannot be read, or is damaged before its first usable event.
        ValueError: there is no such limit, or it cannot have this value.

    """
    return open_merged([source], format, options, selection=selection, limits=limits)


def open_merged(
    sources: Sequence[SourceArgument],
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    *,
    offsets: Mapping[str, str | Fraction] | None = None,
    align: str | None = None,
    machines: Mapping[str, Sequence[str]] | None = None,
    selection: Selection | None = None,
    limits: Mapping[str, int | str] | None = None,
    looked_through: Callable[[Trace], None] | None = None,
) -> Trace:
    """Open several inputs as one trace for streaming: a `MergedTrace`, or the trace of a single input.

    They are closed with the trace, as that of `open_trace`.

    Args:
        sources: each as `open_trace` accepts it; a folder or archive that is not a trace means everything in it.
        format: of all of them, for inputs that are not recognised.
        options: options of the readers of all of them.
        offsets: as `merge` accepts them, by the names of the inputs.
        align: as `merge` accepts it.
        machines: as `merge` accepts them.
        selection: as `open_trace` accepts it; times are those of the merged trace.
        limits: as `open_trace` accepts them.
        looked_through: called for each of several inputs before it is read for the first time.

    Raises:
        SelectionError: as `open_trace` does.
        UnknownFormatError: no format recognises an input, or none has this name.
        ArgumentError: as `merge` does, or a reader has no such option.
        UnsupportedError: as `merge` does.
        TraceError: an input cannot be read, or is damaged before its first usable event.

    """
    contexts: list[AbstractContextManager[None]] = [limited(limits)]
    with limited(limits), ExitStack() as stack:
        inputs: list[tuple[str, Trace]] = []
        left_out: list[TraceWarning] = []
        only: Source | None = None
        for source in sources:
            with guarded():
                opened = stack.enter_context(open_source(source, registry.is_live))
            with _attach_name(opened), guarded():
                inputs += _traces_in(opened, format, options, stack, left_out)
            if len(sources) == 1:
                # Later errors are about this input, too; of several inputs, each names its own.
                only = opened
                contexts.append(_attach_name(opened))
        if looked_through is not None and len(inputs) > 1:
            for _, one in inputs:
                looked_through(one)
        with nullcontext() if only is None else _attach_name(only):
            with guarded():
                trace = _merged(inputs, left_out, offsets=offsets, align=align, machines=machines)
            if selection is not None:
                trace = _part(trace, selection)
        if only is not None:
            _replace_batches(trace, partial(_named_batches, trace.make_batches, only))
        trace.keep_open(stack.pop_all(), *contexts)
        return trace


def read(
    source: SourceArgument,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    limits: Mapping[str, int | str] | None = None,
) -> Trace:
    """Return the trace of an input in memory.

    Args:
        source: as `open_trace` accepts it.
        format: as `open_trace` accepts it.
        options: as `open_trace` accepts them.
        limits: as `open_trace` accepts them.

    Raises:
        Exception: whatever `open_trace` raises.

    What only the source's own format has may still be read from the file when needed, which is closed with the trace.

    """
    with ExitStack() as stack:
        stack.enter_context(limited(limits))
        stack.enter_context(guarded())
        opened = open_source(source, registry.is_live)
        stack.enter_context(_attach_name(opened))
        left_out: list[TraceWarning] = []
        inputs = _traces_in(opened, format, options, stack, left_out)
        from converter.ir.collect import collect

        return collect(_merged(inputs, left_out))


def _part(trace: Trace, selection: Selection) -> Trace:
    from converter.selection.select import selected

    return selected(trace, selection, narrow=True).trace


def _merged(
    inputs: Sequence[tuple[str, Trace]],
    left_out: Sequence[TraceWarning],
    *,
    offsets: Mapping[str, str | Fraction] | None = None,
    align: str | None = None,
    machines: Mapping[str, Sequence[str]] | None = None,
) -> Trace:
    """Merge named traces; a single one is returned unchanged, unless options for several are given."""
    if len(inputs) == 1 and not (offsets or align or machines):
        ((_, trace),) = inputs
    else:
        # Imported only when needed: most conversions are of one input.
        from converter.merging.merge import merge

        trace = merge(
            [trace for _, trace in inputs],
            names=[name for name, _ in inputs],
            offsets=offsets,
            align=align,
            machines=machines,
        )
    _refuse_nothing(trace)
    note(trace.warnings, *left_out)
    return trace


def _refuse_nothing(trace: Trace) -> None:
    """Have a pass over all batches raise an error at its end if no event is left of a damaged input."""
    make_batches, is_as_read = trace.make_batches, trace.is_as_read
    #: What is left out on request is not damage.
    requests: list[object] = []

    def checked() -> Iterator[Batch]:
        events = 0
        try:
            for batch in make_batches():
                events += len(batch)
                yield batch
                del batch
        except TraceError as error:
            if events or requests:
                raise
            raise _as_nothing_left(error) from error.__cause__
        damage = [one for one in trace.warnings if one.is_damage]
        if not events and damage and not requests:
            raise _nothing_left(damage[0])

    # In place, since a reader may change its trace while it reads.
    trace.make_batches = checked
    if is_as_read:
        trace.source_batches = checked
    if trace.seeking is not None:
        trace.seeking = _NotedSeeking(trace.seeking, requests)
    if trace.leave_out is not None:
        trace.leave_out = partial(_noted, trace.leave_out, requests)


class _NotedSeeking:
    """The seeking of a reader, with a note of each request to leave something out."""

    def __init__(self, seeking: Seeking, requests: list[object]) -> None:
        self.first = seeking.first
        self.last = seeking.last
        self.narrow = partial(_noted, seeking.narrow, requests)


def _noted(function: Callable[..., _Result], requests: list[object], *arguments: object) -> _Result:
    requests.append(function)
    return function(*arguments)


def _as_nothing_left(error: TraceError) -> TraceError:
    """Return an error of a reader before the first event, as what it means for the input if that is damaged."""
    if type(error) not in (TraceError, TruncatedError) or isinstance(error.__cause__, OSError):
        return error
    return NothingLeftError(**error.parts())


def _nothing_left(damage: TraceWarning) -> NothingLeftError:
    said = f": {damage.message}" if damage.message is not None else ""
    parts = {**damage.to_error().parts(), "message": f"no event of it can be read{said}"}
    return NothingLeftError(**parts)


def _traces_in(
    source: Source,
    format: str | None,
    options: Mapping[str, str] | None,
    stack: ExitStack,
    left_out: list[TraceWarning],
) -> list[tuple[str, Trace]]:
    """Return the trace of an input with its name, or those of the inputs in a folder that is not a trace.

    The stack closes them.
    """
    of_reader = dict(options or {})
    samples = of_reader.pop("samples", None)
    if samples not in (None, "slices"):
        raise ArgumentError(f"samples cannot become {samples!r}; the option is samples=slices")

    def opened(one: Source) -> tuple[str, Trace]:
        trace = _trace_of(one, format, of_reader)
        _limit_classes(trace)
        _keep_limits(trace)
        stack.callback(trace.close)
        if samples is not None:
            from converter.projection.passes.slices.sample_slices import with_slices

            trace = with_slices(trace)
        return one.name, trace

    names = source.listdir() if source.is_directory and format is None else []
    if registry.is_single_trace(source, names):
        return [opened(source)]
    # A folder that is not a trace, or only seems to be one because of what is in its subfolders.
    found: list[tuple[Source, Format]] = []
    others: list[TraceWarning] = []
    many = len(names) > limit("folder-files")
    if many and registry.detected(source) is None:
        expected = f"a trace, or {allowed('folder-files')}"
        raise UnknownFormatError(path=source.name, expected=expected, found=f"{len(names):,}")
    for name in names if not many else ():
        try:
            inner = stack.enter_context(source.open(name))
            found.append((inner, registry.detect(inner)))
        except TraceError as error:
            error.to_warning()  # raises what is no property of the file
            path = os.path.join(source.name, name)
            others.append(TraceWarning(message=LEFT_OUT, path=path, is_damage=False))
    if not found or {one for _, one in found} == {registry.detected(source)}:
        return [opened(source)]
    left_out += [*source.warnings, *others]
    traces = []
    for inner, _ in found:
        with _attach_name(inner):
            traces.append(opened(inner))
    return traces


def _limit_classes(trace: Trace) -> None:
    """Have a pass over all batches end before one that brings too many classes: each takes 10 kB of a conversion."""
    make_batches, is_as_read = trace.make_batches, trace.is_as_read

    def limited_batches() -> Iterator[Batch]:
        is_first = True
        for batch in make_batches():
            count = len(trace.event_classes)
            if count > limit("classes"):
                error = too_many_classes(count).within(format=trace.format)
                if is_first:
                    raise error
                note(trace.warnings, error.to_warning())
                return
            is_first = False
            yield batch
            del batch

    # In place, since a reader may change its trace while it reads.
    trace.make_batches = limited_batches
    if is_as_read:
        trace.source_batches = limited_batches


def _keep_limits(trace: Trace) -> None:
    """Apply the limits of this context whenever batches are read, whatever else is opened by then."""
    values = changed_limits()
    if values:
        _replace_batches(trace, partial(iterated, trace.make_batches, values))


def _replace_batches(trace: Trace, make_batches: Callable[[], Iterator[Batch]]) -> None:
    """Set what makes the batches; it makes the same ones as before."""
    is_as_read = trace.is_as_read
    trace.make_batches = make_batches
    if is_as_read:
        trace.source_batches = make_batches


def _named_batches(make_batches: Callable[[], Iterator[Batch]], source: Source) -> Iterator[Batch]:
    """Yield batches; errors that name no file name the source."""
    with _attach_name(source):
        yield from make_batches()


def _check_name(source: Source, named: Format, error: TraceError) -> None:
    """Raise an error if an input that cannot be read in the named format is recognised as another."""
    detected = registry.detected(source)
    if detected is not None and detected is not named:
        raise ArgumentError(
            f"cannot be read as {named.name} ({error.detail}), but is recognised as "
            f"{detected.name}: leave the format out"
        )


def _no_option(name: str, format: Format) -> str:
    from difflib import get_close_matches  # slow to import, and mistakes are rare

    known = (*format.options, *COMMON_OPTIONS)
    close = get_close_matches(name, known, 1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    return (
        f"there is no option {name!r} for reading {format.name}{meant}; known: {', '.join(known)}"
    )


def _trace_of(source: Source, name: str | None, options: Mapping[str, str]) -> Trace:
    reader_options = dict(options)
    if name is None:
        found = registry.detect(source)
    else:
        found, implied = registry.source_format(name)
        reader_options = {**implied, **reader_options}
    for option in reader_options:
        if option not in found.options:
            raise ArgumentError(_no_option(option, found))
    if found.reads_in_order:
        source.expect_order()
    try:
        embedded, source, stale = _extract_embedded(source, found)
        trace = found.open(source, reader_options) if embedded is None else embedded
    except TruncatedError as error:
        if name is not None:
            _check_name(source, found, error)
        raise _as_nothing_left(error.within(format=found.name)) from error.__cause__
    except TraceError as error:
        if name is not None:
            _check_name(source, found, error)
        raise error.within(format=found.name)  # noqa: B904 - it is the same error
    note(trace.warnings, *source.warnings)
    if stale is not None:
        note(trace.warnings, stale)
    return trace


def _extract_embedded(
    source: Source, format: Format
) -> tuple[Trace | None, Source, TraceWarning | None]:
    """Return the trace embedded in an input, the input without it, and a warning if that trace is stale."""
    if not has_residual(source):
        return None, source, None
    from converter.formats.lossless.residual import extract

    return extract(source, format.embedding if format.embeds else None)


@contextmanager
def _attach_name(source: Source) -> Iterator[None]:
    """Attach this source to errors that name no file."""
    try:
        yield
    except TraceError as error:
        raise error.within(path=source.name)  # noqa: B904 - it is the same error

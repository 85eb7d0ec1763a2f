"""The descriptor of a format, which imports neither its reader nor its writer.

Reader, writer and the like are in modules of the format's package with the usual names, imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from converter.errors import UnsupportedError
from converter.errors.guarding import GuardedMethods, guarded_function, guarded_items

if TYPE_CHECKING:
    from converter.formats.embedding import Embedding
    from converter.ir.events import Batch
    from converter.ir.symbols import SymbolTable
    from converter.ir.trace import Seeking, Trace
    from converter.projection.capabilities import Capabilities
    from converter.projection.losses import LossReport
    from converter.storage.sink import Sink
    from converter.storage.source import Source
    from converter.storage.source_files import SourceFiles

#: Options of reading that all formats have.
COMMON_OPTIONS: Final = ("samples",)
#: The type of `Trace.describe`.
_Describe = Callable[["Batch"], Callable[[int], "str | None"]]
#: Opens a source as a trace: ``read(source, **options) -> Trace``. Cheap: decoding starts with `Trace.batches`.
Reader = Callable[..., "Trace"]
#: Writes a trace that has been projected to the format's capabilities: ``write(trace, sink, variant)``. A trace from
#: the format's own reader is not projected; then it returns the losses of the format's own data in the variant, if any.
Writer = Callable[["Trace", "Sink", str], "LossReport | None"]


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    `sniff` receives the first 4 KiB of a file and returns True if it looks like this format. (For a directory, it
    receives ``b"dir:"`` and the relative names of the files in it and in its folders, newline-joined.) `variants` are
    the names after "+", the first being the default. `patches_output` means that the writer uses `Sink.write_at`, for
    which a pipe needs a temporary file.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    spec: str
    variants: tuple[str, ...]
    capabilities: Callable[[str], Capabilities]
    sniff: Callable[[bytes], bool]
    readable: bool = True
    writable: bool = True
    directory: bool = False
    #: Variants that are directories, if others are files.
    directories: tuple[str, ...] = ()
    patches_output: bool = False
    #: Variants of which several processes can write one output: their writers call `Sink.begin_batch`.
    shared: tuple[str, ...] = ()
    #: The writer accepts everything from the format's own reader as it is; otherwise that is projected too.
    replays: bool = True
    #: The writer copies batches that still have the records that they were read from; other traces are projected.
    replays_records: bool = False
    #: It does so for any variant, not only for the one that the trace was read from.
    replays_as_any_variant: bool = True
    #: The writer accepts any trace as it is: nothing is projected.
    holds_all: bool = False
    #: But the files of the source are embedded only if the output is to be lossless.
    files_when_lossless: bool = False
    #: The sidecar refers to the source; the module `portable` has its self-contained form.
    has_portable: bool = False
    #: The source can be embedded whole: `portable` also has `whole`, from which the writer restores the file, and
    #: `symbols`.
    travels_whole: bool = False
    #: In a lossless output the source is embedded in place of the events: `portable` also has `source_files`.
    sends_source: bool = False
    #: The writer iterates the trace twice; part of a trace is buffered in a file for it.
    reads_twice: bool = False
    #: Files can contain an embedded payload: the module `embedding` defines where. Directories always can.
    embeds: bool = False
    #: The start of a file may not identify it: the module `search` checks the rest.
    searches: bool = False
    #: The format's own tools print events as text; the package `report` has `print_report`, which does as well.
    reports: bool = False
    #: Files are read from start to end, so that compressed ones need no copy.
    reads_in_order: bool = False
    #: Returns True for the start of a text that can be read while it is being written.
    is_live: Callable[[bytes], bool] | None = None
    #: Options of the reader, beside `COMMON_OPTIONS`: names of its keyword arguments, which accept text.
    options: tuple[str, ...] = ()
    #: Those of them that name a file, which then becomes one of the source's files.
    options_of_files: tuple[str, ...] = ()
    #: Other known names; "name+variant" if it is a name of a variant of it.
    aliases: tuple[str, ...] = ()
    #: The variant of each byte order ("little", "big"), if a writer has a choice.
    byte_orders: tuple[tuple[str, str], ...] = ()
    #: The package with its modules, if it is not that of its name in `converter.formats`.
    package: str = ""
    #: A library that its reader and writer need, and the extra of ours that installs it.
    needs: tuple[str, str] | None = None

    def __repr__(self) -> str:
        """Return one line: the format's name here, and its title."""
        return f"<Format {self.name}: {self.title}>"

    @property
    def default_variant(self) -> str:
        """The variant that the format's own name refers to."""
        return self.variants[0] if self.variants else ""

    @property
    def modules(self) -> str:
        """The package with the format's modules."""
        return self.package or f"converter.formats.{self.name}"

    def is_directory(self, variant: str) -> bool:
        """Return True if an output of a `variant` is a directory."""
        return self.directory or variant in self.directories

    def reader(self) -> Reader:
        """Return the format's `read`; UnsupportedError if it has none, or needs a library that is not installed."""
        if not self.readable:
            raise UnsupportedError(format=self.name, message="this format cannot be read")
        return cast(Reader, self._guarded("reading", "read"))

    def open(self, source: Source, options: Mapping[str, str], *, travelled: bool = False) -> Trace:
        """Open a source as a trace that knows its origin.

        Args:
            source: an input of this format.
            options: options of the reader, by name (`Format.options`).
            travelled: True if the source was embedded in another format's file.

        Raises:
            UnsupportedError: the format cannot be read, or only with a library that is not installed.
            TraceError: as the reader does.

        """
        trace = self.reader()(source, **options)
        _guard(trace, self.name)
        if self.sends_source:
            # Only now: this module is also loaded without any trace.
            from converter.ir.origin import origin_of

            trace.origin = origin_of(trace, source.name, options, travelled=travelled)
        return trace

    def writer(self) -> Writer:
        """Return the format's `write`; UnsupportedError if it has none, or needs a library that is not installed."""
        if not self.writable:
            raise UnsupportedError(format=self.name, message="this format cannot be written")
        return cast(Writer, self._guarded("writing", "write", writes=True))

    def search(self) -> Callable[[Source, bytes], bool]:
        """Return the format's `search`, which returns True if a source with an unrecognized start is of the format.

        Raises:
            UnsupportedError: it needs a library that is not installed.

        """
        return cast("Callable[[Source, bytes], bool]", self._guarded("search", "search"))

    def print_report(self, trace: Trace, write: Callable[[bytes], object]) -> bool:
        """Print the events of a trace of this format as its own tools do.

        Args:
            trace: a trace that the format's reader returned, or a part of one.
            write: called with the text, part by part.

        Returns:
            True if it was printed; False, and nothing is printed, where the format's tools print no such events.

        Raises:
            UnsupportedError: a library that is needed is not installed.
            TraceError: as `Trace.batches` does.

        """
        if not self.reports:
            return False
        return cast(bool, self._guarded("report", "print_report", writes=True)(trace, write))

    def embedding(self) -> Embedding:
        """Return how files of the format contain embedded payloads; UnsupportedError if they cannot."""
        if not self.embeds:
            raise UnsupportedError("nothing can travel in this format", format=self.name)
        return cast("Embedding", self._function("embedding", "EMBEDDING"))

    def portable(self, trace: Trace) -> dict[str, Any]:
        """Return the self-contained form of the format's part of a trace's sidecar: JSON-like values and bytes.

        The writer restores the same from it. Its entry "left_behind" names what cannot be embedded and restored from
        another format's file. UnsupportedError if a library is needed that is not installed.
        """
        if not self.has_portable:
            return trace.sidecar.get(self.name, {})
        return cast(dict[str, Any], self._guarded("portable", "portable")(trace))

    def travelling(self, trace: Trace) -> dict[str, Any]:
        """Return the embedded form of the format's part of a trace's sidecar.

        That is the source as it is if the trace is unchanged; otherwise `portable`, with its errors.
        """
        if self.travels_whole and trace.is_as_read:
            whole = cast(dict[str, Any], self._guarded("portable", "whole")(trace))
            if whole:
                return whole
        return self.portable(trace)

    def symbols(self, sidecar: dict[str, Any]) -> SymbolTable | None:
        """Return the symbols in an embedded `sidecar`, which need not be embedded separately.

        Errors are those of `portable`.
        """
        if not self.travels_whole:
            return None
        return cast("SymbolTable | None", self._guarded("portable", "symbols")(sidecar))

    def source_files(self, trace: Trace) -> SourceFiles | None:
        """Return the files that a trace was read from, if they can be embedded in place of its events.

        They must contain the whole trace. Errors are those of `portable`.
        """
        from converter.ir.origin import is_unchanged

        if not self.sends_source or not is_unchanged(trace):
            return None
        return cast("SourceFiles | None", self._guarded("portable", "source_files")(trace))

    def _guarded(self, module: str, name: str, *, writes: bool = False) -> Callable[..., Any]:
        """Return a function of the format, which raises no exceptions but errors of the project."""
        return guarded_function(self._function(module, name), self.name, writes=writes)

    def _function(self, module: str, name: str) -> Any:
        try:
            return getattr(import_module(f"{self.modules}.{module}"), name)
        except ModuleNotFoundError as error:
            if self.needs is None or error.name != self.needs[0]:
                raise
            library, extra = self.needs
            message = f"this needs {library}: pip install 'traceconv[{extra}]'"
            raise UnsupportedError(message, format=self.name) from None


def _guard(trace: Trace, format: str) -> None:
    """Have everything that a reader does later, for a trace that it returned, raise errors of the project only."""
    is_as_read = trace.is_as_read
    trace.make_batches = partial(guarded_items, trace.make_batches, format)
    if is_as_read:
        trace.source_batches = trace.make_batches
    if trace.describe is not None:
        trace.describe = _guarded_description(trace.describe, format)
    for name in ("check", "leave_out"):
        function = getattr(trace, name)
        if function is not None:
            setattr(trace, name, guarded_function(function, format))
    if trace.seeking is not None:
        trace.seeking = cast("Seeking", GuardedMethods(trace.seeking, format))


def _guarded_description(describe: _Describe, format: str) -> _Describe:
    guarded = guarded_function(describe, format)

    def described(batch: Batch) -> Callable[[int], str | None]:
        return guarded_function(guarded(batch), format)

    return described

"""What a format says of itself: a passive descriptor, which imports neither its reader nor its writer.

These are the modules of the format's folder that have the usual names. They are found by name when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from converter.errors import UnsupportedError

if TYPE_CHECKING:
    from converter.formats.embedding import Embedding
    from converter.ir.symbols import SymbolTable
    from converter.ir.trace import Trace
    from converter.projection.capabilities import Capabilities
    from converter.projection.losses import LossReport
    from converter.storage.sink import Sink
    from converter.storage.source import Source
    from converter.storage.source_files import SourceFiles

#: Makes a trace of a source: ``read(source, **options) -> Trace``. Cheap: decoding starts with `Trace.batches`.
Reader = Callable[..., "Trace"]
#: Writes a trace already projected to the format's capabilities: ``write(trace, sink, variant)``. Of one that its own
#: reader made, which is not projected, it returns what of the format's own data the variant does not hold, if any.
Writer = Callable[["Trace", "Sink", str], "LossReport | None"]


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    `sniff` gets the first 4 KiB of a file (for directories: the relative names of the files in it and in its folders,
    newline-joined, after ``b"dir:"``) and says whether it looks like this format.
    `variants` are the names after "+", the first being the default.
    `patches_output` says that the writer uses `Sink.write_at`, which a pipe allows only by way of a temporary file.
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
    #: Variants that are directories, of a format whose others are files.
    directories: tuple[str, ...] = ()
    patches_output: bool = False
    #: Variants of which several processes can write one output: their writers ask `Sink.begin_batch`.
    shared: tuple[str, ...] = ()
    #: The writer takes all that the format's own reader gives as it is; otherwise that is projected as well.
    replays: bool = True
    #: The writer copies batches that still have the records which they were read from; other traces are projected.
    replays_records: bool = False
    #: So it does for any variant, not only for the one that the trace was read from.
    replays_as_any_variant: bool = True
    #: The writer takes any trace as it is: nothing is projected.
    holds_all: bool = False
    #: But the files of the source travel in it only where the output is to be lossless.
    files_when_lossless: bool = False
    #: The sidecar refers to the source; its module `portable` says what of it can be written elsewhere.
    has_portable: bool = False
    #: The source can travel whole: `portable` has also `whole`, of which the writer makes the same file, and `symbols`.
    travels_whole: bool = False
    #: In a lossless output the source travels in place of the events: `portable` has also `source_files`.
    sends_source: bool = False
    #: The writer goes through the trace twice; a part of one is kept in a file for it.
    reads_twice: bool = False
    #: Files have room for a residual: the module `embedding` says where. Directories always have.
    embeds: bool = False
    #: The beginning of a file may not tell: the module `search` says whether the rest of it does.
    searches: bool = False
    #: The format's own tools print events as text: the package `report` has `print_report`, which does as well.
    reports: bool = False
    #: Files are read from their beginning to their end, so that compressed ones need no copy.
    reads_in_order: bool = False
    #: What the reader can be told besides the source: names of its keyword arguments, which take text.
    options: tuple[str, ...] = ()
    #: Those of them that name a file, which is then among those of the source.
    options_of_files: tuple[str, ...] = ()
    #: Other names that people know it by; "name+variant" where that is a name of a variant of it.
    aliases: tuple[str, ...] = ()
    #: The variant of each order of bytes ("little", "big"), where a writer has a choice.
    byte_orders: tuple[tuple[str, str], ...] = ()
    #: The package with its modules, of one that is not ours.
    package: str = ""
    #: A library that its reader and writer need, and the extra of ours that installs it.
    needs: tuple[str, str] | None = None

    def __repr__(self) -> str:
        """One line: what it is called here, and what it is."""
        return f"<Format {self.name}: {self.title}>"

    @property
    def default_variant(self) -> str:
        """The variant that the format's own name stands for."""
        return self.variants[0] if self.variants else ""

    def is_directory(self, variant: str) -> bool:
        """Whether an output of a `variant` is a directory."""
        return self.directory or variant in self.directories

    def reader(self) -> Reader:
        """The format's `read`; UnsupportedError when it has none, or needs a library that is not installed."""
        if not self.readable:
            raise UnsupportedError(format=self.name, message="this format cannot be read")
        return cast(Reader, self._function("reading", "read"))

    def open(self, source: Source, options: Mapping[str, str], *, travelled: bool = False) -> Trace:
        """The trace of a source, which knows where it comes from.

        Args:
            source: an input of this format.
            options: what its reader is told, by name (`Format.options`).
            travelled: whether the source was in another format's file.

        Raises:
            UnsupportedError: the format cannot be read, or only with a library that is not installed.
            TraceError: as the reader does.

        """
        trace = self.reader()(source, **options)
        if self.sends_source:
            # Only now: this module is loaded where no trace is.
            from converter.ir.origin import origin_of

            trace.origin = origin_of(trace, source.name, options, travelled=travelled)
        return trace

    def writer(self) -> Writer:
        """The format's `write`; UnsupportedError when it has none, or needs a library that is not installed."""
        if not self.writable:
            raise UnsupportedError(format=self.name, message="this format cannot be written")
        return cast(Writer, self._function("writing", "write"))

    def search(self) -> Callable[[Source, bytes], bool]:
        """The format's `search`: whether a source is of the format, whose beginning nothing recognises.

        Raises:
            UnsupportedError: it needs a library that is not installed.

        """
        return cast("Callable[[Source, bytes], bool]", self._function("search", "search"))

    def print_report(self, trace: Trace, write: Callable[[bytes], object]) -> bool:
        """Print the events of a trace of this format as its own tools do; False, printing nothing, where none does."""
        if not self.reports:
            return False
        return cast(bool, self._function("report", "print_report")(trace, write))

    def embedding(self) -> Embedding:
        """How files of the format hold what travels in them; UnsupportedError where they cannot."""
        if not self.embeds:
            raise UnsupportedError("nothing can travel in this format", format=self.name)
        return cast("Embedding", self._function("embedding", "EMBEDDING"))

    def portable(self, trace: Trace) -> dict[str, Any]:
        """The format's part of a trace's sidecar as JSON-like values and bytes, of which its writer makes the same.

        What does not travel so, and comes back from no file of another format, "left_behind" in that part then says.
        UnsupportedError where a library is needed that is not installed.
        """
        if not self.has_portable:
            return trace.sidecar.get(self.name, {})
        return cast(dict[str, Any], self._function("portable", "portable")(trace))

    def travelling(self, trace: Trace) -> dict[str, Any]:
        """What travels of the format's part of a trace's sidecar: the source as it is where the trace is, too; else
        `portable` with its errors.
        """
        if self.travels_whole and trace.is_as_read:
            whole = cast(dict[str, Any], self._function("portable", "whole")(trace))
            if whole:
                return whole
        return self.portable(trace)

    def symbols(self, sidecar: dict[str, Any]) -> SymbolTable | None:
        """The symbols that are in the `sidecar` that has travelled; they need not travel besides. Errors are those of
        `portable`.
        """
        if not self.travels_whole:
            return None
        return cast("SymbolTable | None", self._function("portable", "symbols")(sidecar))

    def source_files(self, trace: Trace) -> SourceFiles | None:
        """The files that a trace was read from, if they can travel in place of its events, and are all that it is;
        errors as of `portable`.
        """
        from converter.ir.origin import is_unchanged

        if not self.sends_source or not is_unchanged(trace):
            return None
        return cast("SourceFiles | None", self._function("portable", "source_files")(trace))

    def _function(self, module: str, name: str) -> Any:
        package = self.package or f"converter.formats.{self.name}"
        try:
            return getattr(import_module(f"{package}.{module}"), name)
        except ModuleNotFoundError as error:
            if self.needs is None or error.name != self.needs[0]:
                raise
            library, extra = self.needs
            message = f"this needs {library}: pip install 'traceconv[{extra}]'"
            raise UnsupportedError(message, format=self.name) from None

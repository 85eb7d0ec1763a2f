"""The table of formats: passive descriptors in detection order; readers and writers are imported when first used."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from converter.errors import UnknownFormatError, UnsupportedError
from converter.projection.capabilities import Capabilities

if TYPE_CHECKING:
    from converter.ir.trace import Trace
    from converter.lossless.residual import Embedding
    from converter.storage.sink import Sink
    from converter.storage.source import Source

#: Makes a trace of a source: ``read(source, **options) -> Trace``. Cheap: decoding starts with `Trace.batches`.
Reader = Callable[..., "Trace"]
#: Writes a trace already projected to the format's capabilities: ``write(trace, sink, variant) -> None``.
Writer = Callable[["Trace", "Sink", str], None]


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
    patches_output: bool = False
    #: The writer takes all that the format's own reader gives as it is; otherwise that is projected as well.
    replays: bool = True
    #: So it does for any variant, not only for the one that the trace was read from.
    replays_as_any_variant: bool = True
    #: The writer takes any trace as it is: nothing is projected.
    holds_all: bool = False
    #: The sidecar refers to the source; its module `portable` says what of it can be written elsewhere.
    has_portable: bool = False
    #: Files have room for a residual: the module `residual` says where. Directories always have.
    embeds: bool = False
    #: What the reader can be told besides the source: names of its keyword arguments, which take text.
    options: tuple[str, ...] = ()

    @property
    def default_variant(self) -> str:
        """The variant that the format's own name stands for."""
        return self.variants[0] if self.variants else ""

    def reader(self) -> Reader:
        """The format's `read`; UnsupportedError when it has none."""
        if not self.readable:
            raise UnsupportedError(format=self.name, message="this format cannot be read")
        return cast(Reader, self._function("reader", "read"))

    def writer(self) -> Writer:
        """The format's `write`; UnsupportedError when it has none."""
        if not self.writable:
            raise UnsupportedError(format=self.name, message="this format cannot be written")
        return cast(Writer, self._function("writer", "write"))

    def embedding(self) -> Embedding:
        """How files of the format hold what travels in them; UnsupportedError where they cannot."""
        if not self.embeds:
            raise UnsupportedError("nothing can travel in this format", format=self.name)
        return cast("Embedding", self._function("residual", "EMBEDDING"))

    def portable(self, trace: Trace) -> dict[str, Any]:
        """The format's part of a trace's sidecar as JSON-like values and bytes, of which its writer makes the same."""
        if not self.has_portable:
            return trace.sidecar.get(self.name, {})
        return cast(dict[str, Any], self._function("portable", "portable")(trace))

    def _function(self, module: str, name: str) -> Any:
        return getattr(import_module(f"converter.formats.{self.name}.{module}"), name)


#: The folders of `converter.formats`, in the order in which they are asked whether an input is theirs.
_NAMES = (
    "ir",
    "trace_cmd",
    "fxt",
    "uftrace",
    "ctf",
    "lttng_legacy",
    "perfetto",
    "chrome",
    "aix",
)

#: How much of a file a format is shown for that.
_HEAD_SIZE = 4096

#: How many of the names in a directory.
_HEAD_NAMES = 10_000

if TYPE_CHECKING:
    FORMATS: tuple[Format, ...]


@cache
def _formats() -> tuple[Format, ...]:
    return tuple(import_module(f"converter.formats.{name}").FORMAT for name in _NAMES)


def __getattr__(name: str) -> Any:
    # Formats import this module, so that it cannot import them before it is complete.
    if name == "FORMATS":
        return _formats()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def portable_sidecar(trace: Trace) -> dict[str, dict[str, Any]]:
    """A trace's sidecar as JSON-like values and bytes, which does not need the source."""
    formats = {format.name: format for format in _formats()}
    return {
        name: formats[name].portable(trace) if name in formats else content
        for name, content in trace.sidecar.items()
    }


def detect(source: Source) -> Format:
    """The first format that recognises an input.

    Raises:
        UnknownFormatError: none does.

    """
    if source.is_directory:
        names = islice(source.walk(), _HEAD_NAMES)
        head = b"dir:" + "\n".join(names).encode("utf-8", "surrogateescape")
    else:
        head = source.read(0, _HEAD_SIZE)
        if not head:
            raise UnknownFormatError("the file is empty", path=source.name)
    for format in _formats():
        if format.readable and format.sniff(head):
            return format
    tried = ", ".join(format.name for format in _formats() if format.readable)
    raise UnknownFormatError(
        f"not recognised as any of {tried}; -f names the format", path=source.name
    )


def format_named(text: str) -> tuple[Format, str]:
    """The format and variant of "name" or "name+variant"; a hyphen in a name is as good as an underscore.

    Raises:
        UnknownFormatError: there is no such format or variant.

    """
    name, plus, variant = text.replace("-", "_").partition("+")
    for format in _formats():
        if format.name == name:
            if not plus:
                return format, format.default_variant
            if variant and variant in format.variants:
                return format, variant
            known = ", ".join(f"{name}+{each}" for each in format.variants if each) or "none"
            raise UnknownFormatError(f"unknown variant {text!r}; of {name} there are {known}")
    known = ", ".join(format.name for format in _formats())
    raise UnknownFormatError(f"unknown format {text!r}; there are {known}")


def source_format(text: str) -> tuple[Format, dict[str, str]]:
    """The format of this name, for an input, and the options that the name implies for its reader.

    Raises:
        UnknownFormatError: there is no such format, or the name is that of a variant that its reader detects.

    """
    format, variant = format_named(text)
    if "+" not in text:
        return format, {}
    if "variant" not in format.options:
        raise UnknownFormatError(f"the variant of an input is detected; use {format.name!r}")
    return format, {"variant": variant}


def target_format(path: str | os.PathLike[str], text: str | None) -> tuple[Format, str]:
    """The format and variant of an output: as named, or as the suffix of the path says.

    Raises:
        UnknownFormatError: there is no such format, or the suffix is that of none.

    """
    if text is not None:
        return format_named(text)
    # A directory may be written with a slash at its end.
    name = os.path.basename(os.fspath(path).rstrip("/")).lower()
    for format in _formats():
        if format.writable and name.endswith(format.suffixes):
            return format, format.default_variant
    known = ", ".join(
        suffix for format in _formats() if format.writable for suffix in format.suffixes
    )
    raise UnknownFormatError(
        f"no format has the suffix of {name!r}; -t names the format (suffixes are {known})"
    )

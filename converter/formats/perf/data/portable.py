"""A recording embedded in another format: complete or, if its events were changed, what its header says."""

from __future__ import annotations

from typing import Any, Final

from converter.formats.lossless.travelling import compressed
from converter.ir.trace import Trace
from converter.storage.source import Source
from converter.storage.source_files import SourceFiles, parts_of, single_file

#: The entry of a sidecar with a complete file, compressed.
WHOLE: Final = "file"
#: Entries that refer to the source, or are only of use together with it.
_OF_SOURCE: Final = frozenset({"source", "context"})


def portable(trace: Trace) -> dict[str, Any]:
    """Return the sidecar of a trace as JSON-like values and bytes."""
    return {
        name: value
        for name, value in trace.sidecar.get("perf", {}).items()
        if name not in _OF_SOURCE
    }


def whole(trace: Trace) -> dict[str, Any]:
    """Return the file that a trace was read from, compressed; nothing if it is too large to embed.

    Raises:
        TraceError: it cannot be read.

    """
    sidecar = trace.sidecar.get("perf", {})
    source = sidecar.get("source")
    if WHOLE in sidecar or not isinstance(source, Source):
        return portable(trace)
    return compressed([(WHOLE, source.size, parts_of(source))]) or {}


def source_files(trace: Trace) -> SourceFiles | None:
    """Return the file that a trace was read from."""
    source = trace.sidecar.get("perf", {}).get("source")
    return single_file(source) if isinstance(source, Source) else None


def symbols(sidecar: dict[str, Any]) -> None:
    """Return no symbols: those of an embedded file are embedded by themselves."""
    del sidecar

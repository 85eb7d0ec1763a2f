"""The files of a trace that is embedded in another format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from converter.formats.ctf.streams.files import FileContents
from converter.formats.lossless import travelling
from converter.ir.trace import Trace
from converter.storage.source_files import SourceFiles
from converter.storage.source_files import parts_of as file_parts


def portable(trace: Trace) -> dict[str, Any]:
    """Return CTF's part of a trace's sidecar as JSON-like values and bytes, which the writer accepts like the reader's.

    The files are left out if the trace's events were changed, or if they are too large.

    Raises:
        TraceError: a file cannot be read, or changes meanwhile.

    """
    held: dict[str, Any] = trace.sidecar["ctf"]
    files = held.get("files", {})
    contents = {
        name: content for name, content in files.items() if isinstance(content, FileContents)
    }
    if not contents:
        return held
    if not trace.is_as_read:
        return {**held, "files": {}}
    return {**held, "files": travelling.compressed(_files(contents)) or {}}


def source_files(trace: Trace) -> SourceFiles | None:
    """Return all files of the traces in a directory."""
    return SourceFiles("", _files(trace.sidecar["ctf"]["files"]))


def _files(
    contents: Mapping[str, FileContents],
) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    return ((name, content.size, parts_of(name, content)) for name, content in contents.items())


def parts_of(name: str, content: FileContents | bytes) -> Iterator[bytes]:
    """Yield the contents of a file in parts: those of an input file, or embedded ones.

    Raises:
        TraceError: it cannot be read, or is damaged.

    """
    if isinstance(content, bytes):
        yield from travelling.parts_of(name, content)
        return
    with content.open() as source:
        yield from file_parts(source)

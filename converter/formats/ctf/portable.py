"""The files of a trace that travels in another format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from converter.formats.ctf.streams.files import FileContents
from converter.ir.trace import Trace
from converter.lossless import travelling
from converter.storage.source_files import SourceFiles
from converter.storage.source_files import parts_of as file_parts


def portable(trace: Trace) -> dict[str, Any]:
    """CTF's part of a trace's sidecar as JSON-like values and bytes; the writer takes it as it takes the reader's.

    Of a trace whose events were changed, or with files that are too large, no files travel.

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
    """All files of the traces in a directory."""
    return SourceFiles("", _files(trace.sidecar["ctf"]["files"]))


def _files(
    contents: Mapping[str, FileContents],
) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    return ((name, content.size, parts_of(name, content)) for name, content in contents.items())


def parts_of(name: str, content: FileContents | bytes) -> Iterator[bytes]:
    """What a file holds, part after part: one of the input, or one that has travelled.

    Raises:
        TraceError: it cannot be read, or is damaged.

    """
    if isinstance(content, bytes):
        yield from travelling.parts_of(name, content)
        return
    with content.open() as source:
        yield from file_parts(source)

"""The files of a trace that travels in another format: all of them, compressed one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import zstandard

from converter.errors import TraceError
from converter.formats.ctf.files import FileContents
from converter.ir.trace import Trace

#: What all files together may take when compressed: what travels is held in memory.
MAX_TRAVELLING: Final = 256 << 20
#: Event records shrink five- to tenfold.
_LEVEL: Final = 1
_PART_SIZE: Final = 1 << 20


def portable(trace: Trace) -> dict[str, Any]:
    """CTF's part of a trace's sidecar as JSON-like values and bytes; the writer takes it as it takes the reader's.

    Of a trace whose events were changed, or with files that are too large, no files travel.

    Raises:
        TraceError: a file cannot be read.

    """
    held: dict[str, Any] = trace.sidecar["ctf"]
    files = held.get("files", {})
    if not any(isinstance(content, FileContents) for content in files.values()):
        return held
    travelling: dict[str, bytes] = {}
    room = MAX_TRAVELLING if trace.is_as_read else 0
    for name, content in files.items():
        with content.open() as source:
            compressor = zstandard.ZstdCompressor(level=_LEVEL).compressobj(size=source.size)
            parts = []
            for offset in range(0, source.size, _PART_SIZE):
                part = source.read_exactly(offset, min(_PART_SIZE, source.size - offset))
                parts.append(compressor.compress(part))
                room -= len(parts[-1])
                if room < 0:
                    break
            parts.append(compressor.flush())
            room -= len(parts[-1])
            if room < 0:
                return {**held, "files": {}}
            travelling[name] = b"".join(parts)
    return {**held, "files": travelling}


def parts_of(name: str, content: FileContents | bytes) -> Iterator[bytes]:
    """What a file holds, part after part: one of the input, or one that has travelled.

    Raises:
        TraceError: it cannot be read, or is damaged.

    """
    if isinstance(content, FileContents):
        with content.open() as source:
            for offset in range(0, source.size, _PART_SIZE):
                yield source.read_exactly(offset, min(_PART_SIZE, source.size - offset))
        return
    done = 0
    try:
        expected = zstandard.frame_content_size(content)
        with zstandard.ZstdDecompressor().stream_reader(content) as reader:
            while part := reader.read(_PART_SIZE):
                done += len(part)
                yield part
    except zstandard.ZstdError as error:
        raise TraceError(f"zstd: {error}", format="ctf", field=f"files.{name}") from error
    if done != expected:
        raise TraceError(
            format="ctf",
            field=f"files.{name}",
            expected=f"{expected} bytes of uncompressed data",
            found=done,
        )

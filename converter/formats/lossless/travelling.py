"""Files of a directory that are embedded in another format, compressed one by one: its writer restores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import zstandard

from converter.errors import TraceError
from converter.storage.source_files import PART_SIZE

#: The maximum compressed size of all files: the payload is held in memory.
MOST: Final = 256 << 20
#: Records of traces shrink five- to tenfold, and faster than they are read.
_LEVEL: Final = 1


def compressed(files: Iterable[tuple[str, int, Iterable[bytes]]]) -> dict[str, bytes] | None:
    """Return files by name, each compressed with zstd; None if they are too large to embed.

    Args:
        files: name, size and content, in chunks, of each.

    Raises:
        TraceError: a file cannot be read, or its size has changed.
    """
    travelling: dict[str, bytes] = {}
    room = MOST
    for name, size, content in files:
        parts: list[bytes] = []
        try:
            for part in _compressed(size, content):
                parts.append(part)
                room -= len(part)
                if room < 0:
                    return None
        except zstandard.ZstdError as error:
            raise TraceError(f"the file changes: {error}", field=name) from error
        travelling[name] = b"".join(parts)
    return travelling


def _compressed(size: int, content: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zstandard.ZstdCompressor(_LEVEL, write_checksum=True).compressobj(size=size)
    for part in content:
        yield compressor.compress(part)
    yield compressor.flush()


def parts_of(name: str, data: bytes) -> Iterator[bytes]:
    """Return the content of an embedded file, in chunks.

    Raises:
        TraceError: it is damaged.
    """
    done = 0
    try:
        expected = zstandard.frame_content_size(data)
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            while part := reader.read(PART_SIZE):
                done += len(part)
                yield part
    except zstandard.ZstdError as error:
        raise TraceError(f"zstd: {error}", field=f"files.{name}") from error
    if done != expected:
        raise TraceError(
            field=f"files.{name}", expected=f"{expected} bytes of uncompressed data", found=done
        )

"""Decompression of sections and chunks. No size is trusted, neither the header's nor that inside compressed data."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, UnsupportedError

if TYPE_CHECKING:
    from converter.formats.ftrace.ring_buffer.zstd_chunks import ChunkDecompressor

#: ``decompress(data, uncompressed_size)`` returns exactly that many bytes, or raises a TraceError at offset 0.
#: Thread-safe, releases the GIL.
Decompress = Callable[[bytes | memoryview, int], bytes]
#: ``fill(data, chunks, first, room)`` is like `ChunkDecompressor.fill`. Thread-safe.
FillChunks = Callable[
    [memoryview, NDArray[np.int64], int, NDArray[np.uint8]],
    tuple[int, int],
]

#: A decompressor may be used by one thread at a time.
_own = threading.local()


def decompressor(name: bytes) -> Decompress | None:
    """Return the decompressor of a file whose header gives this name, None for "none"; UnsupportedError if unknown."""
    if name in (b"none", b""):
        return None
    if name == b"zstd":
        return _zstd()
    if name == b"zlib":
        return _inflate
    raise UnsupportedError(field="header.compression", expected="zstd, zlib or none", found=name)


def chunk_decompressor(name: bytes) -> FillChunks | None:
    """Return a function that decompresses many chunks at once, where available; `decompressor` handles the rest."""
    if name != b"zstd":
        return None
    from converter.formats.ftrace.ring_buffer.zstd_chunks import has_library

    return _fill if has_library() else None


def _fill(
    data: memoryview, chunks: NDArray[np.int64], first: int, output: NDArray[np.uint8]
) -> tuple[int, int]:
    own: ChunkDecompressor
    try:
        own = _own.chunks
    except AttributeError:
        from converter.formats.ftrace.ring_buffer.zstd_chunks import ChunkDecompressor

        own = _own.chunks = ChunkDecompressor()
    return own.fill(data, chunks, first, output)


def _inflate(data: bytes | memoryview, size: int) -> bytes:
    _check(size)
    try:
        return _exact(zlib.decompressobj().decompress(data, size), size)
    except zlib.error as error:
        raise TraceError(f"zlib: {error}", offset=0) from error


def _zstd() -> Decompress:
    import zstandard

    local = threading.local()
    content_size, failures = zstandard.frame_content_size, (zstandard.ZstdError, MemoryError)

    def decompress(data: bytes | memoryview, size: int) -> bytes:
        if size <= 0:
            _check(size)
        # A decompressor may be used by one thread at a time.
        try:
            own = local.decompress
        except AttributeError:
            own = local.decompress = zstandard.ZstdDecompressor().decompress
        try:
            # Frames mostly lack their content's size; one with a size is allocated in full.
            if content_size(data) > size:
                raise TraceError("zstd: the frame is larger than its header says", offset=0)
            result: bytes = own(data, size)
        except failures as error:
            raise TraceError(f"zstd: {error}", offset=0) from error
        return result if len(result) == size else _exact(result, size)

    return decompress


def _check(size: int) -> None:
    if size <= 0:
        raise TraceError(offset=0, field="uncompressed_size", expected="1 or more", found=size)


def _exact(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise TraceError(offset=0, expected=f"{size} bytes of uncompressed data", found=len(data))
    return data

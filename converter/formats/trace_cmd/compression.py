"""Decompression of sections and chunks. Trusts no size: neither the header's nor that inside the compressed data."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable

from converter.errors import TraceError, UnsupportedError

#: ``decompress(data, uncompressed_size)``: exactly that many bytes, or a TraceError at offset 0, the data's start.
#: Thread-safe, releases the GIL.
Decompress = Callable[[bytes | memoryview, int], bytes]


def decompressor(name: bytes) -> Decompress | None:
    """The decompressor of a file whose header gives this name, None for "none"; UnsupportedError if unknown."""
    if name in (b"none", b""):
        return None
    if name == b"zstd":
        return _zstd()
    if name == b"zlib":
        return _inflate
    raise UnsupportedError(field="header.compression", expected="zstd, zlib or none", found=name)


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
            # Frames mostly lack their content's size; one that has it is allocated whole.
            if content_size(data) > size:
                raise TraceError("zstd: the frame is larger than its header says", offset=0)
            made: bytes = own(data, size)
        except failures as error:
            raise TraceError(f"zstd: {error}", offset=0) from error
        return made if len(made) == size else _exact(made, size)

    return decompress


def _check(size: int) -> None:
    if size <= 0:
        raise TraceError(offset=0, field="uncompressed_size", expected="1 or more", found=size)


def _exact(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise TraceError(offset=0, expected=f"{size} bytes of uncompressed data", found=len(data))
    return data

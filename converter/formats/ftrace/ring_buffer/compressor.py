"""Compression of sections and chunks of pages."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable

from converter.errors import UnsupportedError

#: Thread-safe, releases the GIL.
Compress = Callable[[bytes | memoryview], bytes]

#: Levels that cost less time than reading: they shrink the ring buffer's pages tenfold.
_ZSTD_LEVEL = 3
_ZLIB_LEVEL = 6


def compressor(name: bytes) -> Compress | None:
    """Return the compressor of that name in a file's header, None for "none"; UnsupportedError if unknown."""
    if name in (b"none", b""):
        return None
    if name == b"zstd":
        return _zstd()
    if name == b"zlib":
        return lambda data: zlib.compress(data, _ZLIB_LEVEL)
    raise UnsupportedError(field="header.compression", expected="zstd, zlib or none", found=name)


def library_version(name: bytes) -> bytes:
    """Return the header's version of the library; readers refuse a zlib of a later major version than their own."""
    if name == b"zstd":
        import zstandard

        return ".".join(map(str, zstandard.ZSTD_VERSION)).encode()
    return zlib.ZLIB_VERSION.encode() if name == b"zlib" else b""


def _zstd() -> Compress:
    import zstandard

    local = threading.local()

    def compress(data: bytes | memoryview) -> bytes:
        # A compressor may be used by one thread at a time.
        if not hasattr(local, "compressor"):
            local.compressor = zstandard.ZstdCompressor(_ZSTD_LEVEL)
        compressed: bytes = local.compressor.compress(data)
        return compressed

    return compress

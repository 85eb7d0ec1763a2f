"""Chunks of compressed pages: each has whole pages, after a header with its sizes."""

from __future__ import annotations

from typing import Final

from converter.formats.ftrace.recording import Recording
from converter.limits import limit as limit_of

_BLOCK: Final = 1 << 20
_SMALL_BLOCK: Final = 1 << 14
#: The magic number of compressed data.
_COMPRESSED_MAGIC = {b"zstd": b"\x28\xb5\x2f\xfd", b"zlib": b"\x78"}


def chunk_magic(file: Recording) -> bytes:
    """Return the magic number of a chunk's data."""
    return _COMPRESSED_MAGIC.get(file.compression, b"")


def chunk_at(file: Recording, offset: int, page_size: int) -> bool:
    """Return True if a chunk of whole pages begins at this offset."""
    head = file.source.read(offset, 12)
    if len(head) < 12:
        return False
    sizes = file.layout.compressed_header.parse(head[:8])
    magic = chunk_magic(file)
    return bool(
        0 < sizes.compressed_size <= file.source.size - offset - 8
        and 0 < sizes.uncompressed_size <= limit_of("trace_cmd.section")
        and sizes.uncompressed_size % page_size == 0
        and head[8:].startswith(magic)
        and (file.compression != b"zlib" or int.from_bytes(head[8:10], "big") % 31 == 0)
    )


def next_chunk(file: Recording, offset: int, limit: int, page_size: int) -> int | None:
    """Return the offset of the next chunk of whole pages that ends before the limit."""
    magic = chunk_magic(file)
    if not magic:
        return None
    start, size = offset, _SMALL_BLOCK
    while start < limit:
        block = file.source.read(start, min(size, limit - start) + len(magic) + 7)
        found = block.find(magic, 8)
        while found >= 0:
            found_at = start + found - 8
            if chunk_at(file, found_at, page_size):
                packed = file.layout.compressed_header.parse(block[found - 8 : found])
                end = found_at + 8 + packed.compressed_size
                if end <= limit:
                    return found_at
            found = block.find(magic, found + 1)
        start += size
        size = min(4 * size, _BLOCK)
    return None

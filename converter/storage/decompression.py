"""Unwrapping of gzip and zstd: what can be read is read, and damage is a warning of the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from converter.errors import TraceWarning
from converter.storage.source import Source


class _Decompressor(Protocol):
    """What zlib and zstandard have in common: a decompressor of one gzip member or zstd frame."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


#: How much compressed data is fed at once. Neither library bounds what one call returns, so this does: deflate
#: expands at most 1,032 times; four bytes of zstd can become 128 KiB, so 4 KiB at most 128 MiB, which is also the
#: largest window that zstd accepts.
_FEED_SIZE = {"gzip": 1 << 16, "zstd": 1 << 12}


def decompressed(source: Source, compression: str) -> Iterator[bytes]:
    """The contents of all members (frames) of a "gzip" ("zstd") source, in chunks.

    Data that is cut or damaged yields what precedes the damage and adds a warning to `source.warnings`.
    """
    feed_size = _FEED_SIZE[compression]
    offset = 0
    while offset < source.size:
        start = offset
        if start and not _is_member(source.read(start, 4), compression):
            _warn(source, start, f"ignored what follows the {compression} data")
            return
        decompressor, failure = _start(compression)
        produced = 0
        while not decompressor.eof:
            data = source.read(offset, feed_size)
            if not data:
                _warn(source, offset, f"the {compression} data ends early")
                return
            try:
                output = decompressor.decompress(data)
            except failure as error:
                _warn(source, offset, f"the {compression} data is damaged: {error}")
                yield from _salvaged(source, compression, start, offset, produced)
                return
            offset += len(data)
            if output:
                produced += len(output)
                yield output
        offset -= len(decompressor.unused_data)
        if compression == "gzip":
            offset = _skip_zeros(source, offset)


def _start(compression: str) -> tuple[_Decompressor, type[Exception]]:
    if compression == "gzip":
        import zlib

        return zlib.decompressobj(wbits=31), zlib.error
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError


def _is_member(head: bytes, compression: str) -> bool:
    """Whether another member or frame starts with this, as far as the file goes."""
    if compression == "gzip":
        return b"\x1f\x8b".startswith(head[:2])
    if len(head) == 4 and head[1:] == b"\x2a\x4d\x18":
        return head[0] & 0xF0 == 0x50  # a skippable frame
    return b"\x28\xb5\x2f\xfd".startswith(head)


def _salvaged(
    source: Source, compression: str, start: int, damaged: int, produced: int
) -> Iterator[bytes]:
    """What the chunk at `damaged` holds before the damage.

    A call that fails returns nothing of what it decompressed before, so the member at `start` is decompressed again
    up to there, and then byte by byte.
    """
    decompressor, failure = _start(compression)
    offset = start
    while offset < damaged:
        data = source.read(offset, min(_FEED_SIZE[compression], damaged - offset))
        if not data:
            return
        produced -= len(decompressor.decompress(data))
        offset += len(data)
    assert produced == 0, "decompression is deterministic"
    for byte in source.read(damaged, _FEED_SIZE[compression]):
        try:
            output = decompressor.decompress(bytes((byte,)))
        except failure:
            return
        if output:
            yield output


def _skip_zeros(source: Source, offset: int) -> int:
    """Past the zeros with which tapes and tar pad gzip members, as gzip itself does."""
    while data := source.read(offset, 1 << 16):
        rest = data.lstrip(b"\0")
        offset += len(data) - len(rest)
        if rest:
            break
    return offset


def _warn(source: Source, offset: int, message: str) -> None:
    source.warnings.append(TraceWarning(message=message, path=source.name, offset=offset))

"""Decompression of inputs: everything readable is read, and damage becomes a warning of the source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, cast

from converter.errors import TraceWarning, note
from converter.limits import allowed, limit
from converter.storage.source import Source


class _Decompressor(Protocol):
    """The common interface of zlib and zstandard: a decompressor of one gzip member or zstd frame."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Bounding(_Decompressor, Protocol):
    """The additional interface of lzma, bz2 and lz4: calls that return no more than requested."""

    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes: ...


#: The number of compressed bytes to feed at once. Two libraries do not bound what one call returns, so this does:
#: deflate expands at most 1,032 times, so 16 KiB to 16 MiB; four bytes of zstd can become 128 KiB, so 1 KiB at most 32
#: MiB.
_FEED_SIZE = {"gzip": 1 << 14, "zstd": 1 << 10, "xz": 1 << 16, "bzip2": 1 << 16, "lz4": 1 << 16}
#: The most bytes to request from the others at once.
_MOST_OUTPUT = 1 << 22
#: The first bytes of a member, frame or stream.
_MAGICS = {
    "gzip": b"\x1f\x8b",
    "zstd": b"\x28\xb5\x2f\xfd",
    "xz": b"\xfd7zXZ\0",
    "bzip2": b"BZh",
    "lz4": b"\x04\x22\x4d\x18",
}


def decompressed(source: Source, compression: str, warnings: list[TraceWarning]) -> Iterator[bytes]:
    """Yield the contents of all members (frames, streams) of a compressed source, in chunks.

    Data that is truncated or damaged yields what precedes the damage and adds a warning.
    """

    def warn(offset: int, message: str) -> None:
        warning = TraceWarning(message=message, path=source.name, offset=offset, is_damage=True)
        note(warnings, warning)

    feed_size = _FEED_SIZE[compression]
    offset = 0
    while offset < source.size:
        start = offset
        if start and not _is_member(source.read(start, 6), compression):
            warn(start, f"ignored what follows the {compression} data")
            return
        decompressor, failure = _start(compression)
        produced = 0
        while not decompressor.eof:
            data = source.read(offset, feed_size)
            if not data:
                warn(offset, f"the {compression} data ends early")
                return
            try:
                for output in _outputs(decompressor, data):
                    produced += len(output)
                    yield output
            except failure as error:
                warn(offset, _failed(compression, error))
                yield from _salvaged(source, compression, start, offset, produced)
                return
            offset += len(data)
        offset -= len(decompressor.unused_data or b"")
        if compression in ("gzip", "xz"):
            offset = _skip_zeros(source, offset)


def _start(compression: str) -> tuple[_Decompressor, type[Exception]]:
    if compression == "gzip":
        import zlib

        return zlib.decompressobj(wbits=31), zlib.error
    if compression == "xz":
        import lzma

        memory = limit("xz-memory")
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=memory), lzma.LZMAError
    if compression == "bzip2":
        import bz2

        return bz2.BZ2Decompressor(), OSError
    if compression == "lz4":
        from converter.storage.compression.lz4_library import lz4_frame

        return lz4_frame().LZ4FrameDecompressor(), RuntimeError
    import zstandard

    frames = zstandard.ZstdDecompressor(max_window_size=limit("zstd-window"))
    return frames.decompressobj(), zstandard.ZstdError


def _outputs(decompressor: _Decompressor, data: bytes) -> Iterator[bytes]:
    """Yield the decompressed data, in chunks if the library supports it."""
    if not hasattr(decompressor, "needs_input"):
        output = decompressor.decompress(data)
        if output:
            yield output
        return
    bounding = cast(_Bounding, decompressor)
    while True:
        output = bounding.decompress(data, max_length=_MOST_OUTPUT)
        if output:
            yield output
        if bounding.eof or bounding.needs_input:
            return
        data = b""


def _failed(compression: str, error: Exception) -> str:
    needed = {"xz": "xz-memory", "zstd": "zstd-window"}.get(compression)
    if needed is not None and "memory" in str(error).lower():
        return f"the {compression} data needs too much memory: {allowed(needed)}"
    return f"the {compression} data is damaged: {error}"


def _is_member(head: bytes, compression: str) -> bool:
    """Return True if another member or frame starts here, as far as the bytes before the end of the file show."""
    magic = _MAGICS[compression]
    if compression in ("zstd", "lz4") and len(head) > 3 and head[1:4] == b"\x2a\x4d\x18":
        return head[0] & 0xF0 == 0x50  # a skippable frame
    return magic.startswith(head[: len(magic)])


def _salvaged(
    source: Source, compression: str, start: int, damaged: int, produced: int
) -> Iterator[bytes]:
    """Yield what precedes the damage in the chunk at `damaged`.

    A call that fails returns nothing of what it decompressed before, so the member at `start` is decompressed again
    up to there, and then byte by byte.
    """
    decompressor, failure = _start(compression)
    offset = start
    while offset < damaged:
        data = source.read(offset, min(_FEED_SIZE[compression], damaged - offset))
        if not data:
            return
        produced -= sum(map(len, _outputs(decompressor, data)))
        offset += len(data)
    for byte in source.read(damaged, _FEED_SIZE[compression]):
        try:
            for output in _outputs(decompressor, bytes((byte,))):
                # Some of the chunk's output may have come before the call that failed.
                if produced < len(output):
                    yield output[produced:]
                produced = max(produced - len(output), 0)
        except failure:
            return


def _skip_zeros(source: Source, offset: int) -> int:
    """Return the offset after the zeros that pad gzip members (by tapes and tar) and xz streams, as these
    programs do.
    """
    while data := source.read(offset, 1 << 16):
        rest = data.lstrip(b"\0")
        offset += len(data) - len(rest)
        if rest:
            break
    return offset

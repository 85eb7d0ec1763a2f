"""The contents of a member of a zip archive, in bounded memory for every method (PKWARE's APPNOTE.TXT, 4.3 and 4.4.5).

Python's module finds the members. It unpacks bzip2 and LZMA in chunks of any size, and lets an LZMA member choose the
memory for its dictionary, so the data are unpacked here.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, Final, Protocol

from converter.errors import TraceError
from converter.limits import allowed, limit
from converter.storage.source import Source

#: The number of compressed bytes to read at once, and the most bytes to unpack from them at once.
_FEED: Final = 1 << 16
_PIECE: Final = 1 << 18
#: The header before a member's data: its signature, and the lengths of name and extra field at its end.
_HEADER: Final = struct.Struct("<4s22xHH")
_SIGNATURE: Final = b"PK\x03\x04"
#: Methods of compression; Python's module has no name for the last two.
STORED, DEFLATED, BZIP2, LZMA = (
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
    zipfile.ZIP_BZIP2,
    zipfile.ZIP_LZMA,
)
ZSTANDARD, XZ = 93, 95
#: Bits of a member's flags: its data are encrypted, or a patch of another file.
_ENCRYPTED, _PATCH = 1 << 0, 1 << 5
#: Before LZMA data: the version and the size of the properties, which must be this many bytes.
_LZMA_HEADER: Final = struct.Struct("<HH")
_LZMA_PROPERTIES: Final = struct.Struct("<BI")
#: A frame of zstd can expand each KiB to 32 MiB, and its library does not bound what a call returns.
_ZSTD_FEED: Final = 1 << 10


class DamageError(Exception):
    """The data cannot be decompressed, or are not those that the archive declares."""


class _Decompressor(Protocol):
    """Decompresses its input in chunks of a bounded size; an empty input continues with the rest."""

    def pieces(self, data: bytes) -> Iterator[bytes]: ...


def contents(source: Source, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the content of a member in chunks.

    Raises:
        TraceError: it is encrypted, its method is unknown, or it needs too much memory.
        DamageError: it is damaged after what was yielded.

    """
    start = _start_of_data(source, info)
    end = start + info.compress_size
    decompressor = _decompressor(source, info, start)
    if info.compress_type == LZMA:
        start += _LZMA_HEADER.size + _LZMA_PROPERTIES.size
    produced = checksum = 0
    for piece in _pieces(source, decompressor, start, end, info):
        left = info.file_size - produced
        if len(piece) > left:
            if left:
                yield piece[:left]
            raise DamageError("there is more than its size says")
        if piece:
            produced += len(piece)
            checksum = zlib.crc32(piece, checksum)
            yield piece
        if produced == info.file_size:
            break
    if produced < info.file_size:
        raise DamageError(f"{info.file_size - produced:,} bytes are missing")
    if checksum != info.CRC:
        raise DamageError("its checksum is another")


def _start_of_data(source: Source, info: zipfile.ZipInfo) -> int:
    header = source.read(info.header_offset, _HEADER.size) if info.header_offset >= 0 else b""
    if len(header) < _HEADER.size or not header.startswith(_SIGNATURE):
        raise DamageError("its header is not where the archive says")
    _, name, extra = _HEADER.unpack(header)
    return int(info.header_offset + _HEADER.size + name + extra)


def _pieces(
    source: Source, decompressor: _Decompressor, at: int, end: int, info: zipfile.ZipInfo
) -> Iterator[bytes]:
    feed = _ZSTD_FEED if info.compress_type == ZSTANDARD else _FEED
    while at < end:
        data = source.read(at, min(feed, end - at))
        if not data:
            raise DamageError("the archive ends within it")
        at += len(data)
        yield from decompressor.pieces(data)


def _decompressor(source: Source, info: zipfile.ZipInfo, start: int) -> _Decompressor:
    if info.flag_bits & _ENCRYPTED:
        raise TraceError("is encrypted: unpack it with its password first", format="zip")
    if info.flag_bits & _PATCH:
        raise TraceError("is a patch of another file", format="zip")
    method = info.compress_type
    if method == STORED:
        return _Stored()
    if method == DEFLATED:
        return _Deflated()
    if method == BZIP2:
        import bz2

        return _Bounded(bz2.BZ2Decompressor(), OSError)
    if method == LZMA:
        return _lzma(source.read(start, _LZMA_HEADER.size + _LZMA_PROPERTIES.size), info.file_size)
    if method == XZ:
        import lzma

        return _Bounded(
            lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limit("xz-memory")), lzma.LZMAError
        )
    if method == ZSTANDARD:
        import zstandard

        frames = zstandard.ZstdDecompressor(max_window_size=limit("zstd-window"))
        return _Unbounded(frames.decompressobj(), zstandard.ZstdError)
    raise TraceError(
        format="zip",
        field="compression method",
        expected="stored, deflate, bzip2, LZMA, xz or zstd",
        found=method,
    )


def _lzma(header: bytes, size: int) -> _Decompressor:
    """Return a decompressor for a raw stream of LZMA with these properties that expands to `size` bytes."""
    import lzma

    if len(header) < _LZMA_HEADER.size + _LZMA_PROPERTIES.size:
        raise DamageError("the archive ends within it")
    _, properties = _LZMA_HEADER.unpack_from(header)
    byte, dictionary = _LZMA_PROPERTIES.unpack_from(header, _LZMA_HEADER.size)
    literal_context, literal_position, position = byte % 9, byte // 9 % 5, byte // 45
    if (
        properties != _LZMA_PROPERTIES.size
        or position > 4
        or literal_context + literal_position > 4
    ):
        raise DamageError("its LZMA properties are none")
    # No match is further away than the data before it.
    dictionary = max(1 << 12, min(dictionary, size))
    if dictionary > limit("xz-memory"):
        raise TraceError(
            f"the LZMA data needs too much memory: {allowed('xz-memory')}", format="zip"
        )
    one = {
        "id": lzma.FILTER_LZMA1,
        "dict_size": dictionary,
        "lc": literal_context,
        "lp": literal_position,
        "pb": position,
    }
    return _Bounded(lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[one]), lzma.LZMAError)


class _Stored:
    def pieces(self, data: bytes) -> Iterator[bytes]:
        yield data


class _Deflated:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        try:
            while True:
                piece = self._stream.decompress(data, _PIECE)
                yield piece
                data = self._stream.unconsumed_tail
                # A full chunk may leave some of the input.
                if not data and len(piece) < _PIECE:
                    break
        except zlib.error as error:
            raise DamageError(str(error)) from error


class _Bounded:
    """The decompressors of bzip2 and LZMA, whose calls return as much as is requested."""

    def __init__(self, stream: Any, failure: type[Exception]) -> None:
        self._stream = stream
        self._failure = failure

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while not self._stream.eof:
            try:
                piece = self._stream.decompress(data, _PIECE)
            except (self._failure, EOFError) as error:
                raise DamageError(str(error)) from error
            yield piece
            data = b""
            if self._stream.needs_input:
                break


class _Unbounded:
    """The decompressor of zstd, which is fed small inputs instead."""

    def __init__(self, stream: Any, failure: type[Exception]) -> None:
        self._stream = stream
        self._failure = failure

    def pieces(self, data: bytes) -> Iterator[bytes]:
        try:
            yield self._stream.decompress(data)
        except (self._failure, EOFError) as error:
            raise DamageError(str(error)) from error

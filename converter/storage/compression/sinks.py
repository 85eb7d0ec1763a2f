"""Outputs that are compressed while they are written: in parallel to the thread that writes; gzip and zstd by
several.
"""

from __future__ import annotations

import io
import os
import tarfile
from typing import TYPE_CHECKING, Final, Protocol

from converter.errors import OutputError
from converter.storage.pool.workers import workers
from converter.storage.sink import Sink
from converter.storage.writing.block_writes import BlockWrites, Target
from converter.storage.writing.file_sinks import (
    DirectorySink,
    FileSink,
    SpooledSink,
    unnamed,
)
from converter.storage.writing.placing import (
    output_error,
    remove,
    temporary_beside,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

#: The number of bytes to compress by one call.
_PIECE: Final = 1 << 20


class _Compressor(Protocol):
    def compress(self, data: bytes | memoryview, /) -> bytes: ...
    def flush(self) -> bytes: ...


def _compressor(compression: str) -> _Compressor:
    match compression:
        case "gzip":
            from converter.storage.compression.gzip_blocks import GzipBlocks

            return GzipBlocks()
        case "zstd":
            import zstandard

            return zstandard.ZstdCompressor(threads=workers()).compressobj()
        case "xz":
            import lzma

            return lzma.LZMACompressor()
        case "bzip2":
            import bz2

            return bz2.BZ2Compressor()
        case "lz4":
            return _Lz4()
    return _Plain()


class _Plain:
    """No compression: only an archive."""

    def compress(self, data: bytes | memoryview, /) -> bytes:
        return bytes(data)

    def flush(self) -> bytes:
        return b""


class _Lz4:
    """The frame format of LZ4, by an optional library."""

    def __init__(self) -> None:
        from converter.storage.compression.lz4_library import lz4_frame

        self._compressor = lz4_frame().LZ4FrameCompressor()
        self._begun = False

    def compress(self, data: bytes | memoryview, /) -> bytes:
        begin = b"" if self._begun else self._compressor.begin()
        self._begun = True
        return bytes(begin + self._compressor.compress(data))

    def flush(self) -> bytes:
        return self.compress(b"") + bytes(self._compressor.flush())


class _Compressed(Target):
    """Compresses its data into another sink, which it owns."""

    def __init__(self, base: Sink, compression: str) -> None:
        super().__init__(base.name)
        self._base = base
        self._compressor = _compressor(compression)

    def write(self, data: memoryview, offset: int | None) -> int:
        piece = data[:_PIECE]
        self._base.write(self._compressor.compress(piece))
        return len(piece)

    def close(self) -> None:
        self._base.write(self._compressor.flush())
        self._base.close()

    def discard(self) -> None:
        self._base.abort()


def compressed_sink(base: Sink, compression: str, *, seekable: bool) -> Sink:
    """Return a sink whose contents are compressed into `base`; with `seekable` only when they are complete."""
    try:
        target = _Compressed(base, compression)
        if seekable:
            return SpooledSink(base.name, unnamed(base.name), target)
        return FileSink(base.name, BlockWrites(), target, seekable=False)
    except BaseException:
        base.abort()
        raise


class ArchiveSink(DirectorySink):
    """A directory that becomes a tar archive with one folder when it is complete; its bytes do not depend on the
    time.
    """

    def __init__(self, base: Sink, compression: str, target: str, folder: str) -> None:
        temporary = temporary_beside(target)
        try:
            self._archive = compressed_sink(base, compression, seekable=False)
            os.mkdir(temporary)
        except OSError as error:
            base.abort()
            raise output_error(error, base.name) from error
        super().__init__(base.name, temporary, target, force=True)
        self._folder = folder

    def _move_into_place(self) -> None:
        try:
            with tarfile.open(
                fileobj=_Writing(self._archive), mode="w|", format=tarfile.GNU_FORMAT
            ) as archive:
                for name in sorted(self._children):
                    path = os.path.join(self._temporary, name)
                    member = tarfile.TarInfo(f"{self._folder}/{name}")
                    member.size = os.path.getsize(path)
                    with open(path, "rb") as file:
                        archive.addfile(member, file)
        except tarfile.TarError as error:
            raise OutputError(str(error), path=self.name) from error
        self._archive.close()
        remove(self._temporary)

    def abort(self) -> None:
        if not self._closed:
            super().abort()
            self._archive.abort()


class _Writing(io.RawIOBase):
    """A sink as the file object that tarfile writes."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        self._sink.write(data)
        return memoryview(data).nbytes

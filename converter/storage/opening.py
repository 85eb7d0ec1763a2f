"""Opens inputs: files, standard input, pipes, buffers, compressed files, directories and archives.

The contents of a pipe are first copied to an unnamed temporary file (in TMPDIR), since they may have to be read again.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import BinaryIO

from converter.errors import TraceError
from converter.limits import allowed, limit
from converter.storage.descriptors import lasting_path, open_file, with_room
from converter.storage.locations import STANDARD_INPUT, is_remote, local
from converter.storage.source import (
    FileSource,
    MemorySource,
    Source,
    check_relative,
    os_error,
    spooled,
)

#: The inputs that `open_source` accepts. A `str` is a path, a URL, or "-" for standard input; `bytes` are the data.
SourceArgument = str | os.PathLike[str] | BinaryIO | bytes

#: Returns True for the start of a stream that is to be read as it comes.
IsLive = Callable[[bytes], bool]

_COPY_SIZE = 1 << 18
#: Position and value of the magic in the first header of a tar archive (POSIX.1-2017, pax, "ustar Interchange Format").
_TAR_OFFSET = 257
_TAR_MAGIC = b"ustar"
_ZIP_MAGIC = b"PK\x03\x04"
#: The first bytes of files that are compressed by other methods than gzip.
_MAGICS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\0": "xz",
    b"BZh": "bzip2",
    b"\x04\x22\x4d\x18": "lz4",
}


def open_source(path: SourceArgument, is_live: IsLive | None = None) -> Source:
    """Open an input. Nested compression is removed, and a tar or zip archive becomes a directory.

    A file object is read from its current position to its end and is not closed. A stream is read while it is being
    written if `is_live` returns True for the first bytes that come.
    """
    source = _open_input(path, is_live)
    if source.is_directory or source.is_live:
        return source
    is_zip = source.read(0, len(_ZIP_MAGIC)) == _ZIP_MAGIC
    if not is_zip and source.read(_TAR_OFFSET, len(_TAR_MAGIC)) != _TAR_MAGIC:
        return source
    # Imported only when needed: most inputs are not archives.
    try:
        if is_zip:
            from converter.storage.archives.zip import open_zip

            return open_zip(source, _unwrapped)
        from converter.storage.archives.tar import open_archive

        return open_archive(source, _unwrapped)
    except BaseException:
        source.close()
        raise


def _open_input(path: SourceArgument, is_live: IsLive | None) -> Source:
    if isinstance(path, bytes | bytearray | memoryview):
        return _unwrapped(MemorySource("<bytes>", bytes(path)))
    if isinstance(path, str | os.PathLike):
        text = os.fspath(path)
        if is_remote(text):
            # Imported only when needed: most inputs are local.
            from converter.storage.remote.sources import open_remote

            return open_remote(text, _unwrapped)
        if text != "-":
            return _open_path(local(text), text, is_live=is_live)
        if sys.stdin is None:
            raise TraceError("is closed", path=STANDARD_INPUT)
        return _open_stream(sys.stdin.buffer, STANDARD_INPUT, is_live)
    name = getattr(path, "name", None)
    return _open_stream(path, name if isinstance(name, str) else "<stream>", is_live)


class _DirectorySource(Source):
    """A directory. Links are followed as long as they stay below `boundary`, the outermost directory opened."""

    is_directory = True

    def __init__(self, name: str, root: str, boundary: str) -> None:
        super().__init__(name, 0)
        self._root = root
        self._boundary = boundary

    def listdir(self, relative: str = "") -> list[str]:
        path = self._resolved(relative) if relative else self._root
        try:
            return sorted(os.listdir(path))
        except OSError as error:
            raise os_error(error, os.path.join(self.name, relative)) from error

    def walk(self) -> Iterator[str]:
        for folder, folders, files in os.walk(self._root):
            folders.sort()
            inside = os.path.relpath(folder, self._root)
            for file in sorted(files):
                yield file if inside == "." else os.path.join(inside, file)

    def open(self, relative: str) -> Source:
        path = self._resolved(relative)
        name = os.path.join(self.name, relative)
        try:
            mode = os.stat(path, follow_symlinks=False).st_mode
        except OSError as error:
            raise os_error(error, name) from error
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            # A pipe in a directory from another machine would block forever.
            raise TraceError(path=name, expected="a file or a directory", found="a special file")
        return _open_path(path, name, self._boundary)

    def _fill(self, offset: int, view: memoryview) -> int:
        raise TraceError("is a directory", path=self.name)

    def _available(self, offset: int, size: int) -> int:
        raise TraceError("is a directory", path=self.name)

    def _resolved(self, relative: str) -> str:
        try:
            check_relative(relative)
        except TraceError as error:
            raise error.within(path=self.name) from None
        path = os.path.realpath(os.path.join(self._root, relative))
        if path != self._boundary and not path.startswith(self._boundary.rstrip("/") + "/"):
            raise TraceError(path=self.name, expected="a name inside the directory", found=relative)
        return path


def _open_path(
    path: str, name: str, boundary: str | None = None, is_live: IsLive | None = None
) -> Source:
    try:
        if os.path.isdir(path):
            root = os.path.realpath(path)
            return _DirectorySource(name, root, boundary if boundary is not None else root)
        descriptor = open_file(path)
    except OSError as error:
        raise os_error(error, name) from error
    except ValueError as error:  # a null character
        raise TraceError(path=name, expected="a path", found=path) from error
    status = os.fstat(descriptor)
    # The files of tracefs and procfs have no size.
    if stat.S_ISREG(status.st_mode) and (status.st_size or is_live is None):
        source = _unwrapped(FileSource(name, descriptor, lasting_path(path)))
        folder = os.path.dirname(path) or os.curdir
        source.open_beside = partial(_open_path, folder, folder)
        return source
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        return _copied(stream, name, is_live)


def _open_stream(stream: BinaryIO, name: str, is_live: IsLive | None) -> Source:
    """Read a file object: directly by offset if it is a plain file at its start, else through a temporary file."""
    # Other classes may also have a descriptor, but a different one (GzipFile: of the compressed file).
    raw = stream.raw if isinstance(stream, io.BufferedReader) else stream
    if isinstance(raw, io.FileIO):
        try:
            status = os.fstat(raw.fileno())
            if stat.S_ISREG(status.st_mode) and stream.tell() == 0:
                return _unwrapped(FileSource(name, with_room(lambda: os.dup(raw.fileno()))))
        except (OSError, ValueError) as error:
            raise TraceError(str(error), path=name) from error
    return _copied(stream, name, is_live)


def _copied(stream: BinaryIO | io.RawIOBase, name: str, is_live: IsLive | None) -> Source:
    """Copy a stream to a temporary file: whole, or as it comes."""
    chunks = _chunks(stream, name)
    head = next(chunks, b"")
    if is_live is not None and is_live(head):
        raw = stream.raw if isinstance(stream, io.BufferedReader) else stream
        if isinstance(raw, io.FileIO):
            # Imported only when needed: most inputs are files.
            from converter.storage.live import LiveSource

            return LiveSource(name, with_room(lambda: os.dup(raw.fileno())), head)
    return _unwrapped(spooled(chain([head], chunks), name))


def _chunks(stream: BinaryIO | io.RawIOBase, name: str) -> Iterator[bytes]:
    # This returns what is there, the other what was asked for.
    read = stream.read1 if isinstance(stream, io.BufferedReader) else stream.read
    while True:
        try:
            chunk = read(_COPY_SIZE)
        except (OSError, ValueError) as error:
            raise os_error(error, name) from error
        if not isinstance(chunk, bytes):
            found = "none yet" if chunk is None else type(chunk).__name__
            raise TraceError(path=name, expected="a stream of bytes", found=found)
        if not chunk:
            return
        yield chunk


def compression_of(head: bytes) -> str | None:
    """Return the compression of a file by its first bytes; 6 are enough."""
    if head[:2] == b"\x1f\x8b" and head[2:3] in (b"", b"\x08"):
        return "gzip"
    for magic, compression in _MAGICS.items():
        if head.startswith(magic):
            # The block size, and the first of the two numbers at the start of a block.
            return compression if compression != "bzip2" or head[3:4] in b"123456789" else None
    return None


def _unwrapped(source: Source, wrappers: int = 0) -> Source:
    """Return the source, or its decompressed contents: a server may compress what is compressed already."""
    try:
        compression = compression_of(source.read(0, 6))
        if compression is not None and wrappers >= limit("wrappers"):
            raise TraceError(path=source.name, expected=allowed("wrappers"), found=compression)
    except BaseException:
        source.close()
        raise
    if compression is None:
        return source
    # Imported only when needed: most inputs are not compressed.
    from converter.storage.compression.decompression import decompressed
    from converter.storage.compression.packed import PackedSource

    unpack = partial(decompressed, source, compression)
    return _unwrapped(PackedSource(source.name, source, unpack, compression), wrappers + 1)

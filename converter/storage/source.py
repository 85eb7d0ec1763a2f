"""Bytes in: files, standard input, pipes, buffers, compressed files, directories and archives, all read by offset.

Files are read with pread, which threads can share, and are never mapped: a mapped file that someone truncates kills
the process. What has no offsets (pipes, compressed files) is first copied to an unnamed temporary file (in TMPDIR).
"""

from __future__ import annotations

import io
import os
import stat
import sys
import weakref
from collections.abc import Iterator
from typing import BinaryIO, Self

from converter.errors import OutputError, TraceError, TraceWarning, TruncatedError

#: What `open_source` takes; a `str` is a path, or "-" for standard input, and `bytes` are the data themselves.
SourceArgument = str | os.PathLike[str] | BinaryIO | bytes

_COPY_SIZE = 1 << 18
_MAX_OFFSET = (1 << 63) - 1
#: Where the first header of a tar archive says that it is one (POSIX.1-2017, pax, "ustar Interchange Format").
_TAR_OFFSET = 257
_TAR_MAGIC = b"ustar"


def open_source(path: SourceArgument) -> Source:
    """Open an input; gzip and zstd wrappers (of one level) are removed, and a tar archive is a directory.

    A file object is read from its current position to its end and is not closed.
    """
    source = _open_input(path)
    if source.is_directory or source.read(_TAR_OFFSET, len(_TAR_MAGIC)) != _TAR_MAGIC:
        return source
    # Imported only now: most inputs are no archives.
    from converter.storage.archives import open_archive

    try:
        return open_archive(source, _unwrapped)
    except BaseException:
        source.close()
        raise


def _open_input(path: SourceArgument) -> Source:
    if isinstance(path, bytes | bytearray | memoryview):
        return _unwrapped(_MemorySource("<bytes>", bytes(path)))
    if isinstance(path, str | os.PathLike):
        text = os.fspath(path)
        if text != "-":
            return _open_path(text, text)
        if sys.stdin is None:
            raise TraceError("standard input is closed", path="-")
        return _open_stream(sys.stdin.buffer, "-")
    name = getattr(path, "name", None)
    return _open_stream(path, name if isinstance(name, str) else "<stream>")


class Source:
    """An input. A context manager; reading is thread-safe until it is closed.

    `name` is the path for messages, `size` the number of bytes, `warnings` is what was damaged in a compressed
    wrapper, and `compression` is that wrapper ("gzip", "zstd" or None).
    """

    is_directory = False

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.warnings: list[TraceWarning] = []
        self.compression: str | None = None
        #: The directory that the file is in, where it was opened by its path.
        self.place: str | None = None

    def read(self, offset: int, size: int) -> bytes:
        """The `size` bytes at `offset`; fewer only where the file ends, none beyond its end."""
        buffer = bytearray(self._available(offset, size))
        count = self._fill(offset, memoryview(buffer)) if buffer else 0
        return bytes(memoryview(buffer)[:count])

    def read_exactly(self, offset: int, size: int, *, field: str | None = None) -> bytes:
        """The `size` bytes at `offset`; `TruncatedError`, naming `field`, if the file ends before."""
        data = self.read(offset, size)
        if len(data) < size:
            raise TruncatedError(
                path=self.name,
                offset=offset,
                field=field,
                expected=f"{size} bytes",
                found=f"{len(data)} before the end of the file",
            )
        return data

    def read_into(self, offset: int, buffer: bytearray | memoryview) -> int:
        """Fill a writable buffer (also of an array) from `offset`; the number of bytes, less than its size only at
        the end of the file.
        """
        view = memoryview(buffer)
        if view.nbytes == 0:
            self._available(offset, 0)
            return 0
        view = view.cast("B")
        size = self._available(offset, view.nbytes)
        return self._fill(offset, view[:size]) if size else 0

    def listdir(self, relative: str = "") -> list[str]:
        """The sorted names in a directory, or in a folder of it."""
        raise TraceError("not a directory", path=self.name)

    def walk(self) -> Iterator[str]:
        """The relative names of all files in a directory and its folders, sorted; links to folders not followed."""
        raise TraceError("not a directory", path=self.name)

    def open(self, relative: str) -> Source:
        """A file or folder in a directory; `TraceError` for names that lead out of it, also through links."""
        raise TraceError("not a directory", path=self.name)

    def beside(self) -> Source | None:
        """The directory that a file is in, for those that have companions; None for what was not opened by a path."""
        return None if self.place is None else _open_path(self.place, self.place)

    def close(self) -> None:
        """Release the file. Reading afterwards is an error of the caller's (ValueError)."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.size} bytes>"

    def _available(self, offset: int, size: int) -> int:
        """How much of a request there is to read: what is allocated never exceeds the rest of the file."""
        if not 0 <= offset <= _MAX_OFFSET:
            raise TraceError(path=self.name, expected="an offset in the file", found=offset)
        if not 0 <= size <= _MAX_OFFSET:
            raise TraceError(path=self.name, offset=offset, expected="a size", found=size)
        return max(0, min(size, self.size - offset))

    def _fill(self, offset: int, view: memoryview) -> int:
        raise NotImplementedError


class _MemorySource(Source):
    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(name, len(data))
        self._data: memoryview | None = memoryview(data)

    def close(self) -> None:
        self._data = None

    def _fill(self, offset: int, view: memoryview) -> int:
        if self._data is None:
            raise ValueError("read of a closed source")
        view[:] = self._data[offset : offset + len(view)]
        return len(view)


class _FileSource(Source):
    """An open regular file, which it owns."""

    def __init__(self, name: str, descriptor: int) -> None:
        super().__init__(name, os.fstat(descriptor).st_size)
        self._descriptor = descriptor
        # Also where a trace lives until the interpreter ends, when a method could no longer call anything.
        self._release = weakref.finalize(self, os.close, descriptor)

    def close(self) -> None:
        self._descriptor = -1
        self._release()

    def _fill(self, offset: int, view: memoryview) -> int:
        if self._descriptor < 0:
            raise ValueError("read of a closed source")
        done = 0
        while done < len(view):
            try:
                count = os.preadv(self._descriptor, [view[done:]], offset + done)
            except OSError as error:
                raise _os_error(error, self.name, offset + done) from error
            if count == 0:  # the file has become shorter since it was opened
                break
            done += count
        return done


class View(Source):
    """A stretch of another source, which it does not own, and what stands in place of what follows it."""

    def __init__(self, name: str, base: Source, start: int, size: int, tail: bytes = b"") -> None:
        super().__init__(name, size + len(tail))
        self.warnings = base.warnings
        self._base = base
        self._start = start
        self._stretch = size
        self._tail = tail

    def _fill(self, offset: int, view: memoryview) -> int:
        inside = max(min(len(view), self._stretch - offset), 0)
        done = self._base.read_into(self._start + offset, view[:inside]) if inside else 0
        if done < inside or inside == len(view):
            return done
        begin = max(offset - self._stretch, 0)
        rest = self._tail[begin : begin + len(view) - inside]
        view[inside : inside + len(rest)] = rest
        return inside + len(rest)


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
            raise _os_error(error, os.path.join(self.name, relative)) from error

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
            raise _os_error(error, name) from error
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            # A pipe in a directory from elsewhere would block for ever.
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


def check_relative(relative: str) -> None:
    """Check that a name from a file stays in the directory that it is joined to."""
    if (
        not relative
        or "\0" in relative
        or os.path.isabs(relative)
        or ".." in relative.split("/")
        or os.path.normpath(relative) == "."
    ):
        raise TraceError(expected="a name inside the directory", found=relative or "no name")


def _open_path(path: str, name: str, boundary: str | None = None) -> Source:
    try:
        if os.path.isdir(path):
            root = os.path.realpath(path)
            return _DirectorySource(name, root, boundary if boundary is not None else root)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _os_error(error, name) from error
    except ValueError as error:  # a null character
        raise TraceError(path=name, expected="a path", found=path) from error
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        source = _unwrapped(_FileSource(name, descriptor))
        source.place = os.path.dirname(path) or os.curdir
        return source
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        return _unwrapped(spooled(_chunks(stream, name), name))


def _open_stream(stream: BinaryIO, name: str) -> Source:
    """Read a file object: directly by offset if it is a plain file at its start, else through a temporary file."""
    # Other classes may also have a descriptor, but of something else (GzipFile: of the compressed file).
    raw = stream.raw if isinstance(stream, io.BufferedReader) else stream
    if isinstance(raw, io.FileIO):
        try:
            status = os.fstat(raw.fileno())
            if stat.S_ISREG(status.st_mode) and stream.tell() == 0:
                return _unwrapped(_FileSource(name, os.dup(raw.fileno())))
        except (OSError, ValueError) as error:
            raise TraceError(str(error), path=name) from error
    return _unwrapped(spooled(_chunks(stream, name), name))


def _chunks(stream: BinaryIO | io.RawIOBase, name: str) -> Iterator[bytes]:
    while True:
        try:
            chunk = stream.read(_COPY_SIZE)
        except (OSError, ValueError) as error:
            raise _os_error(error, name) from error
        if not isinstance(chunk, bytes):
            found = "none yet" if chunk is None else type(chunk).__name__
            raise TraceError(path=name, expected="a stream of bytes", found=found)
        if not chunk:
            return
        yield chunk


def spooled(chunks: Iterator[bytes], name: str) -> Source:
    """A source of an unnamed temporary file with these contents."""
    import tempfile

    try:
        # OSErrors of the input are TraceErrors by now, so these are the temporary file's.
        with tempfile.TemporaryFile(buffering=0) as file:
            for chunk in chunks:
                view = memoryview(chunk)
                while view:
                    view = view[file.write(view) :]
            return _FileSource(name, os.dup(file.fileno()))
    except OSError as error:
        place = tempfile.tempdir or "TMPDIR"
        message = f"cannot copy it to a temporary file in {place}: {error.strerror or error}"
        raise OutputError(message, path=name) from error


def _unwrapped(source: Source) -> Source:
    """The source, or a decompressed copy of it."""
    try:
        head = source.read(0, 4)
        if head[:2] == b"\x1f\x8b" and head[2:3] in (b"", b"\x08"):
            compression = "gzip"
        elif head == b"\x28\xb5\x2f\xfd":
            compression = "zstd"
        else:
            return source
        # Imported only now: most inputs need no decompressor.
        from converter.storage.decompression import decompressed

        plain = spooled(decompressed(source, compression), source.name)
    except BaseException:
        source.close()
        raise
    plain.warnings = source.warnings
    plain.compression = compression
    source.close()
    return plain


def _os_error(error: Exception, name: str, offset: int | None = None) -> TraceError:
    message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TraceError(message, path=name, offset=offset)

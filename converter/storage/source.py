"""The interface of open inputs: bytes by offset. `opening` opens them.

Files are read with pread, which threads can share, and are never mapped: if another program truncated a mapped file,
it would kill the process.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from typing import Self

from converter.errors import (
    ClosedError,
    MissingFileError,
    OpenFilesError,
    OutputError,
    TraceError,
    TraceWarning,
    TruncatedError,
)
from converter.storage.compression.unpacked import Unpacked
from converter.storage.descriptors import TOO_MANY, OpenFile, with_room

_MAX_OFFSET = (1 << 63) - 1
#: The most that one call reads or writes: macOS refuses 2 GiB.
MOST_AT_ONCE = 1 << 30


class Source:
    """An input. A context manager; reading is thread-safe until it is closed.

    `name` is the path for messages, `size` the number of bytes, `warnings` lists damage in a compressed wrapper, and
    `compression` names that wrapper ("gzip", "zstd", ... or None).
    """

    is_directory = False
    #: It is still being written: `size` grows, and reads return what is there.
    is_live = False

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.warnings: list[TraceWarning] = []
        self.compression: str | None = None
        #: Opens the directory of the file, if it was opened by its path.
        self.open_beside: Callable[[], Source] | None = None
        self._unpacked: Unpacked | None = None

    @property
    def unpacked(self) -> Unpacked:
        """The decompression budget of the input that this is, or is part of."""
        if self._unpacked is None:
            # Imported only when needed: most inputs are not compressed, and a compressed one does not know its size.
            self._unpacked = Unpacked(self.size)
        return self._unpacked

    @unpacked.setter
    def unpacked(self, unpacked: Unpacked) -> None:
        self._unpacked = unpacked

    def read(self, offset: int, size: int) -> bytes:
        """Return the `size` bytes at `offset`; fewer only where the file ends, none beyond its end."""
        buffer = bytearray(self._available(offset, size))
        count = self._fill(offset, memoryview(buffer)) if buffer else 0
        return bytes(memoryview(buffer)[:count])

    def read_exactly(self, offset: int, size: int, *, field: str | None = None) -> bytes:
        """Return the `size` bytes at `offset`; raise `TruncatedError`, naming `field`, if the file ends before."""
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
        """Fill a writable buffer (also of an array) from `offset`.

        Return the number of bytes, which is less than the buffer's size only at the end of the file.
        """
        view = memoryview(buffer)
        if view.nbytes == 0:
            self._available(offset, 0)
            return 0
        view = view.cast("B")
        size = self._available(offset, view.nbytes)
        return self._fill(offset, view[:size]) if size else 0

    def offset_in_file(self, offset: int) -> int:
        """Return where the byte at an offset is in the file, for messages."""
        return offset

    def listdir(self, relative: str = "") -> list[str]:
        """Return the sorted names in a directory, or in a folder of it."""
        raise TraceError("not a directory", path=self.name)

    def walk(self) -> Iterator[str]:
        """Yield the relative names of all files in a directory and its folders, sorted; links to folders are not
        followed.
        """
        raise TraceError("not a directory", path=self.name)

    def open(self, relative: str) -> Source:
        """Open a file or folder in a directory; raise `TraceError` for names that lead out of it, even through
        links.
        """
        raise TraceError("not a directory", path=self.name)

    def beside(self) -> Source | None:
        """Open the directory that contains the file, for companion files; None if it was not opened by a path."""
        return None if self.open_beside is None else self.open_beside()

    def expect_order(self) -> None:
        """Announce that it will be read from beginning to end, perhaps several times.

        Then decompressed contents are not kept, as random access would need.
        """

    def close(self) -> None:
        """Release the file. Reading afterwards is an error of the caller (ValueError)."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.size} bytes>"

    def _available(self, offset: int, size: int) -> int:
        """Return how much of a request can be read, so that no more is allocated than the rest of the file."""
        if not 0 <= offset <= _MAX_OFFSET:
            raise TraceError(path=self.name, expected="an offset in the file", found=offset)
        if not 0 <= size <= _MAX_OFFSET:
            raise TraceError(path=self.name, offset=offset, expected="a size", found=size)
        return max(0, min(size, self.size - offset))

    def _fill(self, offset: int, view: memoryview) -> int:
        raise NotImplementedError


class MemorySource(Source):
    """Bytes in memory."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(name, len(data))
        self._data: memoryview | None = memoryview(data)

    def close(self) -> None:
        self._data = None

    def _fill(self, offset: int, view: memoryview) -> int:
        if self._data is None:
            raise ClosedError("read of a closed source")
        view[:] = self._data[offset : offset + len(view)]
        return len(view)


class FileSource(Source):
    """An open regular file, which it owns.

    Args:
        name: the path for messages.
        descriptor: of the file.
        path: opens it again when too many files are open; None keeps the descriptor.

    """

    def __init__(self, name: str, descriptor: int, path: str | None = None) -> None:
        self._file = OpenFile(descriptor, path)
        super().__init__(name, self._file.size)
        # Also runs for a trace that lives until the interpreter exits, when a method could no longer call anything.
        self._release = weakref.finalize(self, self._file.close)

    def close(self) -> None:
        self._release()

    def read(self, offset: int, size: int) -> bytes:
        # If one call reads everything, as it almost always does, no copy is needed.
        size = self._available(offset, size)
        if not size:
            return b""
        try:
            with self._file as descriptor:
                data = os.pread(descriptor, min(size, MOST_AT_ONCE), offset)
        except OSError as error:
            raise os_error(error, self.name, offset) from error
        return data if len(data) == size else super().read(offset, size)

    def _fill(self, offset: int, view: memoryview) -> int:
        done = 0
        try:
            with self._file as descriptor:
                while done < len(view):
                    part = view[done : done + MOST_AT_ONCE]
                    count = _read_at(descriptor, part, offset + done)
                    if count == 0:  # the file has become shorter since it was opened
                        break
                    done += count
        except OSError as error:
            raise os_error(error, self.name, offset + done) from error
        return done


def _read_at(descriptor: int, view: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [view], offset)
    # macOS 10 lacks it.
    data = os.pread(descriptor, len(view), offset)
    view[: len(data)] = data
    return len(data)


class View(Source):
    """A range of another source, which it does not own, and optional bytes that replace what follows the range."""

    def __init__(self, name: str, base: Source, start: int, size: int, tail: bytes = b"") -> None:
        super().__init__(name, size + len(tail))
        self.warnings = base.warnings
        self.unpacked = base.unpacked
        self._base = base
        self._start = start
        self._length = size
        self._tail = tail

    def _fill(self, offset: int, view: memoryview) -> int:
        inside = max(min(len(view), self._length - offset), 0)
        done = self._base.read_into(self._start + offset, view[:inside]) if inside else 0
        if done < inside or inside == len(view):
            return done
        begin = max(offset - self._length, 0)
        rest = self._tail[begin : begin + len(view) - inside]
        view[inside : inside + len(rest)] = rest
        return inside + len(rest)


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


class GrowingSource(FileSource):
    """An unnamed temporary file, to which contents are appended. For one thread at a time.

    Raises:
        OutputError: the disk is full.

    """

    def __init__(self, name: str) -> None:
        import tempfile

        try:
            with with_room(lambda: tempfile.TemporaryFile(buffering=0)) as file:
                super().__init__(name, with_room(lambda: os.dup(file.fileno())))
        except OSError as error:
            raise _no_copy(error, name) from error

    def append(self, chunks: Iterator[bytes], name: str) -> tuple[int, int]:
        """Append contents; return their offset and size.

        Raises:
            OutputError: the disk is full.

        """
        start = at = self.size
        try:
            # OSErrors of the input are TraceErrors by now, so these come from the temporary file.
            for chunk in chunks:
                view = memoryview(chunk)
                while view:
                    with self._file as descriptor:
                        count = os.pwrite(descriptor, view[:MOST_AT_ONCE], at)
                    view, at = view[count:], at + count
        except OSError as error:
            raise _no_copy(error, name) from error
        self.size = at
        return start, at - start


def spooled(chunks: Iterator[bytes], name: str) -> Source:
    """Return a source backed by an unnamed temporary file with these contents."""
    source = GrowingSource(name)
    try:
        source.append(chunks, name)
    except BaseException:
        source.close()
        raise
    return source


def _no_copy(error: OSError, name: str) -> TraceError:
    """Return the error that there is no temporary file for an input, or no space in it."""
    import tempfile

    if error.errno in TOO_MANY:
        return OpenFilesError(path=name)
    folder = tempfile.tempdir or "TMPDIR"
    said = error.strerror or error
    message = f"cannot copy it to a temporary file in {folder}: {said} (TMPDIR names another)"
    return OutputError(message, path=name)


def os_error(error: Exception, name: str, offset: int | None = None) -> TraceError:
    """Return a system error as an error about an input."""
    if isinstance(error, OSError) and error.errno in TOO_MANY:
        return OpenFilesError(path=name)
    message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    kind = MissingFileError if isinstance(error, FileNotFoundError) else TraceError
    return kind(message, path=name, offset=offset)

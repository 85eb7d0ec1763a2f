"""Sources and sinks as files that PyArrow reads and writes; its exceptions are converted to ours."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from converter.errors import TraceError
from converter.storage.sink import Sink
from converter.storage.source import Source


class SinkFile:
    """A sink as a file that is written."""

    closed = False

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, data: pa.Buffer | bytes) -> int:
        """Append. Does nothing for an aborted output, which a writer of PyArrow's still writes to when it
        is deleted.
        """
        if self._sink.is_open:
            self._sink.write(data)
        return len(data)

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._sink.tell()

    def flush(self) -> None:
        """Do nothing: the sink does so when it is closed."""

    def close(self) -> None:
        """Do nothing: the sink's opener closes it."""

    def writable(self) -> bool:
        """True."""
        return True

    def readable(self) -> bool:
        """False."""
        return False

    def seekable(self) -> bool:
        """False."""
        return False


class SourceFile(io.RawIOBase):
    """A source as a file that is read; `end` are its last bytes, if these are known already."""

    def __init__(self, source: Source, end: bytes = b"") -> None:
        super().__init__()
        self._source = source
        self._at = 0
        self._end = end
        self._end_start = source.size - len(end) if end else 0

    def _known(self, size: int) -> bytes | None:
        inside = self._at - self._end_start
        return self._end[inside : inside + size] if self._end and inside >= 0 else None

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill a buffer."""
        known = self._known(len(buffer))
        if known is not None:
            buffer[: len(known)] = known
            self._at += len(known)
            return len(known)
        count = self._source.read_into(self._at, buffer)
        self._at += count
        return count

    def read(self, size: int = -1) -> bytes:
        """Return some bytes, or all the rest."""
        rest = max(self._source.size - self._at, 0)
        size = rest if size < 0 else min(size, rest)
        known = self._known(size)
        data = self._source.read(self._at, size) if known is None else known
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset in the file."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def tell(self) -> int:
        """Return the offset in the file."""
        return self._at

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True


@contextmanager
def errors_of(source: Source, format: str) -> Iterator[None]:
    """Convert the exceptions that PyArrow raises for an input to a `TraceError` about it."""
    try:
        yield
    except TraceError as error:
        raise error.within(format=format, path=source.name) from None
    except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise TraceError(lines[0], format=format, path=source.name) from error

"""The interface of outputs, and the one in memory. `outputs` opens files, directories and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from converter.errors import TraceError
from converter.errors.guarding import guarded

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

_READ_SIZE = 1 << 20


class Sink:
    """An output. A context manager: leaving it normally is `close`, leaving it by an exception is `abort`.

    `name` is the path for messages. `write_at` works if `seekable`. A sink is used by one thread at a time.
    """

    is_directory = False
    seekable = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._closed = False

    def write(self, data: Buffer, *, handover: bool = False) -> None:
        """Append any contiguous buffer (bytes, bytearray, an array).

        The caller may change the buffer afterwards: all but `bytes` are copied. With `handover` a large buffer is
        written without a copy, and the caller must never change it (or, for a bytearray, resize it) again.
        """
        raise NotImplementedError

    def flush(self) -> None:
        """Write what is buffered now, as the next data may take long to come."""

    def write_at(self, offset: int, data: Buffer) -> None:
        """Replace bytes that were already written, for headers whose values are known only at the end."""
        raise NotImplementedError

    def read_back(self, offset: int, size: int) -> bytes:
        """Return bytes that were written, if `seekable`; wait until they are on file."""
        raise NotImplementedError

    def keep_checksum(self) -> None:
        """Compute the checksum while data are written; call it before the first write."""

    def checksum(self) -> int:
        """Return the CRC-32 of everything written, if `seekable`; wait until it is on file.

        The data are read back unless `keep_checksum` was called and nothing was replaced since.
        """
        import zlib  # not needed for most outputs

        checksum = 0
        for offset in range(0, self.tell(), _READ_SIZE):
            size = min(_READ_SIZE, self.tell() - offset)
            checksum = zlib.crc32(self.read_back(offset, size), checksum)
        return checksum

    def begin_batch(self, events: int | None) -> bool:
        """Return True if what follows is written here: the events of a batch or, with None, the data after the last
        batch.

        Each of the processes that write an output together (`SharedSink`) calls it, and writes only its own batches.
        """
        return True

    @property
    def writers(self) -> tuple[int, int]:
        """The index of this process among those that write the output, and their number."""
        return 0, 1

    @property
    def run(self) -> int:
        """The run of batches that is being written: no file has events of two."""
        return 0

    def tell(self) -> int:
        """Return the number of bytes appended so far."""
        raise NotImplementedError

    def files(self) -> dict[str, Sink]:
        """Return the files of a directory so far, by relative name."""
        raise TraceError("not a directory", path=self.name)

    def create(self, relative: str) -> Sink:
        """Create a file in a directory sink, with the folders that it needs.

        Closing it is optional. A directory with a file that was aborted fails to close.
        """
        raise TraceError("not a directory", path=self.name)

    def companion(self, suffix: str) -> Sink | None:
        """Create a second file next to this one, whose name has `suffix` appended; it appears when this one does.

        None where that is impossible: standard output, devices and pipes.
        """
        return None

    def close(self) -> None:
        """Finish: everything is written and in place, or `OutputError` is raised and nothing is there."""
        raise NotImplementedError

    def abort(self) -> None:
        """Remove the output (a stream only receives no more data). Does nothing after `close`."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            with guarded(path=self.name, writes=True):
                self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.abort()

    @property
    def is_open(self) -> bool:
        """True until it is closed or aborted."""
        return not self._closed

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("write to a closed sink")

    def _check_patch(self, offset: int, size: int) -> None:
        self._check_open()
        if offset < 0 or offset + size > self.tell():
            raise ValueError(f"write_at {offset}+{size}, but only {self.tell()} bytes were written")


class BufferSink(Sink):
    """An output in memory."""

    def __init__(self, name: str = "<memory>") -> None:
        super().__init__(name)
        self._data = bytearray()
        #: By suffix.
        self.companions: dict[str, BufferSink] = {}

    def companion(self, suffix: str) -> BufferSink:
        self._check_open()
        return self.companions.setdefault(suffix, BufferSink(f"{self.name}{suffix}"))

    def write(self, data: Buffer, *, handover: bool = False) -> None:
        self._check_open()
        self._data += bytes_of(data)

    def write_at(self, offset: int, data: Buffer) -> None:
        view = bytes_of(data)
        self._check_patch(offset, len(view))
        self._data[offset : offset + len(view)] = view

    def read_back(self, offset: int, size: int) -> bytes:
        return bytes(self._data[offset : offset + size])

    def tell(self) -> int:
        return len(self._data)

    def getvalue(self) -> bytes:
        """Return everything written; also works after `close`."""
        return bytes(self._data)

    def close(self) -> None:
        self._closed = True

    def abort(self) -> None:
        self._closed = True


class DiscardingSink(Sink):
    """An output, also a directory, that is not kept: only the effects of writing it are wanted."""

    is_directory = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._size = 0

    def write(self, data: Buffer, *, handover: bool = False) -> None:
        self._check_open()
        self._size += memoryview(data).nbytes

    def write_at(self, offset: int, data: Buffer) -> None:
        self._check_patch(offset, memoryview(data).nbytes)

    def tell(self) -> int:
        return self._size

    def create(self, relative: str) -> Sink:
        return DiscardingSink(relative)

    def companion(self, suffix: str) -> Sink:
        return DiscardingSink(f"{self.name}{suffix}")

    def close(self) -> None:
        self._closed = True

    def abort(self) -> None:
        self._closed = True


def bytes_of(data: Buffer) -> memoryview:
    """Return the bytes of a buffer of any element type."""
    view = memoryview(data)
    if view.nbytes == 0:
        return memoryview(b"")
    try:
        return view.cast("B")
    except (TypeError, ValueError):
        # Not contiguous, or elements that memoryview does not know (big-endian or structured arrays).
        return memoryview(view.tobytes())

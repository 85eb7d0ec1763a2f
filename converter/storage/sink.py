"""Bytes out: what every output can do, and the one in memory. `outputs` opens files, directories and streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from converter.errors import TraceError

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

_READ_SIZE = 1 << 20


class Sink:
    """An output. A context manager: leaving it normally is `close`, leaving it by an exception is `abort`.

    `name` is the path for messages. `write_at` works if `seekable`. Sinks are for one thread at a time.
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

    def write_at(self, offset: int, data: Buffer) -> None:
        """Replace bytes that were already written, for headers whose values are known only at the end."""
        raise NotImplementedError

    def read_back(self, offset: int, size: int) -> bytes:
        """Bytes that were written, if `seekable`; it waits until they are."""
        raise NotImplementedError

    def keep_checksum(self) -> None:
        """Sum up what will be written while that is at hand; before the first write."""

    def checksum(self) -> int:
        """The CRC-32 of all that was written, if `seekable`; it waits until that is done.

        It is read back unless `keep_checksum` was called and nothing was replaced since.
        """
        import zlib  # which most outputs do not need

        checksum = 0
        for offset in range(0, self.tell(), _READ_SIZE):
            size = min(_READ_SIZE, self.tell() - offset)
            checksum = zlib.crc32(self.read_back(offset, size), checksum)
        return checksum

    def begin_batch(self, events: int | None) -> bool:
        """Whether what follows is written here: the events of a batch; with None, what is behind the last one.

        Of an output that several processes write together (`SharedSink`), each asks, and writes what is its own.
        """
        return True

    @property
    def writers(self) -> tuple[int, int]:
        """Which of the processes that write the output this is, and how many they are."""
        return 0, 1

    @property
    def run(self) -> int:
        """The run of batches that is written: no file has events of two."""
        return 0

    def tell(self) -> int:
        """How many bytes were appended so far."""
        raise NotImplementedError

    def files(self) -> dict[str, Sink]:
        """The files of a directory so far, by relative name."""
        raise TraceError("not a directory", path=self.name)

    def create(self, relative: str) -> Sink:
        """A new file in a directory sink, with the folders that it needs.

        Closing it is optional. A directory with a file that was aborted fails to close.
        """
        raise TraceError("not a directory", path=self.name)

    def companion(self, suffix: str) -> Sink | None:
        """A second file beside this one, whose name has `suffix` added; it appears when this one does.

        None where there is no place for one: standard output, devices and pipes.
        """
        return None

    def close(self) -> None:
        """Finish: everything is written and in place, or `OutputError` and nothing is there."""
        raise NotImplementedError

    def abort(self) -> None:
        """Leave no output behind (of a stream: no more). Does nothing after `close`."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.abort()

    @property
    def is_open(self) -> bool:
        """Whether it has neither been closed nor aborted."""
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
        """What was written; also after `close`."""
        return bytes(self._data)

    def close(self) -> None:
        self._closed = True

    def abort(self) -> None:
        self._closed = True


class DiscardingSink(Sink):
    """An output, also a directory, that is not kept: for what only its writing tells."""

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
    """The bytes of a buffer of any element type."""
    view = memoryview(data)
    if view.nbytes == 0:
        return memoryview(b"")
    try:
        return view.cast("B")
    except (TypeError, ValueError):
        # Not contiguous, or elements that memoryview does not know (big-endian or structured arrays).
        return memoryview(view.tobytes())

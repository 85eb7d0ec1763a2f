"""Background writing for a sink: buffers wait in a short queue and are written in order, while more is produced."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict, deque
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from converter.errors import OutputError
from converter.errors.terminal import PrintableBytes
from converter.storage.descriptors import TOO_MANY, OpenFile, most_open, open_file
from converter.storage.pool.workers import Future, TaskGroup
from converter.storage.source import MOST_AT_ONCE

#: The most buffers that can wait: enough to overlap, few enough to bound the memory.
_DEPTH = 3
#: The most files of a directory that are open at a time.
_MAX_OPEN = 64
#: How long to wait for a write into a pipe that nobody reads; the process can end meanwhile.
_CANCEL_SECONDS = 2.0
_POLLED = 0.005


class Target:
    """The destination of buffers."""

    def __init__(self, name: str) -> None:
        self.name = name
        # The end of the data in the checksum, and the checksum; None if it is not kept, or data was replaced.
        self._sum: tuple[int, int] | None = None

    @property
    def checksum(self) -> int | None:
        """The CRC-32 of everything written, if it is known."""
        return None if self._sum is None else self._sum[1]

    def keep_checksum(self) -> None:
        """Compute the checksum of everything written, from the first byte on."""
        self._sum = 0, 0

    def sum_up(self, data: memoryview, offset: int | None) -> None:
        """Add data that was written at an offset or (None) appended to the checksum."""
        if self._sum is not None:
            import zlib  # not needed for most outputs

            end, checksum = self._sum
            appended = offset is None or offset == end
            self._sum = (end + len(data), zlib.crc32(data, checksum)) if appended else None

    def write(self, data: memoryview, offset: int | None) -> int:
        """Write some of the data, at an offset or (None) where the last write ended; return the number of bytes."""
        raise NotImplementedError

    def read(self, size: int, offset: int) -> bytes:
        """Read back what was written, from a target that allows it."""
        raise NotImplementedError

    def close(self) -> None:
        """Release it; raise errors that the system reports late."""

    def discard(self) -> None:
        """Release it without reporting errors."""
        with suppress(OSError, ValueError):
            self.close()


class Descriptor(Target):
    """An open file descriptor, which it owns."""

    def __init__(self, name: str, descriptor: int) -> None:
        super().__init__(name)
        self._descriptor = descriptor

    def write(self, data: memoryview, offset: int | None) -> int:
        data = data[:MOST_AT_ONCE]
        if offset is not None:
            return os.pwrite(self._descriptor, data, offset)
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:  # a standard output that the parent process made non-blocking
            import select

            # Not `select`, which does not support descriptors above 1023.
            waiting = select.poll()
            waiting.register(self._descriptor, select.POLLOUT)
            waiting.poll()
            return 0

    def read(self, size: int, offset: int) -> bytes:
        # It must be open for both.
        return os.pread(self._descriptor, size, offset)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class Terminal(Descriptor):
    """A terminal: text is escaped, as a trace can have any (`converter.errors.terminal`)."""

    def __init__(self, name: str, descriptor: int) -> None:
        super().__init__(name, descriptor)
        self._text = PrintableBytes()

    def write(self, data: memoryview, offset: int | None) -> int:
        self._write_all(self._text.escape(data))
        return len(data)

    def close(self) -> None:
        self._write_all(self._text.finish())
        super().close()

    def _write_all(self, text: bytes) -> None:
        view = memoryview(text)
        while view:
            view = view[super().write(view, None) :]


def descriptor_target(name: str, descriptor: int) -> Target:
    """Return the target of an open descriptor, which it owns."""
    kind = Terminal if os.isatty(descriptor) else Descriptor
    return kind(name, descriptor)


class Reopened(Target):
    """A file with a path, which is written at offsets, and is open only while there are enough descriptors.

    Args:
        name: for messages.
        descriptor: of the file, which it owns.
        path: opens it again.

    """

    def __init__(self, name: str, descriptor: int, path: str) -> None:
        super().__init__(name)
        self._file = OpenFile(descriptor, os.path.abspath(path), os.O_RDWR)

    def write(self, data: memoryview, offset: int | None) -> int:
        assert offset is not None, "it is seekable"
        with self._file as descriptor:
            return os.pwrite(descriptor, data[:MOST_AT_ONCE], offset)

    def read(self, size: int, offset: int) -> bytes:
        with self._file as descriptor:
            return os.pread(descriptor, size, offset)

    def close(self) -> None:
        self._file.close()


class Stream(Target):
    """A binary file object, which it does not own."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        super().__init__(name)
        self._stream = stream

    def write(self, data: memoryview, offset: int | None) -> int:
        # A raw stream returns None when it would block.
        return self._stream.write(data) or 0

    def close(self) -> None:
        self._stream.flush()


class Named(Target):
    """A file that exists under this path; `BlockWrites` opens it when something is to be written."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name)
        self.path = path

    def read(self, size: int, offset: int) -> bytes:
        descriptor = open_file(self.path)
        try:
            return os.pread(descriptor, size, offset)
        finally:
            os.close(descriptor)


class _Item(NamedTuple):
    target: Target
    offset: int | None
    data: memoryview


class BlockWrites:
    """A queue of writes, done by the thread pool; a caller that produces too much writes some of it itself.

    After an error nothing more is written, and every later call raises it as an `OutputError`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Item] = deque()
        # The task that writes the queue, if there is more than one block: outputs of a single one need no threads.
        self._work: Future[None] | None = None
        self._workers: TaskGroup | None = None
        self._cancelled = False
        self._error: tuple[str, Exception] | None = None
        self._opened: OrderedDict[str, Descriptor] = OrderedDict()

    def put(self, target: Target, offset: int | None, data: bytes | bytearray | memoryview) -> None:
        """Write a buffer, which must not be changed any more, at an offset or (None) after the last one."""
        self._raise_error()
        with self._lock:
            self._waiting.append(_Item(target, offset, memoryview(data)))
            if self._work is None and len(self._waiting) > 1:
                if self._workers is None:
                    self._workers = TaskGroup()
                self._work = self._workers.submit(self._write_waiting)
        while len(self._waiting) > _DEPTH:
            self._wait()

    def drain(self) -> None:
        """Wait until everything is written that was put here."""
        while self._waiting or self._work is not None:
            self._wait()

    def finish(self) -> None:
        """Wait until everything is written, and release what that took."""
        self.drain()
        self._close_workers()
        self._close_opened()
        self._raise_error()

    def cancel(self) -> None:
        """Drop the queue and stop."""
        self._cancelled = True
        self._waiting.clear()
        work = self._work
        if work is None or work.cancel() or _is_done_soon(work):
            self._close_workers()
            self._close_opened()

    def _wait(self) -> None:
        """Write the queue, or wait until it is written."""
        with self._lock:
            work = self._work
        if work is not None:
            work.result()
        else:
            self._write_waiting()

    def _write_waiting(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._work = None
                    return
                item = self._waiting.popleft()
            # After an error the queue is still emptied, or the thread that fills it would wait forever.
            if self._error is None and not self._cancelled:
                self._write(item)
            del item

    def _close_workers(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

    def _write(self, item: _Item) -> None:
        data, offset = item.data, item.offset
        try:
            target = self._open(item.target) if isinstance(item.target, Named) else item.target
            while data and not self._cancelled:
                count = target.write(data, offset)
                data = data[count:]
                offset = None if offset is None else offset + count
            item.target.sum_up(item.data, item.offset)
        except Exception as error:  # noqa: BLE001 - raised again by the next call; here it would only end the thread
            self._error = (item.target.name, error)

    def _open(self, named: Named) -> Descriptor:
        target = self._opened.pop(named.path, None)
        if target is None:
            if len(self._opened) >= min(_MAX_OPEN, -(-most_open() // 2)):
                self._opened.popitem(last=False)[1].close()
            target = Descriptor(named.name, self._descriptor(named.path))
        self._opened[named.path] = target
        return target

    def _descriptor(self, path: str) -> int:
        """Open a file for writing; if too many are open, close others of the directory first."""
        while True:
            try:
                return open_file(path, os.O_WRONLY)
            except OSError as error:
                if error.errno not in TOO_MANY or not self._opened:
                    raise
            self._opened.popitem(last=False)[1].close()

    def _close_opened(self) -> None:
        while self._opened:
            _, target = self._opened.popitem()
            try:
                target.close()
            except OSError as error:
                self._error = self._error or (target.name, error)

    def _raise_error(self) -> None:
        if self._error is not None:
            name, error = self._error
            message = (
                error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            )
            raise OutputError(message, path=name) from error


def _is_done_soon(work: Future[None]) -> bool:
    """Wait for a task for a limited time, since a write to a pipe that nobody reads never ends; return True if it is
    done.
    """
    end = time.monotonic() + _CANCEL_SECONDS
    while not work.done() and time.monotonic() < end:
        time.sleep(_POLLED)
    return work.done()

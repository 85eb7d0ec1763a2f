"""A bounded pool of file descriptors, however many files are read and written.

A file that was opened by its path keeps its descriptor until others need one. Its next use opens it again.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

from converter.errors import ClosedError

_Result = TypeVar("_Result")

#: The upper bound of pooled descriptors, where the system allows more.
_MOST: Final = 4096
#: The assumed system limit, where the system reports none.
_USUAL: Final = 256
#: The most that a process needs: some programs iterate over all descriptors that they may have.
_ENOUGH: Final = 1 << 16
#: The errno values for too many open files: in the process, and in the system.
TOO_MANY: Final = frozenset({errno.EMFILE, errno.ENFILE})


class OpenFile:
    """A file in use: a context manager that returns its descriptor, for any number of threads.

    Args:
        descriptor: of the file; this object owns it.
        path: where the file can be opened again; None if it cannot, and the descriptor is kept.
        flags: the flags to open it with.

    """

    __slots__ = ("_flags", "_path", "_status", "descriptor", "error", "is_closed", "users")

    def __init__(self, descriptor: int, path: str | None = None, flags: int = os.O_RDONLY) -> None:
        self.descriptor = descriptor
        self.is_closed = False
        #: The error from closing the descriptor when another file needed it.
        self.error: OSError | None = None
        #: The number of threads that are using it.
        self.users = 0
        self._path = path
        self._flags = flags | os.O_CLOEXEC
        self._status = os.fstat(descriptor)
        if path is not None:
            _pool.add(self)

    @property
    def size(self) -> int:
        """The number of bytes when the file was first opened."""
        return self._status.st_size

    def __enter__(self) -> int:
        if self._path is not None:
            return _pool.acquire(self)
        if self.is_closed:
            raise ClosedError("read of a closed source")
        return self.descriptor

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            _pool.release(self)

    def close(self) -> None:
        """Release the descriptor as soon as nobody uses it.

        Raises:
            OSError: not everything that was written is in the file.

        """
        if self._path is not None:
            _pool.close(self)
            if self.error is not None:
                raise self.error
        elif not self.is_closed:
            self.is_closed = True
            os.close(self.descriptor)

    def reopen(self) -> None:
        """Open it again.

        Raises:
            OSError: it cannot be opened, another file now has its name, or not everything that was written is in it.

        """
        if self.error is not None:
            raise self.error
        assert self._path is not None, "it has not been closed"
        # A pipe that has this name by now must not block.
        path, flags = self._path, self._flags | os.O_NONBLOCK
        descriptor = with_room(lambda: os.open(path, flags))
        if not self._is_same(os.fstat(descriptor)):
            os.close(descriptor)
            raise OSError(errno.ESTALE, "the file was replaced while it was in use", self._path)
        self.descriptor = descriptor

    def _is_same(self, status: os.stat_result) -> bool:
        """Return True if a status is that of this file; network file systems may renumber a file."""
        unchanged = (status.st_size, status.st_mtime_ns) == (
            self._status.st_size,
            self._status.st_mtime_ns,
        )
        return unchanged or os.path.samestat(status, self._status)


class _Pool:
    """The open files whose descriptors can be closed and opened again."""

    def __init__(self) -> None:
        # Reentrant: the garbage collector may close the file of a source at any point of any thread.
        self._lock = threading.RLock()
        self._open = 0
        #: Files that nobody uses now, the most recently used last.
        self._idle: OrderedDict[OpenFile, None] = OrderedDict()

    def add(self, file: OpenFile) -> None:
        """Add a file, which is open."""
        with self._lock:
            self._open += 1
            self._idle[file] = None

    def acquire(self, file: OpenFile) -> int:
        """Return the descriptor of a file, which stays open until it is released."""
        with self._lock:
            if file.is_closed:
                raise ClosedError("read of a closed source")
            self._idle.pop(file, None)
            if file.descriptor < 0:
                self.make_room()
                file.reopen()
                self._open += 1
            file.users += 1
            return file.descriptor

    def release(self, file: OpenFile) -> None:
        """End one use of a file."""
        with self._lock:
            file.users -= 1
            if file.users:
                return
            if file.is_closed:
                self._drop(file)
            else:
                self._idle[file] = None

    def close(self, file: OpenFile) -> None:
        """Close a file for good as soon as nobody uses it."""
        with self._lock:
            file.is_closed = True
            self._idle.pop(file, None)
            if not file.users:
                self._drop(file)

    def make_room(self, most: int | None = None) -> bool:
        """Close idle files until fewer than `most` (by default the pool's limit) are open.

        Returns:
            True if a descriptor was closed.

        """
        most = most_open() if most is None else most
        closed = False
        with self._lock:
            while self._open >= most and self._idle:
                self._drop(self._idle.popitem(last=False)[0])
                closed = True
        return closed

    def begin_again(self) -> None:
        """Replace the lock by a free one in a child process: a thread of the parent may have held the old one."""
        self._lock = threading.RLock()

    def _drop(self, file: OpenFile) -> None:
        descriptor, file.descriptor = file.descriptor, -1
        if descriptor >= 0:
            self._open -= 1
            try:
                os.close(descriptor)
            except OSError as error:
                file.error = error


_pool: Final = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.begin_again)


def open_file(path: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """Open a file and return its descriptor.

    Raises:
        OSError: it cannot be opened.
        ValueError: there is a null character in the path.

    """
    _pool.make_room()
    return with_room(lambda: os.open(path, flags | os.O_CLOEXEC, mode))


def with_room(make: Callable[[], _Result]) -> _Result:
    """Call a function that opens files, and return its result; if too many are open, close idle ones and retry."""
    try:
        return make()
    except OSError as error:
        if error.errno not in TOO_MANY or not _pool.make_room(0):
            raise
        return make()


def lasting_path(path: str) -> str | None:
    """Return a path that opens a file again whatever the current directory is; None if no path surely does."""
    whole = os.path.abspath(path)
    return None if whole.startswith(("/dev/", "/proc/")) else whole


def allow_more() -> None:
    """Raise this process's soft limit of open files to its hard limit."""
    try:
        import resource  # not available on all systems

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ImportError, OSError, ValueError):
        pass  # fewer are open at a time


def most_open() -> int:
    """Return how many descriptors the pool may hold: half of the process's, which needs some for other files."""
    try:
        import resource  # not available on all systems

        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except (ImportError, OSError, ValueError):
        soft = _USUAL
    else:
        soft = 2 * _MOST if soft == resource.RLIM_INFINITY else soft
    return max(min(soft // 2, _MOST), 1)

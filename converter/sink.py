"""Bytes out: files and directories that appear whole or not at all, standard output, and memory.

A file is written under a temporary name beside its place and renamed when the sink closes without an error. One
background thread per output does the system calls, so that producing and writing overlap.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from converter.errors import OutputError, TraceError, UnsupportedError
from converter.source import check_relative
from converter.writer_thread import Descriptor, Named, Stream, Target, WriterThread

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

#: Writes below this are collected into blocks of `_BLOCK_SIZE`; others are passed on as they are.
_SMALL_SIZE = 1 << 16
_BLOCK_SIZE = 1 << 18
_READ_SIZE = 1 << 20


def open_sink(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    directory: bool = False,
    avoid: str | os.PathLike[str] | None = None,
    seekable: bool = False,
) -> Sink:
    """Open an output: a file, a directory, or "-" for standard output.

    What exists is replaced only with `force`, and never if it is the input, whose path `avoid` gives. Existing
    devices and pipes (/dev/null) are written to directly. With `seekable` such streams and standard output support
    `Sink.write_at` too: they get everything at the end, from a temporary file (in TMPDIR).
    Everything that is refused is an `OutputError`.
    """
    text = os.fspath(path)
    if text == "-":
        if directory:
            raise OutputError("a directory cannot be written to standard output", path="-")
        return _open_stream(text, _stdout(), seekable)
    try:
        # Links stay links: what they point to is replaced.
        target = os.path.realpath(text)
        status = os.stat(target) if os.path.lexists(target) else None
        if status is not None:
            _check_replaceable(text, target, status, force, directory, avoid)
            if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
                descriptor = os.open(target, os.O_WRONLY | os.O_CLOEXEC)
                return _open_stream(text, Descriptor(text, descriptor), seekable)
        temporary = _temporary_beside(target)
        if directory:
            os.mkdir(temporary)
            return _DirectorySink(text, temporary, target, force)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        opened = Descriptor(text, os.open(temporary, flags, 0o666))
        return _ReplacingSink(text, opened, temporary, target, force)
    except (OSError, ValueError) as error:
        raise _output_error(error, text) from error


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
        checksum = 0
        for offset in range(0, self.tell(), _READ_SIZE):
            size = min(_READ_SIZE, self.tell() - offset)
            checksum = zlib.crc32(self.read_back(offset, size), checksum)
        return checksum

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
        self._data += _flat(data)

    def write_at(self, offset: int, data: Buffer) -> None:
        view = _flat(data)
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


class _FileSink(Sink):
    """Appends to a target through the writer thread; as it is, for streams and for files in directories."""

    _block_size = _BLOCK_SIZE

    def __init__(self, name: str, thread: WriterThread, target: Target, *, seekable: bool) -> None:
        super().__init__(name)
        self.seekable = seekable
        self._thread = thread
        self._target = target
        self._block = bytearray()
        self._block_offset = 0

    def write(self, data: Buffer, *, handover: bool = False) -> None:
        self._check_open()
        view = _flat(data)
        if len(view) >= _SMALL_SIZE:
            self._flush()
            owned = handover or isinstance(data, bytes)
            self._thread.put(self._target, self._place(), view if owned else bytes(view))
            self._block_offset += len(view)
            return
        self._block += view
        if len(self._block) >= self._block_size:
            self._flush()

    def write_at(self, offset: int, data: Buffer) -> None:
        if not self.seekable:
            raise UnsupportedError("a stream cannot be changed after writing", path=self.name)
        view = _flat(data)
        self._check_patch(offset, len(view))
        inside = offset - self._block_offset
        if inside >= 0:
            self._block[inside : inside + len(view)] = view
            return
        self._flush()
        if view:
            self._thread.put(self._target, offset, bytes(view))

    def read_back(self, offset: int, size: int) -> bytes:
        if not self.seekable:
            raise UnsupportedError("a stream cannot be read back", path=self.name)
        self._flush()
        self._thread.finish()
        try:
            return self._target.read(size, offset)
        except OSError as error:
            raise _output_error(error, self.name) from error

    def keep_checksum(self) -> None:
        self._target.keep_checksum()

    def checksum(self) -> int:
        self._flush()
        self._thread.finish()
        kept = self._target.checksum
        return super().checksum() if kept is None else kept

    def tell(self) -> int:
        return self._block_offset + len(self._block)

    def close(self) -> None:
        if self._closed:
            return
        try:
            self._flush()
            self._thread.finish()
            self._target.close()
        except BaseException as error:
            self.abort()
            if isinstance(error, OSError | ValueError):
                raise _output_error(error, self.name) from error
            raise
        self._closed = True

    def abort(self) -> None:
        if not self._closed:
            self._closed = True
            self._block = bytearray()
            self._thread.cancel()
            self._target.discard()

    def _flush(self) -> None:
        if self._block:
            block, self._block = self._block, bytearray()
            self._thread.put(self._target, self._place(), block)
            self._block_offset += len(block)

    def _place(self) -> int | None:
        return self._block_offset if self.seekable else None


class _ReplacingSink(_FileSink):
    """A file under a temporary name until it is complete."""

    def __init__(
        self, name: str, target: Descriptor, temporary: str, place: str, force: bool
    ) -> None:
        super().__init__(name, WriterThread(), target, seekable=True)
        self._temporary = temporary
        self._place_of_file = place
        self._force = force
        self._companions: list[Sink] = []

    def companion(self, suffix: str) -> Sink:
        self._check_open()
        sink = open_sink(f"{self._place_of_file}{suffix}", force=self._force)
        sink.name = f"{self.name}{suffix}"
        self._companions.append(sink)
        return sink

    def close(self) -> None:
        if self._closed:
            return
        super().close()
        try:
            for companion in self._companions:
                companion.close()
            if self._force:
                os.replace(self._temporary, self._place_of_file)
            else:
                _rename_to_new(self._temporary, self._place_of_file)
        except BaseException as error:
            _remove(self._temporary)
            for companion in self._companions:
                companion.abort()
            if isinstance(error, OSError):
                raise _output_error(error, self.name) from error
            raise

    def abort(self) -> None:
        for companion in self._companions:
            companion.abort()
        if not self._closed:
            super().abort()
            _remove(self._temporary)


class _ChildSink(_FileSink):
    """A file of a directory sink, whose thread it shares."""

    # There can be thousands (one per thread of a traced program), each with a block.
    _block_size = _SMALL_SIZE

    def __init__(self, name: str, thread: WriterThread, target: Named) -> None:
        super().__init__(name, thread, target, seekable=True)
        self.aborted = False

    def close(self) -> None:
        if not self._closed:
            self._flush()
            self._closed = True

    def abort(self) -> None:
        if not self._closed:
            self._closed = self.aborted = True
            self._block = bytearray()


class _SpooledSink(_FileSink):
    """A stream that gets its data when they are complete."""

    def __init__(self, name: str, spool: Descriptor, stream: Target) -> None:
        super().__init__(name, WriterThread(), spool, seekable=True)
        self._spool = spool
        self._stream = stream

    def close(self) -> None:
        if self._closed:
            return
        try:
            self._flush()
            self._thread.finish()
            with _FileSink(self.name, WriterThread(), self._stream, seekable=False) as sink:
                while chunk := self._spool.read(_BLOCK_SIZE, sink.tell()):
                    sink.write(chunk)
        except OSError as error:
            raise _output_error(error, self.name) from error
        finally:
            self.abort()

    def abort(self) -> None:
        if not self._closed:
            super().abort()
            self._stream.discard()


class _DirectorySink(Sink):
    """A directory under a temporary name until it is complete."""

    is_directory = True
    seekable = False

    def __init__(self, name: str, temporary: str, target: str, force: bool) -> None:
        super().__init__(name)
        self._temporary = temporary
        self._target = target
        self._force = force
        self._thread = WriterThread()
        self._children: dict[str, _ChildSink] = {}
        self._keeps_checksums = False

    def keep_checksum(self) -> None:
        """That of each file."""
        self._keeps_checksums = True

    def create(self, relative: str) -> Sink:
        self._check_open()
        name = os.path.join(self.name, relative)
        try:
            check_relative(relative)
        except TraceError as error:
            raise OutputError(path=self.name, expected=error.expected, found=relative) from None
        relative = os.path.normpath(relative)
        path = os.path.join(self._temporary, relative)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            # Only created here: the thread opens it again when needed, so that thousands of files are no problem.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        except (OSError, ValueError) as error:
            raise _output_error(error, name) from error
        child = _ChildSink(name, self._thread, Named(name, path))
        if self._keeps_checksums:
            child.keep_checksum()
        self._children[relative] = child
        return child

    def files(self) -> dict[str, Sink]:
        return dict(self._children)

    def write(self, data: Buffer, *, handover: bool = False) -> None:
        raise OutputError("is a directory", path=self.name)

    def write_at(self, offset: int, data: Buffer) -> None:
        raise OutputError("is a directory", path=self.name)

    def tell(self) -> int:
        """The sum over its files."""
        return sum(child.tell() for child in self._children.values())

    def close(self) -> None:
        if self._closed:
            return
        try:
            for child in self._children.values():
                child.close()
                if child.aborted:
                    raise OutputError("was not completed", path=child.name)
            self._thread.finish()
            self._move_into_place()
        except BaseException as error:
            self.abort()
            if isinstance(error, OSError):
                raise _output_error(error, self.name) from error
            raise
        self._closed = True

    def abort(self) -> None:
        if self._closed:
            return
        self._closed = True
        for child in self._children.values():
            child.abort()
        self._thread.cancel()
        _remove(self._temporary)

    def _move_into_place(self) -> None:
        if not self._force and os.path.lexists(self._target):
            raise FileExistsError(0, _EXISTS)
        if not os.path.isdir(self._target):
            os.rename(self._temporary, self._target)
            return
        old = _temporary_beside(self._target)
        os.rename(self._target, old)
        try:
            os.rename(self._temporary, self._target)
        except BaseException:
            os.rename(old, self._target)
            raise
        _remove(old)


_EXISTS = "exists already (--force replaces it)"


def _open_stream(name: str, target: Target, seekable: bool) -> Sink:
    if not seekable:
        return _FileSink(name, WriterThread(), target, seekable=False)
    import tempfile

    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            spool = Descriptor(tempfile.gettempdir(), os.dup(file.fileno()))
    except OSError as error:
        raise _output_error(error, name) from error
    return _SpooledSink(name, spool, target)


def _stdout() -> Target:
    if sys.stdout is None:
        raise OutputError("standard output is closed", path="-")
    try:
        sys.stdout.flush()
        binary = sys.stdout.buffer
        try:
            return Descriptor("-", os.dup(binary.fileno()))
        except (OSError, ValueError):  # replaced by something without a descriptor
            return Stream("-", binary)
    except (OSError, AttributeError) as error:
        raise _output_error(error, "-") from error


def _check_replaceable(
    name: str,
    target: str,
    status: os.stat_result,
    force: bool,
    directory: bool,
    avoid: str | os.PathLike[str] | None,
) -> None:
    is_directory = stat.S_ISDIR(status.st_mode)
    if not is_directory and not stat.S_ISREG(status.st_mode):
        if directory:
            raise OutputError("is not a directory", path=name)
        return
    source = os.fspath(avoid) if avoid is not None else "-"
    if source != "-" and os.path.exists(source):
        real = os.path.realpath(source)
        if os.path.samestat(os.stat(source), status):
            raise OutputError("the output is the input", path=name)
        if is_directory and _is_inside(real, target):
            raise OutputError("the input is in the output directory", path=name)
    if is_directory != directory:
        kind = "is a directory" if is_directory else "is not a directory"
        raise OutputError(kind, path=name)
    if is_directory and _is_inside(os.getcwd(), target):
        raise OutputError("will not replace the current directory", path=name)
    if not force:
        raise OutputError(_EXISTS, path=name)


def _is_inside(path: str, directory: str) -> bool:
    return os.path.commonpath((os.path.realpath(path), directory)) == directory


def _temporary_beside(target: str) -> str:
    """A name on the same file system, hidden, and short enough whatever the length of the target's."""
    return os.path.join(os.path.dirname(target), f".traceconv-{os.urandom(6).hex()}.tmp")


def _rename_to_new(temporary: str, target: str) -> None:
    """Rename without replacing what appeared in the meantime."""
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        raise FileExistsError(0, _EXISTS) from None
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(0, _EXISTS) from None
        os.rename(temporary, target)
    else:
        os.unlink(temporary)


def _remove(path: str) -> None:
    """Remove a temporary file or directory as far as possible: this follows an error that matters more."""
    if os.path.isdir(path):
        import shutil

        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        os.unlink(path)


def _flat(data: Buffer) -> memoryview:
    """The bytes of a buffer of any element type."""
    view = memoryview(data)
    if view.nbytes == 0:
        return memoryview(b"")
    try:
        return view.cast("B")
    except (TypeError, ValueError):
        # Not contiguous, or elements that memoryview does not know (big-endian or structured arrays).
        return memoryview(view.tobytes())


def _output_error(error: Exception, name: str) -> OutputError:
    message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return OutputError(message, path=name)

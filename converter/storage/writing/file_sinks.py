"""Sinks of files and directories: written in the background under a temporary name, renamed when they are complete.

System calls run as separate tasks, so that producing and writing overlap (`block_writes.py`).
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Self

from converter.errors import OutputError, TraceError, UnsupportedError
from converter.storage.descriptors import open_file, with_room
from converter.storage.sink import Sink, bytes_of
from converter.storage.source import check_relative
from converter.storage.writing.block_writes import BlockWrites, Descriptor, Named, Target
from converter.storage.writing.placing import (
    output_error,
    place_files,
    place_folder,
    remove,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

#: Smaller writes are collected into blocks of `_BLOCK_SIZE`; others are passed on as they are.
_SMALL_SIZE = 1 << 16
_BLOCK_SIZE = 1 << 18


class FileSink(Sink):
    """Appends to a target, block after block; used directly for streams and for files in directories."""

    _block_size = _BLOCK_SIZE

    def __init__(self, name: str, writes: BlockWrites, target: Target, *, seekable: bool) -> None:
        self.seekable = seekable
        self._writes = writes
        self._target = target
        self._block = bytearray()
        self._block_offset = 0
        # Last, since a signal can end this at any point: what is open is aborted, with all that it has.
        super().__init__(name)

    def write(self, data: Buffer, *, handover: bool = False) -> None:
        self._check_open()
        view = bytes_of(data)
        if len(view) >= _SMALL_SIZE:
            self._flush()
            owned = handover or isinstance(data, bytes)
            self._writes.put(self._target, self._place(), view if owned else bytes(view))
            self._block_offset += len(view)
            return
        self._block += view
        if len(self._block) >= self._block_size:
            self._flush()

    def flush(self) -> None:
        self._check_open()
        self._flush()
        self._writes.drain()

    def write_at(self, offset: int, data: Buffer) -> None:
        if not self.seekable:
            raise UnsupportedError("a stream cannot be changed after writing", path=self.name)
        view = bytes_of(data)
        self._check_patch(offset, len(view))
        inside = offset - self._block_offset
        if inside >= 0:
            self._block[inside : inside + len(view)] = view
            return
        self._flush()
        if view:
            self._writes.put(self._target, offset, bytes(view))

    def read_back(self, offset: int, size: int) -> bytes:
        if not self.seekable:
            raise UnsupportedError("a stream cannot be read back", path=self.name)
        self._flush()
        self._writes.finish()
        try:
            return self._target.read(size, offset)
        except OSError as error:
            raise output_error(error, self.name) from error

    def keep_checksum(self) -> None:
        self._target.keep_checksum()

    def checksum(self) -> int:
        self._flush()
        self._writes.finish()
        kept = self._target.checksum
        return super().checksum() if kept is None else kept

    def tell(self) -> int:
        return self._block_offset + len(self._block)

    def close(self) -> None:
        if self._closed:
            return
        try:
            self._flush()
            self._writes.finish()
            self._target.close()
        except BaseException as error:
            self.abort()
            if isinstance(error, OSError | ValueError):
                raise output_error(error, self.name) from error
            raise
        self._closed = True

    def abort(self) -> None:
        if not self._closed:
            self._closed = True
            self._block = bytearray()
            self._writes.cancel()
            self._target.discard()

    def _flush(self) -> None:
        if self._block:
            block, self._block = self._block, bytearray()
            self._writes.put(self._target, self._place(), block)
            self._block_offset += len(block)

    def _place(self) -> int | None:
        return self._block_offset if self.seekable else None


class TemporaryFileSink(FileSink):
    """A file under a temporary name until it is complete, with its companion files."""

    def __init__(self, name: str, target: Target, temporary: str, *, force: bool) -> None:
        self._companions: list[Self] = []
        self.temporary = temporary
        self._force = force
        super().__init__(name, BlockWrites(), target, seekable=True)
        #: True for a companion: it is complete when it is closed, and is put in place with its main file.
        self._comes_with_another = False

    def come_with(self, companion: Self) -> None:
        """Put another file in place together with this one."""
        companion._comes_with_another = True
        self._companions.append(companion)

    def close(self) -> None:
        if self._closed:
            return
        super().close()
        if self._comes_with_another:
            return
        try:
            for companion in self._companions:
                companion.close()
            self._have_in_place((*self._companions, self))
        except OSError as error:
            raise output_error(error, self.name) from error
        finally:
            self._remove()

    def abort(self) -> None:
        if not self._closed:
            super().abort()
            self._remove()

    @abstractmethod
    def _have_in_place(self, sinks: Sequence[Self]) -> None:
        """Give complete files their names, any number of them."""

    def _remove(self) -> None:
        """Remove its temporary files, and those of its companions."""
        for companion in self._companions:
            companion.abort()
            remove(companion.temporary)
        remove(self.temporary)


class ReplacingSink(TemporaryFileSink):
    """A file that gets its name when it is complete. `open_beside` opens its companion files."""

    def __init__(
        self,
        name: str,
        target: Target,
        temporary: str,
        final_path: str,
        force: bool,
        open_beside: Callable[[str], Sink],
    ) -> None:
        super().__init__(name, target, temporary, force=force)
        self.final_path = final_path
        self._open_beside = open_beside

    def companion(self, suffix: str) -> Sink:
        self._check_open()
        sink = self._open_beside(f"{self.final_path}{suffix}")
        sink.name = f"{self.name}{suffix}"
        if isinstance(sink, ReplacingSink):  # not a device, to which everything is written at once
            self.come_with(sink)
        return sink

    def _have_in_place(self, sinks: Sequence[Self]) -> None:
        place_files([(sink.temporary, sink.final_path) for sink in sinks], force=self._force)


class _ChildSink(FileSink):
    """A file of a directory sink, whose queue of writes it shares."""

    # There can be thousands (one per thread of a traced program), each with a block.
    _block_size = _SMALL_SIZE

    def __init__(self, name: str, writes: BlockWrites, target: Named) -> None:
        super().__init__(name, writes, target, seekable=True)
        self.aborted = False

    def close(self) -> None:
        if not self._closed:
            self._flush()
            self._closed = True

    def abort(self) -> None:
        if not self._closed:
            self._closed = self.aborted = True
            self._block = bytearray()


class SpooledSink(FileSink):
    """A stream that receives its data when they are complete."""

    def __init__(self, name: str, spool: Descriptor, stream: Target) -> None:
        super().__init__(name, BlockWrites(), spool, seekable=True)
        self._spool = spool
        self._stream = stream

    def close(self) -> None:
        if self._closed:
            return
        try:
            self._flush()
            self._writes.finish()
            with FileSink(self.name, BlockWrites(), self._stream, seekable=False) as sink:
                while chunk := self._spool.read(_BLOCK_SIZE, sink.tell()):
                    sink.write(chunk)
        except OSError as error:
            raise output_error(error, self.name) from error
        finally:
            self.abort()

    def abort(self) -> None:
        if not self._closed:
            super().abort()
            self._stream.discard()


class DirectorySink(Sink):
    """A directory under a temporary name until it is complete."""

    is_directory = True
    seekable = False

    def __init__(self, name: str, temporary: str, target: str, force: bool) -> None:
        self._temporary = temporary
        self._target = target
        self._force = force
        self._writes = BlockWrites()
        self._children: dict[str, _ChildSink] = {}
        self._keeps_checksums = False
        super().__init__(name)

    def keep_checksum(self) -> None:
        """Keep the checksum of each file."""
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
            # Only created here: it is opened again when needed, so that thousands of files are no problem.
            os.close(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except (OSError, ValueError) as error:
            raise output_error(error, name) from error
        child = _ChildSink(name, self._writes, Named(name, path))
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
        """Return the sum of the sizes of its files."""
        return sum(child.tell() for child in self._children.values())

    def close(self) -> None:
        if self._closed:
            return
        try:
            for child in self._children.values():
                child.close()
                if child.aborted:
                    raise OutputError("was not completed", path=child.name)
            self._writes.finish()
            self._move_into_place()
        except BaseException as error:
            self.abort()
            if isinstance(error, OSError):
                raise output_error(error, self.name) from error
            raise
        self._closed = True

    def abort(self) -> None:
        if self._closed:
            return
        self._closed = True
        for child in self._children.values():
            child.abort()
        self._writes.cancel()
        remove(self._temporary)

    def _move_into_place(self) -> None:
        place_folder(self._temporary, self._target, force=self._force)


def unnamed(name: str) -> Descriptor:
    """Return a temporary file without a name, for the contents of the output called `name` until it is complete."""
    import tempfile

    try:
        with with_room(lambda: tempfile.TemporaryFile(buffering=0)) as file:
            return Descriptor(tempfile.gettempdir(), with_room(lambda: os.dup(file.fileno())))
    except OSError as error:
        raise output_error(error, name) from error

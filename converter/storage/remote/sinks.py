"""Remote outputs: completed on this machine before anything is sent, and visible only when everything has been sent.

Object stores create an object when its upload is complete, even one in many parts. Other file systems receive a file
under a hidden name, which is renamed at the end.
"""

from __future__ import annotations

import os
import posixpath
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

from converter.errors import ExistingOutputError, OutputError
from converter.storage.descriptors import open_file
from converter.storage.locations import absolute, is_remote, protocol, shown
from converter.storage.remote.files import file_system_of, find, translated_errors
from converter.storage.sink import Sink
from converter.storage.writing.block_writes import Reopened
from converter.storage.writing.file_sinks import DirectorySink, TemporaryFileSink
from converter.storage.writing.placing import already_exists, output_error, remove, temporary_beside

_READ_ONLY = frozenset({"http", "https"})


def open_remote_sink(
    url: str, *, force: bool, directory: bool, avoid: str | os.PathLike[str] | Sequence[str] | None
) -> Sink:
    """Open a remote file or folder for writing.

    Raises:
        OutputError: it exists and not `force`, it is an input, or it cannot be written there.

    """
    if protocol(url) in _READ_ONLY:
        raise OutputError(
            "a web server is only read from: name a file or a bucket", path=shown(url)
        )
    inputs = [avoid] if isinstance(avoid, str | os.PathLike) else avoid or ()
    for source in inputs:
        path = os.fspath(source)
        if is_remote(path) and f"{absolute(path)}/".startswith(f"{absolute(url)}/"):
            raise OutputError("the output is the input: name another", path=shown(url))
    _check_free(url, force=force, directory=directory)
    temporary = temporary_here()
    try:
        if directory:
            os.mkdir(temporary)
            return RemoteFolderSink(url, temporary, force)
        return RemoteSink(url, temporary, force)
    except OSError as error:
        raise output_error(error, temporary) from error


def temporary_here() -> str:
    """Return a temporary name on this machine for data to be uploaded."""
    return temporary_beside(os.path.join(tempfile.gettempdir(), "any"))


class RemoteSink(TemporaryFileSink):
    """A file that is uploaded when it is complete, after its companion files."""

    def __init__(self, url: str, temporary: str, force: bool) -> None:
        descriptor = open_file(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        target = Reopened(temporary, descriptor, temporary)
        super().__init__(shown(url), target, temporary, force=force)
        self.url = url

    def companion(self, suffix: str) -> Sink:
        self._check_open()
        url = f"{self.url}{suffix}"
        _check_free(url, force=self._force, directory=False)
        sink = RemoteSink(url, temporary_here(), self._force)
        self.come_with(sink)
        return sink

    def _have_in_place(self, sinks: Sequence[Self]) -> None:
        for sink in sinks:
            _send(sink.temporary, sink.url, force=self._force)


class RemoteFolderSink(DirectorySink):
    """A folder that is uploaded when it is complete: file by file, if the file system cannot rename folders."""

    def __init__(self, url: str, temporary: str, force: bool) -> None:
        super().__init__(shown(url), temporary, temporary, force)
        self._url = url.rstrip("/")

    def _move_into_place(self) -> None:
        url = self._url
        _check_free(url, force=self._force, directory=True)
        fs, path = file_system_of(url)
        with translated_errors(url, output=True):
            renames = _renames(fs)
            made = _hidden(path) if renames else path
            if not renames:
                _clear(fs, path)
            try:
                for name in self._in_order():
                    location = f"{made}/{name}"
                    if renames:  # it has folders, which must exist
                        fs.makedirs(posixpath.dirname(location), exist_ok=True)
                    fs.put_file(os.path.join(self._temporary, name), location)
                if renames:
                    _clear(fs, path)
                    fs.mv(made, path)
            except BaseException:
                _clear(fs, made)
                raise
        remove(self._temporary)

    def _in_order(self) -> list[str]:
        """Return its files in upload order: those without which it is no trace come last (metadata and top-level
        files).
        """
        return sorted(self._children, key=lambda name: (name in _DESCRIBING, name))


#: The files by which folder formats are recognised.
_DESCRIBING = frozenset({"metadata", "info"})


def _check_free(url: str, *, force: bool, directory: bool) -> None:
    try:
        there = find(url)
    except OutputError:
        raise
    except Exception as error:
        raise OutputError(getattr(error, "detail", str(error)), path=shown(url)) from error
    if there is None:
        return
    if there.is_folder != directory:
        raise OutputError(
            "is a directory" if there.is_folder else "is not a directory", path=there.name
        )
    if not force:
        raise ExistingOutputError(already_exists(), path=there.name)


def _send(source: str, url: str, *, force: bool) -> None:
    """Upload a file of this machine."""
    _check_free(url, force=force, directory=False)
    fs, path = file_system_of(url)
    with translated_errors(url, output=True):
        if not _renames(fs):
            fs.put_file(source, path)
            return
        hidden = _hidden(path)
        fs.makedirs(posixpath.dirname(path), exist_ok=True)
        try:
            fs.put_file(source, hidden)
            fs.mv(hidden, path)
        except BaseException:
            _clear(fs, hidden)
            raise


def _renames(fs: Any) -> bool:
    """Return True if a file system renames files; in others a move is a copy."""
    from fsspec.spec import AbstractFileSystem

    return type(fs).mv is not AbstractFileSystem.mv or hasattr(type(fs), "_mv")


def _hidden(path: str) -> str:
    return posixpath.join(posixpath.dirname(path), f".traceconv-{os.urandom(6).hex()}.tmp")


def _clear(fs: Any, path: str) -> None:
    """Remove a file or folder as far as possible."""
    with suppress(Exception):
        if fs.exists(path):
            fs.rm(path, recursive=True)

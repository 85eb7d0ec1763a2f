"""Remote contents, fetched a range at a time, with a check that all ranges are of the same version of the object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from converter.errors import TraceError
from converter.storage.remote.files import RemoteFile, translated_errors

#: The most bytes to request at once.
MOST_FETCHED = 8 << 20
_CHANGED = "it has changed while it was read: begin again"


class RemoteObject(Protocol):
    """The interface that `RemoteSource` reads. `size` is None if only reading everything tells it: then there are no
    ranges.
    """

    name: str
    size: int | None

    def fetch(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end`, at most `MOST_FETCHED`, all of them.

        Raises:
            TraceError: they cannot be fetched, or are of another object than what was fetched before.

        """

    def stream(self) -> Iterator[bytes]:
        """Yield the whole content from the beginning."""

    def close(self) -> None:
        """Release connections."""


class StoredObject:
    """A file on any file system that fsspec supports."""

    def __init__(self, url: str, file: RemoteFile) -> None:
        self.name = file.name
        self.size: int | None = file.size
        self._url = url
        self._file = file

    def fetch(self, start: int, end: int) -> bytes:
        """Implement `RemoteObject.fetch`; compare the file's metadata after each range."""
        file = self._file
        with translated_errors(self._url, start):
            data: bytes = file.fs.cat_file(file.path, start=start, end=end)
            if file.again().identity != file.identity:
                raise changed(self.name, start)
        check_length(data, start, end, self.name)
        return data

    def stream(self) -> Iterator[bytes]:
        """Implement `RemoteObject.stream` by ranges."""
        for start in range(0, self.size or 0, MOST_FETCHED):
            yield self.fetch(start, min(start + MOST_FETCHED, self.size or 0))

    def close(self) -> None:
        """Do nothing: file systems keep their connections for other files."""


def check_length(data: bytes, start: int, end: int, name: str) -> None:
    """Check that a range has the requested length.

    Raises:
        TraceError: it does not.

    """
    if len(data) != end - start:
        raise TraceError(
            "the server does not give what it is asked for: try again",
            path=name,
            offset=start,
            expected=f"{end - start} bytes",
            found=f"{len(data)}",
        )


def changed(name: str, offset: int) -> TraceError:
    """Return the error that the object has been replaced meanwhile."""
    return TraceError(_CHANGED, path=name, offset=offset)

"""Contents elsewhere, fetched a stretch at a time, of which all must be of one object: not of another that took its
place meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from converter.errors import TraceError
from converter.storage.remote.files import RemoteFile, talking

#: As much is asked for at once.
MOST_FETCHED = 8 << 20
_CHANGED = "it has changed while it was read: begin again"


class RemoteObject(Protocol):
    """What `RemoteSource` reads. `size` is None where only reading all of it tells: then there are no stretches."""

    name: str
    size: int | None

    def fetch(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`, which are at most `MOST_FETCHED`, and all there.

        Raises:
            TraceError: they cannot be had, or are of another object than what was fetched before.

        """

    def stream(self) -> Iterator[bytes]:
        """All of it, from the beginning."""

    def close(self) -> None:
        """Let go of connections."""


class StoredObject:
    """A file of any file system that fsspec knows."""

    def __init__(self, url: str, file: RemoteFile) -> None:
        self.name = file.name
        self.size: int | None = file.size
        self._url = url
        self._file = file

    def fetch(self, start: int, end: int) -> bytes:
        """As `RemoteObject.fetch`. What the file system says of the file is compared behind each."""
        file = self._file
        with talking(self._url, start):
            data: bytes = file.fs.cat_file(file.path, start=start, end=end)
            if file.again().identity != file.identity:
                raise changed(self.name, start)
        check_length(data, start, end, self.name)
        return data

    def stream(self) -> Iterator[bytes]:
        """As `RemoteObject.stream`, by stretches."""
        for start in range(0, self.size or 0, MOST_FETCHED):
            yield self.fetch(start, min(start + MOST_FETCHED, self.size or 0))

    def close(self) -> None:
        """As `RemoteObject.close`: file systems keep their connections for others."""


def check_length(data: bytes, start: int, end: int, name: str) -> None:
    """Check that a stretch is what was asked for.

    Raises:
        TraceError: it is not.

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
    """That there is another object now."""
    return TraceError(_CHANGED, path=name, offset=offset)

"""The declaration of a format's storage for embedded payloads in its files (see `converter.formats.lossless`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from converter.storage.sink import Sink
from converter.storage.source import Source, View


class Embedding(ABC):
    """Stores frames at the end of a format's files: `EMBEDDING` of its module `embedding`."""

    #: The most bytes of the payload in a frame.
    frame_size: int
    #: True if `close_frames` changes what precedes the frames: the checksum is of `content`, which has it as it was.
    restores: bool = False

    def open_frames(self, sink: Sink) -> bytes:
        """Prepare a complete file for appending frames; return the bytes before the first."""
        return b""

    @abstractmethod
    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """Return a frame with up to `frame_size` bytes."""

    def close_frames(self, sink: Sink, start: int) -> bytes:
        """Return the bytes after the last of the frames that start at `start`."""
        return b""

    @abstractmethod
    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """Yield the contents of the frames from `start` on."""

    def content(self, source: Source, start: int) -> Source:
        """Return the file as it was without its frames."""
        return View(source.name, source, 0, start)

"""How the files of a format hold what travels in them (see `converter.lossless`): what a format declares of that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from converter.storage.sink import Sink
from converter.storage.source import Source, View


class Embedding(ABC):
    """How a format holds frames at the end of its files: `EMBEDDING` of its module `embedding`."""

    #: How much of the residual a frame holds at most.
    frame_size: int

    def open_frames(self, sink: Sink) -> bytes:
        """Prepare a complete file for frames to be appended; what stands in front of the first."""
        return b""

    @abstractmethod
    def frame(self, sink: Sink, data: bytes, number: int) -> bytes:
        """A frame with up to `frame_size` bytes."""

    def close_frames(self, sink: Sink, start: int) -> bytes:
        """What stands behind the last frame of those that start at `start`."""
        return b""

    @abstractmethod
    def frames(self, source: Source, start: int) -> Iterator[bytes]:
        """What the frames from `start` on hold."""

    def content(self, source: Source, start: int) -> Source:
        """The file as it was without its frames."""
        return View(source.name, source, 0, start)

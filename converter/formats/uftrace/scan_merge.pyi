from numpy import int32, int64, uint8, uint32
from numpy.typing import NDArray

class Streams:
    """Streams by number, as they are added; at equal times the lower number goes first. What `Scanner` is based on."""

    def add_tasks(self, thread: int, times: NDArray[int64], spaces: NDArray[int32]) -> int:
        """A stream of a task file's records; from times[i] on its addresses are those of spaces[i]."""
    def untracked(self) -> int:
        """Streams whose depth is no longer followed since it exceeds what memory allows."""
    def add_ready(self, cpu: int) -> int:
        """A stream of events that are decoded elsewhere; its number."""
    def feed(
        self, number: int, window: NDArray[uint8] | memoryview, segment: int, final: bool
    ) -> None:
        """Give a stream of records its next window, which starts where `consumed` said; it is kept."""
    def feed_ready(
        self,
        number: int,
        ts: NDArray[int64],
        class_id: NDArray[int32],
        thread: NDArray[int32],
        start: NDArray[uint32],
        size: NDArray[uint32],
        count: int,
        segment: int,
    ) -> None:
        """Give an empty stream its next events, whose payloads lie in `segment`. The arrays are kept."""
    def consumed(self, number: int) -> int:
        """Bytes of the stream's window that have become events."""
    def renumber(self, number: int, segment: int) -> None:
        """From now on the stream's window is `segment`."""

from numpy import int64, uint8
from numpy.typing import NDArray

def has_library() -> bool:
    """Whether the system has the library."""

class ChunkDecompressor:
    """Decompresses chunks; by one thread at a time. RuntimeError where there is no library."""

    def fill(
        self, data: memoryview, chunks: NDArray[int64], first: int, room: NDArray[uint8]
    ) -> tuple[int, int]:
        """Decompress chunks one behind the other, from `first` on: (the next chunk, how much of the room is filled).

        A row of `chunks` (int64, n x 3) is the place of a chunk in `data`, its size there, and decompressed. The next
        is the first that is damaged in any way, not of its size, of an unusual kind, or for which there is no room
        left; or it is behind the last. Releases the GIL.
        """

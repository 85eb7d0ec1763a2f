from numpy import int64, uint8
from numpy.typing import NDArray

def has_library() -> bool:
    """Return True if the system has the library."""

class ChunkDecompressor:
    """Decompresses chunks; by one thread at a time. RuntimeError where there is no library."""

    def fill(
        self, data: memoryview, chunks: NDArray[int64], first: int, room: NDArray[uint8]
    ) -> tuple[int, int]:
        """Decompress chunks one after the other, from `first` on: (the next chunk, how many bytes of the output are
        filled).

        A row of `chunks` (int64, n x 3) is the offset of a chunk in `data`, its size there, and decompressed. The next
        chunk is the first that is damaged in any way, not of its size, of an unusual kind, or for which there is no
        room left; or it is the one after the last. Releases the GIL.
        """

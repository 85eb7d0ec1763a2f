from collections.abc import Sequence

from numpy import int32, int64, uint8, uint32
from numpy.typing import NDArray

class Payloads:
    """The windows in which a batch's payloads lie, kept alive; a location is ``segment << 32 | offset``."""

    def __init__(self, buffers: Sequence[memoryview | bytes | NDArray[uint8]]) -> None: ...
    def locate(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        steps: NDArray[int32],
        place: NDArray[int64],
        left: NDArray[int64],
    ) -> None:
        """Where each payload stands behind `steps` (code, argument), and how many bytes of it are left.

        Nothing is left where the payload ends before. Releases the GIL.
        """

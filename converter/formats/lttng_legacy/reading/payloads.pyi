from numpy import int32, int64, uint32
from numpy.typing import NDArray

from converter.kernels.batches.columns import HeldBuffers

class Payloads(HeldBuffers):
    """The windows in which a batch's payloads lie, kept alive; a location is ``segment << 32 | offset``."""

    def locate(
        self,
        location: NDArray[int64],
        size: NDArray[uint32],
        steps: NDArray[int32],
        place: NDArray[int64],
        left: NDArray[int64],
    ) -> None:
        """Find the position of each payload after `steps` (code, argument), and how many bytes of it are left.

        Nothing is left where the payload ends before. Releases the GIL.
        """

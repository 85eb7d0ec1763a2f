from numpy import int32, int64, uint8
from numpy.typing import NDArray

def running_times(
    is_switch: NDArray[uint8],
    class_id: NDArray[int32],
    cpu: NDArray[int32],
    ts: NDArray[int64],
    thread: NDArray[int32],
    used: NDArray[uint8],
    durations: NDArray[int64],
) -> tuple[int, list[tuple[int, int]], list[tuple[int, int]]]:
    """Note of the events of a batch which threads they have, and how long those of its switches run.

    Classes are switches where `is_switch` is 1. The mark in `used` of each thread is set, of none the last one. At the
    place of each switch `durations` becomes the time until the next one on its CPU, 0 where that is before it or where
    there is no CPU, and -1 at the last of a CPU; what is elsewhere stays. Returns the latest time, and (CPU, time) of
    the first switch of each CPU, and of the last, in the order of events.

    Raises ValueError for an event of no class, or of a thread without a mark. Releases the GIL.
    """

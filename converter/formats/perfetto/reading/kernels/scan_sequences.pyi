from collections.abc import Container

from numpy import int32, uint8, uint64
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

class Sequences:
    """The state of packet sequences in one pass over a trace: interned data, defaults, clocks and counters."""

    #: Messages of interned data or defaults that could not be read to their ends.
    damaged: int
    def __init__(self, strings: StringTable, messages: StringTable, *_: object) -> None:
        """`messages` takes the interned messages that are no texts."""
    def set_clock(
        self, sequence: int, clock: int, value: int, multiplier: int, incremental: bool
    ) -> None:
        """A sequence's clock (0: all sequences'): its reading in ns, ns a unit, whether timestamps are increments."""
    def set_thread(self, sequence: int, pid: int, tid: int, reference_us: int) -> None:
        """Set the values of a ThreadDescriptor: the thread of a sequence's events without a track, and when its times
        start.
        """
    def set_counter(
        self, uuid: int, multiplier: int, incremental: bool, is_thread_time: bool
    ) -> None:
        """A counter track whose values are multiples of a unit, or increments, or times of events on another track."""
    def interned_text(self, scope: int, field: int, iid: int) -> int:
        """Id of an interned string in `strings`, or of another interned message in `messages`; -1 when unknown."""
    def prune(self) -> None:
        """Forget what sequences interned before their state was last cleared, once there is much of it."""

class KeyMap:
    """Numbers by (key, space), both of 64 bits: identities of a file to indices of the trace's tables."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def get(self, key: int, space: int, absent: int) -> int:
        """The value of a key, `absent` when there is none."""
    def set(self, key: int, space: int, value: int) -> None:
        """Set the value of a key."""
    def keep(self, spaces: Container[int], shift: int) -> None:
        """Forget the keys whose space, shifted right by `shift`, is not in `spaces`."""
    def map_tids(self, tids: NDArray[int32], out: NDArray[int32]) -> list[int]:
        """Values of (tid, space 0) into `out`, -1 for negative tids; returns the tids that have none, each once.

        Where it returns any, `out` is -2 there. Raises ValueError when the columns differ in length.
        """
    def map_places(
        self, keys: NDArray[uint64], spaces: NDArray[uint8], out: NDArray[int32]
    ) -> list[tuple[int, int]]:
        """Values of (key, space) into `out`; returns the keys that have none, each once.

        Raises ValueError when the columns differ in length.
        """

from collections.abc import Sequence

from numpy import int32, int64, uint8, uint32
from numpy.typing import NDArray

from converter.kernels.columns import HeldBuffers

DONE: int
FULL: int
NEEDS_DATA: int

class MarkerTable:
    """The markers of a channel, by id.

    A marker is (first step, steps, payload size or -1, largest alignment, class or -1, kind); a step (code, argument).
    Steps: 0 so many bytes, 1 a string, 2 alignment to so many bytes. Kinds: 0 plain, 1 with pid and tid at its end,
    2 heartbeat, 3 heartbeat with all bits of the time. A marker of size -1 without steps is not declared.
    """

    def __init__(self, markers: NDArray[int32], steps: NDArray[int32]) -> None: ...

class ThreadIndex:
    """Threads by pid and tid: number i is (pids[i], tids[i])."""

    def __init__(self, pids: NDArray[int32], tids: NDArray[int32]) -> None: ...

class Scanner:
    """One file being scanned.

    `position` is where the next window must begin or contain; `damaged` counts damaged places (the first at
    `first_damage`), `mismatches` payloads whose stored size is not that of their format, `undeclared` records of ids
    that nobody declared, `unclosed` blocks that the tracer never closed; `truncated` says that the file ends within
    one. `resumed` counts places where events go on behind damage, `holes` are the first of them: where the last
    event in front ends, where the next begins, and the time of the one in front. `given_up` is where no more were
    looked for.

    Args:
        table: the channel's markers.
        threads: for markers of kind 1.
        header: size of a block's header, then the offsets of magic, begin, end, data or lost size, block size, lost
            events and corrupt sub-buffers (-1: none) in it.
        geometry: own sizes, big-endian, big-endian ids, block size, alignment, pointer size, form of event headers
            (0: 32-bit time, 1: 64-bit, 2: compact, 3: version 2), tscbits, shift, truncation, classes of native
            records and of lost events.
        holes: places of the file where reading goes on behind damage.

    """

    position: int
    damaged: int
    first_damage: int
    mismatches: int
    first_mismatch: int
    undeclared: int
    unclosed: int
    blocks: int
    truncated: bool
    resumed: int
    given_up: int
    @property
    def holes(self) -> list[tuple[int, int, int]]: ...
    def __init__(
        self,
        table: MarkerTable,
        threads: ThreadIndex | None,
        header: Sequence[int],
        geometry: Sequence[int],
        holes: int,
    ) -> None: ...
    def scan(
        self,
        data: NDArray[uint8],
        base: int,
        file_size: int,
        ts: NDArray[int64],
        class_id: NDArray[int32],
        thread: NDArray[int32],
        start: NDArray[uint32],
        size: NDArray[uint32],
    ) -> tuple[int, int]:
        """Decode the window `data`, which begins at offset `base` of the file, from `position` on.

        Counts of lost events are changed in the window to what each block adds. The thread of a native record is its
        id. Returns the number of events and DONE, FULL (the columns are) or NEEDS_DATA. Releases the GIL.
        """

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
        """Where each payload stands behind `steps` (code, argument), and how many bytes of it are left.

        Nothing is left where the payload ends before. Releases the GIL.
        """

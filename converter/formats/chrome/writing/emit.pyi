from numpy import int64, uint8
from numpy.typing import NDArray

from converter.formats.chrome.writing.emit_programs import Program
from converter.kernels.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

#: The number of bytes that must follow the texts of threads.
TEXT_PADDING: int

class Emitter:
    """Emits batches as text: the programs of their events, one after the other."""

    def __init__(self, strings: StringTable, places: int) -> None:
        """Times are in units of 10**-places."""
    def emit(
        self,
        programs: list[Program | None],
        columns: EventArrays,
        threads: tuple[NDArray[uint8], NDArray[int64]],
        start: int,
        stop: int,
    ) -> tuple[memoryview, int]:
        """The text of the events of a batch from number `start` on, before `stop`, until a block is full.

        Returns the text and the number of the next event. The text is a block that is used again when it is let go of.
        `threads` are the texts of threads, one after the other and `TEXT_PADDING` bytes at the end, with n + 1 offsets.
        Raises ValueError when an event is outside of
        its class's columns. Releases the GIL. Emitters of one trace may be at work at the same time, with the same
        programs.
        """

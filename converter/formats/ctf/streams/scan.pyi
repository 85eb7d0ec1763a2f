from numpy import uint8
from numpy.typing import NDArray

from converter.formats.ctf.streams.scan_programs import Program
from converter.kernels.batches.event_arrays import OutputArrays

DONE: int
"""The window ends, and no record is cut by its end."""
PACKET: int
"""A packet's header and context were read: `Scanner.enter` or `Scanner.leave` it."""
INCOMPLETE: int
"""A record, or a packet's header, continues after the window."""
FULL: int
"""There is no room for more events."""
NEW_CLASS: int
"""The next record is of a class that the scanner does not know; its id is in register "event"."""
REALIGN: int
"""The next packet is not aligned as the window is."""
TRUNCATED: int
"""The last window ends within a packet."""
DAMAGED: int
"""The record, or a packet's header, makes no sense: `Scanner.defect`."""
DEFECTS: dict[int, str]
REGISTERS: dict[str, int]
"""The registers of fields that the reader interprets. Place and size (bytes) of name and uuid are two each."""
FIRST_FREE: int
"""The first register for lengths and selectors."""

class Scanner:
    #: Return the bit at which the packet that was found last starts.
    packet_start: int
    #: Return the bit at which its header and context end.
    header_end: int
    #: Return the number of the defect that was found, a key of `DEFECTS`.
    defect: int
    def __init__(
        self, packet: Program, header: Program, common: Program, alignment: int, from_header: bool
    ) -> None: ...
    def set_time(self, shift: int, numerator: int, denominator: int) -> None: ...
    def set_window(self, first: int, last: int) -> None: ...
    def add_class(self, id: int, program: Program, placed: bool, lasting: bool) -> None: ...
    @property
    def place_count(self) -> int: ...
    def places(self, start: int) -> list[tuple[int, int, int, bytes]]: ...
    def register(self, number: int) -> int: ...
    def registers(self) -> list[int]: ...
    def said(self) -> list[int | None]: ...
    @property
    def inside(self) -> bool: ...
    @property
    def clock(self) -> int: ...
    def set_clock(self, value: int) -> None: ...
    def time(self, value: int) -> int | None: ...
    def enter(self, content: int, length: int) -> None: ...
    def leave(self) -> int: ...
    def move(self, bits: int) -> None: ...
    def scan(
        self,
        data: memoryview | bytes | NDArray[uint8],
        at: int,
        last: bool,
        events: OutputArrays,
        filled: int,
    ) -> tuple[int, int, int]: ...

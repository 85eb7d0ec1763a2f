from numpy import uint8
from numpy.typing import NDArray

from converter.formats.ctf.streams.scan_programs import Program
from converter.kernels.event_arrays import OutputArrays

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
    """The scan of one stream. Positions are bits of the window at hand."""

    def __init__(
        self, packet: Program, header: Program, common: Program, alignment: int, from_header: bool
    ) -> None:
        """Set the programs of a packet's header and context, of a record's header, and of its common context.

        `alignment` is the largest of any field; records start with their header if `from_header`, else after both.
        """
    @property
    def place_count(self) -> int:
        """The places where events were so far."""
    def places(self, start: int) -> list[tuple[int, int, int, bytes]]:
        """Those from number `start` on: process id, thread id, track, thread name."""
    @property
    def packet_start(self) -> int:
        """Return the bit at which the packet that was found last starts."""
    @property
    def header_end(self) -> int:
        """Return the bit at which its header and context end."""
    @property
    def defect(self) -> int:
        """Return the number of the defect that was found, a key of `DEFECTS`."""
    @property
    def inside(self) -> bool:
        """Return True while a packet's records are being read."""
    @property
    def clock(self) -> int:
        """The clock's value."""
    def set_clock(self, value: int) -> None:
        """Start a packet with this value of the clock."""
    def set_time(self, shift: int, numerator: int, denominator: int) -> None:
        """Times are ``floor((clock + shift) * numerator / denominator)``."""
    def time(self, value: int) -> int | None:
        """The time of a clock's value, None if it does not fit."""
    def set_window(self, first: int, last: int) -> None:
        """Before `first`, only records of classes that last become events; after `last`, only one record does."""
    def add_class(self, id: int, program: Program, placed: bool, lasting: bool) -> None:
        """Declare the next record class; its events have the number of the call.

        `lasting`: they say what is so from then on. With `placed` the program, or that of the header or of the common
        context, sets the registers "pid", "tid" and perhaps "name" and "track".
        """
    def register(self, number: int) -> int: ...
    def registers(self) -> list[int]: ...
    def said(self) -> list[int | None]:
        """The registers that have a meaning, None for those whose fields the packet does not have."""

    def enter(self, content: int, length: int) -> None:
        """Read the records of the packet found, `content` bits of which are content."""
    def leave(self) -> int:
        """Read no more records of the packet; where it ends."""
    def move(self, bits: int) -> None:
        """Start the next window `bits` bits after this one."""
    def scan(
        self,
        data: memoryview | NDArray[uint8],
        at: int,
        last: bool,
        events: OutputArrays,
        filled: int,
    ) -> tuple[int, int, int]:
        """Scan from bit `at` on: (why it stopped, the number of events so far, the bit it stopped at).

        The columns are ts, class_id, place (int32), begin, start and size (uint32).

        `last`: the stream ends with this window. A record's begin is its first bit; start and size are those of the
        data after the common context, or of all of it. Releases the GIL.
        """

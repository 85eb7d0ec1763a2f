from typing import NamedTuple

from numpy import int32, int64, uint8, uint64
from numpy.typing import NDArray

from converter.formats.perfetto.reading.kernels.scan_sequences import Sequences
from converter.kernels.tables.strings import StringTable

class TrackEvents(NamedTuple):
    """Track events in packet order, one value each of the first seven; the rest is what arguments point into."""

    #: Row of the packet.
    packet: NDArray[int32]
    #: Id, in the table of signatures, of what the event consists of.
    signature: NDArray[int32]
    #: Ids of strings; 0 for none. Categories are joined by commas.
    name: NDArray[int32]
    category: NDArray[int32]
    #: The place of the event: a track's uuid (space 0), or a thread as ``pid << 32 | tid`` (space 1).
    place: NDArray[uint64]
    space: NDArray[uint8]
    #: Place of the event's first argument word.
    first_word: NDArray[int64]
    #: The argument words: bits of a number, the id of a string, the (start, size) of a span.
    words: NDArray[uint64]
    #: Flow ids, pointed to by (start, size).
    flows: NDArray[uint64]
    #: Fields without an argument, tags included, pointed to by (start, size).
    remainder: NDArray[uint8]

class Timeline(Sequences):
    """Track events, read under the state of their sequences. One for each pass over a trace.

    A signature is two bytes, TrackEvent.type and the phase of a LegacyEvent (0: none; the type counts), then 9 bytes an
    argument: a code, the id of its name, and the id of the name of its type (both little-endian uint32). Codes and
    their words: ``b`` bool, ``u`` ``i`` integers, ``d`` double, ``p`` pointer, ``s`` string, ``n`` no value (none),
    ``N`` nested annotation and ``y`` proto value (a span of the window each); and of other fields than annotations:
    ``v`` ``V`` counter value (int, double), ``F`` ``T`` flows and terminating flows (a span of `flows`), ``L`` a
    LegacyEvent field whose number replaces the name's id, ``c`` correlation id, ``S`` its name, ``w`` call stack
    weight, ``K`` an interned call stack (iid), ``k`` an inline one (a span of the window), ``X`` remainder (a span of
    `remainder`).
    """

    def __init__(
        self, strings: StringTable, messages: StringTable, signatures: StringTable
    ) -> None:
        """`signatures` takes one string for each signature."""
    def run(
        self,
        data: NDArray[uint8],
        rows: NDArray[int64],
        begin: int,
        end: int,
        ts: NDArray[int64],
        clock: NDArray[int64],
        scope: NDArray[int64],
        unread: NDArray[uint8],
    ) -> None:
        """Go through packets `begin` to `end` of `proto_scan.scan_packets`' rows.

        Fills in each packet's time in ns of its clock, that clock's id (-1: the trace's), the scope of its interned
        data, and whether it is a track event that cannot be read: damaged, or without the state that it needs.
        Releases the GIL.
        """
    def take(self) -> TrackEvents:
        """The events read since the last call."""

"""A file of packets of one stream: which of them are wanted, what goes on from one to the next, what is damaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from converter.errors import TraceError
from converter.formats.ctf.streams.stream_types import StreamType
from converter.storage.source import Source

#: Damage of one stream that is told in full.
_TOLD: Final = 8


@dataclass(slots=True)
class StreamState:
    """What goes on from one packet of a stream to the next, also in another file."""

    discarded: int | None = None
    sequence: int | None = None
    #: When the packet before began: later packets may say only the lower bits.
    begin: int = 0
    #: Its clock at the end of a file, where packets do not say theirs.
    clock: int = 0


def updated_clock(clock: int, value: int, bits: int) -> int:
    """The clock's value when so many of its lower bits are these (CTF2-SPEC-2.0, 6.3): it never goes back."""
    mask = (1 << bits) - 1
    later = clock & ~mask | value
    return (later if value >= clock & mask else later + mask + 1) & (1 << 64) - 1


class PacketRange(NamedTuple):
    """The packets of a file that are read, from byte to byte, and how it was in front of them (None: as ever)."""

    start: int
    end: int
    state: StreamState | None


class StreamFile:
    """A file of packets of one stream."""

    def __init__(self, source: Source, name: str, stream_type: StreamType) -> None:
        self.source = source
        self.name = name
        self.type = stream_type
        self.errors: list[TraceError] = []
        #: Of the packets, those that are wanted.
        self.range = PacketRange(0, source.size, None)
        #: Of its records, those of times that are wanted: others that say nothing of these are gone past.
        self.window: tuple[int, int] | None = None
        #: Bytes that have been read.
        self.done = 0
        self._untold = 0

    def begin(self, state: StreamState) -> None:
        """Go to where the packets that are wanted begin, and have the stream as it was in front of them."""
        self.done = self._untold = 0
        before = self.range.state
        if before is not None:
            state.discarded, state.sequence = before.discarded, before.sequence
            state.begin, state.clock = before.begin, before.clock

    def end(self) -> None:
        """All that is wanted has been read."""
        if self._untold:
            self.errors.append(
                TraceError(f"{self._untold:,} more packets are damaged", path=self.source.name)
            )
        self.done = self.source.size

    def damage(self, error: TraceError) -> None:
        """Note what is damaged; of a lot only the first."""
        if len(self.errors) < _TOLD:
            self.errors.append(error.within(path=self.source.name))
        else:
            self._untold += 1

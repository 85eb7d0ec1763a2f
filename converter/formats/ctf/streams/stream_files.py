"""A file of packets of one stream: which of them are wanted, the state between packets, and damage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from converter.errors import TraceError
from converter.formats.ctf.streams.stream_types import StreamType
from converter.storage.source import Source

#: The number of damaged packets of a stream that are reported in full.
_REPORTED: Final = 8


@dataclass(slots=True)
class StreamState:
    """State that continues from one packet of a stream to the next, also in another file."""

    discarded: int | None = None
    sequence: int | None = None
    #: The start time of the previous packet: later packets may have only its lower bits.
    begin: int = 0
    #: The clock at the end of a file, for packets without their own.
    clock: int = 0
    #: The files that were read before.
    earlier: list[StreamFile] = field(default_factory=list)


def updated_clock(clock: int, value: int, bits: int) -> int:
    """Return the clock's value given its lower `bits` (CTF2-SPEC-2.0, 6.3): it never goes back."""
    mask = (1 << bits) - 1
    later = clock & ~mask | value
    return (later if value >= clock & mask else later + mask + 1) & (1 << 64) - 1


def counted(before: int, value: int, bits: int) -> int | None:
    """Return by how much a counter of `bits` bits has risen, None if it has fallen rather than wrapped around."""
    if value >= before:
        return value - before
    risen = value - before & (1 << bits) - 1
    return risen if bits < 64 and risen < 1 << bits - 1 else None


class PacketRange(NamedTuple):
    """The range of packets of a file that is read, in bytes, and the stream state before it (None: unchanged)."""

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
        #: The wanted packets.
        self.range = PacketRange(0, source.size, None)
        #: The wanted time range of records; others that do not affect these are skipped.
        self.window: tuple[int, int] | None = None
        #: Bytes that have been read.
        self.done = 0
        self._unreported = 0

    def begin(self, state: StreamState) -> None:
        """Go to the first wanted packet, and restore the stream state before it."""
        self.done = self._unreported = 0
        before = self.range.state
        if before is not None:
            state.discarded, state.sequence = before.discarded, before.sequence
            state.begin, state.clock = before.begin, before.clock

    def end(self) -> None:
        """Finish: everything wanted has been read."""
        if self._unreported:
            self.errors.append(
                TraceError(f"{self._unreported:,} more packets are damaged", path=self.source.name)
            )
        self.done = self.source.size

    def damage(self, error: TraceError) -> None:
        """Note damage; only the first errors of many are kept."""
        if len(self.errors) < _REPORTED:
            self.errors.append(error.within(path=self.source.name))
        else:
            self._unreported += 1

"""Scans a data stream's packets window by window: an error in one costs that packet, not the stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, too_many_holes
from converter.formats.ctf.layout import PACKET_MAGIC
from converter.formats.ctf.reading.heads import Copies
from converter.formats.ctf.reading.resync import PacketStarts
from converter.formats.ctf.reading.windows import (
    LOST_EVENTS,
    LOST_PACKETS,
    ROOM,
    Events,
    PacketHead,
)
from converter.formats.ctf.streams.scan import (
    DAMAGED,
    DEFECTS,
    DONE,
    FULL,
    INCOMPLETE,
    NEW_CLASS,
    PACKET,
    REALIGN,
    REGISTERS,
    TRUNCATED,
    Scanner,
)
from converter.formats.ctf.streams.stream_files import (
    StreamFile,
    StreamState,
    counted,
    updated_clock,
)
from converter.formats.ctf.streams.stream_types import RecordType
from converter.limits import limit
from converter.storage.window_memory import WindowMemory

#: Bytes of a stream that are read at a time, and the most that one record can have.
WINDOW: Final = 1 << 20
LARGEST_WINDOW: Final = 1 << 28
#: Fewer bytes than most records have; windows with more records than fit are scanned in several calls.
_USUAL_BYTES: Final = 4
_LEAST_ROOM: Final = 256

_CUT: Final = "the file ends within a packet"

#: The largest number of a CPU: others are those of no CPU.
MAX_CPU: Final = (1 << 31) - 1

_BEGIN: Final = REGISTERS["begin"]
_CONTENT: Final = REGISTERS["content"]
_CPU: Final = REGISTERS["cpu"]
_DISCARDED: Final = REGISTERS["discarded"]
_END: Final = REGISTERS["end"]
_EVENT: Final = REGISTERS["event"]
_LENGTH: Final = REGISTERS["length"]
_MAGIC: Final = REGISTERS["magic"]
_SEQUENCE: Final = REGISTERS["sequence"]
_STREAM_CLASS: Final = REGISTERS["stream class"]


def scan_events(
    file: StreamFile, state: StreamState, time: tuple[int, int, int], spare: list[Events]
) -> Iterator[Events]:
    """Yield the events of a file, and note its damage in `file`.

    `time` is the scanner's clock conversion: shift, numerator, denominator. Columns of `spare` are reused.
    """
    return _scan_packets(file, state, time, spare, events=True)


def check(file: StreamFile, state: StreamState, time: tuple[int, int, int]) -> None:
    """Go from packet to packet of a file, skipping their events, and note damaged packets in `file`."""
    for _ in _scan_packets(file, state, time, [], events=False):
        pass


def _scan_packets(
    file: StreamFile,
    state: StreamState,
    time: tuple[int, int, int],
    spare: list[Events],
    *,
    events: bool,
) -> Iterator[Events]:
    file.begin(state)
    starts = PacketStarts(file.source, file.type)
    start = file.range.start
    gaps = 0
    while True:
        scan = _Scan(file, start, starts, state, time, spare, events=events)
        yield from scan.windows()
        state.clock = scan.clock
        found = scan.next_packet()
        if found is None:
            break
        gaps += 1
        if gaps > limit("holes"):
            file.errors.append(too_many_holes(found).within(path=file.source.name))
            break
        start = found
    file.end()
    state.earlier.append(file)


def _cpu(said: int | None) -> int:
    """Return the CPU of a packet, -1 if it has none."""
    return said if said is not None and said <= MAX_CPU else -1


class _Scan:
    """One pass over a file, decoding or skipping the events of its packets, up to its end or to a byte that starts no
    packet.
    """

    def __init__(
        self,
        file: StreamFile,
        start: int,
        starts: PacketStarts,
        state: StreamState,
        time: tuple[int, int, int],
        spare: list[Events],
        *,
        events: bool,
    ) -> None:
        self._file = file
        self._spare = spare
        self._with_events = events
        self._type = declared = file.type
        self._state = state
        self._scanner = Scanner(
            declared.packet_program,
            declared.header_program,
            declared.common_program,
            declared.alignment,
            declared.from_header,
        )
        self._scanner.set_time(*time)
        if file.window is not None:
            self._scanner.set_window(*file.window)
        self._scanner.set_clock(state.clock)
        self._types: list[RecordType] = []
        self._places: list[tuple[int, int, int, bytes]] = []
        self._memory = WindowMemory()
        self._offset, self._end = start, file.range.end
        self._starts = starts
        #: The byte of the file where no valid packet starts.
        self._failed: int | None = None
        self._cpu = declared.cpu
        #: The header and context of the packet, if events have fields of it.
        self._head: NDArray[np.uint8] | None = None
        #: The last packet of the earlier files, which this one may repeat.
        self._before = (state.sequence, state.begin)
        self._copies = Copies(state.earlier)

    @property
    def clock(self) -> int:
        """The clock's value."""
        return self._scanner.clock

    def next_packet(self) -> int | None:
        """Return the start of the next packet after the failure, if there is one."""
        if self._failed is None:
            return None
        return self._starts.find(self._failed + 1, self._end)

    def windows(self) -> Iterator[Events]:
        """Yield the events of each window."""
        source, scanner = self._file.source, self._scanner
        at = 0
        wanted = WINDOW
        while self._offset < self._end:
            size = min(wanted, self._end - self._offset)
            window = self._memory.take(size)
            count = source.read_into(self._offset, window.data)
            last = self._offset + count >= self._end or count < size
            events = self._new_events()
            events.begin_window(window[:count])
            if self._head is not None:
                events.packets.append(PacketHead(0, self._head))
            status, at = self._scan_window(events, at, last=last)
            ended = status is None or (last and status == DONE)
            if events.count:
                if scanner.place_count > len(self._places):
                    self._places = [*self._places, *self._new_places()]
                events.places = self._places
                events.types = self._types
                events.cpu = self._cpu
                events.packet_fields = self._type.packet_fields
                yield events
            else:
                self._spare.append(events)
            if ended:
                return
            # The next packet may start at any byte; within a packet, windows keep its alignment.
            step = at
            if status in (INCOMPLETE, FULL) or (status == DONE and at <= 8 * count):
                step = at // self._type.alignment * self._type.alignment
            if status == INCOMPLETE and step == 0:
                wanted *= 2
                if wanted > LARGEST_WINDOW:
                    self._damage(at, expected="records of at most 256 MiB")
                    return
            else:
                wanted = WINDOW
            scanner.move(step)
            at -= step
            self._offset += step // 8
            self._file.done = self._offset

    def _new_events(self) -> Events:
        """Return columns for a window: small ones for what is left of a small file, as there can be thousands."""
        left = (self._end - self._offset) // _USUAL_BYTES
        room = min(max(left, _LEAST_ROOM), ROOM)
        while self._spare:
            events = self._spare.pop()
            if len(events.ts) >= room:
                return events
        return Events(room)

    def _scan_window(self, events: Events, at: int, *, last: bool) -> tuple[int | None, int]:
        """Scan a window: return why it ended and at which bit; None if the file can be read no further."""
        scanner = self._scanner
        while True:
            status, events.count, at = scanner.scan(
                events.window,
                at,
                last,
                events.columns,
                events.count,
            )
            if status == PACKET:
                if self._is_other(events):
                    return REALIGN, scanner.packet_start
                if not self._enter(events):
                    self._failed = self._offset + scanner.packet_start // 8
                    return None, at
            elif status == NEW_CLASS:
                if not self._add_class():
                    self._damage(
                        at,
                        field="event",
                        expected="an event record class of the stream",
                        found=scanner.register(_EVENT),
                    )
                    scanner.leave()
            elif status == DAMAGED:
                if not scanner.inside:
                    self._damage(at, field="packet", message=DEFECTS[scanner.defect])
                    self._failed = self._offset + scanner.packet_start // 8
                    return None, at
                self._damage(at, message=DEFECTS[scanner.defect])
                scanner.leave()
            elif status == TRUNCATED:
                self._damage(at, message=_CUT)
                return None, at
            else:
                return status, at

    def _new_places(self) -> Iterator[tuple[int, int, int, bytes]]:
        for pid, tid, track, name in self._scanner.places(len(self._places)):
            yield self._type.process_of(pid, tid), tid, track, name

    def _is_other(self, events: Events) -> bool:
        """Return True if the packet's events cannot be in one window with the earlier ones."""
        if not events.count:
            return False
        # Events and packets may have been lost before this packet.
        if self._type.packet_registers or events.count > len(events.ts) - 2:
            return True
        return self._type.has_cpu and _cpu(self._scanner.register(_CPU)) != self._cpu

    def _enter(self, events: Events) -> bool:
        """Enter the packet that was found; False if the file can be read no further."""
        declared, scanner = self._type, self._scanner
        start = scanner.packet_start
        said = scanner.said()
        header = scanner.header_end - start
        magic = said[_MAGIC]
        if magic is not None and magic != PACKET_MAGIC:
            self._damage(
                start,
                field="packet.magic",
                expected=f"{PACKET_MAGIC:#x}",
                found=f"{magic:#x}",
            )
            return False
        length, content = said[_LENGTH], said[_CONTENT]
        rest = 8 * (self._file.source.size - self._offset) - start
        if length is None:
            # A packet with only a content size has no padding; one without sizes is the whole file.
            length = rest if content is None else content
        if length % 8 or length < header or not 8 <= length < 1 << 60:
            self._damage(
                start,
                field="packet.packet_size",
                expected=f"whole bytes, at least {header} bits",
                found=length,
            )
            return False
        if self._starts.known:
            moved = self._next_within(events.window, start, length)
            if moved is not None:
                if moved < max(header, 8):
                    return False
                length = moved
                content = min(content, length) if content is not None else None
        stream_class = said[_STREAM_CLASS]
        if content is None:
            content = length
        if not header <= content <= length:
            self._damage(
                start,
                field="packet.content_size",
                expected=f"{header} to {length} bits",
                found=content,
            )
            content = header
        elif stream_class is not None and stream_class != declared.stream.id:
            self._damage(
                start,
                field="packet.stream_id",
                expected=declared.stream.id,
                found=stream_class,
            )
            content = header
        if not self._with_events:
            if content > rest:
                self._damage(start, message=_CUT)
            content = header
        begin = said[_BEGIN]
        if self._is_copy(start, begin, said[_SEQUENCE]):
            scanner.enter(header, length)
            return True
        scanner.enter(content, length)
        self._set_clock(begin, said[_END])
        self._cpu = _cpu(said[_CPU]) if declared.has_cpu else declared.cpu
        self._note_packet(events)
        self._note_losses(events, said[_SEQUENCE], said[_DISCARDED])
        return True

    def _set_clock(self, begin: int | None, end: int | None) -> None:
        """Set the clock where a packet begins, as far as it says a time."""
        declared, state = self._type, self._state
        if begin is not None:
            state.begin = updated_clock(state.begin, begin, declared.begin_bits)
            self._scanner.set_clock(state.begin)
        elif declared.has_only_ends:
            # The clock has the value with which the packet before ended.
            self._scanner.set_clock(state.begin)
            if end is not None:
                state.begin = updated_clock(state.begin, end, declared.end_bits)

    def _note_packet(self, events: Events) -> None:
        """Keep what the records of the packet need of it."""
        declared, scanner = self._type, self._scanner
        if declared.packet_registers:
            events.packet_registers = scanner.registers()[: declared.packet_registers]
        if declared.packet_fields is not None:
            start = scanner.packet_start
            self._head = events.window[start // 8 : -(-scanner.header_end // 8)].copy()
            events.packets.append(PacketHead(start, self._head))

    def _next_within(self, window: NDArray[np.uint8], start: int, length: int) -> int | None:
        """Return the bits up to a packet that starts within this one: part of this one is missing then."""
        first = self._offset + start // 8
        end = first + length // 8
        if end == self._end or (
            end < self._end and self._starts.starts_at(end, window, self._offset)
        ):
            return None
        found = self._starts.find(first + 1, min(end, self._end))
        if found is None:
            return None
        self._damage(
            start,
            field="packet",
            expected=f"the next at {end:#x}",
            found=f"{found:#x}: a piece is lost or damaged",
        )
        return 8 * (found - first)

    def _is_copy(self, start: int, begin: int | None, sequence: int | None) -> bool:
        """Return True if an earlier file has the packet, too: snapshots of one session overlap."""
        last_sequence, last_begin = self._before
        return (
            sequence is not None
            and last_sequence is not None
            and begin is not None
            and sequence <= last_sequence
            and begin <= last_begin
            and self._type.begin_bits == 64
            and self._copies.has(self._file, self._offset + start // 8)
        )

    def _note_losses(self, events: Events, sequence: int | None, discarded: int | None) -> None:
        """Compare the packet's counters with those of the previous packet."""
        state = self._state
        ts = self._scanner.time(self._scanner.clock)
        if sequence is not None:
            before = state.sequence
            risen = 1 if before is None else counted(before, sequence, self._type.sequence_bits)
            # A number that stays 0 counts nothing.
            if not risen and (before, sequence) != (0, 0):
                self._damage(
                    self._scanner.packet_start,
                    field="packet.packet_seq_num",
                    expected=f"more than {before}",
                    found=sequence,
                )
            elif risen is not None and risen > 1:
                self._add_lost(events, LOST_PACKETS, risen - 1, ts)
            state.sequence = sequence
        if discarded is not None:
            before = state.discarded if state.discarded is not None else 0
            lost = counted(before, discarded, self._type.discarded_bits)
            if lost is None:
                self._damage(
                    self._scanner.packet_start,
                    field="packet.events_discarded",
                    expected=f"{before} or more",
                    found=discarded,
                )
            elif lost:
                self._add_lost(events, LOST_EVENTS, lost, ts)
            state.discarded = discarded

    def _add_lost(self, events: Events, number: int, count: int, ts: int | None) -> None:
        if ts is None:
            return
        i = events.count
        events.ts[i] = ts
        events.class_id[i] = number
        events.place[i] = -1
        events.start[i] = count >> 32
        events.size[i] = count & 0xFFFFFFFF
        events.count += 1

    def _add_class(self) -> bool:
        """Declare the class of the record at which the scanner has stopped."""
        id = self._scanner.register(_EVENT)
        record_type = self._type.record_type(id)
        if record_type is None:
            return False
        self._types.append(record_type)
        self._scanner.add_class(id, record_type.scan, record_type.placed, record_type.lasting)
        return True

    def _damage(
        self,
        at: int,
        *,
        message: str | None = None,
        field: str | None = None,
        expected: object = None,
        found: object = None,
    ) -> None:
        self._file.damage(
            TraceError(
                message,
                offset=self._offset + at // 8,
                field=field,
                expected=None if expected is None else str(expected),
                found=found,
            )
        )

"""Framing: a source as windows of whole TracePackets, compressed ones inflated in place."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TraceWarning, TruncatedError, note
from converter.formats.perfetto.layout import (
    PacketField,
)
from converter.formats.perfetto.protobuf.numbers import Numbers
from converter.formats.perfetto.protobuf.scan import (
    COLUMNS,
    DATA,
    DATA_SIZE,
    DATA_START,
    SIZE,
    START,
    scan_packets,
)
from converter.formats.perfetto.reading.resync import Search
from converter.limits import allowed, limit
from converter.storage.compression.unpacked import Unpacked, no_room
from converter.storage.source import Source
from converter.storage.window_memory import WindowMemory

#: The number of bytes read at once, which limits the size of a batch.
WINDOW_BYTES = 1 << 22
#: The maximum number of packets in a window.
WINDOW_PACKETS = 1 << 17

_COMPRESSED = Numbers(PacketField.COMPRESSED_PACKETS, PacketField.ZSTD_COMPRESSED_PACKETS)
#: The maximum number of warnings of one kind.
_MAX_WARNINGS = 8


@dataclass(frozen=True, slots=True)
class Window:
    """Some whole packets: their bytes, with nothing between or after them, and a row each (`scan.scan_packets`).

    `offset` is the window's start in the file, for messages; `end` is its end in the file; `first` is the position of
    the first packet among all.
    """

    data: NDArray[np.uint8]
    rows: NDArray[np.int64]
    offset: int
    end: int
    first: int = 0


class Damage:
    """Collects a trace's warnings, each once even if the trace is read repeatedly."""

    def __init__(self, path: str, warnings: list[TraceWarning]) -> None:
        self.path = path
        self._warnings = warnings
        self._counts: dict[str, int] = {}

    def warn(
        self, message: str, offset: int | None = None, *, is_damage: bool = True, **parts: Any
    ) -> None:
        """Add a warning unless it is a duplicate, or there are too many of its kind."""
        warning = TraceWarning(
            message=message,
            format="perfetto",
            path=self.path,
            offset=offset,
            is_damage=is_damage,
            **parts,
        )
        if warning in self._warnings:
            return
        count = self._counts[message] = self._counts.get(message, 0) + 1
        if count <= _MAX_WARNINGS:
            note(self._warnings, warning)


def windows(source: Source, damage: Damage, usual: int = WINDOW_BYTES) -> Iterator[Window]:
    """Yield all packets of a source in windows of the size `usual`.

    Raises:
        TraceError: there is not one whole packet.

    """
    offset = packets = 0
    most = limit("perfetto.packet")
    # With its tag and its size, a number with 7 bits per byte.
    largest = 1 + -(-most.bit_length() // 7) + most
    size = usual = min(usual, largest)
    memory = WindowMemory()
    search = Search(source)
    while offset < source.size:
        data = memory.take(min(size, source.size - offset))
        data = data[: source.read_into(offset, data.data)]
        rows = np.empty((WINDOW_PACKETS, COLUMNS), np.int64)
        count, end, stopped = scan_packets(data, 0, rows)
        at_end = offset + len(data) >= source.size
        if end:
            if count:
                read = Window(data[:end], rows[:count], offset, end)
                for window in _expanded(read, damage, source.unpacked):
                    yield replace(window, first=packets)
                    packets += len(window.rows)
            offset += end
            size = usual
            if stopped == 0 or (stopped == 1 and not at_end):
                continue
        elif stopped == 1 and not at_end and size < largest:
            size = min(4 * size, largest)
            continue
        _stop(source, damage, offset, stopped, at_end)
        following = _following(search, rows[:count], offset - end, offset)
        if following is None:
            if search.given_up:
                damage.warn("damaged in too many places", offset, expected=allowed("holes"))
            return
        damage.warn("packets go on after the damage", following)
        offset = following
        size = usual
    if offset == 0:
        raise TruncatedError(
            format="perfetto", path=source.name, offset=0, expected="a packet", found="nothing"
        )


def _following(search: Search, rows: NDArray[np.int64], window: int, offset: int) -> int | None:
    """Return the offset at which packets resume; the last packet may have included some by mistake."""
    return search.next(window + int(rows[-1, START]) if len(rows) else offset + 1)


def _stop(source: Source, damage: Damage, offset: int, stopped: int, at_end: bool) -> None:
    """Report that the packet at `offset` cannot be read: an error if it is the first, else a warning."""
    if stopped == 2:
        message, expected = "no packet here", "a packet (field 1 of Trace)"
    elif at_end:
        message, expected = "the last packet is cut off", "a whole packet"
    else:
        message, expected = "a packet is too long", allowed("perfetto.packet")
    found = source.read(offset, 8)
    if offset == 0:
        raise TraceError(
            message, format="perfetto", path=source.name, offset=0, expected=expected, found=found
        )
    damage.warn(message, offset, expected=expected, found=found)


def _expanded(window: Window, damage: Damage, unpacked: Unpacked) -> Iterator[Window]:
    """Yield the window with each compressed packet replaced by the packets in it."""
    compressed = np.flatnonzero(_COMPRESSED.isin(window.rows[:, DATA]))
    if not len(compressed):
        yield window
        return
    ends = window.rows[:, START] + window.rows[:, SIZE]
    pieces: list[Any] = []
    held = 0
    last = 0
    for row in compressed:
        before = int(ends[row - 1]) if row else 0
        start, size = (int(window.rows[row, column]) for column in (DATA_START, DATA_SIZE))
        offset = window.offset + start
        try:
            field, packed = int(window.rows[row, DATA]), window.data[start : start + size]
            inflated = _inflate(field, bytes(packed), unpacked, offset)
        except TraceError as error:
            damage.warn(error.message or "", offset, expected=error.expected)
            inflated = None
        pieces.append(window.data[last:before])
        last = int(ends[row])
        if inflated is not None:
            pieces.append(_complete_packets(inflated, damage, offset))
        held += sum(len(piece) for piece in pieces[-2:])
        if held >= WINDOW_BYTES:
            yield from _joined(pieces, window.offset, last)
            pieces, held = [], 0
    pieces.append(window.data[last : int(ends[-1])])
    yield from _joined(pieces, window.offset, int(ends[-1]))


def _joined(pieces: list[Any], offset: int, end: int) -> Iterator[Window]:
    data = np.concatenate(pieces)
    while len(data):
        rows = np.empty((WINDOW_PACKETS, COLUMNS), np.int64)
        count, at, stopped = scan_packets(data, 0, rows)
        if count:
            yield Window(data[:at], rows[:count], offset, end)
        if stopped:
            return
        data = data[at:]


def _complete_packets(data: NDArray[np.uint8], damage: Damage, offset: int) -> NDArray[np.uint8]:
    """Return the whole packets of inflated data."""
    rows = np.empty((1 << 10, COLUMNS), np.int64)
    at = stopped = 0
    while at < len(data) and not stopped:
        _, at, stopped = scan_packets(data, at, rows)
    if stopped:
        damage.warn("the packets in a compressed packet are damaged", offset)
    return data[:at]


def _inflate(field: int, data: bytes, unpacked: Unpacked, offset: int) -> NDArray[np.uint8]:
    """Return the content of a compressed packet; TraceError if it is damaged or too large."""
    most = limit("perfetto.inflated")
    content = _unpacked(field, data, most + 1)
    if len(content) > most:
        raise TraceError("a compressed packet is too large", expected=allowed("perfetto.inflated"))
    if not unpacked.take(offset, len(content)):
        raise no_room(offset)
    return np.frombuffer(content, np.uint8)


def _unpacked(field: int, data: bytes, most: int) -> bytes:
    damaged = TraceError("a compressed packet is damaged")
    if field == PacketField.COMPRESSED_PACKETS:
        inflater = zlib.decompressobj()
        try:
            content = inflater.decompress(data, most)
        except zlib.error:
            raise damaged from None
        if not inflater.eof and len(content) < most:
            raise damaged
        return content
    import zstandard

    try:
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
            return bytes(stream.read(most))
    except zstandard.ZstdError:
        raise damaged from None

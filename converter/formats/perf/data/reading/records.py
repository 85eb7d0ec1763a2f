"""The records of a recording in the order of the file, window by window; compressed ones are unpacked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError, TruncatedError, UnsupportedError, too_many_holes
from converter.formats.perf.data.layout import (
    AUXTRACE_SIZE_AT,
    COMPRESSED2_AT,
    COMPRESSED_AT,
    RECORD_HEADER_SIZE,
    RecordType,
)
from converter.formats.perf.data.reading.opening import PerfFile
from converter.formats.perf.data.reading.scan import (
    DAMAGED,
    FULL,
    INCOMPLETE,
    NATIVE,
    SPECIAL,
    Scanner,
)
from converter.kernels.batches.event_arrays import OutputArrays
from converter.limits import allowed, limit
from converter.storage.compression.unpacked import no_room

#: Bytes of the file that are read at once.
WINDOW: Final = 4 << 20
#: The least size of a record that becomes a row, for the number of rows of a window.
_LEAST: Final = RECORD_HEADER_SIZE
#: Rows of a window, at most: it is scanned again for more.
_ROWS: Final = 1 << 16
#: Compressed bytes that are unpacked in one call: they may become 30,000 times as many.
_SLICE: Final = 1 << 10
#: The part of a window that is looked through for the next sound record, and the records that must follow it.
_SOUND: Final = 4
_COMPRESSED: Final = (RecordType.COMPRESSED, RecordType.COMPRESSED2)


@dataclass(slots=True)
class Rows:
    """The records of a window that become events: their columns, and the bytes that they are in.

    All events up to the time `complete` are there once these are.
    """

    segment: NDArray[np.uint8]
    ts: NDArray[np.int64]
    code: NDArray[np.int32]
    thread: NDArray[np.int32]
    cpu: NDArray[np.int32]
    start: NDArray[np.uint32]
    size: NDArray[np.uint32]
    complete: int

    def __len__(self) -> int:
        return len(self.ts)


class RecordStream:
    """One pass over the records.

    Args:
        file: the recording.
        scanner: it is started again.
        window: bytes that are read at once.
        special: called with the type, the bytes and the offset of each of perf's own records but those that lead to
            others; of TRACING_DATA with what follows it.

    """

    def __init__(
        self,
        file: PerfFile,
        scanner: Scanner,
        window: int,
        special: Callable[[int, bytes, int], None],
    ) -> None:
        self._file = file
        self._scanner = scanner
        self._window = window
        self._special = special
        self._order: Any = "big" if file.big_endian else "little"
        self._unpack: Callable[[bytes], bytes] | None = None
        #: What is left of unpacked data: the start of a record.
        self._rest = b""
        self._total = 0
        self._holes = 0
        self._rows_before = 0
        #: The offset up to which records have been read.
        self.offset = file.start

    def rows(self) -> Iterator[Rows]:
        """Yield the records, window by window; damage becomes a warning once there are rows.

        Raises:
            TraceError: the first record is damaged.

        """
        file = self._file
        self._scanner.start()
        at = file.start
        while at < file.end:
            data = np.empty(min(self._window, file.end - at), np.uint8)
            is_last = at + len(data) == file.end
            data = data[: file.source.read_into(at, data.data)]
            status, used = yield from self._scan(data, at)
            at += used
            self.offset = min(at, file.end)
            if status == INCOMPLETE and not is_last and used:
                continue
            if status == INCOMPLETE or (status != DAMAGED and not used):
                self._damage(TruncatedError(offset=at, field="record", expected="more data"))
                return
            if status == DAMAGED:
                found = int.from_bytes(data[used + 6 : used + 8].tobytes(), self._order)
                expected = "8 bytes or more"
                self._damage(
                    TraceError(offset=at, field="record.size", expected=expected, found=found)
                )
                following = self._next_sound(at + 8)
                if following is None:
                    return
                at = following
        if self._rest:
            file.warn(TruncatedError("compressed records end within a record", offset=at))

    def _damage(self, error: TraceError) -> None:
        error = error.within(format="perf", path=self._file.source.name)
        if not self._rows_before:
            raise error
        self._file.warn(error)

    def _scan(
        self, data: NDArray[np.uint8], base: int, *, unpacked: bool = False
    ) -> Generator[Rows, None, tuple[int, int]]:
        """Yield the rows of a window; return how its scan ended, and where. The place may be after the window."""
        scanner = self._scanner
        at = 0
        while True:
            room = max(min((len(data) - at) // _LEAST, _ROWS), 1)
            ts = np.empty(room, np.int64)
            code, thread, cpu = (np.empty(room, np.int32) for _ in range(3))
            start, size = (np.empty(room, np.uint32) for _ in range(2))
            columns = OutputArrays(
                ts=ts, class_id=code, thread=thread, cpu=cpu, start=start, size=size
            )
            status, at, filled = scanner.scan(data, at, columns, 0)
            if filled:
                self._rows_before += filled
                yield Rows(
                    data,
                    ts[:filled],
                    code[:filled],
                    thread[:filled],
                    cpu[:filled],
                    start[:filled],
                    size[:filled],
                    scanner.complete,
                )
            if status == SPECIAL:
                at = yield from self._own_record(data, at, base, unpacked=unpacked)
                if at < len(data):
                    continue
                return 0, at
            if status != FULL:
                return status, at

    def _own_record(
        self, data: NDArray[np.uint8], at: int, base: int, *, unpacked: bool
    ) -> Generator[Rows, None, int]:
        """Handle a record of perf itself; return where the next one is."""
        order = self._order
        kind = int.from_bytes(data[at : at + 4].tobytes(), order)
        size = int.from_bytes(data[at + 6 : at + 8].tobytes(), order)
        record = data[at : at + size].tobytes()
        offset = base + (0 if unpacked else at)
        following = at + size
        if kind in _COMPRESSED:
            if unpacked:
                raise TraceError("compressed records in compressed ones", offset=offset)
            yield from self._unpacked(kind, record, offset)
        elif kind in (RecordType.AUXTRACE, RecordType.HEADER_TRACING_DATA) and not unpacked:
            width = 8 if kind == RecordType.AUXTRACE else 4
            length = int.from_bytes(record[8 : 8 + width], order)
            if len(record) < 8 + width or length > self._file.end - offset - size:
                found = f"{self._file.end - offset - size} before the end"
                self._file.warn(
                    TruncatedError(
                        offset=offset + AUXTRACE_SIZE_AT,
                        field="size",
                        expected=f"{length} bytes",
                        found=found,
                    )
                )
                length = min(length, max(self._file.end - offset - size, 0))
            # In a pipe the texts are followed by zeros up to a multiple of 8.
            padded = length if kind == RecordType.AUXTRACE else (length + 7) // 8 * 8
            following += min(padded, max(self._file.end - offset - size, 0))
            if kind == RecordType.AUXTRACE:
                yield from self._auxtrace(record, offset, length)
            else:
                self._file.take(length, offset, "TRACING_DATA")
                self._special(kind, self._file.source.read(offset + size, length), offset)
        else:
            self._special(kind, record, offset)
        return following

    def _auxtrace(self, record: bytes, offset: int, length: int) -> Iterator[Rows]:
        if length > limit("perf.auxtrace"):
            self._file.warn(
                UnsupportedError(
                    offset=offset, field="AUXTRACE", expected=allowed("perf.auxtrace"), found=length
                )
            )
            return
        whole = record + self._file.source.read(offset + len(record), length)
        self._rows_before += 1
        none = np.full(1, -1, np.int32)
        yield Rows(
            np.frombuffer(whole, np.uint8),
            np.full(1, -1, np.int64),
            np.full(1, NATIVE + 2 * RecordType.AUXTRACE + 1, np.int32),
            none,
            none,
            np.zeros(1, np.uint32),
            np.full(1, len(whole), np.uint32),
            self._scanner.complete,
        )

    def _unpacked(self, kind: int, record: bytes, offset: int) -> Iterator[Rows]:
        """Yield the rows of the records that are compressed in one."""
        if self._unpack is None:
            import zstandard

            self._unpack = (
                zstandard.ZstdDecompressor(max_window_size=limit("zstd-window"))
                .decompressobj(read_across_frames=True)
                .decompress
            )
            self._error = zstandard.ZstdError
        packed = record[COMPRESSED_AT:]
        if kind == RecordType.COMPRESSED2:
            size = int.from_bytes(record[COMPRESSED_AT:COMPRESSED2_AT], self._order)
            packed = record[COMPRESSED2_AT : COMPRESSED2_AT + size]
        for at in range(0, len(packed), _SLICE):
            try:
                data = self._unpack(packed[at : at + _SLICE])
            except (self._error, MemoryError) as error:
                self._damage(TraceError(f"zstd: {error}", offset=offset))
                # All that is compressed is one stream.
                self._unpack = _nothing
                self._rest = b""
                return
            self._total += len(data)
            if not self._file.source.unpacked.take("compressed records", self._total):
                raise no_room(offset)
            data = self._rest + data
            self._rest = b""
            if not data:
                continue
            status, used = yield from self._scan(
                np.frombuffer(data, np.uint8), offset, unpacked=True
            )
            if status == DAMAGED:
                self._damage(TraceError("a compressed record without a size", offset=offset))
                return
            self._rest = data[used:]

    def _next_sound(self, at: int) -> int | None:
        """Return the offset of the next record that others follow; None if there is none, or after too much damage."""
        self._holes += 1
        file = self._file
        if self._holes > limit("holes"):
            file.warn(too_many_holes(at))
            return None
        data = file.source.read(at, min(self._window, file.end - at))
        for start in range(0, len(data) - RECORD_HEADER_SIZE, 8):
            place = start
            for _ in range(_SOUND):
                kind = int.from_bytes(data[place : place + 4], self._order)
                size = int.from_bytes(data[place + 6 : place + 8], self._order)
                if not 0 < kind <= RecordType.COMPRESSED2 or size < 8 or size % 8:
                    break
                place += size
                if place + RECORD_HEADER_SIZE > len(data):
                    break
            else:
                file.warn(TraceError("records go on after the damage", offset=at + start))
                return at + start
            if place > start and at + place == file.end:
                return at + start
        return None


def _nothing(_data: bytes) -> bytes:
    """Unpack nothing more, after damage."""
    return b""

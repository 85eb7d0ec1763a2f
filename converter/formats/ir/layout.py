"""Records on disk: framing, compression, and their positions (schemas/ir.proto, `Trace` and `Record`)."""

from __future__ import annotations

from typing import Final

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from converter.errors import TraceError, TruncatedError, too_many_holes
from converter.formats.ir import MAGIC
from converter.formats.ir import messages as pb
from converter.kernels.batches.union import number_rows
from converter.limits import LIMITS, allowed, limit
from converter.storage.compression.unpacked import no_room
from converter.storage.source import Source

VERSION = 1
#: Version of records with the source in place of events, which readers that only read events must reject.
SOURCE_VERSION = 2
#: Field 1 of `Trace`, length-delimited.
_RECORD_TAG = 0x0A
#: The marker at the start of a record's `Place` message (schemas/ir.proto).
MARK: Final = bytes.fromhex("9e74636972018af5")
#: Fields 8 of `Record` and 1 of `Place`, length-delimited.
_PLACE_TAG = 0x42
_MARK_TAG = 0x0A
#: Bytes of the longest `Place` message, with its tag and its length: a marker and six varints.
_PLACE_BYTES: Final = 2 + 2 + len(MARK) + 6 * 11
#: Bytes of the message before its marker, and of the longest record size before the message.
_BEFORE_MARK: Final = 4
_HEAD_BYTES: Final = 11
#: Bytes that are searched at a time.
_BLOCK: Final = 1 << 20
#: zstd's fastest level: the trace is written while it is converted.
LEVEL = 1


def frame(record: bytes) -> bytes:
    """Return a serialized record as stored in a file."""
    return bytes([_RECORD_TAG]) + _varint(len(record)) + record


def compressed(records: pb.Trace, place: pb.Place) -> bytes:
    """Return one compressed framed record that contains others, or the records themselves if they exceed a limit."""
    import zstandard

    # Serialized messages can be concatenated to one message; the `Place` message comes first.
    serialised = records.SerializeToString()
    if len(serialised) > LIMITS["ir.unpacked"].default:
        mark = _place_record(pb.Place(mark=MARK))
        return b"".join(frame(mark + record.SerializeToString()) for record in records.record)
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    record = pb.Record(zstd=compressor.compress(serialised))
    return frame(_place_record(place) + record.SerializeToString())


def _place_record(place: pb.Place) -> bytes:
    return pb.Record(place=place).SerializeToString()


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def record_places(source: Source) -> tuple[list[tuple[int, int]], list[TraceError]]:
    """Return the offset and size of each record's contents, and the damage between or after them.

    After damage, reading continues at the next record with a marker.
    """
    places: list[tuple[int, int]] = []
    damage: list[TraceError] = []
    offset = gaps = searched = 0
    is_marked = False
    while offset < source.size:
        try:
            start, size = _record_at(source, offset)
            marked = is_marked_at(source, start)
            if is_marked and not marked:
                raise TraceError(offset=offset, expected="the mark of a record", found="none")
        except TraceError as error:
            damage.append(error)
            # The previous record may have lost a part, so that its size extends into another one.
            searched = max(searched, places[-1][0] if places else offset + 1)
            following = _next_marked(source, searched)
            if following == offset:
                following = _next_marked(source, offset + 1)
            if following is None:
                break
            gaps += 1
            if gaps > limit("holes"):
                damage.append(too_many_holes(offset))
                break
            searched = following + 1
            damage.append(TraceError("records go on after the damage", offset=following))
            offset = following
            continue
        is_marked = is_marked or marked
        places.append((start, size))
        offset = start + size
    return places, damage


def _record_at(source: Source, offset: int) -> tuple[int, int]:
    """Return the offset and size of the contents of the record at `offset`."""
    head = source.read(offset, _HEAD_BYTES)
    size, length = _size_of(head)
    if not length:
        raise TruncatedError(offset=offset, field="record", expected="its size")
    if head[0] != _RECORD_TAG:
        raise TraceError(offset=offset, expected="a record", found=head)
    if size > limit("ir.record"):
        expected = f"a record of {allowed('ir.record')}"
        raise TraceError(offset=offset, expected=expected, found=size)
    if offset + length + size > source.size:
        found = f"{source.size - offset - length} before the end of the file"
        raise TruncatedError(offset=offset, field="record", expected=f"{size} bytes", found=found)
    return offset + length, size


def _size_of(head: bytes) -> tuple[int, int]:
    """Return the size in a record's first bytes, and the number of these bytes; 0 if the size does not end there."""
    size = 0
    for i, byte in enumerate(head[1:]):
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return size, i + 2
    return size, 0


def is_marked_at(source: Source, start: int) -> bool:
    """Return True if the contents of a record start with a marker."""
    return _is_place(source.read(start, _BEFORE_MARK + len(MARK)))


def _is_place(data: bytes) -> bool:
    return (
        data[_BEFORE_MARK:] == MARK
        and data[0] == _PLACE_TAG
        and data[2:_BEFORE_MARK] == bytes([_MARK_TAG, len(MARK)])
    )


def _next_marked(source: Source, offset: int) -> int | None:
    """Return the offset of the next record with a marker, from an offset on."""
    at = offset
    while block := source.read(at, _BLOCK):
        found = block.find(MARK)
        while found >= 0:
            begin = max(at + found - _BEFORE_MARK - _HEAD_BYTES, offset)
            data = source.read(begin, at + found + len(MARK) - begin)
            start = len(data) - len(MARK) - _BEFORE_MARK
            if start > 0 and _is_place(data[start:]):
                for i in range(start):
                    if data[i] == _RECORD_TAG and _size_of(data[i:start])[1] == start - i:
                        return begin + i
            found = block.find(MARK, found + 1)
        if len(block) < _BLOCK:
            return None
        # A marker may cross the boundary of two blocks.
        at += len(block) - len(MARK) + 1
    return None


def place_of(source: Source, start: int, size: int) -> pb.Place | None:
    """Return the `Place` message of a record, None if it has none.

    Raises:
        TraceError: it is damaged.

    """
    data = source.read(start, min(size, _PLACE_BYTES))
    if not _is_place(data[: _BEFORE_MARK + len(MARK)]):
        return None
    try:
        place = pb.Place.FromString(data[2 : 2 + data[1]])
    except DecodeError as error:
        raise TraceError(str(error), offset=start, field="place") from None
    return place if place.string else None


def parse_record(source: Source, offset: int, size: int) -> list[pb.Record]:
    """Return the record at an offset, or those that it contains.

    Raises:
        TraceError: it is damaged.

    """
    try:
        record = pb.Record.FromString(source.read_exactly(offset, size, field="record"))
        if record.WhichOneof("content") != "zstd":
            return [record]
        return list(pb.Trace.FromString(_decompressed(source, record.zstd, offset)).record)
    except (DecodeError, UnicodeDecodeError) as error:
        # The second error is for invalid UTF-8, where protobuf runs without compiled code.
        raise TraceError(str(error), offset=offset, field="record") from None


def _decompressed(source: Source, data: bytes, offset: int) -> bytes:
    import zstandard

    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= limit("ir.unpacked"):
            expected = allowed("ir.unpacked")
            raise TraceError(offset=offset, field="zstd", expected=expected, found=size)
        if not source.unpacked.take(offset, size):
            raise no_room(offset)
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=limit("ir.unpacked"))
    except zstandard.ZstdError as error:
        raise TraceError(str(error), offset=offset, field="zstd") from None


def parse_header(records: list[pb.Record]) -> pb.Header:
    """Return the header of a file.

    Raises:
        TraceError: there is none, or its version is newer than this reader.

    """
    if not records or records[0].WhichOneof("content") != "header":
        raise TraceError(field="header", expected="a header record")
    header = records[0].header
    if header.magic != MAGIC:
        raise TraceError(field="header.magic", expected=MAGIC, found=header.magic)
    if header.version != VERSION:
        raise TraceError(field="header.version", expected=str(VERSION), found=header.version)
    return header


def rows_in_order(class_id: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the row of each event if those of each class are in stream order."""
    row = np.empty(len(class_id), np.int32)
    counts = np.zeros(int(class_id.max(initial=-1)) + 1, np.int32)
    number_rows(np.ascontiguousarray(class_id), row, counts)
    return row

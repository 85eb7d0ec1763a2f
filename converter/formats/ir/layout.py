"""Records on disk: framing, compression, and where each is (schemas/ir.proto, `Trace` and `Record`)."""

from __future__ import annotations

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from converter.errors import TraceError, TruncatedError
from converter.formats.ir import MAGIC
from converter.formats.ir import messages as pb
from converter.kernels.union import number_rows
from converter.limits import LIMITS, allowed, limit
from converter.storage.source import Source
from converter.storage.unpacked import no_room

VERSION = 1
#: Of records with the source in place of events, which readers of events alone must refuse.
SOURCE_VERSION = 2
#: Field 1 of `Trace`, length-delimited.
_RECORD_TAG = 0x0A
#: zstd's fastest level: the trace is written while it is converted.
LEVEL = 1


def frame(record: bytes) -> bytes:
    """A serialised record as it stands in a file."""
    return bytes([_RECORD_TAG]) + _varint(len(record)) + record


def compressed(records: pb.Trace) -> bytes:
    """One framed record that holds others, compressed; these themselves where they are too large for readers."""
    import zstandard

    serialised = records.SerializeToString()
    if len(serialised) > LIMITS["ir.unpacked"].default:
        return b"".join(frame(record.SerializeToString()) for record in records.record)
    frame_data = zstandard.ZstdCompressor(level=LEVEL).compress(serialised)
    return frame(pb.Record(zstd=frame_data).SerializeToString())


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def record_places(source: Source) -> tuple[list[tuple[int, int]], TraceError | None]:
    """The offset and size of each record's contents, and what is wrong behind the last."""
    places: list[tuple[int, int]] = []
    offset = 0
    while offset < source.size:
        head = source.read(offset, 11)
        size = shift = 0
        length = 1
        for byte in head[1:]:
            length += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        else:
            return places, TruncatedError(offset=offset, field="record", expected="its size")
        if head[0] != _RECORD_TAG:
            return places, TraceError(offset=offset, expected="a record", found=head)
        if size > limit("ir.record"):
            expected = f"a record of {allowed('ir.record')}"
            return places, TraceError(offset=offset, expected=expected, found=size)
        if offset + length + size > source.size:
            found = f"{source.size - offset - length} before the end of the file"
            return places, TruncatedError(
                offset=offset, field="record", expected=f"{size} bytes", found=found
            )
        places.append((offset + length, size))
        offset += length + size
    return places, None


def parse_record(source: Source, offset: int, size: int) -> list[pb.Record]:
    """The records that one is, or holds.

    Raises:
        TraceError: it is damaged.

    """
    try:
        record = pb.Record.FromString(source.read_exactly(offset, size, field="record"))
        if record.WhichOneof("content") != "zstd":
            return [record]
        return list(pb.Trace.FromString(_decompressed(source, record.zstd, offset)).record)
    except (DecodeError, UnicodeDecodeError) as error:
        # The second is what protobuf says of a text that is none where it runs without compiled code.
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
    """The header of a file.

    Raises:
        TraceError: there is none, or it is one of a version from the future.

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
    """The row of each event where those of each class are in the order of the stream."""
    row = np.empty(len(class_id), np.int32)
    counts = np.zeros(int(class_id.max(initial=-1)) + 1, np.int32)
    number_rows(np.ascontiguousarray(class_id), row, counts)
    return row

"""The binary layout of data streams and index files (CTF 1.8.3, 5; lttng-tools, include/lttng/ctf-index.h)."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from converter.errors import TraceError

#: The name of the file that makes a directory a trace.
METADATA_NAME: Final = "metadata"

#: The magic number at the start of a packet's header, in the trace's byte order.
PACKET_MAGIC: Final = 0xC1FC1FC1

#: The directory in which LTTng keeps an index of each stream file, and their suffix.
INDEX_DIRECTORY: Final = "index"
INDEX_SUFFIX: Final = ".idx"
INDEX_MAGIC: Final = 0xC1F1DCC1
_INDEX_HEADER: Final = struct.Struct(">IIII")
_INDEX_ENTRY: Final = struct.Struct(">7Q")
#: Entries of version 1.1 also have the stream's ID and the packet's number in it.
_INDEX_ENTRY_1_1: Final = struct.Struct(">9Q")


class IndexEntry(NamedTuple):
    """A packet, as an index describes it: offset in bytes, sizes in bits, times in the clock's ticks."""

    offset: int
    length: int
    content: int
    begin: int
    end: int
    discarded: int
    stream_class: int
    stream: int | None = None
    sequence: int | None = None


def parse_index(data: bytes) -> list[IndexEntry]:
    """Return the entries of an index file.

    Raises:
        TraceError: it is not an index of version 1, or its last entry is incomplete.

    """
    if len(data) < _INDEX_HEADER.size:
        raise TraceError(field="index", expected="a header of 16 bytes", found=len(data))
    magic, major, minor, size = _INDEX_HEADER.unpack_from(data)
    if magic != INDEX_MAGIC or major != 1:
        raise TraceError(
            offset=0,
            field="index",
            expected=f"magic number {INDEX_MAGIC:#x}, version 1",
            found=f"{magic:#x}, {major}.{minor}",
        )
    if size < _INDEX_ENTRY.size:
        raise TraceError(
            offset=12, field="index", expected="entries of 56 bytes or more", found=size
        )
    if (len(data) - _INDEX_HEADER.size) % size:
        raise TraceError("the last entry is cut off", offset=len(data), field="index")
    entry = _INDEX_ENTRY_1_1 if size >= _INDEX_ENTRY_1_1.size else _INDEX_ENTRY
    return [
        IndexEntry(*entry.unpack_from(data, offset))
        for offset in range(_INDEX_HEADER.size, len(data), size)
    ]


def build_index(entries: list[IndexEntry]) -> bytes:
    """Return an index file of version 1.1.

    Raises:
        ValueError: an entry lacks stream or sequence number.

    """
    parts = [_INDEX_HEADER.pack(INDEX_MAGIC, 1, 1, _INDEX_ENTRY_1_1.size)]
    for entry in entries:
        if entry.stream is None or entry.sequence is None:
            raise ValueError("entries of version 1.1 have a stream and a sequence number")
        parts.append(_INDEX_ENTRY_1_1.pack(*entry))
    return b"".join(parts)

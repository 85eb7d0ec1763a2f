"""Data that perf.data has no place for, in a feature of this converter's own at the end of the file.

perf and other readers skip features that they do not know. The feature consists of chunks:

    ATTRIBUTES   the attributes, each with the section of its ids, and then all ids: they are known only in the end, and
                 Perfetto's importer wants the last feature to end the file
    TABLES       the processes, threads, clocks and environment, and the classes of events by their ids: JSON
    FRAMES       the frames of addresses, ascending: an array of `FRAME_TYPE`
    TEXTS        the texts of frames: their number, their sizes (32 bits each), and they themselves
    PAYLOAD      an embedded trace (see `embedding`)

All is little-endian. A file with this feature has samples and lost events; its other records say for viewers what is in
TABLES and FRAMES.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, unique
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.side_table import SideTable, side_table_form, side_table_of
from converter.ir.table_forms import DAMAGE
from converter.ir.trace import Trace

#: The bit of the feature: perf has the first ones, simpleperf those from 128 on.
OWN_FEATURE: Final = 240
#: simpleperf's feature with the symbols of files, of which Perfetto's importer takes names of functions.
SYMBOLS_FEATURE: Final = 132
#: Before a chunk: its type, a reserved number, and the size of the data.
CHUNK: Final = struct.Struct("<IIQ")
_VERSION: Final = 1
#: A frame: the address in samples, and the members of `timeline_fields.FRAME`; texts are numbers in TEXTS.
FRAME_TYPE: Final = np.dtype(
    [
        ("address", "<u8"),
        ("rel_pc", "<u8"),
        ("function", "<u4"),
        ("mapping", "<u4"),
        ("source", "<u4"),
        ("line", "<u4"),
    ]
)


@unique
class Chunk(IntEnum):
    """The types of chunks."""

    ATTRIBUTES = 1
    TABLES = 2
    FRAMES = 3
    TEXTS = 4
    PAYLOAD = 5


@dataclass(frozen=True, slots=True)
class SampleEvent:
    """The class of samples with some id: its name and category, and the unit of weights."""

    name: str
    category: str
    unit: str


@dataclass(slots=True)
class OwnTables:
    """The contents of the feature."""

    table: SideTable
    #: By id: classes of samples.
    events: dict[int, SampleEvent]
    frames: NDArray[np.void] = field(default_factory=lambda: np.zeros(0, FRAME_TYPE))
    texts: list[bytes] = field(default_factory=list)


def chunk(kind: Chunk, data: bytes) -> bytes:
    """Return a chunk."""
    return CHUNK.pack(kind, 0, len(data)) + data


def print_tables(trace: Trace, numbers: Sequence[int], events: dict[int, SampleEvent]) -> bytes:
    """Return chunk TABLES of a trace; `numbers` are the tids of threads in records."""
    content = {
        "version": _VERSION,
        **side_table_form(trace, numbers),
        "events": [[id, one.name, one.category, one.unit] for id, one in events.items()],
    }
    return chunk(Chunk.TABLES, json.dumps(content, separators=(",", ":")).encode("ascii"))


def print_frames(frames: NDArray[np.void], texts: Sequence[bytes]) -> bytes:
    """Return chunks FRAMES and TEXTS."""
    sizes = np.array([len(text) for text in texts], "<u4")
    data = struct.pack("<I", len(texts)) + sizes.tobytes() + b"".join(texts)
    return chunk(Chunk.FRAMES, frames.tobytes()) + chunk(Chunk.TEXTS, data)


def parse_own_feature(data: bytes, offset: int = 0) -> OwnTables:
    """Return the contents of the feature but attributes and payload.

    Args:
        data: the feature's bytes.
        offset: where they are in the file, for errors.

    Raises:
        TraceError: it is damaged.

    """
    chunks = _chunks(data, offset)
    try:
        content = json.loads(chunks[Chunk.TABLES])
        if content["version"] != _VERSION:
            raise ValueError("a version that is not known")
        own = OwnTables(side_table_of(content, numbered=True), _events(content["events"]))
        own.frames = np.frombuffer(chunks.get(Chunk.FRAMES, b""), FRAME_TYPE)
        own.texts = _texts(chunks.get(Chunk.TEXTS, bytes(4)))
    except (*DAMAGE, struct.error) as error:
        raise TraceError(f"not the tables of a trace: {error}", offset=offset) from error
    numbers = [own.frames[name] for name in ("function", "mapping", "source")]
    if any(bool((number >= len(own.texts)).any()) for number in numbers):
        raise TraceError("a frame with a text that there is not", offset=offset)
    address = own.frames["address"]
    if (address[1:] <= address[:-1]).any():
        raise TraceError("frames are not in the order of their addresses", offset=offset)
    return own


def is_own(features: dict[int, bytes]) -> bool:
    """Return True if a file with these features was written by this converter."""
    return OWN_FEATURE in features


def _chunks(data: bytes, offset: int) -> dict[int, bytes]:
    """Return the chunks by their type, the first of each; the last may be cut off."""
    found: dict[int, bytes] = {}
    at = 0
    while at + CHUNK.size <= len(data):
        kind, _, size = CHUNK.unpack_from(data, at)
        at += CHUNK.size
        if kind != Chunk.PAYLOAD and size > len(data) - at:
            expected = f"at most {len(data) - at}"
            raise TraceError(offset=offset + at, field="chunk.size", expected=expected, found=size)
        found.setdefault(kind, data[at : at + size])
        at += size
    return found


def _events(forms: list[list[Any]]) -> dict[int, SampleEvent]:
    events = {}
    for id, *texts in forms:
        if not isinstance(id, int) or not all(isinstance(text, str) for text in texts):
            raise ValueError("an event without an id or a name")
        events[id] = SampleEvent(*texts)
    return events


def _texts(data: bytes) -> list[bytes]:
    (count,) = struct.unpack_from("<I", data)
    if 4 * count > len(data) - 4:
        raise ValueError("more texts than there is room for")
    ends = np.cumsum(np.frombuffer(data, "<u4", count, 4), dtype=np.int64) + 4 + 4 * count
    if count and ends[-1] > len(data):
        raise ValueError("texts are cut off")
    starts = [4 + 4 * count, *ends.tolist()]
    return [data[starts[i] : starts[i + 1]] for i in range(count)]

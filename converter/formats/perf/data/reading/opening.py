"""The header of a recording: its events and features, and where its records are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from converter.errors import TraceError, TraceWarning, TruncatedError, note
from converter.formats.ftrace.layout import parse
from converter.formats.perf.data import MAGIC_1, MAGIC_2, MAGIC_2_BIG
from converter.formats.perf.data.attributes import Attribute
from converter.formats.perf.data.layout import (
    ATTRIBUTE_SIZES,
    FEATURE_BITS,
    FILE_HEADER_SIZE,
    PIPE_HEADER_SIZE,
    Feature,
    layouts,
)
from converter.limits import allowed, limit
from converter.storage.source import Source

_MAGIC_SIZE: Final = 8
_SECTION_SIZE: Final = 16
#: The header of the first version of the format, without features.
_OLD_HEADER_SIZE: Final = FILE_HEADER_SIZE - FEATURE_BITS // 8


@dataclass(frozen=True, slots=True)
class SampledEvent:
    """An event of a recording: its attribute, the numbers by which samples refer to it, its name if stored."""

    attribute: Attribute
    ids: tuple[int, ...]
    name: str = ""

    def as_values(self) -> dict[str, Any]:
        """Return it as in the sidecar."""
        return {"attr": self.attribute.data, "ids": list(self.ids), "name": self.name}


@dataclass(slots=True)
class PerfFile:
    """A recording: the header of a file, or what records of a pipe say in its place.

    The records are from `start` to `end`.
    """

    source: Source
    version: int
    big_endian: bool
    pipe: bool
    start: int
    end: int
    events: list[SampledEvent] = field(default_factory=list)
    #: By bit.
    features: dict[int, bytes] = field(default_factory=dict)
    #: The bytes of what version 1 has in place of tracing data.
    event_types: bytes = b""
    warnings: list[TraceWarning] = field(default_factory=list)
    #: What `take` has let through, in bytes.
    taken: int = 0
    #: In a directory, the files with the records of each thread of perf.
    parts: list[PerfFile] = field(default_factory=list)

    def warn(self, error: TraceError) -> None:
        """Keep an error that prevents reading only a part as a warning."""
        note(self.warnings, error.within(format="perf", path=self.source.name).to_warning())

    def take(self, size: int, offset: int, name: str) -> None:
        """Count bytes of the header that stay in memory; TraceError if they are too many."""
        self.taken += size
        if self.taken > limit("perf.header"):
            raise TraceError(
                offset=offset, field=name, expected=allowed("perf.header"), found=self.taken
            )

    def add_feature(self, bit: int, data: bytes) -> None:
        """Add a feature, and the names of events if it has them."""
        self.features[bit] = data
        if bit == Feature.EVENT_DESC:
            try:
                for number, name in enumerate(_event_names(data, big_endian=self.big_endian)):
                    if number < len(self.events):
                        self.events[number] = replace(self.events[number], name=name)
            except TraceError as error:
                self.warn(error.within(field="EVENT_DESC"))

    def text(self, feature: Feature) -> str:
        """Return the text of a feature, empty if there is none."""
        data = self.features.get(feature, b"")
        try:
            text: bytes = layouts(self.big_endian).text.parse(data)
        except ValueError:
            return ""
        return text.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def open_recording(source: Source) -> PerfFile:
    """Read the header of a recording, which may be a directory.

    Raises:
        TraceError: it is none, or its events are damaged.

    """
    if not source.is_directory:
        return open_file(source)
    file = open_file(source.open("data"))
    names = [name for name in source.listdir() if re.fullmatch(r"data\.[0-9]{1,9}", name)]
    if len(names) > limit("folder-files"):
        expected = allowed("folder-files")
        raise TraceError(field="data.*", expected=expected, found=f"{len(names):,}")
    for name in sorted(names, key=lambda name: int(name[5:])):
        part = source.open(name)
        file.parts.append(replace(file, source=part, start=0, end=part.size, parts=[]))
    return file


def open_file(source: Source) -> PerfFile:
    """Read the header of a recording.

    Raises:
        TraceError: it is none, or its events are damaged.

    """
    magic = source.read_exactly(0, _MAGIC_SIZE, field="magic")
    if magic == MAGIC_1:
        head = source.read_exactly(_MAGIC_SIZE, 8, field="header.size")
        # The magic number is the same in both byte orders, so the size of the header tells.
        big_endian = int.from_bytes(head, "little") > 1 << 16
        version = 1
    elif magic in (MAGIC_2, MAGIC_2_BIG):
        big_endian = magic == MAGIC_2_BIG
        version = 2
    else:
        raise TraceError(offset=0, field="magic", expected=repr(MAGIC_2), found=repr(magic))
    size = layouts(big_endian).u64.parse(source.read_exactly(8, 8, field="header.size"))
    if size == PIPE_HEADER_SIZE:
        return PerfFile(source, version, big_endian, True, PIPE_HEADER_SIZE, source.size)
    if size not in (FILE_HEADER_SIZE, _OLD_HEADER_SIZE):
        expected = f"{PIPE_HEADER_SIZE}, {_OLD_HEADER_SIZE} or {FILE_HEADER_SIZE}"
        raise TraceError(offset=8, field="header.size", expected=expected, found=size)
    data = source.read_exactly(_MAGIC_SIZE, size - _MAGIC_SIZE, field="header")
    data += bytes(FILE_HEADER_SIZE - size)
    header = parse(layouts(big_endian).file_header, data, _MAGIC_SIZE, "header")
    start, length = header.data.offset, header.data.size
    if start > source.size or start % 8:
        expected = f"a multiple of 8 up to {source.size}"
        raise TraceError(offset=48, field="header.data.offset", expected=expected, found=start)
    file = PerfFile(source, version, big_endian, False, start, min(start + length, source.size))
    if not length:
        file.end = source.size
        file.warn(TraceError("perf did not end it: the header is without sizes", offset=56))
    elif start + length > source.size:
        found = f"{source.size - start} before the end of the file"
        expected = f"{length} bytes of records"
        file.warn(TruncatedError(offset=start, field="data", expected=expected, found=found))
    _read_events(file, header)
    if length:
        _read_features(file, header.features, start + length)
    types = header.event_types
    if types.size and types.size <= source.size:
        file.take(types.size, types.offset, "event_types")
        file.event_types = source.read(min(types.offset, source.size), types.size)
    return file


def _read_events(file: PerfFile, header: Any) -> None:
    layout = layouts(file.big_endian)
    size, section = header.attr_size, header.attrs
    if not ATTRIBUTE_SIZES[0] + _SECTION_SIZE <= size <= 1 << 12 or size % 8:
        expected = f"{ATTRIBUTE_SIZES[0] + _SECTION_SIZE} to 4096"
        raise TraceError(offset=16, field="header.attr_size", expected=expected, found=size)
    count = section.size // size
    if count > limit("perf.events"):
        expected = allowed("perf.events")
        raise TraceError(offset=32, field="header.attrs.size", expected=expected, found=count)
    data = file.source.read_exactly(min(section.offset, 1 << 62), count * size, field="attrs")
    left = limit("perf.ids")
    for number in range(count):
        at = number * size
        offset = section.offset + at
        attribute = Attribute.parse(
            data[at : at + size - _SECTION_SIZE], offset, big_endian=file.big_endian
        )
        ids = parse(layout.section, data[at + size - _SECTION_SIZE : at + size], offset, "ids")
        left -= ids.size // 8
        if ids.size > file.source.size or left < 0:
            expected = f"at most {file.source.size} bytes, and {allowed('perf.ids')} of all events"
            raise TraceError(offset=offset, field="ids.size", expected=expected, found=ids.size)
        found = file.source.read_exactly(min(ids.offset, 1 << 62), ids.size // 8 * 8, field="ids")
        file.events.append(SampledEvent(attribute, numbers(found, big_endian=file.big_endian)))


def numbers(data: bytes, *, big_endian: bool) -> tuple[int, ...]:
    """Return the 64-bit numbers in bytes; what is left over is dropped."""
    whole = data[: len(data) // 8 * 8]
    return tuple(np.frombuffer(whole, ">u8" if big_endian else "<u8").tolist())


def _read_features(file: PerfFile, words: list[int], at: int) -> None:
    """Read the features that are after the records; those that are cut off are left out."""
    bits = [bit for bit in range(FEATURE_BITS) if words[bit // 64] >> bit % 64 & 1]
    try:
        table = file.source.read_exactly(
            min(at, 1 << 62), _SECTION_SIZE * len(bits), field="features"
        )
    except TraceError as error:
        file.warn(error)
        return
    layout = layouts(file.big_endian).section
    for number, bit in enumerate(bits):
        offset = at + _SECTION_SIZE * number
        section = parse(layout, table[_SECTION_SIZE * number :], offset, "features")
        name = feature_name(bit)
        try:
            if section.size > file.source.size:
                expected = f"at most {file.source.size} bytes"
                raise TraceError(offset=offset, field=name, expected=expected, found=section.size)
            file.take(section.size, offset, name)
            data = file.source.read_exactly(min(section.offset, 1 << 62), section.size, field=name)
            file.add_feature(bit, data)
        except TraceError as error:
            file.warn(error)


def feature_name(bit: int) -> str:
    """Return the name of a feature, for messages."""
    return next((known.name for known in Feature if known == bit), f"feature {bit}")


def _event_names(data: bytes, *, big_endian: bool) -> Iterator[str]:
    """Yield the names in EVENT_DESC, in the order of the events."""
    layout = layouts(big_endian)
    head = parse(layout.event_description, data[:8], 0, "count")
    at = 8
    for _ in range(min(head.count, limit("perf.events"))):
        at += head.attr_size
        counts = data[at : at + 8]
        if len(counts) < 8:
            raise TruncatedError(offset=at, field="name", expected="more data")
        size = layout.u32.parse(counts[4:])
        text = data[at + 8 : at + 8 + size]
        yield text.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        at += 8 + size + 8 * layout.u32.parse(counts[:4])

"""The parts of a trace.dat file, of whichever version: header, options, sections, and where each CPU's data is."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from converter.errors import TraceError, TraceWarning, TruncatedError, note
from converter.formats.trace_cmd.compression import Decompress
from converter.formats.trace_cmd.layout import (
    COMPRESSED,
    SECTION_HEADER_SIZE,
    Layouts,
    SectionId,
    layouts,
    parse,
)
from converter.limits import allowed
from converter.limits import limit as limit_of
from converter.storage.source import Source
from converter.storage.unpacked import no_room


@dataclass(frozen=True, slots=True)
class Section:
    """A section: `size` bytes at `offset`, after its header. Version 6 has the same parts without headers.

    ``bytes(section)`` reads and decompresses its data. `description` is the string that its header names.
    """

    file: TraceFile = field(repr=False, compare=False)
    id: int
    flags: int
    string_id: int
    offset: int
    size: int

    def __bytes__(self) -> bytes:
        """The section's data, uncompressed; TraceError where it is damaged."""
        name = section_name(self.id)
        raw = self.stored()
        if not self.flags & COMPRESSED:
            return raw
        layout = self.file.layout
        head = parse(layout.compressed_header, raw[:8], self.offset, name)
        if head.compressed_size > len(raw) - 8:
            raise TraceError(
                offset=self.offset,
                field=f"{name}.compressed_size",
                expected=f"at most {len(raw) - 8}",
                found=head.compressed_size,
            )
        if self.file.decompress is None:
            raise TraceError(
                "a compressed section in a file without compression",
                offset=self.offset,
                field=name,
            )
        try:
            data = memoryview(raw)[8 : 8 + head.compressed_size]
            return self.file.unpack(self.offset, data, head.uncompressed_size, self.file.decompress)
        except TraceError as error:
            raise error.within(field=name, base=self.offset) from error

    def stored(self) -> bytes:
        """The section's data as the file has it; TraceError where it is cut off."""
        name = section_name(self.id)
        return self.file.source.read_exactly(self.offset, self.size, field=name)

    @property
    def description(self) -> bytes:
        """The text that the section's header names in the STRINGS sections, empty if none."""
        return self.file.string(self.string_id)


class CpuData(NamedTuple):
    """Where one CPU's pages are. Of compressed data the size is not to be trusted, but it ends before `limit`."""

    cpu: int
    offset: int
    size: int
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer of ring-buffer pages (the top one has no name), or of text as the kernel's `trace` file gives it."""

    name: bytes
    clock: bytes
    page_size: int
    compressed: bool
    cpus: tuple[CpuData, ...] = ()
    text: Section | None = None


@dataclass(slots=True)
class TraceFile:
    """An opened file: everything that is not events, the large parts still unread.

    `options` are (id, data) in the order of the file, over all options sections, without the DONEs.
    """

    source: Source
    version: int
    big_endian: bool
    long_size: int
    page_size: int
    compression: bytes = b"none"
    compression_version: bytes = b""
    decompress: Decompress | None = None
    options: list[tuple[int, bytes]] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    #: The number of CPUs that version 6 states in front of its options.
    cpu_count: int | None = None
    #: Where a CPU's chunks begin and end, and how many they are, by where its data begins; once all were found.
    extents: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    #: By how much things stand earlier than the file says, behind pieces of it that were lost.
    moved: set[int] = field(default_factory=set)
    warnings: list[TraceWarning] = field(default_factory=list)

    def unpack(
        self, offset: int, data: bytes | memoryview, size: int, decompress: Decompress
    ) -> bytes:
        """What stands compressed at an offset; TraceErrors count from there."""
        if size > limit_of("trace_cmd.section"):
            expected = allowed("trace_cmd.section")
            raise TraceError(offset=0, field="uncompressed_size", expected=expected, found=size)
        if not self.source.unpacked.take(offset, size):
            raise no_room(0)
        return decompress(data, size)

    def may_unpack(self, what: Hashable, size: int, largest: int) -> bool:
        """Whether `unpack` refuses nothing of what becomes so large in all, and the largest of it alone."""
        return largest <= limit_of("trace_cmd.section") and self.source.unpacked.take(what, size)

    _strings: bytes | None = None

    @property
    def layout(self) -> Layouts:
        """The structures in the file's byte order."""
        return layouts(self.big_endian)

    def section(self, id: SectionId) -> Section | None:
        """The first section of this kind."""
        return next((section for section in self.sections if section.id == id), None)

    def string(self, string_id: int) -> bytes:
        """A string of the STRINGS sections, which are taken as one."""
        if self._strings is None:
            parts = []
            for section in self.sections:
                if section.id == SectionId.STRINGS:
                    try:
                        parts.append(bytes(section))
                    except TraceError as error:
                        self.warn(error)
            self._strings = b"".join(parts)
        end = self._strings.find(b"\0", string_id)
        return self._strings[string_id:end] if 0 <= string_id < end else b""

    def warn(self, error: TraceError) -> None:
        """Keep as a warning what prevents reading a part only."""
        warning = error.within(format="trace_cmd", path=self.source.name).to_warning()
        note(self.warnings, warning)


def is_page_size(page_size: int) -> bool:
    """Whether a ring buffer can have pages of this size; the kernel's sub-buffers have 4 KiB to some MiB."""
    return 64 <= page_size <= 1 << 24


def check_page_size(page_size: int) -> None:
    """TraceError for a size that no ring buffer can have."""
    if not is_page_size(page_size):
        raise TraceError(field="page_size", expected="64 bytes to 16 MiB", found=page_size)


def section_name(id: int) -> str:
    """The name of a kind of section, for messages."""
    return next((known.name for known in SectionId if known == id), f"section {id}")


def settle_cpu_data(file: TraceFile) -> None:
    """Set each CPU's limit to where the data after it begins, and leave out what is empty or not in the file.

    Data that overlapped would let a small file describe endless pages.
    """
    spans = [data for buffer in file.buffers for data in buffer.cpus if data.size]
    places = {data.offset for data in spans}
    if file.moved:
        # Of sections it is known where they have moved to.
        places.update(section.offset - SECTION_HEADER_SIZE for section in file.sections)
    starts = sorted(place for place in places if place < file.source.size)
    limits = dict(zip(starts, [*starts[1:], file.source.size], strict=True)) if starts else {}
    most_cpus = limit_of("trace_cmd.cpus")
    for i, buffer in enumerate(file.buffers):
        cpus = []
        for data in buffer.cpus:
            if not data.size:
                continue
            limit = limits.pop(data.offset, None)
            if data.cpu >= most_cpus:
                expected, found = allowed("trace_cmd.cpus"), data.cpu
                file.warn(
                    TraceError(offset=data.offset, field="cpu", expected=expected, found=found)
                )
                continue
            if limit is None:
                file.warn(
                    TraceError(
                        offset=data.offset,
                        field=f"buffer.cpu {data.cpu}",
                        expected="data of its own within the file",
                    )
                )
                continue
            there = data.size if buffer.compressed else min(data.size, limit - data.offset)
            if there < data.size:
                file.warn(
                    TruncatedError(
                        offset=limit,
                        field=f"buffer.cpu {data.cpu}",
                        expected=f"{data.size} bytes",
                        found=f"{there} before other data or the end of the file",
                    )
                )
            cpus.append(CpuData(data.cpu, data.offset, there, limit))
        file.buffers[i] = replace(buffer, cpus=tuple(cpus))

"""A recording of Linux ftrace in files: the kernel's texts, and the location of each CPU's pages."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from converter.errors import TraceError, TraceWarning, note
from converter.formats.ftrace.layout import (
    COMPRESSED,
    RecordingLayouts,
    SectionId,
    parse,
    recording_layouts,
)
from converter.formats.ftrace.ring_buffer.compression import Decompress
from converter.limits import allowed
from converter.limits import limit as limit_of
from converter.storage.compression.unpacked import no_room
from converter.storage.source import Source


@dataclass(frozen=True, slots=True)
class Section:
    """A section: `size` bytes at `offset`, after its header. Version 6 has the same parts without headers.

    ``bytes(section)`` reads and decompresses its data. `description` is the string that its header names.
    """

    file: Recording = field(repr=False, compare=False)
    id: int
    flags: int
    string_id: int
    offset: int
    size: int

    def __bytes__(self) -> bytes:
        """Return the section's data, uncompressed; TraceError where it is damaged."""
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
        """Return the section's data as stored; TraceError where it is cut off."""
        name = section_name(self.id)
        return self.file.source.read_exactly(self.offset, self.size, field=name)


class CpuData(NamedTuple):
    """The location of one CPU's pages. The size of compressed data is unreliable, but it ends before `limit`."""

    cpu: int
    offset: int
    size: int
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer of ring-buffer pages (the top one has no name), or of text as in the kernel's `trace` file."""

    name: bytes
    clock: bytes
    page_size: int
    compressed: bool
    cpus: tuple[CpuData, ...] = ()
    text: Section | None = None


@dataclass(slots=True, kw_only=True)
class Recording:
    """The parts of a recording that readers of pages and event formats need; the large parts are still unread.

    `format` names the format that stores it, for warnings.
    """

    format: str
    source: Source
    big_endian: bool
    long_size: int
    page_size: int
    compression: bytes = b"none"
    decompress: Decompress | None = None
    sections: list[Section] = field(default_factory=list)
    #: Start, end and number of a CPU's chunks by the offset of its data, once all chunks were found.
    extents: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    warnings: list[TraceWarning] = field(default_factory=list)

    def unpack(
        self, offset: int, data: bytes | memoryview, size: int, decompress: Decompress
    ) -> bytes:
        """Decompress the data of an offset; offsets of TraceErrors are relative to it."""
        if size > limit_of("trace_cmd.section"):
            expected = allowed("trace_cmd.section")
            raise TraceError(offset=0, field="uncompressed_size", expected=expected, found=size)
        if not self.source.unpacked.take(offset, size):
            raise no_room(0)
        return decompress(data, size)

    def may_unpack(self, what: Hashable, size: int, largest: int) -> bool:
        """Return True if `unpack` would refuse none of the data with this total decompressed size and largest item."""
        return largest <= limit_of("trace_cmd.section") and self.source.unpacked.take(what, size)

    @property
    def layout(self) -> RecordingLayouts:
        """The structures in the file's byte order."""
        return recording_layouts(self.big_endian)

    def section(self, id: SectionId) -> Section | None:
        """Return the first section of this kind."""
        return next((section for section in self.sections if section.id == id), None)

    def warn(self, error: TraceError) -> None:
        """Keep an error that prevents reading only a part as a warning."""
        warning = error.within(format=self.format, path=self.source.name).to_warning()
        note(self.warnings, warning)


def is_page_size(page_size: int) -> bool:
    """Return True if a ring buffer can have pages of this size; the kernel's sub-buffers have 4 KiB to some MiB."""
    return 64 <= page_size <= 1 << 24


def check_page_size(page_size: int) -> None:
    """Raise TraceError for a page size that no ring buffer can have."""
    if not is_page_size(page_size):
        raise TraceError(field="page_size", expected="64 bytes to 16 MiB", found=page_size)


def section_name(id: int) -> str:
    """Return the name of a kind of section, for messages."""
    return next((known.name for known in SectionId if known == id), f"section {id}")

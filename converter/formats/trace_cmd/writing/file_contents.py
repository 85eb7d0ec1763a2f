"""The contents of a file to be written, for either version; the two containers arrange the parts differently."""

from __future__ import annotations

from dataclasses import dataclass, field

from converter.formats.ftrace.layout import SectionId
from converter.formats.ftrace.ring_buffer.page_data import PageData
from converter.formats.trace_cmd.layout import OptionId

#: The metadata that both versions have, in the order of version 6.
METADATA = (
    SectionId.HEADER_INFO,
    SectionId.FTRACE_EVENTS,
    SectionId.EVENT_FORMATS,
    SectionId.KALLSYMS,
    SectionId.PRINTK,
    SectionId.CMDLINES,
)


@dataclass(slots=True)
class SectionContents:
    """A section's data, uncompressed, and the fields of its header.

    `packed` is the data as stored in a file of the same compression and byte order; remove it if `data` changes.
    """

    id: int
    data: bytes
    description: bytes = b""
    compressed: bool = True
    packed: bytes = b""


@dataclass(slots=True)
class BufferContents:
    """A buffer: its pages by CPU, or its text. The top buffer has no name.

    `clock` is the name in version 7, `clock_text` its text in version 6, "[name]" if it is empty.
    """

    name: bytes = b""
    clock: bytes = b""
    clock_text: bytes = b""
    page_size: int = 4096
    cpus: dict[int, PageData] = field(default_factory=dict)
    text: bytes | None = None
    description: bytes = b""


@dataclass(slots=True)
class OptionContents:
    """An option: its data, or the section or buffer whose offset it has in version 7."""

    id: int
    data: bytes = b""
    section: SectionContents | None = None
    buffer: BufferContents | None = None


@dataclass(slots=True)
class FileContents:
    """All of a file. `options` are in their order, with one for each section and buffer that version 7 has options for.

    `sections` are all sections but options, strings and buffers, in their order; `cpu_count` is written in version 6.
    """

    big_endian: bool
    long_size: int
    page_size: int
    compression: bytes
    compression_version: bytes
    options: list[OptionContents] = field(default_factory=list)
    sections: list[SectionContents] = field(default_factory=list)
    cpu_count: int = 0

    @property
    def buffers(self) -> list[BufferContents]:
        """The buffers, in the order of their options."""
        return [option.buffer for option in self.options if option.buffer is not None]

    def section(self, id: SectionId) -> SectionContents | None:
        """Return the first section of this kind."""
        return next((section for section in self.sections if section.id == id), None)

    def add_section(self, id: SectionId, data: bytes, description: bytes) -> None:
        """Add a section and the option that leads to it."""
        section = SectionContents(id, data, description)
        self.sections.append(section)
        self.options.append(OptionContents(int(id), section=section))

    def add_buffer(self, buffer: BufferContents) -> None:
        """Add a buffer and the option that leads to it."""
        id = OptionId.BUFFER if buffer.text is None else OptionId.BUFFER_TEXT
        self.options.append(OptionContents(int(id), buffer=buffer))

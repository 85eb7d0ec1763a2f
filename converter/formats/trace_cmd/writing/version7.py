"""Writes version 7 of the container: sections one after the other, the strings and options last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from converter.formats.ftrace.layout import COMPRESSED, SectionId
from converter.formats.ftrace.ring_buffer.compressor import Compress, compressor
from converter.formats.trace_cmd.layout import HEADER_START, OptionId, layouts
from converter.formats.trace_cmd.writing.file_contents import (
    BufferContents,
    FileContents,
    OptionContents,
    SectionContents,
)
from converter.storage.sink import Sink

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

_SECTION_HEADER_SIZE = 16
#: Text is compressed in chunks of this size, as pages are in chunks of ten.
_TEXT_CHUNK = 1 << 16
_NO_STRING = 0xFFFFFFFF


def write_version_7(contents: FileContents, sink: Sink) -> None:
    """Write a file of version 7."""
    _Output(contents, sink).write()


class _Output:
    """One file: offsets are determined first, so that it is written from its beginning to its end."""

    def __init__(self, contents: FileContents, sink: Sink) -> None:
        self._contents = contents
        self._sink = sink
        self._layout = layouts(contents.big_endian)
        self._compress = compressor(contents.compression)
        self._strings = bytearray()
        self._string_ids: dict[bytes, int] = {}
        #: The output in order: the parts of an iterator fill exactly the bytes that were reserved.
        self._pieces: list[bytes | Iterator[Buffer]] = []
        self._at = 0

    def write(self) -> None:
        start = HEADER_START.build(
            {
                "version": "7",
                "big_endian": int(self._contents.big_endian),
                "long_size": self._contents.long_size,
            }
        )
        header = {
            "page_size": self._contents.page_size,
            "compression": self._contents.compression,
            "compression_version": self._contents.compression_version,
            "options_offset": 0,
        }
        self._at = len(start) + len(self._layout.header_end.build(header))
        section_offsets = {
            id(section): self._add_section(section) for section in self._contents.sections
        }
        buffer_options = {id(buffer): self._add_buffer(buffer) for buffer in self._contents.buffers}
        options = b"".join(
            self._option(option, section_offsets, buffer_options)
            for option in self._contents.options
        )
        description = self._string(b"options")
        if self._strings:
            self._add(self._section_header(SectionId.STRINGS, 0, _NO_STRING, len(self._strings)))
            self._add(bytes(self._strings))
        header["options_offset"] = self._at
        # Unlike in version 6, the last option has data: the offset of the next options, 0 if there are none.
        options += self._packed_option(OptionId.DONE, bytes(8))
        self._add(self._section_header(SectionId.OPTIONS, 0, description, len(options)))
        self._add(options)
        self._sink.write(start + self._layout.header_end.build(header))
        for piece in self._pieces:
            if isinstance(piece, bytes):
                self._sink.write(piece)
                continue
            for part in piece:
                self._sink.write(part)

    def _add(self, data: bytes) -> None:
        self._pieces.append(data)
        self._at += len(data)

    def _section_header(self, id: int, flags: int, string_id: int, size: int) -> bytes:
        built: bytes = self._layout.section_header.build(
            {"id": id, "flags": flags, "string_id": string_id, "size": size}
        )
        return built

    def _string(self, text: bytes) -> int:
        """Return the offset of a string among the strings; a new one is added."""
        if not text:
            return _NO_STRING
        if text not in self._string_ids:
            self._string_ids[text] = len(self._strings)
            self._strings += text + b"\0"
        return self._string_ids[text]

    def _add_section(self, section: SectionContents) -> int:
        offset = self._at
        data, flags = section.data, 0
        if section.compressed and self._compress is not None and data:
            data, flags = section.packed or self._chunk(data, self._compress), COMPRESSED
        string = self._string(section.description)
        self._add(self._section_header(section.id, flags, string, len(data)))
        self._add(data)
        return offset

    def _chunk(self, data: bytes, compress: Compress) -> bytes:
        packed = compress(data)
        header: bytes = self._layout.compressed_header.build(
            {"compressed_size": len(packed), "uncompressed_size": len(data)}
        )
        return header + packed

    def _add_buffer(self, buffer: BufferContents) -> bytes:
        """Lay out a buffer and return the data of its option."""
        if buffer.text is not None:
            return self._add_text(buffer, buffer.text)
        offset = self._at
        page = buffer.page_size
        starts = []
        end = offset + _SECTION_HEADER_SIZE
        for cpu, pages in buffer.cpus.items():
            # The data of each CPU starts at a page's boundary, compressed or not.
            start = -(-end // page) * page
            starts.append({"cpu": cpu, "offset": start, "size": pages.size})
            end = start + pages.size
        flags = COMPRESSED if self._compress is not None else 0
        string = self._string(buffer.description)
        size = end - offset - _SECTION_HEADER_SIZE
        self._add(self._section_header(SectionId.BUFFER, flags, string, size))
        for entry, pages in zip(starts, buffer.cpus.values(), strict=True):
            self._add(bytes(entry["offset"] - self._at))
            self._pieces.append(pages.parts())
            self._at += pages.size
        built: bytes = self._layout.buffer_option.build(
            {
                "offset": offset,
                "name": buffer.name,
                "clock": buffer.clock,
                "page_size": buffer.page_size,
                "cpus": starts,
            }
        )
        return built

    def _add_text(self, buffer: BufferContents, text: bytes) -> bytes:
        offset = self._at
        flags = 0
        if self._compress is not None:
            flags = COMPRESSED
            chunks = [text[i : i + _TEXT_CHUNK] for i in range(0, len(text), _TEXT_CHUNK)]
            packed = [self._chunk(chunk, self._compress) for chunk in chunks]
            text = self._layout.u32.build(len(chunks)) + b"".join(packed)
        string = self._string(buffer.description)
        self._add(self._section_header(SectionId.BUFFER_TEXT, flags, string, len(text)))
        self._add(text)
        built: bytes = self._layout.text_buffer_option.build(
            {"offset": offset, "name": buffer.name, "clock": buffer.clock}
        )
        return built

    def _option(
        self, option: OptionContents, sections: dict[int, int], buffers: dict[int, bytes]
    ) -> bytes:
        data = option.data
        if option.section is not None:
            data = self._layout.u64.build(sections[id(option.section)])
        elif option.buffer is not None:
            data = buffers[id(option.buffer)]
        return self._packed_option(option.id, data)

    def _packed_option(self, id: int, data: bytes) -> bytes:
        header: bytes = self._layout.option_header.build({"id": id, "size": len(data)})
        return header + data

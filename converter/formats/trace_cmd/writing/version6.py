"""Writes version 6 of the container: the metadata in fixed order, the options, the CPUs' pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.ftrace.layout import SectionId
from converter.formats.ftrace.ring_buffer.page_data import PageData
from converter.formats.trace_cmd.layout import (
    FLYRECORD_MARK,
    HEADER_START,
    LATENCY_MARK,
    OPTIONS_MARK,
    OptionId,
    layouts,
)
from converter.formats.trace_cmd.writing.file_contents import METADATA, BufferContents, FileContents
from converter.storage.sink import Sink

if TYPE_CHECKING:
    from typing_extensions import Buffer  # in collections.abc from Python 3.12 on

#: The encoding of missing parts: no formats, no systems, empty texts.
_EMPTY = {
    SectionId.FTRACE_EVENTS: bytes(4),
    SectionId.EVENT_FORMATS: bytes(4),
    SectionId.KALLSYMS: bytes(4),
    SectionId.PRINTK: bytes(4),
    SectionId.CMDLINES: bytes(8),
}


def write_version_6(contents: FileContents, sink: Sink) -> None:
    """Write a file of version 6. Its buffers all have pages of `contents.page_size`, uncompressed."""
    _Output(contents, sink).write()


class _Output:
    def __init__(self, contents: FileContents, sink: Sink) -> None:
        self._contents = contents
        self._sink = sink
        self._layout = layouts(contents.big_endian)
        self._cpus = max(
            [contents.cpu_count, *(cpu + 1 for buffer in contents.buffers for cpu in buffer.cpus)]
        )
        #: Readers expect the clock before the pages if there is a TRACECLOCK option.
        self._has_clock = any(o.id == OptionId.TRACECLOCK for o in contents.options)

    def write(self) -> None:
        contents, layout = self._contents, self._layout
        metadata = HEADER_START.build(
            {
                "version": "6",
                "big_endian": int(contents.big_endian),
                "long_size": contents.long_size,
            }
        ) + layout.page_size.build(contents.page_size)
        for id in METADATA:
            section = contents.section(id)
            metadata += section.data if section is not None else _EMPTY.get(id, b"")
        metadata += layout.u32.build(self._cpus)
        top = next((buffer for buffer in contents.buffers if not buffer.name), BufferContents())
        instances = [buffer for buffer in contents.buffers if buffer.name and buffer.text is None]
        # Options have the offsets of instances, which depend on the options' size: lay them out with zeros first.
        end = len(metadata) + len(self._options(instances, [0] * len(instances)))
        if top.text is not None:
            # Text extends to the end of the file, so that nothing can follow it.
            self._sink.write(metadata + self._options([], []) + LATENCY_MARK + top.text)
            return
        buffer_starts = []
        offsets = []
        for buffer in (top, *instances):
            offsets.append(end)
            found, end = self._place(buffer, end)
            buffer_starts.append(found)
        self._put(metadata + self._options(instances, offsets[1:]))
        for buffer, offset, found in zip((top, *instances), offsets, buffer_starts, strict=True):
            self._put_zeros(offset)
            self._put_buffer(buffer, found)
        if all(pages is None for found in buffer_starts for _, pages in found):
            # trace-cmd dump looks for another header after the last one, and fails at the end of the file.
            self._put(bytes(self._contents.page_size))

    def _options(self, instances: list[BufferContents], offsets: list[int]) -> bytes:
        layout = self._layout
        parts = [
            OPTIONS_MARK,
            *(
                layout.option_header.build({"id": option.id, "size": len(option.data)})
                + option.data
                for option in self._contents.options
                if option.section is None and option.buffer is None
            ),
        ]
        # Last, because a CPUCOUNT right after one of these would be that of its buffer.
        for buffer, offset in zip(instances, offsets, strict=True):
            data = layout.buffer_option_6.build({"offset": offset, "name": buffer.name})
            parts.append(
                layout.option_header.build({"id": OptionId.BUFFER, "size": len(data)}) + data
            )
        # Unlike in version 7, the last option has neither size nor data.
        parts.append(layout.option_header.build({"id": 0, "size": 0})[:2])
        return b"".join(parts)

    def _place(
        self, buffer: BufferContents, start: int
    ) -> tuple[list[tuple[int, PageData | None]], int]:
        """Return the start of each CPU's pages, with the pages of CPUs that have any, and the end of the buffer."""
        end = start + len(FLYRECORD_MARK) + 16 * self._cpus
        if self._has_clock:
            end += 8 + len(_clock_text(buffer))
        page = self._contents.page_size
        starts: list[tuple[int, PageData | None]] = []
        for cpu in range(self._cpus):
            end = -(-end // page) * page
            pages = buffer.cpus.get(cpu)
            starts.append((end, pages))
            end += pages.size if pages is not None else 0
        return starts, end

    def _put_buffer(
        self, buffer: BufferContents, starts: list[tuple[int, PageData | None]]
    ) -> None:
        parts = [FLYRECORD_MARK]
        for offset, pages in starts:
            size = pages.size if pages is not None else 0
            parts.append(self._layout.cpu_data_6.build({"offset": offset, "size": size}))
        if self._has_clock:
            clock = _clock_text(buffer)
            parts.append(self._layout.u64.build(len(clock)) + clock)
        self._put(b"".join(parts))
        for offset, pages in starts:
            if pages is None:
                continue
            self._put_zeros(offset)
            for part in pages.parts():
                self._put(part)

    def _put(self, data: Buffer) -> None:
        self._sink.write(data)

    def _put_zeros(self, offset: int) -> None:
        self._sink.write(bytes(offset - self._sink.tell()))


def _clock_text(buffer: BufferContents) -> bytes:
    return buffer.clock_text or (b"[%b]" % buffer.clock if buffer.clock else b"")

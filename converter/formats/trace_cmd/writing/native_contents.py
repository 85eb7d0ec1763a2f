"""The contents of a trace.dat file that is written again, from the sidecar of its reader.

Its pages are copied if the trace has the batches of its reader, and otherwise encoded again from columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import numpy as np

from converter.errors import TraceError, TraceWarning, note
from converter.formats.ftrace.event_format.syntax import parse_header_page
from converter.formats.ftrace.layout import COMPRESSED, SectionId, parse
from converter.formats.ftrace.recording import Buffer, Section, is_page_size
from converter.formats.ftrace.ring_buffer.compressor import library_version
from converter.formats.ftrace.ring_buffer.page_data import (
    CopiedChunks,
    PageData,
    PlainPages,
    SpooledPages,
)
from converter.formats.ftrace.ring_buffer.page_writer import PageWriter, SpoolMaker, chunk_size
from converter.formats.ftrace.ring_buffer.pages import PageStream
from converter.formats.ftrace.text_buffers import text_of
from converter.formats.lossless.travelling import parts_of
from converter.formats.trace_cmd.container.gaps import kernel_long
from converter.formats.trace_cmd.container.opening import open_file
from converter.formats.trace_cmd.container.options import interpret
from converter.formats.trace_cmd.container.trace_file import TraceFile
from converter.formats.trace_cmd.layout import BUFFER_SECTIONS, OptionId
from converter.formats.trace_cmd.writing.file_contents import (
    BufferContents,
    FileContents,
    OptionContents,
    SectionContents,
)
from converter.formats.trace_cmd.writing.native_events import NativeEvents, task_numbers
from converter.ir.trace import Trace
from converter.storage.opening import open_source
from converter.storage.source import spooled
from converter.storage.window_memory import WindowMemory

#: The entry of a sidecar with a complete file, compressed.
WHOLE: Final = "file"
#: The default page size of the top buffer.
_PAGE_SIZE = 4096
_SECTION_HEADER_SIZE = 16
#: The size in the description of a page: that of the data after its header.
_DATA_SIZE = re.compile(rb"(field:\s*char data;\s*offset:\s*\d+;\s*size:)\d+")
#: Missing CPUs need space in version 6; kernels support no more than these.
_MOST_CPUS = 8192
#: Version 6 has no options for its parts; version 7 has one for each.
_METADATA_OPTIONS = frozenset(range(OptionId.HEADER_INFO, OptionId.CMDLINES + 1))


def native_contents(
    trace: Trace,
    file: TraceFile,
    version: int,
    compression: bytes,
    spools: SpoolMaker,
    *,
    copy: bool,
) -> FileContents:
    """Return the contents of a trace that was read from a trace.dat file, for a file of that version and compression.

    With `copy` its pages are those of the source; otherwise its events are read and encoded as pages again.

    Raises:
        UnsupportedError: an event class is not one of the file's formats.
        TraceError: as `Trace.batches` does.

    """
    return _NativeContents(trace, file, version, compression, spools).build(copy=copy)


def source_file(trace: Trace) -> TraceFile | None:
    """Return the trace.dat file that a trace was read from, or the embedded part of it; None without one."""
    sidecar = trace.sidecar.get("trace_cmd", {})
    embedded = embedded_file(sidecar)
    if embedded is not None:
        return embedded
    sections = sidecar.get("sections", ())
    files = (section.file for section in sections if isinstance(section, Section))
    return next((file for file in files if isinstance(file, TraceFile)), None)


def embedded_file(sidecar: Mapping[str, Any]) -> TraceFile | None:
    """Return the embedded file, complete or without its pages, if any.

    Raises:
        TraceError: it is damaged.

    """
    complete = sidecar.get(WHOLE)
    if isinstance(complete, bytes):
        return open_file(spooled(parts_of(WHOLE, complete), WHOLE))
    skeleton = sidecar.get("skeleton")
    return open_file(open_source(skeleton)) if isinstance(skeleton, bytes) else None


class _NativeContents:
    def __init__(
        self,
        trace: Trace,
        file: TraceFile,
        version: int,
        compression: bytes,
        spools: SpoolMaker,
    ) -> None:
        self._trace = trace
        self._file = file
        self._version = version
        self._compression = compression
        self._spools = spools
        self._same_compression = same = compression == file.compression
        self._contents = FileContents(
            big_endian=file.big_endian,
            long_size=file.long_size,
            # No pages can have an invalid size, but version 6 ends with a page of zeros, which needs a valid one.
            page_size=file.page_size if is_page_size(file.page_size) else _PAGE_SIZE,
            compression=compression,
            compression_version=(
                file.compression_version if same else library_version(compression)
            ),
        )
        self._buffers = {_key(buffer): self._buffer(buffer) for buffer in file.buffers}
        self._kernel_long = kernel_long(file)

    def build(self, *, copy: bool) -> FileContents:
        """Return all of the contents."""
        contents = self._contents
        self._add_sections_and_options()
        page_sizes = {buffer.page_size for buffer in self._file.buffers if buffer.text is None}
        if not copy:
            self._encode_pages()
        elif self._version == 6 and len(page_sizes) > 1:
            self._join_pages(max(page_sizes))
        else:
            self._copy_pages()
        top = next((buffer for buffer in contents.buffers if not buffer.name), None)
        if self._version == 6 and contents.buffers:
            top = max(contents.buffers, key=lambda buffer: buffer.page_size)
        if top is not None and top.text is None and top.page_size != self._file.page_size:
            self._set_page_size(top.page_size)
        return contents

    # Sections and options

    def _add_sections_and_options(self) -> None:
        file, contents = self._file, self._contents
        by_offset: dict[int, SectionContents] = {}
        for section in file.sections:
            if (
                section.id in (SectionId.OPTIONS, SectionId.STRINGS)
                or section.id in BUFFER_SECTIONS
            ):
                continue
            try:
                data = bytes(section)
            except TraceError as error:
                file.warn(error)
                continue
            known = SectionContents(
                section.id,
                data,
                file.string(section.string_id),
                bool(section.flags) or file.version == 6,
            )
            if section.flags & COMPRESSED and self._version == 7 and self._same_compression:
                known.packed = section.stored()
            contents.sections.append(known)
            by_offset[section.offset - _SECTION_HEADER_SIZE] = known
        if file.version == 6:
            self._add_options_of_version_6()
        else:
            self._add_options_of_version_7(by_offset)
        if self._version == 6:
            self._leave_out_sections()

    def _add_options_of_version_7(self, by_offset: dict[int, SectionContents]) -> None:
        file, contents = self._file, self._contents
        paged = iter([buffer for buffer in file.buffers if buffer.text is None])
        texts = iter([buffer for buffer in file.buffers if buffer.text is not None])
        for id, data in file.options:
            if id in (OptionId.BUFFER, OptionId.BUFFER_TEXT):
                buffer = next(paged if id == OptionId.BUFFER else texts, None)
                if buffer is not None:
                    contents.options.append(OptionContents(id, buffer=self._buffers[_key(buffer)]))
                continue
            offset = int.from_bytes(data, "big" if file.big_endian else "little")
            section = by_offset.get(offset) if len(data) == 8 else None
            if section is not None or id not in _METADATA_OPTIONS:
                contents.options.append(OptionContents(id, data, section=section))
            if id == OptionId.CPUCOUNT and len(data) == 4 and offset <= _MOST_CPUS:
                contents.cpu_count = offset

    def _add_options_of_version_6(self) -> None:
        file, contents = self._file, self._contents
        for section in contents.sections:
            contents.options.append(OptionContents(section.id, section=section))
        previous = None
        for id, data in file.options:
            # A CPUCOUNT after a BUFFER is the number of its CPUs.
            of_buffer = previous == OptionId.BUFFER and id == OptionId.CPUCOUNT
            if id != OptionId.BUFFER and not of_buffer:
                contents.options.append(OptionContents(id, data))
            previous = id
        contents.cpu_count = min(file.cpu_count or 0, _MOST_CPUS)
        if self._version == 7 and not any(o.id == OptionId.CPUCOUNT for o in contents.options):
            count = file.layout.u32.build(contents.cpu_count)
            contents.options.append(OptionContents(OptionId.CPUCOUNT, count))
        for buffer in file.buffers:
            contents.add_buffer(self._buffers[_key(buffer)])

    def _leave_out_sections(self) -> None:
        """Drop sections that version 6 does not know, as it has no place for them."""
        contents = self._contents
        for option in contents.options:
            section = option.section
            if section is not None and section.id not in _METADATA_OPTIONS:
                note(
                    self._trace.warnings,
                    TraceWarning(
                        message="version 6 has no place for this section",
                        format="trace_cmd",
                        field=f"section {section.id}",
                        is_damage=False,
                    ),
                )

    def _buffer(self, buffer: Buffer) -> BufferContents:
        contents = BufferContents(
            buffer.name,
            buffer.clock,
            page_size=buffer.page_size,
            description=self._description(buffer),
        )
        if buffer.text is not None:
            contents.text = text_of(self._file, buffer)
        if self._file.version == 6:
            # A list of clocks, with the current one in brackets.
            found = re.search(rb"\[([^\]]*)\]", buffer.clock)
            contents.clock_text = buffer.clock
            contents.clock = found[1] if found else buffer.clock.strip()
        return contents

    def _description(self, buffer: Buffer) -> bytes:
        kind = "text" if buffer.text is not None else "flyrecord"
        name = buffer.name.decode("utf-8", "surrogateescape")
        return f"buffer {kind} {name}".strip().encode("utf-8", "surrogateescape")

    def _set_page_size(self, page_size: int) -> None:
        """Set the page size in the header and in the description of a page."""
        self._contents.page_size = page_size
        section = self._contents.section(SectionId.HEADER_INFO)
        if section is None:
            return  # the reader has warned, as about a damaged one
        try:
            header = parse(self._file.layout.header_info, section.data, 0, "HEADER_INFO")
            data_size = page_size - parse_header_page(header.page).data_offset
        except TraceError:
            return
        header["page"] = _DATA_SIZE.sub(rb"\g<1>%d" % data_size, header.page)
        section.data = self._file.layout.header_info.build(
            {"page": header.page, "event": header.event}
        )
        section.packed = b""

    # Pages of the source

    def _streams(self, buffer: Buffer) -> list[PageStream]:
        count = sum(len(one.cpus) for one in self._file.buffers)
        memory = WindowMemory()
        return [PageStream(self._file, buffer, data, count, memory) for data in buffer.cpus]

    def _copy_pages(self) -> None:
        """Copy the pages unchanged, including their compression where it is the same."""
        order = ">" if self._file.big_endian else "<"
        for buffer in self._file.buffers:
            contents = self._buffers[_key(buffer)]
            for stream in self._streams(buffer):
                pages: PageData
                if buffer.compressed and self._compression == self._file.compression:
                    pages = CopiedChunks(self._file.source, stream, order)
                elif self._compression == b"none":
                    pages = PlainPages(stream)
                else:
                    spool = self._spools(chunk_size(buffer.page_size))
                    pages = SpooledPages(spool)
                    for part in _plain(stream):
                        spool.add(pages, np.frombuffer(part, np.uint8))
                    spool.settle()
                contents.cpus[stream.cpu] = pages

    def _join_pages(self, page_size: int) -> None:
        """Give all buffers pages of one size, into which the records of smaller ones are merged."""
        for buffer in self._file.buffers:
            if buffer.text is not None:
                continue
            contents = self._buffers[_key(buffer)]
            writer = self._writer(page_size)
            contents.page_size = writer.page_size
            for stream in self._streams(buffer):
                for pages in _plain(stream):
                    writer.append_pages(stream.cpu, pages, buffer.page_size)
            contents.cpus = dict(writer.finish())

    def _writer(self, page_size: int) -> PageWriter:
        return PageWriter(
            self._trace.strings,
            # The size of pages is a power of two; a damaged header may have any value.
            page_size=1 << (page_size - 1).bit_length(),
            long_size=self._kernel_long,
            big_endian=self._file.big_endian,
            compression=self._compression,
            new_spool=self._spools,
        )

    # Pages of the trace's events

    def _encode_pages(self) -> None:
        buffers = [buffer for buffer in self._file.buffers if buffer.text is None]
        sizes = [buffer.page_size for buffer in buffers]
        if self._version == 6:
            sizes = [max(sizes, default=_PAGE_SIZE)] * len(buffers)
        writers = [self._writer(size) for size in sizes]
        events = NativeEvents(
            self._trace,
            interpret(self._file),
            task_numbers(self._trace, self._file),
            big_endian=self._file.big_endian,
        )
        for batch in self._trace.batches():
            events.write(batch, [buffer.name for buffer in buffers], writers)
        if self._version == 6 and len({writer.page_size for writer in writers}) > 1:
            largest = max(writer.page_size for writer in writers)
            for writer in writers:
                writer.enlarge(largest)
        for buffer, writer in zip(buffers, writers, strict=True):
            contents = self._buffers[_key(buffer)]
            contents.cpus = dict(writer.finish())
            contents.page_size = writer.page_size
        self._end_time_shifts()

    def _end_time_shifts(self) -> None:
        """Empty options TIME_SHIFT: the times of new pages are the host's. They still name its recording."""
        layout = self._file.layout.time_shift_option
        for option in self._contents.options:
            if option.id == OptionId.TIME_SHIFT:
                # A damaged one is ignored.
                with suppress(TraceError):
                    held = parse(layout, option.data, 0, "options.TIME_SHIFT")
                    empty = {"peer": held.peer, "flags": held.flags, "cpus": [], "fractions": []}
                    option.data = layout.build(empty)


def _key(buffer: Buffer) -> int:
    return id(buffer)


def _plain(stream: PageStream) -> Any:
    for window in stream.windows():
        if isinstance(window, TraceError):
            return
        pages, errors = stream.load(window)
        if errors:
            raise errors[0]
        yield pages

"""Version 7 of the container: a chain of options sections, and sections that follow each other without a gap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from converter.errors import TraceError, TruncatedError, too_many_holes
from converter.formats.ftrace.layout import COMPRESSED, SectionId, parse
from converter.formats.ftrace.recording import (
    Buffer,
    CpuData,
    Section,
    check_page_size,
    section_name,
)
from converter.formats.ftrace.ring_buffer.compression import decompressor
from converter.formats.trace_cmd.container.gaps import (
    leads_on,
    next_section,
    settle_moved,
    split_moved,
)
from converter.formats.trace_cmd.container.trace_file import TraceFile, settle_cpu_data
from converter.formats.trace_cmd.layout import (
    BUFFER_SECTIONS,
    SECTION_HEADER_SIZE,
    OptionId,
    layouts,
)
from converter.limits import allowed, limit
from converter.storage.source import Source

_OPTION_HEADER_SIZE = 6


def open_version_7(source: Source, start: int, *, big_endian: bool, long_size: int) -> TraceFile:
    """Read the header's rest at `start`, all options and the headers of all sections."""
    layout = layouts(big_endian)
    head = source.read(start, 4096)
    header = parse(layout.header_end, head, start, "header")
    file = TraceFile(
        format="trace_cmd",
        source=source,
        version=7,
        big_endian=big_endian,
        long_size=long_size,
        page_size=header.page_size,
        compression=header.compression,
        compression_version=header.compression_version,
        decompress=decompressor(header.compression),
    )
    built = len(layout.header_end.build(header))
    complete = _scan_sections(file, start + built)
    _read_options(file, header.options_offset, complete=complete)
    if not complete:
        _compare_offsets(file, header.options_offset)
    described: set[int] = set()
    for id, data in file.options:
        try:
            if id == OptionId.BUFFER:
                described.add(_add_buffer(file, data))
            elif id == OptionId.BUFFER_TEXT:
                _add_text_buffer(file, data)
        except TraceError as error:
            file.warn(error)
    try:
        _recover_buffers(file, described)
    except TraceError as error:
        file.warn(error)
    settle_moved(file)
    settle_cpu_data(file)
    split_moved(file)
    return file


def _section_at(file: TraceFile, offset: int) -> Section:
    raw = file.source.read_exactly(offset, SECTION_HEADER_SIZE, field="section")
    header = file.layout.section_header.parse(raw)
    return Section(
        file,
        header.id,
        header.flags,
        header.string_id,
        offset + SECTION_HEADER_SIZE,
        header.size,
    )


def _scan_sections(file: TraceFile, offset: int) -> bool:
    """List the sections in file order. Return False if one does not lead to the next, and some had to be skipped."""
    gaps = 0
    while offset < file.source.size:
        try:
            section = _section_at(file, offset)
        except TraceError as error:
            file.warn(error)
            break
        if not leads_on(file, section):
            found = next_section(file, section.offset)
            if found is not None and gaps == limit("holes"):
                file.warn(too_many_holes(section.offset))
                break
            if found is not None:
                gaps += 1
                end = section.offset + section.size
                file.warn(
                    TraceError(
                        "a piece of the file is lost or damaged",
                        offset=section.offset,
                        field=section_name(section.id),
                        expected=f"a section at 0x{end:x}",
                        found=f"the next at 0x{found:x}",
                    )
                )
                file.sections.append(replace(section, size=found - section.offset))
                offset = found
                continue
        if section.size > file.source.size - section.offset:
            file.warn(
                TruncatedError(
                    offset=section.offset,
                    field=section_name(section.id),
                    expected=f"{section.size} bytes",
                    found=f"{file.source.size - section.offset} before the end of the file",
                )
            )
            file.sections.append(section)
            break
        file.sections.append(section)
        offset = section.offset + section.size
    return not gaps


def _read_options(file: TraceFile, offset: int, *, complete: bool) -> None:
    """Follow the chain of options sections. Without any, the sections that were found may suffice."""
    seen: set[int] = set()
    following: int | None = offset
    while following:
        if following in seen:
            file.warn(TraceError("the options sections form a circle", offset=following))
            break
        if len(seen) >= limit("trace_cmd.options"):
            expected = allowed("trace_cmd.options")
            file.warn(TraceError(offset=following, field="options", expected=expected))
            break
        seen.add(following)
        try:
            if following >= file.source.size:
                size = file.source.size
                raise TraceError(
                    field="options",
                    expected=f"an offset in the file of {size:,} bytes",
                    found=following,
                )
            section = _section_at(file, following)
            if not complete and section not in file.sections:
                raise TraceError("the options have moved", offset=following, field="options")
            if section.id != SectionId.OPTIONS:
                raise TraceError(
                    offset=following,
                    field="section.id",
                    expected="0 (options)",
                    found=section.id,
                )
            data = bytes(section)
        except TraceError as error:
            if file.section(SectionId.HEADER_INFO) is None and complete:
                raise
            file.warn(error)
            following = None
            break
        following = _parse_options(file, section, data)
    if following is not None and any(id == OptionId.BUFFER for id, _ in file.options):
        return
    # The chain is broken: the sections in file order may include those that it should have led to.
    for section in file.sections:
        if section.id == SectionId.OPTIONS and section.offset - SECTION_HEADER_SIZE not in seen:
            try:
                _parse_options(file, section, bytes(section))
            except TraceError as error:
                file.warn(error)


def _parse_options(file: TraceFile, section: Section, data: bytes) -> int | None:
    """Add a section's options; return the offset of the next section, 0 if it is the last, None if it has no end."""
    layout = file.layout
    at = 0
    while len(data) - at >= _OPTION_HEADER_SIZE:
        head = layout.option_header.parse(data[at : at + _OPTION_HEADER_SIZE])
        at += _OPTION_HEADER_SIZE
        if head.size > len(data) - at:
            break
        body = data[at : at + head.size]
        at += head.size
        if head.id == OptionId.DONE:
            # Unlike in version 6, DONE has data.
            return int(layout.u64.parse(body)) if len(body) == 8 else 0
        file.options.append((head.id, body))
    file.warn(
        TraceError("the options end without a DONE", offset=section.offset + at, field="options")
    )
    return None


def _compare_offsets(file: TraceFile, options: int) -> None:
    """Compare the offsets of sections in options with the actual ones."""
    found: dict[int, list[int]] = {}
    for section in file.sections:
        found.setdefault(section.id, []).append(section.offset - SECTION_HEADER_SIZE)
    stated = [(int(SectionId.OPTIONS), options)]
    stated += [
        (id, int(file.layout.u64.parse(data[:8])))
        for id, data in file.options
        if id in set(SectionId) and len(data) >= 8
    ]
    distances = {
        offset - there
        for id, offset in stated
        if offset not in found.get(id, ())
        for there in found.get(id, ())
        if there < offset
    }
    file.moved |= distances


def _buffer_section(file: TraceFile, offset: int) -> Section:
    """Return the section of a buffer, or the data at its offset if only its header is lost."""
    for by in (0, *sorted(file.moved)):
        for section in file.sections:
            if (
                section.id == SectionId.BUFFER
                and section.offset == offset - by + SECTION_HEADER_SIZE
            ):
                return section
    section = _section_at(file, offset)
    if section.id == SectionId.BUFFER:
        return section
    file.warn(
        TraceError(offset=offset, field="section.id", expected="3 (buffer)", found=f"{section.id}")
    )
    return replace(section, flags=COMPRESSED if file.decompress is not None else 0)


def _add_buffer(file: TraceFile, data: bytes) -> int:
    """Add the buffer of an option and return the offset of its section."""
    layout = file.layout
    other = layouts(not file.big_endian)
    size = file.source.size
    if len(data) >= 8 and layout.u64.parse(data[:8]) >= size > other.u64.parse(data[:8]):
        # Where trace-cmd has converted a file of the other byte order, this option has that of its own machine.
        layout = other
    option = parse(layout.buffer_option, data, 0, "options.BUFFER")
    section = _buffer_section(file, option.offset)
    compressed = bool(section.flags & COMPRESSED)
    cpus = tuple(CpuData(item.cpu, item.offset, item.size) for item in option.cpus)
    # The top buffer's page size is that of the header; both agree in the files of all versions of trace-cmd.
    page_size = file.page_size if not option.name else option.page_size
    check_page_size(page_size)
    file.buffers.append(Buffer(option.name, option.clock, page_size, compressed, cpus))
    return section.offset


def _add_text_buffer(file: TraceFile, data: bytes) -> None:
    option = parse(file.layout.text_buffer_option, data, 0, "options.BUFFER_TEXT")
    section = _section_at(file, option.offset)
    if section.id not in BUFFER_SECTIONS:
        raise TraceError(
            offset=option.offset, field="section.id", expected="22 (text)", found=section.id
        )
    file.buffers.append(
        Buffer(
            option.name,
            option.clock,
            file.page_size,
            bool(section.flags & COMPRESSED),
            text=section,
        )
    )


def _recover_buffers(file: TraceFile, described: set[int]) -> None:
    """Find the CPUs' data of buffers that no option describes, as in a file that ends before the BUFFER options.

    CPUs without data cannot be detected, so the CPUs with data are numbered consecutively.
    """
    for section in file.sections:
        if section.id != SectionId.BUFFER or section.offset in described:
            continue
        check_page_size(file.page_size)
        compressed = bool(section.flags & COMPRESSED)
        end = min(section.offset + section.size, file.source.size)
        start = _next_page(file, section.offset)
        spans = _compressed_spans(file, start, end) if compressed else _spans(file, start, end)
        cpus = tuple(CpuData(cpu, at, size) for cpu, (at, size) in enumerate(spans))
        if cpus:
            file.warn(
                TraceError(
                    "no option describes this buffer: its CPUs are taken for the first ones",
                    offset=section.offset,
                    field="options.BUFFER",
                )
            )
            file.buffers.append(Buffer(b"", b"", file.page_size, compressed, cpus))


def _next_page(file: TraceFile, offset: int) -> int:
    return -(-offset // file.page_size) * file.page_size


def _compressed_spans(file: TraceFile, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield offset and size of each CPU's data: its end is known, and the next begins at the next page."""
    while (at := _end_of_chunks(file, start, end)) > start:
        yield start, at - start
        start = _next_page(file, at)


def _spans(file: TraceFile, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield offset and size of each CPU's uncompressed data: its pages begin with their time and are in order."""
    before = 0
    first = start
    for at in range(start, end, file.page_size):
        head = file.source.read(at, 8)
        time = int(file.layout.u64.parse(head)) if len(head) == 8 else before
        if time < before:
            yield first, at - first
            first = at
        before = time
    if first < end:
        yield first, end - first


def _end_of_chunks(file: TraceFile, start: int, end: int) -> int:
    """Return the end of the chunks that begin at `start`, or `start` if there are none."""
    layout = file.layout
    head = file.source.read(start, 4) if start + 4 <= end else b""
    left = layout.u32.parse(head) if len(head) == 4 else 0
    at = start + 4
    while left and at + 8 <= end:
        sizes = layout.compressed_header.parse(file.source.read_exactly(at, 8))
        if not sizes.compressed_size or not sizes.uncompressed_size:
            break
        if sizes.uncompressed_size > limit("trace_cmd.section"):
            break
        at = min(at + 8 + sizes.compressed_size, end)
        left -= 1
    return at if at > start + 4 else start

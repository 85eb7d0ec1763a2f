"""Files with gaps: data after a gap is at a lower offset than the file says.

Sections of version 7 follow each other, and markers introduce the parts of version 6, so both can be found again. The
difference to the stated offsets shows how far the CPUs' pages may have moved; pages can be recognised as such.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

import numpy as np

from converter.errors import TraceError, too_many_holes
from converter.formats.ftrace.event_format.syntax import FormatSyntaxError, parse_header_page
from converter.formats.ftrace.layout import COMPRESSED, SectionId, parse
from converter.formats.ftrace.recording import Buffer, CpuData, Section
from converter.formats.ftrace.ring_buffer.chunks import chunk_at
from converter.formats.ftrace.ring_buffer.scan import find_page, follow_pages, page_begins
from converter.formats.trace_cmd.container.trace_file import TraceFile
from converter.formats.trace_cmd.layout import SECTION_HEADER_SIZE, OptionId
from converter.limits import limit
from converter.storage.source import Source

#: Unknown kinds have numbers near those of known ones.
_KINDS = range(0x100)
_KNOWN_KINDS = frozenset(map(int, SectionId))
_LARGEST_SECTION = 1 << 48
_BLOCK = 1 << 20
_SMALL_BLOCK = 1 << 14
#: Larger pages are not searched for: each offset would have to be walked that far.
_LARGEST_PAGE = 1 << 16
#: The maximum number of distances by which data may have moved.
_MOST_MOVES = 8


def kernel_long(file: TraceFile) -> int:
    """Return the size of the kernel's longs from the description of a page, or the recorder's own without one."""
    section = file.section(SectionId.HEADER_INFO)
    try:
        if section is None:
            raise TraceError("the file does not describe its pages", field="HEADER_INFO")
        info = parse(file.layout.header_info, bytes(section), section.offset, "HEADER_INFO")
        try:
            return parse_header_page(info.page).long_size
        except FormatSyntaxError as error:
            raise TraceError(str(error), offset=section.offset, field="HEADER_INFO") from error
    except TraceError as error:
        if not file.buffers:
            raise  # there is nothing else to read
        file.warn(error)
        return file.long_size


def leads_on(file: TraceFile, section: Section, kinds: Container[int] = _KINDS) -> bool:
    """Return True if a section ends at another one of these kinds, or with the file."""
    end = section.offset + section.size
    if end >= file.source.size:
        return end == file.source.size
    head = file.source.read(end, SECTION_HEADER_SIZE)
    if len(head) < SECTION_HEADER_SIZE or not any(head):
        return False
    header = file.layout.section_header.parse(head)
    # A large section may have lost more than its size allows for.
    limit_of_loss = file.source.size - end - SECTION_HEADER_SIZE
    most = limit_of_loss if header.id == SectionId.OPTIONS else _LARGEST_SECTION
    return bool(header.id in kinds and header.flags <= COMPRESSED and header.size <= most)


def next_section(file: TraceFile, offset: int) -> int | None:
    """Return the offset of the next section that leads to another one, or to the end of the file."""
    order = ">" if file.big_endian else "<"
    known = np.zeros(1 << 16, bool)
    known[list(_KNOWN_KINDS)] = True
    start, size = offset, _SMALL_BLOCK
    while start < file.source.size:
        data = np.frombuffer(file.source.read(start, size + SECTION_HEADER_SIZE), np.uint8)
        if len(data) < SECTION_HEADER_SIZE:
            return None
        count = len(data) - SECTION_HEADER_SIZE + 1
        ids = np.ndarray(count, f"{order}u2", data, 0, (1,))
        flags = np.ndarray(count, f"{order}u2", data, 2, (1,))
        sizes = np.ndarray(count, f"{order}u8", data, 8, (1,))
        offsets = np.flatnonzero(
            known[ids] & (flags <= COMPRESSED) & (sizes > 0) & (sizes <= file.source.size)
        )
        for position in offsets.tolist():
            at = start + position
            found = Section(
                file, int(ids[position]), 0, 0, at + SECTION_HEADER_SIZE, int(sizes[position])
            )
            if leads_on(file, found, _KNOWN_KINDS) and (
                found.id != SectionId.OPTIONS or _ends_as_options(file, found)
            ):
                return at
        start += size
        size = min(4 * size, _BLOCK)
    return None


def _ends_as_options(file: TraceFile, section: Section) -> bool:
    """Return True if a section has options and its last one leads to more. Its id, zero, is common in data."""
    layout = file.layout
    if section.flags & COMPRESSED:
        head = file.source.read(section.offset, layout.compressed_header.sizeof())
        packed = layout.compressed_header.parse(head)
        return bool(packed.compressed_size == section.size - len(head))
    size = layout.option_header.sizeof() + layout.u64.sizeof()
    if section.size < size:
        return False
    last = layout.option_header.parse(file.source.read(section.offset + section.size - size, size))
    return bool(last.id == OptionId.DONE and last.size == layout.u64.sizeof())


def find_mark(source: Source, marks: Iterable[bytes], offset: int) -> int | None:
    """Return the offset of the first of some markers at or after an offset."""
    longest = max(map(len, marks))
    for start in range(offset, source.size, _BLOCK):
        block = source.read(start, _BLOCK + longest - 1)
        found = [at for mark in marks if (at := block.find(mark)) >= 0]
        if found:
            return start + min(found)
    return None


def settle_moved(file: TraceFile) -> None:
    """Find the actual offsets of the CPUs' data."""
    if not file.moved:
        return
    long_size = kernel_long(file)
    for i, buffer in enumerate(file.buffers):
        cpus: list[CpuData] = []
        for data in buffer.cpus:
            cpus.append(_moved(file, buffer, data, long_size, cpus[-1].offset if cpus else None))
        file.buffers[i] = replace(buffer, cpus=tuple(cpus))


def _moved(
    file: TraceFile, buffer: Buffer, data: CpuData, long_size: int, before: int | None
) -> CpuData:
    """Relocate a CPU's data; `before` is the actual offset of the previous CPU's data."""
    if not data.size or _begins(file, buffer, data.offset, long_size):
        return data
    # Data that has moved comes after all that has not: sections, and the pages of the previous CPU.
    if before is None:
        earliest = _metadata_end(file)
    elif buffer.compressed:
        earliest = before
    else:
        earliest, _ = _follow(file, buffer.page_size, long_size, before, data.offset, 1)
    distances = sorted(file.moved)[:_MOST_MOVES]
    moved = [data.offset - by for by in distances if earliest <= data.offset - by]
    for moved_to in moved:
        if _begins(file, buffer, moved_to, long_size):
            return data._replace(offset=moved_to)
    if buffer.compressed:
        return data
    # The data may be damaged right after its beginning.
    offsets = [data.offset, *moved]
    for moved_to in offsets:
        page = file.source.read(moved_to, buffer.page_size)
        if len(page) == buffer.page_size and page_begins(page, long_size, file.big_endian):
            return data._replace(offset=moved_to)
    # Its beginning was lost, too: it continues after the pages of the previous CPU.
    return data._replace(offset=max(earliest, offsets[-1]))


def _metadata_end(file: TraceFile) -> int:
    """Return the end of sections that precede all data, as those of version 6 do."""
    if file.version == 7 or not file.sections:
        return 0
    return file.sections[-1].offset + file.sections[-1].size


def _begins(file: TraceFile, buffer: Buffer, offset: int, long_size: int) -> bool:
    """Return True if data of a CPU begins at this offset."""
    if buffer.compressed:
        return _chunks_begin(file, buffer, offset)
    return _pages_begin(file, buffer, offset, long_size)


def _chunks_begin(file: TraceFile, buffer: Buffer, offset: int) -> bool:
    """Return True if compressed data begins at this offset: the number of its chunks, and the first of them."""
    count = file.source.read(offset, 4)
    return any(count) and chunk_at(file, offset + 4, buffer.page_size)


def _pages_begin(file: TraceFile, buffer: Buffer, offset: int, long_size: int) -> bool:
    """Return True if a CPU's first page is at this offset: a page that does not follow one of an earlier time."""
    if not _is_page(file, buffer, offset, long_size):
        return False
    before = offset - buffer.page_size
    if before < 0 or not _is_page(file, buffer, before, long_size):
        return True
    u64 = file.layout.u64
    first: int = u64.parse(file.source.read_exactly(offset, 8))
    return bool(first < u64.parse(file.source.read_exactly(before, 8)))


def _is_page(file: TraceFile, buffer: Buffer, offset: int, long_size: int) -> bool:
    data = file.source.read(offset, buffer.page_size)
    end, _ = follow_pages(data, buffer.page_size, long_size, file.big_endian, 0, 1)
    return end > 0


def split_moved(file: TraceFile) -> None:
    """Split the data of CPUs at gaps inside it, after which pages begin at other offsets."""
    if not file.moved:
        return
    long_size = kernel_long(file)
    for i, buffer in enumerate(file.buffers):
        if not buffer.compressed and buffer.page_size <= _LARGEST_PAGE:
            cpus = [part for data in buffer.cpus for part in _parts(file, buffer, data, long_size)]
            file.buffers[i] = replace(buffer, cpus=tuple(cpus))


def _parts(file: TraceFile, buffer: Buffer, data: CpuData, long_size: int) -> Iterator[CpuData]:
    """Yield ranges of whole pages, each with the damaged ones that follow it."""
    start, end = data.offset, data.offset + data.size
    size = buffer.page_size
    after = 1
    at = start
    gaps = 0
    while True:
        at, after = _follow(file, size, long_size, at, end, after)
        if at >= end:
            break
        # The page before this one may be the damaged one, so that the next begins within it.
        found = _find(file, size, long_size, max(at - size + 1, start), end, after)
        if found is None:
            # Data after the damaged page does not belong to the CPU.
            end = min(at + size, end)
            break
        if (found - start) % size:
            if found > start:
                yield data._replace(offset=start, size=found - start, limit=found)
            start = found
        at = found
        gaps += 1
        if gaps > limit("holes"):
            file.warn(too_many_holes(found).within(field=f"buffer.cpu {data.cpu}"))
            break
    if end > start:
        yield data._replace(offset=start, size=end - start, limit=end)


def _follow(
    file: TraceFile, page_size: int, long_size: int, at: int, end: int, after: int
) -> tuple[int, int]:
    step = max(_BLOCK // page_size, 1) * page_size
    while at + page_size <= end:
        block = file.source.read(at, min(step, end - at))
        inside, after = follow_pages(block, page_size, long_size, file.big_endian, 0, after)
        at += inside
        if inside < len(block) // page_size * page_size or not inside:
            break
    return at, after


def _find(
    file: TraceFile, page_size: int, long_size: int, at: int, end: int, after: int
) -> int | None:
    # Pages are aligned so that the last one ends with the data, unless there is more than one gap.
    for offset in range(at + (end - at) % page_size, end, page_size):
        page = file.source.read(offset, page_size)
        if follow_pages(page, page_size, long_size, file.big_endian, 0, after)[0]:
            return offset
    while at + page_size <= end:
        block = file.source.read(at, min(_BLOCK + 2 * page_size, end - at))
        found = find_page(block, page_size, long_size, file.big_endian, 0, after)
        last = at + len(block) == end
        if found >= 0 and (last or found + page_size < len(block)):
            return at + found
        if last or len(block) < 2 * page_size:
            return None
        at += len(block) - 2 * page_size + 1
    return None

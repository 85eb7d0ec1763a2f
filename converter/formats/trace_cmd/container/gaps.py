"""Files that a piece was lost of: what stood behind it stands earlier than the file says.

Sections of version 7 follow each other, and marks introduce the parts of version 6: both are found again. How much
earlier they stand than is stated tells by how much the CPUs' pages may have moved; pages tell that they are pages.
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

#: Kinds that are unknown have numbers near to those that are known.
_KINDS = range(0x100)
_KNOWN_KINDS = frozenset(map(int, SectionId))
_LARGEST_SECTION = 1 << 48
_BLOCK = 1 << 20
_SMALL_BLOCK = 1 << 14
#: Pages of more bytes are not looked for: each place would have to be walked that far.
_LARGEST_PAGE = 1 << 16
#: Distances by which data may have moved.
_MOST_MOVES = 8


def kernel_long(file: TraceFile) -> int:
    """The size of the kernel's longs, which the description of a page tells, and the recorder's own where none does."""
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
            raise  # nothing is there that could be read all the same
        file.warn(error)
        return file.long_size


def leads_on(file: TraceFile, section: Section, kinds: Container[int] = _KINDS) -> bool:
    """Whether a section ends at another one, of one of some kinds, or with the file."""
    end = section.offset + section.size
    if end >= file.source.size:
        return end == file.source.size
    head = file.source.read(end, SECTION_HEADER_SIZE)
    if len(head) < SECTION_HEADER_SIZE or not any(head):
        return False
    header = file.layout.section_header.parse(head)
    # Of a large one more may be lost than its size leaves room for.
    room = file.source.size - end - SECTION_HEADER_SIZE
    most = room if header.id == SectionId.OPTIONS else _LARGEST_SECTION
    return bool(header.id in kinds and header.flags <= COMPRESSED and header.size <= most)


def next_section(file: TraceFile, offset: int) -> int | None:
    """Where the next section begins that leads on to another one, or to the end of the file."""
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
        places = np.flatnonzero(
            known[ids] & (flags <= COMPRESSED) & (sizes > 0) & (sizes <= file.source.size)
        )
        for place in places.tolist():
            at = start + place
            end = at + SECTION_HEADER_SIZE + int(sizes[place])
            found = Section(
                file, int(ids[place]), 0, 0, at + SECTION_HEADER_SIZE, int(sizes[place])
            )
            if (
                end <= file.source.size
                and leads_on(file, found, _KNOWN_KINDS)
                and (found.id != SectionId.OPTIONS or _ends_as_options(file, found))
            ):
                return at
        start += size
        size = min(4 * size, _BLOCK)
    return None


def _ends_as_options(file: TraceFile, section: Section) -> bool:
    """Whether a section is one of options, whose number, zero, is anywhere in data: the last leads to more of them."""
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
    """Where the first of some marks stands from a place on."""
    longest = max(map(len, marks))
    for start in range(offset, source.size, _BLOCK):
        block = source.read(start, _BLOCK + longest - 1)
        found = [at for mark in marks if (at := block.find(mark)) >= 0]
        if found:
            return start + min(found)
    return None


def settle_moved(file: TraceFile) -> None:
    """Find where the CPUs' data has moved to."""
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
    """Data of a CPU where it is, `before` being where that of the CPU in front is."""
    if not data.size or _begins(file, buffer, data.offset, long_size):
        return data
    # What has moved stands behind all that has not: sections, and the pages of the CPU in front.
    if before is None:
        front = _metadata_end(file)
    elif buffer.compressed:
        front = before
    else:
        front, _ = _follow(file, buffer.page_size, long_size, before, data.offset, 1)
    distances = sorted(file.moved)[:_MOST_MOVES]
    moved = [data.offset - by for by in distances if front <= data.offset - by]
    for place in moved:
        if _begins(file, buffer, place, long_size):
            return data._replace(offset=place)
    if buffer.compressed:
        return data
    # It may be damaged right behind its beginning.
    places = [data.offset, *moved]
    for place in places:
        page = file.source.read(place, buffer.page_size)
        if len(page) == buffer.page_size and page_begins(page, long_size, file.big_endian):
            return data._replace(offset=place)
    # What it began with was lost, too: it goes on behind the pages of the CPU in front.
    return data._replace(offset=max(front, places[-1]))


def _metadata_end(file: TraceFile) -> int:
    """Where sections end that stand in front of all data, as those of version 6 do."""
    if file.version == 7 or not file.sections:
        return 0
    return file.sections[-1].offset + file.sections[-1].size


def _begins(file: TraceFile, buffer: Buffer, place: int, long_size: int) -> bool:
    """Whether data of a CPU begins here."""
    if buffer.compressed:
        return _chunks_begin(file, buffer, place)
    return _pages_begin(file, buffer, place, long_size)


def _chunks_begin(file: TraceFile, buffer: Buffer, place: int) -> bool:
    """Whether compressed data begins here: the number of its chunks, and the first of them."""
    count = file.source.read(place, 4)
    return any(count) and chunk_at(file, place + 4, buffer.page_size)


def _pages_begin(file: TraceFile, buffer: Buffer, place: int, long_size: int) -> bool:
    """Whether the first page of a CPU is here: a page, in front of which none of an earlier time is."""
    if not _is_page(file, buffer, place, long_size):
        return False
    before = place - buffer.page_size
    if before < 0 or not _is_page(file, buffer, before, long_size):
        return True
    u64 = file.layout.u64
    first: int = u64.parse(file.source.read_exactly(place, 8))
    return bool(first < u64.parse(file.source.read_exactly(before, 8)))


def _is_page(file: TraceFile, buffer: Buffer, place: int, long_size: int) -> bool:
    data = file.source.read(place, buffer.page_size)
    end, _ = follow_pages(data, buffer.page_size, long_size, file.big_endian, 0, 1)
    return end > 0


def split_moved(file: TraceFile) -> None:
    """Take apart the data of CPUs out of the midst of which a piece was lost, where pages begin at other places."""
    if not file.moved:
        return
    long_size = kernel_long(file)
    for i, buffer in enumerate(file.buffers):
        if not buffer.compressed and buffer.page_size <= _LARGEST_PAGE:
            cpus = [part for data in buffer.cpus for part in _parts(file, buffer, data, long_size)]
            file.buffers[i] = replace(buffer, cpus=tuple(cpus))


def _parts(file: TraceFile, buffer: Buffer, data: CpuData, long_size: int) -> Iterator[CpuData]:
    """Stretches of whole pages, each with the damaged ones behind it."""
    start, end = data.offset, data.offset + data.size
    size = buffer.page_size
    after = 1
    at = start
    holes = 0
    while True:
        at, after = _follow(file, size, long_size, at, end, after)
        if at >= end:
            break
        # The page in front of this one may be the damaged one, and the next begin within it.
        found = _find(file, size, long_size, max(at - size + 1, start), end, after)
        if found is None:
            # What is behind the damaged page is none of the CPU's.
            end = min(at + size, end)
            break
        if (found - start) % size:
            if found > start:
                yield data._replace(offset=start, size=found - start, limit=found)
            start = found
        at = found
        holes += 1
        if holes > limit("holes"):
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
    # Pages stand so that the last of them ends with the data, unless that has more than one hole.
    for place in range(at + (end - at) % page_size, end, page_size):
        page = file.source.read(place, page_size)
        if follow_pages(page, page_size, long_size, file.big_endian, 0, after)[0]:
            return place
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

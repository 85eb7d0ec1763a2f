"""Version 6 of the container: the metadata in fixed order, then text or the CPUs' pages."""

from __future__ import annotations

import struct
from collections.abc import Callable

from converter.errors import TraceError
from converter.formats.ftrace.layout import SectionId, parse
from converter.formats.ftrace.recording import Buffer, CpuData, Section, check_page_size
from converter.formats.trace_cmd.container.gaps import find_mark, settle_moved, split_moved
from converter.formats.trace_cmd.container.trace_file import TraceFile, settle_cpu_data
from converter.formats.trace_cmd.layout import (
    FLYRECORD_MARK,
    LATENCY_MARK,
    MARK_SIZE,
    OPTIONS_MARK,
    OptionId,
    layouts,
)
from converter.limits import allowed, limit
from converter.storage.source import Source

_BLOCK = 1 << 18
_MARKS = (OPTIONS_MARK, LATENCY_MARK, FLYRECORD_MARK)


class _Cursor:
    """Walks the file's metadata, reading it block by block."""

    def __init__(self, source: Source, at: int, *, big_endian: bool) -> None:
        self.source = source
        self.at = at
        self._block = b""
        self._start = at
        order = ">" if big_endian else "<"
        self._u16 = struct.Struct(order + "H")
        self._u32 = struct.Struct(order + "I")
        self._u64 = struct.Struct(order + "Q")

    def go_to(self, at: int) -> None:
        """Continue at another offset."""
        self.at = self._start = at
        self._block = b""

    def read(self, size: int, field: str) -> bytes:
        """Return the next `size` bytes."""
        inside = self.at - self._start
        if inside + size > len(self._block):
            self._block = self.source.read(self.at, max(size, _BLOCK))
            self._start = self.at
            inside = 0
            if len(self._block) < size:
                self.source.read_exactly(self.at, size, field=field)
        self.at += size
        return self._block[inside : inside + size]

    def skip(self, size: int, field: str) -> None:
        """Skip `size` bytes, which must exist."""
        if size > self.source.size - self.at:
            raise TraceError(
                offset=self.at,
                field=field,
                expected=f"{size} bytes",
                found=f"{self.source.size - self.at} before the end of the file",
            )
        self.at += size
        inside = self.at - self._start
        if inside > len(self._block):
            self._block = b""
            self._start = self.at

    def u16(self, field: str) -> int:
        value: int = self._u16.unpack(self.read(2, field))[0]
        return value

    def u32(self, field: str) -> int:
        value: int = self._u32.unpack(self.read(4, field))[0]
        return value

    def u64(self, field: str) -> int:
        value: int = self._u64.unpack(self.read(8, field))[0]
        return value

    def text(self, field: str) -> bytes:
        """Return the bytes up to a NUL, and skip the NUL."""
        parts = []
        while (byte := self.read(1, field)) != b"\0":
            parts.append(byte)
            if len(parts) > 4096:
                raise TraceError(offset=self.at, field=field, expected="a name that ends")
        return b"".join(parts)


def open_version_6(source: Source, start: int, *, big_endian: bool, long_size: int) -> TraceFile:
    """Walk the metadata from `start` on, reading only what leads to the next part.

    Without its complete metadata a file is not usable; from the options on, everything before the damage is kept.
    """
    cursor = _Cursor(source, start, big_endian=big_endian)
    file = TraceFile(
        format="trace_cmd",
        source=source,
        version=6,
        big_endian=big_endian,
        long_size=long_size,
        page_size=cursor.u32("header.page_size"),
    )
    for id, skip in _SECTIONS:
        if not _walk(file, cursor, id, skip):
            break
    file.cpu_count = cursor.u32("cpus")
    mark = cursor.read(MARK_SIZE, "mark")
    if mark not in _MARKS:
        # A wrong size among the sections led here.
        _go_to_mark(file, cursor, cursor.at, "mark")
        file.cpu_count = cursor.u32("cpus")
        mark = cursor.read(MARK_SIZE, "mark")
    try:
        if mark == OPTIONS_MARK:
            mark = _read_options(file, cursor)
        _add_buffer(file, cursor, mark, b"", file.cpu_count)
    except TraceError as error:
        file.warn(error)
    _note_missing(file)
    _add_instances(file)
    _note_missing(file)
    settle_moved(file)
    settle_cpu_data(file)
    split_moved(file)
    return file


def _walk(file: TraceFile, cursor: _Cursor, id: SectionId, skip: Callable[[_Cursor], None]) -> bool:
    """Skip a section; after damage, go to the marker after all sections and return False."""
    start = cursor.at
    try:
        skip(cursor)
    except TraceError as error:
        _go_to_mark(file, cursor, start, id.name, error)
        file.sections.append(Section(file, id, 0, 0xFFFFFFFF, start, max(cursor.at - start, 0)))
        return False
    file.sections.append(Section(file, id, 0, 0xFFFFFFFF, start, cursor.at - start))
    return True


def _go_to_mark(
    file: TraceFile, cursor: _Cursor, start: int, field: str, error: TraceError | None = None
) -> None:
    """Go to the number of CPUs before the part that follows the sections; the data in between is damaged."""
    # Wrong sizes may have led past it.
    first = min((section.offset for section in file.sections), default=start)
    found = find_mark(file.source, _MARKS, first)
    if found is None:
        raise error or TraceError(
            offset=cursor.at - MARK_SIZE, field=field, expected="options, latency or flyrecord"
        )
    cursor.go_to(found - 4)
    file.warn(
        error
        or TraceError("a piece of the file is lost or damaged", offset=start, field="sections")
    )


def _note_missing(file: TraceFile) -> None:
    """Note the size of a possible gap: the CPUs' data should end with the file, but would end later."""
    ends = [data.offset + data.size for buffer in file.buffers for data in buffer.cpus]
    missing = max(ends, default=0) - file.source.size
    if missing > 0:
        file.moved.add(missing)


def _instance(file: TraceFile, offset: int) -> int:
    """Return the offset of an instance's description: the one in its option, or a lower one after a gap."""
    for by in (0, *file.moved):
        if by <= offset and file.source.read(offset - by, MARK_SIZE) in _MARKS:
            return offset - by
    return offset


def _skip_header_info(cursor: _Cursor) -> None:
    for name in (b"header_page\0", b"header_event\0"):
        found = cursor.read(len(name), "HEADER_INFO")
        if found != name:
            raise TraceError(
                offset=cursor.at - len(name), field="HEADER_INFO", expected=repr(name), found=found
            )
        cursor.skip(cursor.u64("HEADER_INFO"), "HEADER_INFO")


def _skip_ftrace_events(cursor: _Cursor) -> None:
    for _ in range(cursor.u32("FTRACE_EVENTS")):
        cursor.skip(cursor.u64("FTRACE_EVENTS"), "FTRACE_EVENTS")


def _skip_event_formats(cursor: _Cursor) -> None:
    for _ in range(cursor.u32("EVENT_FORMATS")):
        cursor.text("EVENT_FORMATS")
        for _ in range(cursor.u32("EVENT_FORMATS")):
            cursor.skip(cursor.u64("EVENT_FORMATS"), "EVENT_FORMATS")


#: The sections before the number of CPUs, with the functions that skip them.
_SECTIONS: tuple[tuple[SectionId, Callable[[_Cursor], None]], ...] = (
    (SectionId.HEADER_INFO, _skip_header_info),
    (SectionId.FTRACE_EVENTS, _skip_ftrace_events),
    (SectionId.EVENT_FORMATS, _skip_event_formats),
    (SectionId.KALLSYMS, lambda c: c.skip(c.u32("KALLSYMS"), "KALLSYMS")),
    (SectionId.PRINTK, lambda c: c.skip(c.u32("PRINTK"), "PRINTK")),
    (SectionId.CMDLINES, lambda c: c.skip(c.u64("CMDLINES"), "CMDLINES")),
)


def _read_options(file: TraceFile, cursor: _Cursor) -> bytes:
    """Read the options; return the marker after them."""
    start = cursor.at
    try:
        while (id := cursor.u16("options")) != OptionId.DONE:
            size = cursor.u32("options")
            if size > file.source.size - cursor.at:
                raise TraceError(
                    offset=cursor.at, field="options", expected="an option in the file", found=size
                )
            file.options.append((id, cursor.read(size, "options")))
        mark = cursor.read(MARK_SIZE, "mark")
        if mark not in _MARKS:
            raise TraceError(
                offset=cursor.at - MARK_SIZE,
                field="mark",
                expected="latency or flyrecord",
                found=mark,
            )
    except TraceError as error:
        found = find_mark(file.source, (LATENCY_MARK, FLYRECORD_MARK), start)
        if found is None:
            raise
        file.warn(error)
        cursor.go_to(found)
        mark = cursor.read(MARK_SIZE, "mark")
    return mark


def _add_buffer(file: TraceFile, cursor: _Cursor, mark: bytes, name: bytes, cpu_count: int) -> None:
    if mark == LATENCY_MARK:
        size = file.source.size - cursor.at
        section = Section(file, SectionId.BUFFER_TEXT, 0, 0xFFFFFFFF, cursor.at, size)
        file.buffers.append(Buffer(name, b"", file.page_size, False, text=section))
        return
    if mark != FLYRECORD_MARK:
        raise TraceError(
            offset=cursor.at - MARK_SIZE,
            field="mark",
            expected="options, latency or flyrecord",
            found=mark,
        )
    check_page_size(file.page_size)
    if cpu_count > limit("trace_cmd.cpus"):
        raise TraceError(
            offset=cursor.at, field="cpus", expected=allowed("trace_cmd.cpus"), found=cpu_count
        )
    cpus = tuple(
        CpuData(cpu, cursor.u64("flyrecord"), cursor.u64("flyrecord")) for cpu in range(cpu_count)
    )
    clock = b""
    first = min((data.offset for data in cpus if data.offset >= cursor.at), default=0)
    # Since trace-cmd 2.x the clock is here if there is a TRACECLOCK option.
    if any(id == OptionId.TRACECLOCK for id, _ in file.options) and first - cursor.at >= 8:
        size = cursor.u64("flyrecord.clock")
        if size <= first - cursor.at:
            clock = cursor.read(size, "flyrecord.clock").rstrip(b"\0")
    file.buffers.append(Buffer(name, clock, file.page_size, False, cpus))


def _add_instances(file: TraceFile) -> None:
    """Add the buffers that BUFFER options name; a CPUCOUNT right after one is the number of its CPUs."""
    layout = layouts(file.big_endian)
    for i, (id, data) in enumerate(file.options):
        if id != OptionId.BUFFER:
            continue
        try:
            option = parse(layout.buffer_option_6, data, 0, "options.BUFFER")
            count = file.cpu_count or 0
            if i + 1 < len(file.options) and file.options[i + 1][0] == OptionId.CPUCOUNT:
                count = parse(layout.u32, file.options[i + 1][1], 0, "options.CPUCOUNT")
            offset = _instance(file, option.offset)
            cursor = _Cursor(file.source, offset, big_endian=file.big_endian)
            _add_buffer(file, cursor, cursor.read(MARK_SIZE, "mark"), option.name, count)
        except TraceError as error:
            file.warn(error)

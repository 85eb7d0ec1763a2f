"""TRACING_DATA: the kernel's event formats, as the start of a trace.dat file of version 6 has them."""

from __future__ import annotations

import struct
from typing import Final

from converter.errors import TraceError, TraceWarning, note
from converter.formats.ftrace.layout import SectionId
from converter.formats.ftrace.recording import Recording, Section
from converter.storage.source import MemorySource

_MAGIC: Final = b"\x17\x08\x44tracing"
_HEADER_PAGE: Final = b"header_page\0"
_HEADER_EVENT: Final = b"header_event\0"
#: The most that a version has digits.
_VERSION: Final = 16


class _Walk:
    """Goes through the data part by part."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int, field: str) -> bytes:
        """Return the next bytes."""
        if size > len(self.data) - self.at:
            found = f"{len(self.data) - self.at} before the end"
            raise TraceError(offset=self.at, field=field, expected=f"{size} bytes", found=found)
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str, field: str) -> int:
        """Return the next integer."""
        value: int = struct.unpack(form, self.take(struct.calcsize(form), field))[0]
        return value


def parse_tracing_data(
    data: bytes, warnings: list[TraceWarning], *, path: str | None
) -> Recording | None:
    """Return the recording that the data start; None if there are none. What is damaged ends it, with a warning.

    Args:
        data: the section of a file, or what follows the record in a pipe.
        warnings: damage is added to them.
        path: of the file, for messages.

    """
    if not data:
        return None
    walk = _Walk(data)
    recording = None
    try:
        magic = walk.take(len(_MAGIC), "magic")
        if magic != _MAGIC:
            raise TraceError(offset=0, field="magic", expected=repr(_MAGIC), found=repr(magic))
        end = data.find(b"\0", walk.at, walk.at + _VERSION)
        if end < 0:
            raise TraceError(offset=walk.at, field="version", expected="a text that ends")
        walk.at = end + 1
        big_endian, long_size = walk.take(2, "header")
        order = ">" if big_endian else "<"
        recording = Recording(
            format="perf",
            source=MemorySource(path or "TRACING_DATA", data),
            big_endian=bool(big_endian),
            long_size=long_size if long_size in (4, 8) else 8,
            page_size=walk.number(order + "I", "page_size"),
            warnings=warnings,
        )
        _add_sections(recording, walk, order)
    except TraceError as error:
        error = error.within(format="perf", path=path, field="TRACING_DATA")
        note(warnings, error.to_warning())
    return recording


def _add_sections(recording: Recording, walk: _Walk, order: str) -> None:
    start = walk.at
    for name in (_HEADER_PAGE, _HEADER_EVENT):
        if walk.take(len(name), "HEADER_INFO") != name:
            raise TraceError(offset=start, field="HEADER_INFO", expected=repr(name))
        walk.take(walk.number(order + "Q", "HEADER_INFO"), "HEADER_INFO")
    _add(recording, SectionId.HEADER_INFO, start, walk.at)
    start = walk.at
    for _ in range(walk.number(order + "I", "FTRACE_EVENTS")):
        walk.take(walk.number(order + "Q", "FTRACE_EVENTS"), "FTRACE_EVENTS")
    _add(recording, SectionId.FTRACE_EVENTS, start, walk.at)
    start = walk.at
    for _ in range(walk.number(order + "I", "EVENT_FORMATS")):
        end = walk.data.find(b"\0", walk.at)
        if end < 0:
            raise TraceError(offset=walk.at, field="EVENT_FORMATS", expected="a name that ends")
        walk.at = end + 1
        for _ in range(walk.number(order + "I", "EVENT_FORMATS")):
            walk.take(walk.number(order + "Q", "EVENT_FORMATS"), "EVENT_FORMATS")
    _add(recording, SectionId.EVENT_FORMATS, start, walk.at)
    for id in (SectionId.KALLSYMS, SectionId.PRINTK):
        start = walk.at
        if walk.take(walk.number(order + "I", id.name), id.name):
            _add(recording, id, start, walk.at)


def _add(recording: Recording, id: SectionId, start: int, end: int) -> None:
    recording.sections.append(Section(recording, id, 0, 0, start, end - start))

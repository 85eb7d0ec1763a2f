"""Text buffers: the output of the kernel's `trace` file, as which latency tracers are recorded.

Lines are those of kernel/trace/trace_output.c: ``comm-pid [cpu] flags seconds.micros: text`` or, in the latency
format, ``comm-pid cpu flags micros: text``. Other lines (the function graph, say) become log messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from converter.errors import TraceError
from converter.formats.ftrace.event_format.gathers import BytesAt
from converter.formats.ftrace.event_format.record_tables import Records
from converter.formats.ftrace.mapping import TEXT_MARKERS
from converter.formats.ftrace.recording import Buffer, CpuData, Recording
from converter.formats.ftrace.ring_buffer.pages import PageStream
from converter.ir.columns import Column, ListColumn, list_of_bytes
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.limits import allowed, limit
from converter.storage.window_memory import WindowMemory


@cache
def _line_pattern() -> re.Pattern[bytes]:
    # Compiled when the first text is read: few files have one.
    return re.compile(
        rb"\s*(?P<comm>\S.*?)-(?P<pid>\d{1,9})\s+(?:\(\s*[-\d]+\)\s+)?"
        rb"(?:\[(?P<cpu>\d{1,5})\]\s+(?P<flags>[^\s\d:]\S*\s+)?(?P<seconds>\d{1,10})\.(?P<fraction>\d{6}(?:\d{3})?)"
        rb"|\[(?P<tick_cpu>\d{1,5})\]\s+(?P<tick_flags>[^\s\d:]\S*\s+)?(?P<ticks>\d{1,18})"
        rb"|(?P<latency_cpu>\d{1,5})(?P<latency_flags>[^\s\d]\S*)\s+(?P<micros>\d{1,15})us\s?[ !+#*@$]?)"
        rb"\s*: (?P<text>.*)"
    )


_EVENT = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*): (.*)")
#: The kernel prints a line into a page or two.
_LONGEST_LINE = 1 << 16
#: Lines that are not events.
_COMMENT = re.compile(rb"\s*(?:#.*)?")

#: The class of lines without a time of their own.
OTHER_LINE = EventClass(
    Kind.LOG, "", fields=(Field("message", StringClass(), Role.MESSAGE),), timed=False
)


def text_class(name: str) -> EventClass:
    """Return the class of the lines of one event; the empty name is for lines that name none."""
    kind = Kind.MARK if name in TEXT_MARKERS else Kind.TYPED if name else Kind.LOG
    return EventClass(
        kind,
        name,
        fields=(
            Field("message", StringClass(), Role.MESSAGE),
            Field("flags", StringClass(), Role.CONTEXT),
        ),
    )


@dataclass(slots=True)
class TextLine:
    """One line: its time in ns or ticks, task, event name (None: not an event), and position in the text."""

    ts: int
    pid: int
    event: str | None
    start: int
    size: int


@dataclass(slots=True)
class TextEvents:
    """A text buffer's lines by CPU (-1: unknown), in the order of the text, and the names of tasks in it."""

    text: bytes
    lines: dict[int, list[TextLine]] = field(default_factory=dict)
    names: dict[int, bytes] = field(default_factory=dict)


def read_text(file: Recording, buffer: Buffer) -> TextEvents:
    """Read and split a text buffer; text after damage is lost."""
    text = text_of(file, buffer)
    events = TextEvents(text)
    ts = 0
    cpu = -1
    for line_match in re.finditer(rb"[^\n]+", text):
        start, size = line_match.start(), line_match.end() - line_match.start()
        found = _line_pattern().fullmatch(text, start, start + min(size, _LONGEST_LINE))
        if found and found.end() == line_match.end():
            ts = _time(found)
            cpu = int(found["cpu"] or found["tick_cpu"] or found["latency_cpu"])
            pid = int(found["pid"])
            events.names.setdefault(pid, found["comm"].strip())
            event = _EVENT.fullmatch(found["text"])
            name = event[1].decode("ascii") if event else ""
            events.lines.setdefault(cpu, []).append(TextLine(ts, pid, name, start, size))
        elif not _COMMENT.fullmatch(text, start, start + size):
            events.lines.setdefault(cpu, []).append(TextLine(ts, -1, None, start, size))
    return events


def _time(found: re.Match[bytes]) -> int:
    if found["seconds"]:
        return int(found["seconds"]) * 10**9 + int(found["fraction"].ljust(9, b"0"))
    if found["micros"]:
        return int(found["micros"]) * 1000
    return int(found["ticks"])


def text_of(file: Recording, buffer: Buffer) -> bytes:
    """Return the text of a text buffer, uncompressed; damaged parts are omitted with a warning."""
    section = buffer.text
    assert section is not None
    size = min(section.size, max(file.source.size - section.offset, 0))
    most = limit("trace_cmd.section")
    if not buffer.compressed:
        if size > most:
            file.warn(_is_cut(section.offset))
        return file.source.read(section.offset, min(size, most))
    # Text is compressed in chunks as pages are; it is treated as pages of one byte.
    plain = Buffer(buffer.name, buffer.clock, 1, True)
    data = CpuData(0, section.offset, size, section.offset + size)
    stream = PageStream(file, plain, data, 1, WindowMemory())
    parts: list[bytes] = []
    left = most
    for window in stream.windows():
        if isinstance(window, TraceError):
            file.warn(window)
            break
        if window.size > left:
            file.warn(_is_cut(window.offset))
            break
        pages, errors = stream.load(window)
        parts.append(bytes(pages))
        left -= window.size
        for error in errors:
            file.warn(error)
    return b"".join(parts)


def _is_cut(offset: int) -> TraceError:
    expected = allowed("trace_cmd.section")
    return TraceError("the text is cut", offset=offset, field="BUFFER_TEXT", expected=expected)


class TextPart(NamedTuple):
    """A part of each line: its message without the event's name, its flags, or the unchanged line."""

    part: str

    def load(self, records: Records) -> Column:
        """Return the column."""
        column = BytesAt(0, -1).copied(records, 1, until_nul=False)
        if self.part == "line":
            return column
        return list_of_bytes([self._of(line) for line in _values(column)])

    def _of(self, line: bytes) -> bytes:
        found = _line_pattern().fullmatch(line)
        assert found is not None
        if self.part == "flags":
            flags = found["flags"] or found["tick_flags"] or found["latency_flags"] or b""
            return flags.strip()
        event = _EVENT.fullmatch(found["text"])
        return event[2] if event else found["text"]


def _values(column: ListColumn) -> Sequence[bytes]:
    assert isinstance(column.values, np.ndarray)
    data = column.values.tobytes()
    bounds = column.offsets.tolist()
    return [data[a:b] for a, b in pairwise(bounds)]


#: The gathers of the columns of `text_class` and `OTHER_LINE`.
TEXT_GATHERS = (TextPart("message"), TextPart("flags"))
OTHER_GATHERS = (TextPart("line"),)

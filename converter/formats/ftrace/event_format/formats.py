"""The event formats that a file carries, found by type number and parsed when an event of the type occurs."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from converter.errors import TraceError
from converter.formats.ftrace.event_format.syntax import (
    FORMAT_HEAD,
    EventFormat,
    FormatSyntaxError,
    parse_event_format,
)
from converter.formats.ftrace.layout import SectionId
from converter.formats.ftrace.mapping import PID_FIELD, TYPE_FIELD
from converter.formats.ftrace.recording import Recording
from converter.projection.domain.linux_tracepoints import MEANINGS

_FTRACE = "ftrace"
#: Enough of a format to hold its name and number.
_HEAD = 512


class EventFormats:
    """The formats of FTRACE_EVENTS and EVENT_FORMATS. If two have the same number, the last one counts."""

    def __init__(self, file: Recording) -> None:
        self._file = file
        #: By type: the system, and the section and byte range that hold the text; the types by system and name.
        self._texts: dict[int, tuple[str, bytes, int, int]] = {}
        self._types: dict[tuple[str, bytes], int] = {}
        self._parsed: dict[int, EventFormat | None] = {}
        for id, walk in (
            (SectionId.FTRACE_EVENTS, self._add_ftrace),
            (SectionId.EVENT_FORMATS, self._add_systems),
        ):
            section = file.section(id)
            if section is None:
                continue
            try:
                walk(bytes(section), ">" if file.big_endian else "<")
            except TraceError as error:
                file.warn(error)
            except struct.error:
                file.warn(
                    TraceError("the formats are cut off", offset=section.offset, field=id.name)
                )
        #: The offsets of a record's type and pid, which are the same in all formats of a kernel.
        self.type_offset = 0
        self.pid_offset = 4
        self._find_common_fields()

    def __len__(self) -> int:
        return len(self._texts)

    def text(self, type_id: int) -> bytes:
        """Return the format's text, empty if there is none."""
        if type_id not in self._texts:
            return b""
        _, data, start, end = self._texts[type_id]
        return data[start:end]

    def get(self, type_id: int) -> EventFormat | None:
        """Return the format of a type, parsed; None if there is none that can be parsed."""
        if type_id not in self._parsed:
            self._parsed[type_id] = None
            if type_id in self._texts:
                system = self._texts[type_id][0]
                try:
                    self._parsed[type_id] = parse_event_format(self.text(type_id), system)
                except FormatSyntaxError as error:
                    self._file.warn(TraceError(str(error), field=f"format of type {type_id}"))
        return self._parsed[type_id]

    def named(self, name: str) -> list[EventFormat]:
        """Return the formats of a name, of all systems."""
        event = name.encode("utf-8", "surrogateescape")
        types = [type_id for (_, one), type_id in self._types.items() if one == event]
        return [format for type_id in types if (format := self.get(type_id)) is not None]

    def about_tasks(self) -> list[int]:
        """Return the types of the events whose records say something about tasks."""
        keys = ((system, name.encode()) for system, name in MEANINGS)
        return [self._types[key] for key in keys if key in self._types]

    def keep(self, types: Iterable[int]) -> None:
        """Release all others: a kernel has 2,000 formats of 1 KiB each, and few occur."""
        kept = set(types)
        self._texts = {
            type_id: (system, data[start:end], 0, end - start)
            for type_id, (system, data, start, end) in self._texts.items()
            if type_id in kept
        }
        self._types = {name: type_id for name, type_id in self._types.items() if type_id in kept}

    def _find_common_fields(self) -> None:
        for type_id in self._texts:
            format = self.get(type_id)
            if format is None:
                continue
            type_field = format.field(TYPE_FIELD)
            pid_field = format.field(PID_FIELD)
            if type_field is not None and type_field.size == 2 and type_field.offset <= 4096:
                self.type_offset = type_field.offset
            if pid_field is not None and pid_field.size == 4 and pid_field.offset <= 4096:
                self.pid_offset = pid_field.offset
            return

    def _add_ftrace(self, data: bytes, order: str) -> None:
        self._add_group(_FTRACE, data, 4, struct.unpack_from(f"{order}I", data)[0], order)

    def _add_systems(self, data: bytes, order: str) -> None:
        u32 = struct.Struct(f"{order}I")
        (systems,) = u32.unpack_from(data)
        at = 4
        for _ in range(systems):
            end = data.find(b"\0", at)
            if end < 0:
                raise struct.error
            system = data[at:end].decode("utf-8", "surrogateescape")
            (count,) = u32.unpack_from(data, end + 1)
            at = self._add_group(system, data, end + 5, count, order)

    def _add_group(self, system: str, data: bytes, at: int, count: int, order: str) -> int:
        """Add `count` formats that start at offset `at`; return their end."""
        size_at = struct.Struct(f"{order}Q").unpack_from
        texts, types, last, match = self._texts, self._types, len(data), FORMAT_HEAD.match
        for _ in range(count):
            end = at + 8 + size_at(data, at)[0]
            at += 8
            if end > last:
                raise struct.error
            head = match(data, at, end if end - at < _HEAD else at + _HEAD)
            # A text without name and number cannot describe any event; the section keeps it.
            if head is not None and (name := head[1].strip()):
                type_id = int(head[2])
                texts[type_id] = system, data, at, end
                types[system, name] = type_id
            at = end
        return at

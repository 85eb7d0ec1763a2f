"""The names of EVENT records: uftrace's own, and the program's in `events.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from converter.errors import TraceError
from converter.formats.uftrace.directory import DataDirectory
from converter.formats.uftrace.layout import FIRST_USER_EVENT, EventId, Feature
from converter.formats.uftrace.mapping import CALLSITE, READINGS, USER_EVENT, watched_variable
from converter.formats.uftrace.reading.batches import EventName
from converter.formats.uftrace.reading.functions import LEFT_OUT, Functions
from converter.kernels.tables.strings import StringTable

if TYPE_CHECKING:
    from converter.formats.uftrace.side_table import Tables

EVENTS_FILE: Final = "events.txt"
_USER_EVENT = re.compile(rb"EVENT: (\d{1,18}) ([^\n:]*):([^\n]*)")
#: More than the words of any event.
_NEVER: Final = 255


def event_names(
    directory: DataDirectory, strings: StringTable, functions: Functions, tables: Tables | None
) -> Iterator[EventName]:
    """Yield all events that have a name; those of `tables` instead of the file's if the directory has tables."""
    for id, reading in READINGS.items():
        yield EventName(
            id,
            functions.class_id(reading.event_class),
            strings.intern(reading.name),
            strings.intern(reading.category),
            len(reading.fields),
            4 if id is EventId.WATCH_CPU else 8,
        )
    # No event has this many words: the size of its data determines how it is decoded.
    yield EventName(
        EventId.WATCH_VAR,
        functions.class_id(watched_variable(8)),
        0,
        strings.intern("watch"),
        _NEVER,
    )
    if directory.header.features & Feature.CALLSITE:
        yield EventName(
            EventId.CALLSITE,
            functions.class_id(CALLSITE),
            strings.intern("callsite"),
            strings.intern("uftrace"),
            1,
            directory.header.long_size,
        )
    if tables is None:
        named = _user_events(directory)
    else:
        named = tables.events
        if tables.end_event is not None:
            yield EventName(tables.end_event, LEFT_OUT, 0, 0)
    for number, (name, category) in named.items():
        yield EventName(
            number,
            functions.class_id(USER_EVENT),
            strings.intern(name),
            strings.intern(category),
        )


def _user_events(directory: DataDirectory) -> dict[int, tuple[str, str]]:
    """Return name and provider of the events of `events.txt`."""
    names: dict[int, tuple[str, str]] = {}
    text = directory.read_if_there(EVENTS_FILE) or b""
    for line in filter(None, text.split(b"\n")):
        match = _USER_EVENT.fullmatch(line)
        if match is None or int(match[1]) < FIRST_USER_EVENT:
            directory.warn(
                TraceError(field="event", expected="EVENT: id provider:name", found=line),
                EVENTS_FILE,
            )
            continue
        provider, name = (part.decode("utf-8", "surrogateescape") for part in match.groups()[1:])
        names[int(match[1])] = name, provider
    return names

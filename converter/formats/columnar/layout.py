"""The contents of such files besides the columns that people read."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Final

from converter.errors import TraceError
from converter.formats.ir.reading import read as read_tables
from converter.formats.ir.writing import write as write_tables
from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.kernels.tables.strings import StringTable
from converter.storage.sink import BufferSink
from converter.storage.source import MemorySource

#: Indices of an event's class, thread (-1: none) and track in the tables of the trace.
CLASS: Final = "_class"
THREAD: Final = "_thread"
TRACK: Final = "_track"
#: The event's time in ticks, if these are not nanoseconds.
TICKS: Final = "_ticks"
#: The event's number in the trace, if the events of each class are in files of their own.
EVENT: Final = "_event"
OWN: Final = (CLASS, THREAD, TRACK, TICKS, EVENT)

#: The keys in a file's metadata: a description of the file, and the tables, in base64 as not all programs accept bytes.
ABOUT: Final = b"traceconv"
TABLES: Final = b"traceconv.tables"

#: In the footer of a file whose batches have no statistics: the rows and the first and last time of each, as JSON.
SPANS: Final = b"traceconv.spans"

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class About:
    """The description of itself in a file or directory of ours."""

    format: str
    clock: str
    ticks_per_second: str | None
    epoch_ns: int | None
    #: The number of events.
    events: int
    #: The columns of the fields of each event class that occurs, by its number.
    columns: dict[int, list[str]]
    #: True if times are also in a column of their own, because they are not nanoseconds.
    has_ticks: bool = False
    version: int = field(default=_VERSION)

    def to_json(self, *, part: bool = False) -> bytes:
        """Return the text of the metadata; for a part of an output only what people may want to know."""
        description = asdict(self)
        if part:
            description = {
                name: description[name]
                for name in ("format", "clock", "ticks_per_second", "epoch_ns")
            }
        return json.dumps(description).encode()


def about_of(text: bytes) -> About | None:
    """Return the description of itself in a file; None for a foreign file, or a part of a trace.

    Raises:
        TraceError: it is damaged, or of a future version.
    """
    try:
        description = json.loads(text)
    except (ValueError, RecursionError):
        description = None
    if not isinstance(description, dict):
        raise TraceError(field=ABOUT.decode(), expected="an object of JSON")
    if "version" not in description:
        return None
    if description["version"] != _VERSION:
        raise TraceError(
            field="version", expected=f"version {_VERSION}", found=description["version"]
        )
    events, columns = description.get("events"), description.get("columns")
    if not isinstance(events, int) or not isinstance(columns, dict) or not _are_columns(columns):
        raise TraceError(field=ABOUT.decode(), expected="the columns of each event class")
    return About(
        format=str(description.get("format")),
        clock=str(description.get("clock")),
        ticks_per_second=None,
        epoch_ns=None,
        events=events,
        columns={int(number): names for number, names in columns.items()},
        has_ticks=description.get("has_ticks") is True,
    )


def _are_columns(columns: dict[str, Any]) -> bool:
    return all(
        number.isascii()
        and number.isdigit()
        and len(number) < 10
        and isinstance(names, list)
        and all(isinstance(name, str) for name in names)
        for number, names in columns.items()
    )


def packed_tables(trace: Trace) -> bytes:
    """Return everything in a trace except its events, as a `.tcir` file."""
    sink = BufferSink()
    # Embedded files are only those of unchanged events. The events themselves are not in here, but stored next to it.
    no_batches: Callable[[], Iterator[Batch]] = partial(iter, ())
    source_batches = no_batches if trace.is_as_read else None
    tables = replace(
        trace, make_batches=no_batches, source_batches=source_batches, strings=StringTable()
    )
    write_tables(tables, sink, "")
    return sink.getvalue()


def unpacked_tables(data: bytes) -> Trace:
    """Return the trace, without its events, of such a file.

    Raises:
        TraceError: it is damaged.
    """
    with MemorySource(TABLES.decode(), data) as source:
        trace = read_tables(source)
        for _ in trace.batches():
            raise TraceError(field=TABLES.decode(), expected="tables", found="events")
    return replace(trace, make_batches=lambda: iter(()), strings=StringTable())


def encoded_tables(trace: Trace) -> bytes:
    """Return the tables as text."""
    return base64.b64encode(packed_tables(trace))


def decoded_tables(text: bytes) -> Trace:
    """Return the tables in a text.

    Raises:
        TraceError: it is damaged.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise TraceError(str(error), field=TABLES.decode()) from None
    return unpacked_tables(data)

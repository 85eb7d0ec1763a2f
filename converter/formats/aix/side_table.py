"""The side table of traceconv's own streams: comment lines of a trcfmt file, each with a JSON text.

    # traceconv 1
    # trace 0 {"clock": CLOCK, "clock_domains": [CLOCK], "environment": {...}}
    # process 0 {"pid": 7, "name": ..., "parent": ..., "command_line": [...]}
    # thread 0 {"tid": 7, "process": 0, "name": ...}
    # track 0 {"name": ..., "scope": ..., "owner": ..., "parent": ..., "unit": ..., "identity": ...}
    # class 0 {"kind": ..., "name": ..., "category": ..., "fields": [...]}

The lines are in entries of the metadata hook, before the first event that needs them; a later line for the same
number replaces the earlier one. The lines after a class are its template, for `trcrpt`. CLOCK is {"name",
"description", "rate", "epoch_ns"}; classes have the representation of canonical traces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from converter.formats.aix.entries.encoding import Nodes
from converter.ir.events import EventClass
from converter.ir.field_classes import (
    FieldClass,
    IntegerClass,
    VariantClass,
)
from converter.ir.forms import class_form, class_of
from converter.ir.trace import (
    ClockDomain,
    Process,
    Thread,
    Trace,
    Track,
    TrackScope,
    parse_rate,
)

#: Numbers of threads and the like fit an int32; no file can create tables larger than this.
_MAX_NUMBER: Final = 1 << 26
_LINE: Final = re.compile(rb"# (trace|process|thread|track|class) (\d{1,9}) (\{.*)", re.ASCII)


def _line(what: str, number: int, form: dict[str, Any]) -> bytes:
    return f"# {what} {number} {json.dumps(form, separators=(',', ':'))}\n".encode("ascii")


def trace_line(trace: Trace) -> bytes:
    """Return the declaration of the trace as a whole."""
    form = {
        "clock": _clock_form(trace.clock),
        "clock_domains": [_clock_form(clock) for clock in trace.clock_domains],
        "environment": trace.environment,
    }
    return _line("trace", 0, form)


def process_line(number: int, process: Process) -> bytes:
    """Return the declaration of a process."""
    form: dict[str, Any] = {"pid": process.pid, "name": process.name}
    if process.parent_pid is not None:
        form["parent"] = process.parent_pid
    if process.command_line:
        form["command_line"] = list(process.command_line)
    return _line("process", number, form)


def thread_line(number: int, thread: Thread) -> bytes:
    """Return the declaration of a thread."""
    form = {"tid": thread.tid, "process": thread.process, "name": thread.name}
    return _line("thread", number, form)


def track_line(number: int, track: Track) -> bytes:
    """Return the declaration of a track."""
    form = {
        "name": track.name,
        "scope": track.scope.name,
        "owner": track.owner,
        "parent": track.parent,
        "unit": track.unit,
        "identity": track.identity,
    }
    return _line("track", number, form)


def class_line(number: int, event_class: EventClass) -> bytes:
    """Return the declaration of an event class."""
    return _line("class", number, class_form(event_class))


def _clock_form(clock: ClockDomain) -> dict[str, Any]:
    rate = None if clock.ticks_per_second is None else str(clock.ticks_per_second)
    return {
        "name": clock.name,
        "description": clock.description,
        "rate": rate,
        "epoch_ns": clock.epoch_ns,
    }


@dataclass(slots=True)
class Declarations:
    """The declarations of a stream, by number, with gaps where they are damaged."""

    clock: ClockDomain | None = None
    clock_domains: list[ClockDomain] = field(default_factory=list)
    environment: dict[str, str | int] = field(default_factory=dict)
    processes: dict[int, Process] = field(default_factory=dict)
    threads: dict[int, Thread] = field(default_factory=dict)
    tracks: dict[int, Track] = field(default_factory=dict)
    classes: dict[int, tuple[EventClass, Nodes]] = field(default_factory=dict)
    #: Lines with invalid declarations.
    damaged: int = 0

    def read(self, text: bytes) -> None:
        """Add the declarations in the lines of a text."""
        for line in text.split(b"\n"):
            found = _LINE.fullmatch(line)
            if found is None:
                continue
            try:
                number = int(found[2])
                if number > _MAX_NUMBER:
                    raise ValueError("a number beyond any table")
                self._add(found[1], number, json.loads(found[3]))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                self.damaged += 1

    def _add(self, what: bytes, number: int, form: dict[str, Any]) -> None:
        match what:
            case b"trace":
                self.clock_domains = [_clock(clock) for clock in form["clock_domains"]]
                self.environment = {
                    _text(name): _integer(value) if isinstance(value, int) else _text(value)
                    for name, value in form["environment"].items()
                }
                self.clock = _clock(form["clock"])
            case b"process":
                parent = form.get("parent")
                self.processes[number] = Process(
                    _id(form["pid"]),
                    _text(form["name"]),
                    None if parent is None else _id(parent),
                    tuple(map(_text, form.get("command_line", ()))),
                )
            case b"thread":
                self.threads[number] = Thread(
                    _id(form["tid"]), _id(form["process"]), _text(form["name"])
                )
            case b"track":
                self.tracks[number] = Track(
                    _text(form["name"]),
                    TrackScope[form["scope"]],
                    _integer(form["owner"]),
                    _integer(form["parent"]),
                    _text(form["unit"]),
                    _integer(form["identity"]),
                )
            case b"class":
                event_class = class_of(form)
                nodes = Nodes(event_class.fields)
                _check(event_class, nodes.types)
                self.classes[number] = event_class, nodes

    def tables_hold_together(self) -> bool:
        """Return True if numbers follow each other without a gap, and all owners and parents exist."""
        if any(
            len(table) and max(table) != len(table) - 1
            for table in (self.processes, self.threads, self.tracks, self.classes)
        ):
            return False
        owners = {
            TrackScope.PROCESS: len(self.processes),
            TrackScope.THREAD: len(self.threads),
            TrackScope.CPU: 1 << 31,
        }
        return all(thread.process in self.processes for thread in self.threads.values()) and all(
            -1 <= track.parent < number
            and (track.scope is TrackScope.GLOBAL or 0 <= track.owner < owners.get(track.scope, 0))
            for number, track in self.tracks.items()
        )


def _check(event_class: EventClass, types: list[FieldClass]) -> None:
    for text in (event_class.name, event_class.category, *_texts_of(event_class)):
        _text(text)
    if event_class.timed not in (False, True):
        raise ValueError("timed is no boolean")
    for held in types:
        match held:
            case IntegerClass(_, _, _, labels, flags):
                fits = flags in (False, True) and all(map(_is_label, labels))
            case VariantClass(options):
                fits = len(options) < 1 << 15
            case _:
                fits = True
        length = getattr(held, "length", None)
        if not fits or (length is not None and not 0 <= _integer(length) <= 1 << 12):
            raise ValueError("no such field class")
        for member in getattr(held, "members", getattr(held, "options", ())):
            _text(member.name)
        _text(getattr(held, "media_type", ""))


def _texts_of(event_class: EventClass) -> Iterable[str]:
    for each in event_class.fields:
        yield each.name
        yield each.unit


def _is_label(label: tuple[Any, ...]) -> bool:
    low, high, text = label
    _text(text)
    return _integer(low) <= _integer(high)


def _clock(form: Any) -> ClockDomain:
    rate, epoch = form["rate"], form["epoch_ns"]
    return ClockDomain(
        _text(form["name"]),
        None if rate is None else parse_rate(rate),
        None if epoch is None else _integer(epoch),
        _text(form["description"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    # Raises UnicodeEncodeError, a ValueError, for surrogates that do not represent bytes.
    value.encode("utf-8", "surrogateescape")
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value.bit_length() > 65:
        raise ValueError("not an integer")
    return value


def _id(value: Any) -> int:
    if not 0 <= _integer(value) < 1 << 64:
        raise ValueError("not an id")
    return int(value)

"""The side table, in the environment of the metadata: the parts of other formats' traces that CTF cannot express.

Entries `traceconv_0`, `traceconv_1` ... hold one JSON text in parts: the clock, the processes, threads and tracks,
and each event class as the trace had it. The data are laid out as the metadata declare them, for any reader; ours
also restores the kinds, roles and names of the classes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from converter.formats.ctf.metadata.tsdl.lexer import KEYWORDS
from converter.formats.ctf.restated_columns import Transform, transform
from converter.ir.events import EventClass
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    IntegerClass,
    OptionalClass,
    StructureClass,
    VariantClass,
)
from converter.ir.forms import class_form, class_of
from converter.ir.table_forms import process_form, process_of, text_of
from converter.ir.trace import (
    ClockDomain,
    Process,
    Thread,
    Trace,
    Track,
    TrackScope,
    parse_epoch,
    parse_rate,
)

#: The prefix of the entries' names; a number follows.
ENTRY: Final = "traceconv_"
_PIECE: Final = 4000
_VERSION: Final = 1
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_LARGEST: Final = 1 << 64


@dataclass(slots=True)
class SideTable:
    """A side table. Its indices are checked; texts and numbers have the right types."""

    clock: ClockDomain
    clock_domains: list[ClockDomain]
    #: Ticks of the trace are values of the clock minus this.
    shift: int
    environment: dict[str, str | int]
    processes: list[Process]
    threads: list[Thread]
    tracks: list[Track]
    _classes: dict[int, Any] = field(default_factory=dict)
    _known: dict[int, EventClass | None] = field(default_factory=dict)

    def recorded_class(self, event_id: int, derived: EventClass) -> RecordedClass | None:
        """Return the recorded class of an event record class (its number is the same in all streams).

        Returns None if none is recorded, or if it does not fit `derived`, the class as the metadata alone declare it.
        Fields correspond by their positions.
        """
        if event_id not in self._known:
            self._known[event_id] = _class_of(self._classes.get(event_id))
        recorded = self._known[event_id]
        if recorded is None or len(recorded.fields) != len(derived.fields):
            return None
        try:
            transforms = [
                transform(one.type, other.type)
                for one, other in zip(recorded.fields, derived.fields, strict=True)
            ]
        except ValueError:
            return None
        return RecordedClass(recorded, tuple(transforms))


@dataclass(frozen=True, slots=True)
class RecordedClass:
    """A class as recorded, and the conversion of its columns from those that the metadata declare (None: none)."""

    event_class: EventClass
    transforms: tuple[Transform | None, ...]


def side_table_environment(
    trace: Trace,
    classes: Mapping[int, EventClass],
    shift: int,
    usual: Mapping[str, str | int],
) -> dict[str, str | int]:
    """Return the environment of a trace's metadata: its own entries and its side table.

    Args:
        trace: once its batches have been read.
        classes: by the number of the event record class.
        shift: the clock's values minus ticks.
        usual: entries that readers expect; they replace the trace's own.

    """
    held = {
        name: value
        for name, value in trace.environment.items()
        if name not in usual and _is_native(name, value)
    }
    side_table = {
        "version": _VERSION,
        "clock": _clock_form(trace.clock),
        "clock_domains": [_clock_form(clock) for clock in trace.clock_domains],
        "shift": shift,
        "added": list(usual),
        "environment": {
            name: value for name, value in trace.environment.items() if name not in held
        },
        "processes": [process_form(one) for one in trace.processes],
        "threads": [[one.tid, one.process, one.name] for one in trace.threads],
        "tracks": [
            [one.name, one.scope.name, one.owner, one.parent, one.unit, one.identity]
            for one in trace.tracks
        ],
        "classes": [[number, class_form(one)] for number, one in classes.items()],
    }
    text = json.dumps(side_table, separators=(",", ":"))
    parts = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    entries = {f"{ENTRY}{number}": part for number, part in enumerate(parts)}
    return {**held, **usual, **entries}


def read_side_table(environment: Mapping[str, str | int]) -> SideTable | None:
    """Return the side table in the environment of metadata, None if there is none or it is invalid."""
    parts: list[str] = []
    while isinstance(part := environment.get(f"{ENTRY}{len(parts)}"), str):
        parts.append(part)
    if not parts:
        return None
    names = {f"{ENTRY}{number}" for number in range(len(parts))}
    rest = {name: value for name, value in environment.items() if name not in names}
    try:
        return _side_table_of(json.loads("".join(parts)), rest)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _side_table_of(table: Any, environment: dict[str, str | int]) -> SideTable:
    if table["version"] != _VERSION:
        raise ValueError("a side table of another version")
    for name in table["added"]:
        environment.pop(text_of(name), None)
    for name, value in table["environment"].items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise TypeError("an environment of other values")
        environment[name] = value
    processes = [process_of(one) for one in table["processes"]]
    threads = [
        Thread(_number(tid), _number(process, len(processes)), text_of(name))
        for tid, process, name in table["threads"]
    ]
    tracks: list[Track] = []
    for name, scope, owner, parent, unit, identity in table["tracks"]:
        track_scope = TrackScope[scope]
        limit = {TrackScope.PROCESS: len(processes), TrackScope.THREAD: len(threads)}
        if track_scope in limit:
            _number(owner, limit[track_scope])
        if not isinstance(owner, int) or not -1 <= owner < 1 << 31:
            raise ValueError("an owner of a track")
        if not isinstance(parent, int) or not -1 <= parent < len(tracks):
            raise ValueError("a parent of a track")
        if not isinstance(identity, int) or isinstance(identity, bool):
            raise TypeError("an identity of a track")
        tracks.append(Track(text_of(name), track_scope, owner, parent, text_of(unit), identity))
    shift = table["shift"]
    if not isinstance(shift, int) or not -(1 << 63) < shift < 1 << 63:
        raise ValueError("a shift")
    classes = {_number(number): held for number, held in table["classes"]}
    return SideTable(
        _clock_of(table["clock"]),
        [_clock_of(clock) for clock in table["clock_domains"]],
        shift,
        environment,
        processes,
        threads,
        tracks,
        classes,
    )


def _number(value: Any, limit: int = _LARGEST) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise ValueError("a number")
    return value


def _clock_form(clock: ClockDomain) -> list[Any]:
    rate = None if clock.ticks_per_second is None else str(clock.ticks_per_second)
    return [clock.name, rate, clock.epoch_ns, clock.description]


def _clock_of(table: Any) -> ClockDomain:
    name, rate, epoch, description = table
    return ClockDomain(
        text_of(name),
        None if rate is None else parse_rate(rate),
        None if epoch is None else parse_epoch(epoch),
        text_of(description),
    )


def _class_of(table: Any) -> EventClass | None:
    try:
        recorded = class_of(table)
        if not isinstance(table.get("timed", True), bool):
            raise TypeError("whether a class has times")
        for one in recorded.fields:
            text_of(one.name)
            text_of(one.unit)
            _check(one.type)
        text_of(recorded.name)
        text_of(recorded.category)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    return recorded


def _check(recorded: FieldClass) -> None:
    """Check the parts of a field class.

    Raises:
        TypeError: a part is invalid.

    """
    match recorded:
        case IntegerClass(_, _, _, labels, flags):
            if not isinstance(flags, bool):
                raise TypeError("flags")
            for low, high, text in labels:
                if {type(low), type(high)} != {int}:
                    raise TypeError("a label")
                text_of(text)
        case BytesClass(media_type):
            text_of(media_type)
        case StructureClass(members) | VariantClass(members):
            for member in members:
                text_of(member.name)
                _check(member.type)
        case ArrayClass(element) | OptionalClass(element):
            _check(element)


def _is_native(name: str, value: str | int) -> bool:
    """Return True if an entry of the environment can be written in TSDL as it is."""
    if not _IDENTIFIER.fullmatch(name) or name in KEYWORDS or name.startswith(ENTRY):
        return False
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    return "\0" not in value

"""What CTF cannot say of a trace that came from another format, stated in the environment of its metadata.

Entries `traceconv_0`, `traceconv_1` ... hold one JSON text, cut into pieces: the clock, the processes, threads and
tracks, and each event class as the trace had it. The data lie as the metadata declare them, for any reader; this one
also gives the classes back their kinds, roles and names.
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

#: What the names of the entries begin with; a number follows.
ENTRY: Final = "traceconv_"
_PIECE: Final = 4000
_VERSION: Final = 1
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_LARGEST: Final = 1 << 64


@dataclass(slots=True)
class Statement:
    """What was stated. Indices in it are checked, texts and numbers are what they should be."""

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

    def restate(self, event_id: int, derived: EventClass) -> Restated | None:
        """The class that is stated of an event record class (its number is the same in all streams).

        None where nothing is stated, or where what is stated lies in another way than `derived`, the class as the
        metadata alone say it. Fields correspond by their positions.
        """
        if event_id not in self._known:
            self._known[event_id] = _class_of(self._classes.get(event_id))
        stated = self._known[event_id]
        if stated is None or len(stated.fields) != len(derived.fields):
            return None
        try:
            transforms = [
                transform(one.type, other.type)
                for one, other in zip(stated.fields, derived.fields, strict=True)
            ]
        except ValueError:
            return None
        return Restated(stated, tuple(transforms))


@dataclass(frozen=True, slots=True)
class Restated:
    """A class as it was stated, and what makes its columns of those that the metadata declare (None: nothing)."""

    event_class: EventClass
    transforms: tuple[Transform | None, ...]


def state(
    trace: Trace,
    classes: Mapping[int, EventClass],
    shift: int,
    usual: Mapping[str, str | int],
) -> dict[str, str | int]:
    """The environment of a trace's metadata: its own entries, and what is stated of it.

    Args:
        trace: once its batches have been read.
        classes: by the number of the event record class.
        shift: what values of the clock are more than ticks.
        usual: entries that readers expect, also in place of the trace's own.

    """
    held = {
        name: value
        for name, value in trace.environment.items()
        if name not in usual and _is_native(name, value)
    }
    statement = {
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
    text = json.dumps(statement, separators=(",", ":"))
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    stated = {f"{ENTRY}{number}": piece for number, piece in enumerate(pieces)}
    return {**held, **usual, **stated}


def read_statement(environment: Mapping[str, str | int]) -> Statement | None:
    """What is stated in the environment of metadata; None where nothing is, or nothing that makes sense."""
    pieces: list[str] = []
    while isinstance(piece := environment.get(f"{ENTRY}{len(pieces)}"), str):
        pieces.append(piece)
    if not pieces:
        return None
    names = {f"{ENTRY}{number}" for number in range(len(pieces))}
    rest = {name: value for name, value in environment.items() if name not in names}
    try:
        return _statement_of(json.loads("".join(pieces)), rest)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _statement_of(form: Any, environment: dict[str, str | int]) -> Statement:
    if form["version"] != _VERSION:
        raise ValueError("a statement of another version")
    for name in form["added"]:
        environment.pop(text_of(name), None)
    for name, value in form["environment"].items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise TypeError("an environment of other values")
        environment[name] = value
    processes = [process_of(one) for one in form["processes"]]
    threads = [
        Thread(_number(tid), _number(process, len(processes)), text_of(name))
        for tid, process, name in form["threads"]
    ]
    tracks: list[Track] = []
    for name, scope, owner, parent, unit, identity in form["tracks"]:
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
    shift = form["shift"]
    if not isinstance(shift, int) or not 0 <= shift < 1 << 63:
        raise ValueError("a shift")
    classes = {_number(number): held for number, held in form["classes"]}
    return Statement(
        _clock_of(form["clock"]),
        [_clock_of(clock) for clock in form["clock_domains"]],
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


def _clock_of(form: Any) -> ClockDomain:
    name, rate, epoch, description = form
    return ClockDomain(
        text_of(name),
        None if rate is None else parse_rate(rate),
        None if epoch is None else parse_epoch(epoch),
        text_of(description),
    )


def _class_of(form: Any) -> EventClass | None:
    try:
        stated = class_of(form)
        if not isinstance(form.get("timed", True), bool):
            raise TypeError("whether a class has times")
        for one in stated.fields:
            text_of(one.name)
            text_of(one.unit)
            _check(one.type)
        text_of(stated.name)
        text_of(stated.category)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    return stated


def _check(stated: FieldClass) -> None:
    """Whether the parts of a field class are what they should be.

    Raises:
        TypeError: they are not.

    """
    match stated:
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
    """Whether an entry of the environment can stand in TSDL as it is."""
    if not _IDENTIFIER.fullmatch(name) or name in KEYWORDS or name.startswith(ENTRY):
        return False
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    return "\0" not in value

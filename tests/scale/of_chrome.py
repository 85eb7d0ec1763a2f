"""Dimensions of Chrome JSON: what ids number, arguments, stack frames, damage."""

from __future__ import annotations

import json
from typing import Any

from scale.drawn import Dimension, Drawn, token, tokens


def _event(phase: str, ts: float, name: str, **members: Any) -> dict[str, Any]:
    return {"ph": phase, "pid": 1, "tid": 2, "ts": ts, "name": name, **members}


def _file(events: list[dict[str, Any]], **members: Any) -> dict[str, bytes]:
    return {"": json.dumps({"traceEvents": events, **members}).encode()}


def threads(count: int) -> Drawn:
    """Threads with a name and a slice each."""
    events = []
    for number in range(count):
        place = {"pid": number + 1, "tid": number + 1}
        named = {"name": token("t", number)}
        events.append({"ph": "M", "name": "thread_name", "args": named, **place})
        events.append({"ph": "X", "ts": number, "dur": 0.5, "name": "slice", **place})
    return Drawn(_file(events), tokens("t", count), count)


def asynchronous(count: int) -> Drawn:
    """Asynchronous events that are open at the same time."""
    events = [_event("b", n, token("n", n), cat="c", id=n) for n in range(count)]
    events += [_event("e", count + n, token("n", n), cat="c", id=n) for n in range(count)]
    return Drawn(_file(events), tokens("n", count), 2 * count)


def crossing(count: int) -> Drawn:
    """Slices that cross each other, all open at the same time."""
    events = [_event("X", n, token("n", n), dur=count + 1) for n in range(count)]
    return Drawn(_file(events), tokens("n", count), count)


def objects(count: int) -> Drawn:
    """Objects with a snapshot each."""
    events = []
    for number in range(count):
        id = f"0x{number:x}"
        events.append(_event("N", number, token("o", number), id=id))
        snapshot = {"snapshot": {"value": number}}
        events.append(_event("O", number + 0.5, token("o", number), id=id, args=snapshot))
    return Drawn(_file(events), tokens("o", count), 2 * count)


def shapes(count: int) -> Drawn:
    """Shapes of arguments."""
    events = [
        _event("X", n, "n", dur=0.5, args={token("k", n): n, f"m{n % 7}": 1.5})
        for n in range(count)
    ]
    return Drawn(_file(events), tokens("k", count), count)


def nested(count: int) -> Drawn:
    """Objects in each other, as an argument."""
    inside: Any = 5
    for number in range(count):
        inside = {token("k", number): inside}
    events = [_event("X", 1, "n", dur=5, args={"a": inside}), _event("i", 2, "other", s="t")]
    return Drawn(_file(events), tokens("k", count), 2)


def long_lists(count: int) -> Drawn:
    """Members of a list, as an argument."""
    return Drawn(_file([_event("X", 1, "n", dur=5, args={"l": list(range(count))})]), events=1)


def frames(count: int) -> Drawn:
    """Stack frames, each called by the one before in stacks of ten."""
    held = {
        str(n + 1): {"name": token("f", n), "category": "c"}
        | ({"parent": str(n)} if n % 10 else {})
        for n in range(count)
    }
    events = [_event("X", n, "n", dur=0.5, sf=str(n + 1)) for n in range(count)]
    # They are of this format alone.
    return Drawn(_file(events, stackFrames=held), frozenset(), count)


def damaged(count: int) -> Drawn:
    """Objects that are no JSON, each after an event."""
    pieces = []
    for number in range(count):
        pieces += [json.dumps(_event("X", number, token("n", number), dur=0.5)), '{"ph" 1}']
    text = '{"traceEvents":[' + ",".join(pieces) + "]}"
    return Drawn({"": text.encode()}, tokens("n", count), count, is_damaged=count > 0)


DIMENSIONS = [
    Dimension("threads of JSON", threads, "chrome"),
    Dimension("asynchronous events", asynchronous, "chrome"),
    Dimension("crossing slices", crossing, "chrome", most=(1 << 12) + 1),
    Dimension("objects", objects, "chrome"),
    Dimension("shapes of arguments", shapes, "chrome", most=(1 << 14) + 1),
    # JSON is read up to 512 levels, of which an event's arguments are in four.
    Dimension("objects in each other", nested, "chrome", most=480),
    Dimension("members of a list", long_lists, "chrome"),
    Dimension("stack frames", frames, "chrome"),
    Dimension("damaged events", damaged, "chrome", most=(1 << 13) + 1),
]

"""A CPU profile as JSON: a tree of nodes, each a call stack, and samples that name them with their times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.profiles.cut_json import objects_in, offset_of, parsed_prefix
from converter.limits import allowed, limit

#: What nodes without a name are called, in place of an empty text.
ANONYMOUS: Final = "(anonymous)"
#: The node around all others, which is no function.
ROOT: Final = "(root)"
#: What is between functions.
IDLE: Final = "(idle)"
#: Members that a profile has of its own; others are kept as they are.
MEMBERS: Final = ("nodes", "head", "startTime", "endTime", "samples", "timeDeltas", "timestamps")
_NANOSECONDS: Final = 1000
_SECONDS: Final = 10**9
_ENDS: Final = ("startTime", "endTime")
_MAX_TIME: Final = 1 << 62
_LAST_LINE: Final = (1 << 32) - 2


@dataclass(frozen=True, slots=True)
class CallFrame:
    """A function: its name, its script, and where it begins, both counted from 0; -1 is unknown."""

    name: str = ""
    script: str = "0"
    url: str = ""
    line: int = -1
    column: int = -1

    def form(self) -> dict[str, Any]:
        """Return the frame as V8 writes it."""
        return {
            "functionName": self.name,
            "scriptId": self.script,
            "url": self.url,
            "lineNumber": self.line,
            "columnNumber": self.column,
        }


@dataclass(slots=True)
class Nodes:
    """The nodes of a profile, in an order in which each is after the one around it.

    By number: the id in the file, the node around it (-1: none), the frame and the number of samples that it says.
    """

    ids: list[Any] = field(default_factory=list)
    outer: list[int] = field(default_factory=list)
    frame: list[int] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    #: The frames by number.
    frames: dict[CallFrame, int] = field(default_factory=dict)
    #: The number of nodes that were left out.
    damaged: int = 0

    def add(self, node: dict[str, Any], outer: int) -> int:
        """Add a node; return its number."""
        held = node.get("callFrame")
        frame = _call_frame(held if isinstance(held, dict) else node)
        self.ids.append(node.get("id"))
        self.outer.append(outer)
        self.frame.append(self.frames.setdefault(frame, len(self.frames)))
        self.hits.append(max(_integer(node.get("hitCount"), 0), 0))
        return len(self.ids) - 1


def parse(data: bytes, name: str) -> tuple[dict[str, Any], bytes, int | None]:
    """Parse the text of a profile.

    Returns:
        the profile, its text, and where damage is, before which these end.

    Raises:
        TraceError: it is no JSON, or no profile.

    """
    objects = objects_in(data)
    if objects > limit("cpuprofile.objects"):
        expected = allowed("cpuprofile.objects")
        raise TraceError(path=name, expected=expected, found=f"{objects:,}")
    load = partial(json.loads, parse_float=Decimal)
    try:
        found, text, damage = parsed_prefix(data.decode("utf-8-sig", "replace"), load)
    except (ValueError, RecursionError, InvalidOperation) as error:
        raise TraceError(path=name, expected="a CPU profile in JSON", found=str(error)) from error
    offset = None if damage is None else offset_of(damage)
    if not isinstance(found, dict):
        raise TraceError(path=name, offset=offset, expected="the object of a CPU profile")
    if not isinstance(found.get("nodes"), list) and not isinstance(found.get("head"), dict):
        expected = "the nodes of a CPU profile"
        raise TraceError(path=name, offset=offset, field="nodes", expected=expected)
    return found, data if offset is None else text.encode("utf-8", "replace"), offset


def nodes_of(profile: dict[str, Any]) -> Nodes:
    """Return the nodes of a profile: a list whose entries name each other, or a tree of objects."""
    if isinstance(profile.get("nodes"), list):
        return _listed(profile["nodes"])
    found = Nodes()
    waiting: list[tuple[Any, int]] = [(profile["head"], -1)]
    while waiting:
        node, outer = waiting.pop()
        if not isinstance(node, dict):
            found.damaged += 1
            continue
        number = found.add(node, outer)
        children = node.get("children")
        waiting += (
            [(child, number) for child in reversed(children or [])]
            if isinstance(children, list)
            else []
        )
    return found


def _listed(nodes: list[Any]) -> Nodes:
    found = Nodes()
    by_id: dict[Any, dict[str, Any]] = {}
    for node in nodes:
        id = node.get("id") if isinstance(node, dict) else None
        if not isinstance(id, int | str) or id in by_id:
            found.damaged += 1
        else:
            by_id[id] = node
    outer: dict[Any, Any] = {}
    for id, node in by_id.items():
        children = node.get("children")
        for child in children if isinstance(children, list) else ():
            if isinstance(child, int | str) and child in by_id:
                outer.setdefault(child, id)
        parent = node.get("parent")
        if isinstance(parent, int | str) and parent in by_id:
            outer.setdefault(id, parent)
    inner: dict[Any, list[Any]] = {}
    for id, parent in outer.items():
        inner.setdefault(parent, []).append(id)
    waiting = [(id, -1) for id in reversed(list(by_id)) if id not in outer]
    while waiting:
        id, number = waiting.pop()
        here = found.add(by_id[id], number)
        waiting += [(child, here) for child in reversed(inner.get(id, ()))]
    # The others are in a circle, which is around them.
    found.damaged += len(by_id) - len(found.ids)
    return found


def times_of(profile: dict[str, Any], count: int) -> tuple[NDArray[np.int64], int]:
    """Return the times of up to `count` samples in nanoseconds, and how many of them are none.

    A delta is the time since the sample before, or since the start.
    """
    stamps = profile.get("timestamps")
    if isinstance(stamps, list):
        return _numbers(stamps[:count], _NANOSECONDS)
    deltas = profile.get("timeDeltas")
    found, wrong = _numbers(deltas[:count] if isinstance(deltas, list) else [], _NANOSECONDS)
    start = _nanoseconds(profile.get("startTime"), _NANOSECONDS)
    # Sums beyond 62 bits are damage of a delta.
    total = np.cumsum(found.astype(np.float64)) + float(start or 0)
    beyond = np.abs(total) >= float(_MAX_TIME)
    if beyond.any():
        first = int(beyond.argmax())
        wrong += len(found) - first
        found = found[:first]
    return np.cumsum(found) + (start or 0), wrong


def wrong_ends(profile: dict[str, Any]) -> list[str]:
    """Return which of the start and the end of a profile are there, and no times."""
    return [
        name
        for name, time in zip(_ENDS, _ends(profile), strict=True)
        if time is None and profile.get(name) is not None
    ]


def span_of(profile: dict[str, Any]) -> tuple[int, int]:
    """Return the start and the end of a profile in nanoseconds."""
    first, last = (time or 0 for time in _ends(profile))
    return first, max(first, last)


def _ends(profile: dict[str, Any]) -> list[int | None]:
    """Return the start and the end in nanoseconds, or None; old profiles have them in seconds."""
    unit = _NANOSECONDS if "nodes" in profile else _SECONDS
    return [_nanoseconds(profile.get(name), unit) for name in _ENDS]


def _numbers(values: list[Any], unit: int) -> tuple[NDArray[np.int64], int]:
    """Return numbers in nanoseconds, and how many are none, which are 0."""
    try:
        column = np.array(values, np.int64)
        if column.ndim == 1 and len(column) and bool((np.abs(column) < _MAX_TIME // unit).all()):
            kinds = {type(value) for value in values}
            if kinds == {int}:
                return column * unit, 0
    except (ValueError, TypeError, OverflowError):
        pass
    each = [_nanoseconds(value, unit) for value in values]
    return np.array([one or 0 for one in each], np.int64), sum(one is None for one in each)


def _nanoseconds(value: Any, unit: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    if not -_MAX_TIME // unit < value < _MAX_TIME // unit:
        return None
    return round(value * unit)


def _call_frame(held: dict[str, Any]) -> CallFrame:
    script = held.get("scriptId")
    name, url = (held.get(key) for key in ("functionName", "url"))
    return CallFrame(
        name if isinstance(name, str) else "",
        str(script) if isinstance(script, int | str) else "0",
        url if isinstance(url, str) else "",
        _integer(held.get("lineNumber"), -1),
        _integer(held.get("columnNumber"), -1),
    )


def _integer(value: Any, missing: int) -> int:
    """Return a number that an array holds."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return missing
    return int(value) if -_LAST_LINE <= value <= _LAST_LINE else missing


def without_root(nodes: Nodes) -> Iterator[int]:
    """Yield, by number, the node around each that is a function: the root is none."""
    frames = list(nodes.frames)
    for outer in nodes.outer:
        is_root = outer >= 0 and nodes.outer[outer] < 0 and frames[nodes.frame[outer]].name == ROOT
        yield -1 if is_root else outer

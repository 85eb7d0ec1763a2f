"""Compare Chrome JSON files with what is read and written of them: ``python tests/support/chrome/oracle.py FILE...``.

The oracle is Python's json module and knows nothing of the reader. Before comparing, both sides are brought to what
docs/formats/chrome_details.md calls the normal form.
"""

from __future__ import annotations

import gzip
import json
import sys
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from converter.formats.chrome.capabilities import CAPABILITIES
from converter.formats.chrome.reading.reader import read
from converter.formats.chrome.writing.writer import write
from converter.ir.canonical import difference
from converter.projection.project import project
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

#: Members that count as absent where they are null.
_STANDARD = (
    *("name", "cat", "s", "scope", "pid", "tid", "id", "id2", "bind_id", "args", "cpu"),
    *("flow_in", "flow_out"),
)
_TIMES = ("ts", "dur", "tts", "tdur")
_NAMES = ("process_name", "thread_name")
_LARGEST = (1 << 63) - 1


class Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, repetitions included."""

    def get(self, key: str, default: Any = None) -> Any:
        return next((value for name, value in reversed(self) if name == key), default)


def parse(text: str) -> Any:
    """JSON with members as pairs and numbers with a point as decimals."""
    return json.loads(text, object_pairs_hook=Pairs, parse_float=Decimal)


def repaired(text: str) -> str:
    """A text that was cut off, closed behind its last whole event."""
    text = text.removeprefix("\ufeff")
    try:
        json.loads(text)
    except ValueError:
        for end in range(len(text), 0, -1):
            if text[end - 1] != "}":
                continue
            closed = text[:end] + "]" + ("}" if text.lstrip().startswith("{") else "")
            try:
                json.loads(closed)
            except ValueError:
                continue
            return closed
        return "[]"
    return text


def document(text: str) -> tuple[list[Any], dict[str, Any]]:
    """The events and the other members, in normal form."""
    top = parse(repaired(text))
    if not isinstance(top, Pairs):
        return [normal_event(event) for event in top if event], {}
    events: list[Any] = []
    members = {}
    header = Pairs()
    for name, value in top:
        if name == "traceEvents":
            events += value
        elif name == "traceconv":
            header = value
        else:
            members[name] = plain(value)
    for name in header.get("added", []):
        members.pop(name, None)
    return [normal_event(event) for event in events if event], members


def plain(value: Any) -> Any:
    """A value that can be compared and printed."""
    if isinstance(value, Pairs):
        return {name: plain(inner) for name, inner in value}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return normal_number(value)


def normal_number(value: Any) -> Any:
    """Numbers as the IR has them; those that JSON has not as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    if isinstance(value, int):
        if value > 2**64 - 1 or value < -(2**63):
            return float(value)
        return str(value) if value > _LARGEST else value
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(float(value))]
    return float(value)


def argument(value: Any) -> Any:
    """A value in arguments: repeated members count."""
    if isinstance(value, Pairs):
        return {"members": [[name, argument(inner)] for name, inner in value]}
    if isinstance(value, list):
        return [argument(inner) for inner in value]
    return normal_number(value)


def is_text(event: Any) -> bool:
    """Whether an event is kept as text: then it must not change at all."""
    if event.get("ph") not in [*"BEXiIRPCbneSTpFstfNODcM"]:
        return True
    return event.get("ph") == "M" or event.get("ts") is None


def normal_event(event: Any) -> Any:
    """An event in normal form."""
    if event.get("ph") == "M" and event.get("name") in _NAMES:
        return {
            "ph": "M",
            "name": event.get("name"),
            **plain(
                Pairs((name, value) for name, value in event if name in ("pid", "tid", "args"))
            ),
        }
    if is_text(event):
        return plain(event)
    result: dict[str, Any] = {}
    for name, value in event:
        if value is None and name in _STANDARD:
            result.pop(name, None)
        elif name in _TIMES:
            result[name] = time(value)
        elif name == "args":
            if value != []:
                result[name] = argument(value)
        elif name != "arg_types" and (name not in ("name", "cat") or value):
            result[name] = plain(value)
    if result["ph"] == "X" and "dur" not in result:
        result["dur"] = result.get("tdur", time(0))
    result.setdefault("pid", 0)
    result.setdefault("tid", result["pid"])
    return result


def time(value: Any) -> str:
    """A time to the picosecond, the finest clock that is guessed."""
    rounded = Decimal(value).quantize(Decimal("1.000000"), ROUND_HALF_UP)
    return str(Fraction(rounded))


def compare(path: Path) -> list[str]:
    """What is wrong with the round trip of a file."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    trace = read(open_source(data))
    projected, losses = project(trace, CAPABILITIES, "chrome")
    sink = BufferSink()
    write(projected, sink, "")
    written = sink.getvalue()
    found = difference(trace, read(open_source(written)), sidecar=True)
    problems = [] if found is None else [f"read back: {found}"]
    problems += [f"loss: {loss}" for loss in losses]
    before, members = document(data.decode("utf-8", "replace"))
    after, members_after = document(written.decode())
    if members != members_after:
        problems.append(f"members {sorted(members)} became {sorted(members_after)}")
    # Metadata goes to the end; all else keeps its order.
    for kind in (False, True):
        ours = [event for event in after if (event.get("ph") == "M") is kind]
        theirs = [event for event in before if (event.get("ph") == "M") is kind]
        if kind:
            ours, theirs = _distinct(ours), _distinct(theirs)
        for one, other in zip(theirs, ours, strict=False):
            if one != other:
                problems.append(f"{one}\n    became {other}")
                break
        if len(ours) != len(theirs):
            problems.append(f"{len(theirs)} events became {len(ours)}")
    return problems


def _distinct(events: list[Any]) -> list[Any]:
    return sorted(
        {json.dumps(event, sort_keys=True): event for event in events}.values(),
        key=lambda event: json.dumps(event, sort_keys=True),
    )


def main(paths: list[str]) -> int:
    """Compare the files; how many differ."""
    failed = 0
    for path in paths:
        problems = compare(Path(path))
        failed += bool(problems)
        sys.stdout.write(f"{path}: {'; '.join(problems)[:2000] or 'same'}\n")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

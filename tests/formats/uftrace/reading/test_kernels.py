"""No directory that is written crashes a command of any version of uftrace, whatever the trace was."""

from __future__ import annotations

from typing import Any

import pytest
from support.chrome.files import events, load
from support.uftrace.oracle import check_readers, needs_uftrace, run
from viewers.conversions import SOURCES, convert

import converter

pytestmark = needs_uftrace

#: What is escaped to one, two, and five bytes.
PLAIN, QUOTE, OTHER = "x", '"', "é"


# Each is some forty runs of programs; `python -m tests.programs` has them read thousands of traces.
@pytest.mark.parametrize("source", SOURCES[::20])
def test_any_trace_is_taken(source, tmp_path):
    check_readers(convert(source, "uftrace", tmp_path).path)


def begin(name: str, ts: float = 1, tid: int = 5, **arguments: Any) -> dict[str, Any]:
    return {"ph": "B", "name": name, "ts": ts, "pid": tid, "tid": tid, "args": arguments}


def end(ts: float = 9, **arguments: Any) -> dict[str, Any]:
    return {"ph": "E", "ts": ts, "pid": 5, "tid": 5, "args": arguments}


def instant(name: str, **more: Any) -> dict[str, Any]:
    return {"ph": "i", "name": name, "ts": 5, "pid": 5, "tid": 5, **more}


def many(value: Any, count: int = 24, name: str = "a") -> dict[str, Any]:
    return {f"{name}{number}": value for number in range(count)}


def holding(values: dict[str, Any], returned: Any) -> tuple[dict[str, Any], ...]:
    """A slice and an instant with these values; classes of their own, since their number is in the names."""
    slice_, mark = f"f{len(values)}", f"i{len(values)}"
    return begin(slice_, **values), instant(mark, args=values), end(returned=returned)


def check(tmp_path, *events):
    converter.write(load(list(events)), tmp_path / "data", "uftrace")
    check_readers(tmp_path / "data")
    return converter.read(tmp_path / "data")


def test_long_names(tmp_path):
    names = [letter * 5000 for letter in (PLAIN, QUOTE, OTHER)]
    instants = [instant(name, cat=name) for name in names]
    check(tmp_path, *(begin(name, ts) for ts, name in enumerate(names)), *instants, end())


ODD_NAMES = (
    "",
    "\n",
    " ",
    "__sym_end",
    "_start",
    "main",
    "a@b",
    "a;b",
    "a:b",
    "::",
    "_Z",
    "_ZN1",
    "%s%n",
    "..",
    "\\",
)


def test_odd_names(tmp_path):
    begins = [begin(name, ts) for ts, name in enumerate(ODD_NAMES)]
    check(tmp_path, *begins, *map(instant, ODD_NAMES))


def test_long_texts(tmp_path):
    texts = [letter * 3000 for letter in (PLAIN, QUOTE, OTHER, "\1")]
    counts = ((text, count + place) for count in (1, 30) for place, text in enumerate(texts))
    check(
        tmp_path, *(event for text, count in counts for event in holding(many(text, count), text))
    )


VALUES = {
    "large": 1.5e308,
    "small": -5e-324,
    "integer": -(1 << 63),
    "unsigned": (1 << 64) - 1,
    "list": ["é" * 300] * 9,
    "nested": {"a": [{"b": "é" * 999}] * 9, "c": None},
    "null": None,
    "truth": True,
    "nul": "a\0b",
}


def test_values(tmp_path):
    counts = (
        (value, count + place) for count in (1, 60) for place, value in enumerate(VALUES.values())
    )
    check(
        tmp_path,
        *(event for value, count in counts for event in holding(many(value, count), value)),
    )


def test_large_numbers_among_others_are_texts_and_the_others_stay_numbers(tmp_path):
    values = [many(value, 4) for value in (1.5, 1.5e300)]
    again = check(tmp_path, begin("f", 1, **values[0]), begin("f", 2, **values[1]), end(3), end(4))
    found = [fields for kind, _, fields in events(again) if kind == "SLICE_BEGIN"]
    shown = [{name: one for name, one in fields.items() if name in values[0]} for fields in found]
    assert shown == [values[0], dict.fromkeys(values[1], b"1.5e+300")]


def test_long_names_of_arguments(tmp_path):
    made = []
    for count in (24, 200):
        numbers = many(1, count, "n" * 200)
        made += begin("f", **numbers), instant("i", args=numbers), end()
        made.append({"ph": "C", "name": "c" * 600, "ts": 3, "pid": 5, "tid": 5, "args": numbers})
    check(tmp_path, *made)


def test_arguments_whose_names_become_one(tmp_path):
    """Readers look for a text by the name of its field: a number of that name is no place in the record."""
    values = {"é": 0x1A_E0B4_9DBD, "ü": "text", "unnamed": 1}
    again = check(tmp_path, begin("f"), instant("i", args=values), end())
    (found,) = (fields for kind, _, fields in events(again) if kind == "TYPED")
    assert found["unnamed"] == values["é"]
    assert (found["unnamed__2"], found["unnamed__3"]) == (b"text", 1)
    assert b"unnamed__2=text unnamed__3=1" in run("uftrace", "dump", "-d", str(tmp_path / "data"))


@pytest.mark.parametrize("depth", [1025, 70_000])
def test_deep_stacks(tmp_path, depth):
    check(
        tmp_path,
        *(begin("f", ts) for ts in range(depth)),
        *(end(depth + ts) for ts in range(depth)),
    )


def test_numbers_of_tasks(tmp_path):
    tids = (0, (1 << 31) - 1, 1 << 31, 1 << 32, (1 << 63) - 1)
    check(tmp_path, *(begin("f", tid=tid) for tid in tids), begin("f"), end())


def test_many_tasks(tmp_path):
    # More than a process may have files open, as a rule.
    check(tmp_path, *(begin("f", tid=tid) for tid in range(1100)))


def test_nothing(tmp_path):
    check(tmp_path)


def test_far_times(tmp_path):
    check(tmp_path, begin("f", 0), begin("f", 9e15), end(9.2e15))

"""What chrome://tracing imports of Chrome JSON is what the projected trace says."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.samples import sampled
from support.viewers.catapult import Imported, imported_all, losing, needs_catapult, unmatched
from viewers import catapult_model as model
from viewers import chrome_model
from viewers.conversions import (
    RECORDINGS,
    SOURCES,
    Conversion,
    convert,
    format_of,
    source_trace,
)
from viewers.pending import reason_of
from viewers.projected import events_of
from viewers.slice_stacks import Slices
from viewers.test_trace_processor import assert_rows

import converter
from converter.ir.kinds import Kind, Role

pytestmark = needs_catapult

Shown = tuple[Conversion, Imported]
#: What is converted for it.
CHOSEN = sampled([source for source in SOURCES if format_of(source) != "chrome"], 4)
#: Names of the rows of CPUs.
_CPU = re.compile(r"(?:CPU|Cpu|cpu) ?(\d+)")


@pytest.fixture(scope="module")
def all_shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shown]:
    """All conversions, imported by one process."""
    folder = tmp_path_factory.mktemp("catapult")
    conversions = [convert(source, "chrome", folder) for source in CHOSEN]
    found = imported_all([one.path for one in conversions])
    return {one.source: (one, shown) for one, shown in zip(conversions, found, strict=True)}


@pytest.fixture(
    params=CHOSEN,
    ids=lambda source: f"{source}-to-chrome",
)
def shown(request: pytest.FixtureRequest, all_shown: dict[str, Shown]) -> Shown:
    """A conversion and what is imported of it."""
    return all_shown[request.param]


@pytest.fixture
def loaded(shown: Shown) -> Shown:
    """One that is imported at all, which another test asks for."""
    if shown[1].error is not None:
        pytest.skip("not imported")
    return shown


@pytest.fixture(autouse=True)
def pending(request: pytest.FixtureRequest) -> None:
    """What is known to be shown otherwise; strict, so that what has become right is taken off the list."""
    reason = reason_of(request.node.name)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


#: Timelines by the conversion and the function that makes them, which several tests need.
_MADE: dict[tuple[str, Any], Any] = {}


def as_in_catapult(conversion: Conversion) -> model.Timeline:
    """What it should show."""
    return _made(conversion, model.timeline)


def as_in_perfetto(conversion: Conversion) -> Slices:
    """What trace_processor shows."""
    return _made(conversion, chrome_model.timeline)


def _made(conversion: Conversion, make: Callable[[Conversion], Any]) -> Any:
    key = (conversion.source, make)
    if key not in _MADE:
        _MADE[key] = make(conversion)
    return _MADE[key]


def test_catapult_imports_it(shown: Shown) -> None:
    assert shown[1].error is None


def test_events_have_what_catapult_takes_for_granted(shown: Shown) -> None:
    """It refuses a whole file for one event without a name, or a flow that ends without a category."""
    conversion, _ = shown
    named, flows = set("BXiIRCbensSTpFtfNOD"), set("f")
    for event in json.loads(conversion.path.read_text())["traceEvents"]:
        assert event["ph"] not in named or isinstance(event.get("name"), str)
        assert event["ph"] not in flows or "bp" in event or "cat" in event


def test_begins_and_ends_are_in_order(shown: Shown) -> None:
    """It matches them in the order of the file, and refuses that for an end that is before its begin."""
    conversion, _ = shown
    last: dict[Any, float] = {}
    for event in json.loads(conversion.path.read_text())["traceEvents"]:
        if event["ph"] in "BE":
            place = (event["pid"], event["tid"])
            assert event["ts"] >= last.get(place, event["ts"])
            last[place] = event["ts"]


def test_catapult_shows_slices(loaded: Shown) -> None:
    conversion, found = loaded
    rows = [
        (pid, tid, title or "", depth, round(start * 1e6), round(duration * 1e6))
        for pid, tid, title, start, duration, depth, _ in found.rows["slices"]
        if not is_scheduling(pid, tid, found)
    ]
    assert model.same_slices(as_in_catapult(conversion).rows(), rows) == []


def test_catapult_draws_flows(loaded: Shown) -> None:
    conversion, found = loaded
    arrows = [(start or "", end or "") for start, end, *_ in found.rows["flows"]]
    assert_rows(as_in_catapult(conversion).arrows, arrows)


def test_catapult_shows_asynchronous_slices(loaded: Shown) -> None:
    """As trace_processor does; of those that have only an end, only this one shows something."""
    conversion, found = loaded
    expected = Counter(
        ((one.name or "").replace("[No name]", ""), one.depth)
        for one in as_in_perfetto(conversion).rows
        if one.place[0] == "async"
    )
    rows = Counter((title or "", depth) for _, _, title, _, _, depth in found.rows["asyncs"])
    assert not expected - rows
    assert (rows - expected).total() == sum(
        count for warning, count in found.warnings.items() if unmatched(warning) == "END"
    )


def test_catapult_shows_instants_of_processes(loaded: Shown) -> None:
    conversion, found = loaded
    expected = [
        (one.name or "").replace("[No name]", "")
        for one in as_in_perfetto(conversion).rows
        if one.place[0] == "track"
    ]
    assert_rows(expected, [title or "" for title, _ in found.rows["instants"]])


def test_catapult_shows_counters(loaded: Shown) -> None:
    conversion, found = loaded
    rows = [
        (pid, name, series, float(value)) for pid, name, series, _, value in found.rows["counters"]
    ]
    assert_rows(model.counters(conversion), rows)


def test_catapult_shows_scheduling(loaded: Shown) -> None:
    """A row of each CPU has what ran there when; not the idle tasks, and what has no end, as what runs last."""
    conversion, found = loaded
    slices = [(row[2], row[0], row[1], row[4]) for row in chrome_model.sched(conversion).slices]
    last = {cpu: ts for cpu, ts, *_ in sorted(slices, key=lambda row: row[:2])}
    unended = {(cpu, ts) for cpu, ts, duration, _ in slices if duration < 0 or ts == last[cpu]}
    expected = [row[:3] for row in slices if row[3] != 0 and row[:2] not in unended]
    rows = [
        (cpu, round(start * 1e6), round(duration * 1e6))
        for cpu, start, duration in scheduling(found)
    ]
    around = range(-model.TOLERANCE, model.TOLERANCE + 1)
    shown = [row for row in rows if not any((row[0], row[1] + by) in unended for by in around)]
    assert model.same_slices(expected, shown) == []


def scheduling(found: Imported) -> list[tuple[int, float, float]]:
    """CPU, start and duration of what ran."""
    rows = [(cpu, start, duration) for cpu, title, start, duration in found.rows["cpus"]]
    names = {(pid, tid): name for pid, tid, name, _ in found.rows["threads"]}
    for pid, tid, _, start, duration, *_ in found.rows["slices"]:
        if is_scheduling(pid, tid, found):
            match = _CPU.fullmatch(names[pid, tid])
            assert match is not None
            rows.append((int(match[1]), start, duration))
    return rows


def is_scheduling(pid: int, tid: int, found: Imported) -> bool:
    """Whether a thread is the row of a CPU."""
    processes = dict(map(tuple, found.rows["processes"]))
    names = {(pid, tid): name for pid, tid, name, _ in found.rows["threads"]}
    return processes.get(pid) == "CPUs" and bool(_CPU.fullmatch(names.get((pid, tid), "")))


def test_catapult_names_threads_and_processes(loaded: Shown) -> None:
    """Those that it shows at all: that have something on them."""
    conversion, found = loaded
    names = {(pid, tid): name for pid, tid, name, _ in found.rows["threads"]}
    expected = {
        key: name for key, name in chrome_model.threads(conversion).items() if name and key in names
    }
    assert {key: names[key] for key in expected} == expected
    processes = dict(found.rows["processes"])
    wanted = {pid: name for pid, name in chrome_model.processes(conversion).items() if name}
    assert {pid: processes.get(pid, wanted[pid]) for pid in wanted} == wanted


def test_catapult_names_threads_that_only_switches_name(loaded: Shown) -> None:
    """Formats of the kernel have the names of tasks in their switches."""
    conversion, found = loaded
    names: dict[int, str] = {}
    for event in events_of(source_trace(conversion.source)):
        if event.kind is Kind.SCHED_SWITCH:
            names[event.of(Role.PREV_TID, 0)] = event.of(Role.PREV_COMM, "")
            names[event.of(Role.NEXT_TID, 0)] = event.of(Role.NEXT_COMM, "")
    shown = {tid for _, tid, name, slices in found.rows["threads"] if slices and not name}
    assert {tid: names[tid] for tid in shown if names.get(tid)} == {}


def test_catapult_warns_of_nothing_else(loaded: Shown) -> None:
    """But for what the source itself has: ends and arrows that have no other side, and text that is no event."""
    conversion, found = loaded
    warnings: Counter[str] = Counter()
    for warning, count in found.warnings.items():
        if losing(warning):
            warnings[warning.partition(":")[0]] += count
    assert warnings == as_in_catapult(conversion).warnings


@pytest.mark.parametrize("source", [source for source in SOURCES if format_of(source) == "chrome"])
def test_catapult_imports_a_copy_as_its_original(source: str, tmp_path: Path) -> None:
    """A file that is written again in its own format is shown as before, or refused as before."""
    copy = tmp_path / "copy.json"
    converter.convert(RECORDINGS / source, copy)
    before, after = imported_all([RECORDINGS / source, copy])
    assert (before.error is None) == (after.error is None)
    if before.error is None:
        assert after.warnings == before.warnings
        for name, rows in before.rows.items():
            found = after.rows[name]
            if isinstance(rows, list):
                assert_rows(map(repr, rows), map(repr, found))
            else:
                assert found == rows

"""What trace_processor shows of a conversion is what the projected trace says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.samples import sampled
from support.viewers.trace_processor import needs_trace_processor
from viewers import chrome_model, fxt_model, kernel_messages, kernel_model, perfetto_model
from viewers.conversions import SOURCES, Conversion, convert, format_of, source_trace
from viewers.pending import reason_of
from viewers.readable import readable
from viewers.slice_stacks import Slice
from viewers.trace_processor import (
    Row,
    arguments,
    tables_if_opened,
    tables_of,
)

import converter
from converter.formats.fxt.record_types import MAGIC
from converter.ir.kinds import Kind
from converter.ir.semantics import Unseen
from converter.projection.losses import LossKind

pytestmark = needs_trace_processor

MODELS: dict[str, ModuleType] = {
    "chrome": chrome_model,
    "fxt": fxt_model,
    "perfetto": perfetto_model,
}
SCHED_KINDS = (Kind.SCHED_SWITCH, Kind.SCHED_WAKING, Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW)
#: Rows that a failure shows, of each sort.
SHOWN = 4

Shown = tuple[Conversion, dict[str, list[Row]]]


@pytest.fixture(
    scope="module",
    params=sampled(
        (
            (source, target)
            for target in MODELS
            for source in SOURCES
            if format_of(source) != target
        ),
        18,
    ),
    ids="-to-".join,
)
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """A conversion and what trace_processor makes of it."""
    source, target = request.param
    conversion = convert(source, target, tmp_path_factory.mktemp("viewers"))
    return conversion, tables_of(conversion.path)


@pytest.fixture(autouse=True)
def pending(request: pytest.FixtureRequest) -> None:
    """What is known to be shown otherwise; strict, so that what has become right is taken off the list."""
    reason = reason_of(request.node.name)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def model_of(conversion: Conversion) -> Any:
    """The model of the target's importer."""
    return MODELS[conversion.target]


def test_slices(shown: Shown) -> None:
    conversion, tables = shown
    expected = model_of(conversion).timeline(conversion).rows
    assert_rows(map(expected_slice, expected), map(shown_slice, tables["slices"]))


def expected_slice(one: Slice) -> tuple[Any, ...]:
    return (
        *(one.ts, one.dur, one.depth, one.name or None, one.category or None),
        one.place[:2] if one.place[0] == "async" else one.place[:3],
        comparable(one.args),
    )


def shown_slice(row: Row) -> tuple[Any, ...]:
    return (
        *(row["ts"], row["dur"], row["depth"], row["name"] or None, row["category"] or None),
        *(place_of(row), comparable(arguments(row["args"]))),
    )


def place_of(row: Row) -> tuple[Any, ...]:
    """Where a slice is: on a thread, one of asynchronous slices, or another one of a thread, process or CPU."""
    if row["type"] in ("thread_execution", "thread_funcgraph"):
        return ("thread", row["pid"], row["tid"])
    if row["tid"] is not None:
        return ("track", (row["pid"], row["tid"]), row["track"])
    if "async" in row["type"]:
        return ("async", row["pid"])
    return ("track", row["cpu"] if row["pid"] is None else row["pid"], row["track"])


def test_flows(shown: Shown) -> None:
    conversion, tables = shown
    slices = {row["id"]: row for row in tables["slices"]}
    found = [
        tuple((slices[row[end]]["ts"], slices[row[end]]["name"]) for end in ("source", "target"))
        for row in tables["flows"]
    ]
    arrows = model_of(conversion).timeline(conversion).flows.arrows
    assert_rows([tuple((one.ts, one.name) for one in ends) for ends in arrows], found)


def test_counters(shown: Shown) -> None:
    conversion, tables = shown
    found = [
        (row["ts"], row["value"], row["track"], row["pid"], row["cpu"])
        for row in tables["counters"]
    ]
    assert_rows(model_of(conversion).counters(conversion), found)


def test_scheduling(shown: Shown) -> None:
    conversion, tables = shown
    found = [
        (row["ts"], row["dur"], row["cpu"], row["end_state"], row["tid"]) for row in tables["sched"]
    ]
    assert_rows(map(tuple, model_of(conversion).sched(conversion).slices), found)


def test_thread_states(shown: Shown) -> None:
    conversion, tables = shown
    found = [
        (row["ts"], row["dur"], row["state"], row["tid"], row["waker"]) for row in tables["states"]
    ]
    assert_rows(map(tuple, model_of(conversion).sched(conversion).states), found)


def test_kernel_events(shown: Shown) -> None:
    conversion, tables = shown
    expected = [(*row, comparable(args)) for *row, args in model_of(conversion).ftrace(conversion)]
    known = set(expected)
    found = []
    for row in tables["ftrace"]:
        place = (row["ts"], row["name"], row["cpu"], row["tid"])
        args = comparable(arguments(row["args"]))
        # The number of the first set of arguments in the file is also that of none.
        none = row["arg_set"] == 0 and (*place, args) not in known
        found.append((*place, () if none else args))
    assert_rows(expected, found)


def test_fields_of_kernel_events_that_are_not_shown_are_named_as_losses(shown: Shown) -> None:
    conversion, _ = shown
    if conversion.target != "perfetto":
        pytest.skip("only Perfetto has kernel events")
    is_unseen = Unseen.SCHED_ARGUMENTS in source_trace(conversion.source).semantics.unseen
    unseen = SCHED_KINDS if is_unseen else ()
    expected = {
        name
        for event in conversion.events
        if kernel_model.is_kernel_event(event) and event.kind not in unseen
        for name in kernel_messages.unshown_fields(event.event_class)
    }
    # Losses of other data name no field.
    fields = (
        dict(loss.parameters).get("field")
        for loss in conversion.losses
        if loss.kind is LossKind.UNSHOWN and loss.code != "empty-field-unshown"
    )
    assert set(fields) - {None} == expected


def test_logs(shown: Shown) -> None:
    conversion, tables = shown
    found = [(row["ts"], row["prio"], row["tag"], row["msg"], row["tid"]) for row in tables["logs"]]
    assert_rows(model_of(conversion).logs(conversion), found)


def test_names_of_threads(shown: Shown) -> None:
    conversion, tables = shown
    expected = named(model_of(conversion).threads(conversion))
    found = {(row["pid"], row["tid"]): row["name"] or "" for row in tables["threads"]}
    assert_rows(expected.items(), ((key, found.get(key, "(absent)")) for key in expected))


def test_all_that_threads_do_is_under_their_names(shown: Shown) -> None:
    """Also where the importer has several threads of one id, one after another."""
    conversion, tables = shown
    expected = named(model_of(conversion).threads(conversion))
    found = [(row["pid"], row["tid"]) for row in tables["nameless"]]
    assert [key for key in found if key in expected] == []


def test_names_of_processes(shown: Shown) -> None:
    conversion, tables = shown
    expected = named(model_of(conversion).processes(conversion))
    found = {row["pid"]: row["name"] or "" for row in tables["processes"]}
    assert_rows(expected.items(), ((key, found.get(key, "(absent)")) for key in expected))


def named(names: dict[Any, str]) -> dict[Any, str]:
    """Those that have a name: one without may be shown only where it has events."""
    return {key: name for key, name in names.items() if name}


def test_nothing_else_is_rejected(shown: Shown) -> None:
    """But for what the source itself has: lost events, and slices and flows that do not fit together."""
    conversion, tables = shown
    found = [(row["name"], row["value"]) for row in tables["stats"]]
    assert_rows(model_of(conversion).problems(conversion).items(), found)


@pytest.mark.parametrize("source", [source for source in SOURCES if format_of(source) in MODELS])
def test_a_file_of_the_format_looks_the_same(source: str, tmp_path: Path) -> None:
    """A file that is written again in its own format is shown as before."""
    before, after = readable(source, tmp_path), tmp_path / "again"
    if before.read_bytes()[:8] == MAGIC[::-1]:
        pytest.skip("trace_processor does not read big-endian FXT")
    converter.convert(before, after, target_format=format_of(source))
    expected, found = tables_if_opened(before), tables_of(after)
    for name in expected:
        assert_rows(*(map(without_numbers, part[name]) for part in (expected, found)))


def without_numbers(row: Row) -> tuple[Any, ...]:
    """A row without what only numbers other rows."""
    return tuple(
        value for key, value in row.items() if key not in ("id", "arg_set", "source", "target")
    )


def comparable(args: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Arguments that can be compared and counted."""
    return tuple(
        sorted((name, "" if value is None else str(value)) for name, value in args.items())
    )


def assert_rows(expected: Iterable[Any], found: Iterable[Any]) -> None:
    """The rows are the same ones, in whatever order."""
    one, other = Counter(expected), Counter(found)
    missing, more = one - other, other - one
    if missing or more:
        counts = f"of {one.total()} rows {missing.total()} are not shown, {more.total()} others are"
        rows = [
            f"{sign} {row}"
            for sign, part in (("-", missing), ("+", more))
            for row in sorted(part, key=repr)[:SHOWN]
        ]
        pytest.fail("\n".join([counts, *rows]), pytrace=False)

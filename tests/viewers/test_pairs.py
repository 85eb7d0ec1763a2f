"""What trace_processor shows of a file it shows in another of its formats, too, but for what the report names.

A loss excuses the tables that events of its kinds are rows of. One that is of no kind of event is of the whole trace.
What another format shows beside is no loss; whether it is right, tests of the models ask.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.trace_processor import needs_trace_processor
from viewers.conversions import RECORDINGS, SOURCES, convert, format_of
from viewers.pending import reason_of
from viewers.readable import readable
from viewers.test_trace_processor import MODELS
from viewers.trace_processor import TABLES, Row, arguments, tables_if_opened, tables_of

from converter.formats.fxt.record_types import MAGIC
from converter.ir.kinds import Kind
from converter.projection.losses import Extent, Loss, LossClass, LossKind

pytestmark = needs_trace_processor

#: Names of tracks and types of rows are the importers' own, as is where they count what is wrong.
OWN_COLUMNS = ("id", "arg_set", "source", "target", "type", "track", "args", "depth", "parent")
OWN_TABLES = ("stats", "ftrace", "nameless")
#: The tables that show events of a kind; those of other kinds are slices.
ROWS: dict[Kind, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            Kind.SCHED_SWITCH,
            Kind.SCHED_WAKING,
            Kind.SCHED_WAKEUP,
            Kind.SCHED_WAKEUP_NEW,
            Kind.STATE,
        ),
        ("sched", "states"),
    ),
    **dict.fromkeys(
        (
            Kind.COUNTER,
            Kind.CPU_FREQUENCY,
            Kind.CPU_IDLE,
            Kind.CPU_FREQUENCY_LIMITS,
            Kind.CLOCK_RATE,
        ),
        ("counters",),
    ),
    **dict.fromkeys((Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END), ("flows",)),
    **dict.fromkeys(
        (Kind.TASK_NEW, Kind.TASK_RENAME, Kind.TASK_EXIT, Kind.TASK_FREE), ("threads", "processes")
    ),
    # Some are slices that arrows connect: transactions of binders, jobs of GPUs.
    Kind.TYPED: ("slices", "flows"),
    Kind.LOG: ("logs",),
    Kind.SAMPLE: ("samples",),
}
Shown = tuple[tuple[str, ...], frozenset[str]]
#: Keys of arguments begin with what each importer calls them.
PREFIX = re.compile(r"^(debug|args)\.")


@pytest.fixture(autouse=True)
def pending(request: pytest.FixtureRequest) -> None:
    """What is known to look different without a loss that says so."""
    reason = reason_of(request.node.name)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("source", [source for source in SOURCES if format_of(source) in MODELS])
def test_what_looks_different_is_a_named_loss(source: str, target: str, tmp_path: Path) -> None:
    if format_of(source) == target:
        pytest.skip("looks the same by another test")
    if (RECORDINGS / source).read_bytes()[:8] == MAGIC[::-1]:
        pytest.skip("trace_processor does not read big-endian FXT")
    recording = readable(source, tmp_path)
    is_copy = recording != RECORDINGS / source
    conversion = convert(source, target, tmp_path, recording if is_copy else None)
    before, after = tables_if_opened(recording), tables_of(conversion.path)
    excused = frozenset[str]().union(*map(touched, conversion.losses))
    looked_at = [name for name in before if name not in OWN_TABLES and name not in excused]
    assert not {name: rows for name in looked_at if (rows := missing(before[name], after[name]))}


def missing(before: list[Row], after: list[Row]) -> list[Shown]:
    """The rows that no row behind a conversion says all of."""
    were, are = Counter(map(shown, seen(before))), Counter(map(shown, seen(after)))
    others = list((are - were).elements())
    found = []
    for row in (were - are).elements():
        match = next((other for other in others if says(other, row)), None)
        if match is None:
            found.append(row)
        else:
            others.remove(match)
    return found


def says(other: Shown, row: Shown) -> bool:
    """Whether a row has what another one has: a value where that has one, and its arguments."""
    columns = zip(row[0], other[0], strict=True)
    return all(value in ("", one) for value, one in columns) and row[1] <= other[1]


def touched(loss: Loss) -> frozenset[str]:
    """The tables in which a loss shows: as something that is not there, or that another kind of row stands for."""
    if loss.loss_class is not LossClass.SHOWN and loss.kind is not LossKind.LOWERED:
        return frozenset()
    if not loss.event_kinds:
        return frozenset(TABLES)
    if loss.entry.extent is Extent.FLOWS:
        return frozenset({"flows"})
    tables = frozenset(table for kind in loss.event_kinds for table in ROWS.get(kind, ("slices",)))
    # What is lost of a class or a field leaves events on their threads.
    is_of_fields = loss.entry.extent is Extent.FIELDS
    return tables if is_of_fields else tables | {"threads", "processes"}


def test_a_loss_excuses_the_tables_of_its_kinds() -> None:
    of_counters = Loss("counter-rounded", 1, 0, event_kinds=frozenset({Kind.COUNTER}))
    assert touched(of_counters) == {"counters", "threads", "processes"}
    as_slices = replace(of_counters, code="event-as")
    assert touched(as_slices) == {"counters"}
    assert touched(replace(as_slices, code="field-type", loss_class=LossClass.DETAIL)) == set()
    assert touched(replace(as_slices, event_kinds=frozenset())) == set(TABLES)


def test_a_row_is_there_if_another_says_more() -> None:
    a, b = ["debug.a", "int", 1], ["debug.b", "int", 2]
    row: Row = {"ts": 1, "name": None, "args": json.dumps([a])}
    more = {"name": "[No name]", "args": json.dumps([a, b])}
    assert missing([row], [row | more]) == []
    assert missing([row, row], [row | more])
    assert missing([row], [row | {"ts": 2}, row | {"args": json.dumps([b])}])
    assert missing([row | {"name": "b"}], [row])


def seen(rows: list[Row]) -> list[Row]:
    """Rows but those of the idle thread, which some tables have whether it runs or not."""
    return [row for row in rows if row.get("tid", row.get("pid")) != 0]


def shown(row: Row) -> Shown:
    """A row as it can be compared between importers: its columns, and its arguments."""
    return (
        tuple(plain(value) for key, value in row.items() if key not in OWN_COLUMNS),
        frozenset(
            f"{PREFIX.sub('', key)}={plain(value)}"
            for key, value in arguments(row.get("args")).items()
        ),
    )


def plain(value: Any) -> str:
    """No text is empty text; a number is one however it is written, without a sign."""
    text = "" if value is None else str(value)
    with contextlib.suppress(ValueError):
        return str(int(text, 0) % (1 << 64))
    return text

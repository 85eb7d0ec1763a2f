"""What Babeltrace, uftrace and trace-cmd print of a conversion is what the projected trace says."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.samples import sampled
from viewers import programs_model
from viewers.conversions import SOURCES, convert, format_of
from viewers.pending import reason_of
from viewers.test_trace_processor import assert_rows

#: What distributions have, and newer ones.
BABELTRACES = ["babeltrace2", "babeltrace2-2.1"]
TRACE_CMDS = ["trace-cmd", "trace-cmd-3.4"]
UFTRACES = ["uftrace", "uftrace-0.19"]


@pytest.fixture(autouse=True)
def pending(request: pytest.FixtureRequest) -> None:
    """What is known to be shown otherwise; strict, so that what has become right is taken off the list."""
    reason = reason_of(request.node.name)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


#: Each source is converted for one of the programs at least, and each program reads many.
CONVERSIONS = sampled(
    (
        (source, shown)
        for format, all_shown in (
            ("ctf", ("ctf+1.8", "ctf+2")),
            ("trace_cmd", TRACE_CMDS),
            ("uftrace", UFTRACES),
        )
        for shown in all_shown
        for source in SOURCES
        if format_of(source) != format
    ),
    12,
)


def conversions(*names: str) -> list[tuple[str, str]]:
    """The sources that are converted for these programs or variants."""
    return [(source, shown) for source, shown in CONVERSIONS if shown in names]


def needed(program: str) -> str:
    """A program, or the test is skipped."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return program


@pytest.mark.parametrize(("source", "target"), conversions("ctf+1.8", "ctf+2"))
def test_babeltrace_reads_what_is_projected(source: str, target: str, tmp_path: Path) -> None:
    """Each event at its time; events of one name are of one kind, system and name."""
    conversion = convert(source, target, tmp_path)
    expected = list(programs_model.ctf_rows(conversion))
    if not expected:
        pytest.skip("a trace without events")
    # Babeltrace 2.0 does not read CTF 2.
    for program in BABELTRACES if target == "ctf+1.8" else BABELTRACES[1:]:
        rows = list(programs_model.babeltrace_rows(needed(program), conversion.path))
        assert_rows((row[:2] for row in expected), (row[:2] for row in rows))
        assert_names(expected, rows)


def assert_names(expected: list[tuple[Any, ...]], found: list[tuple[Any, ...]]) -> None:
    """Each name that is shown stands for one of those in the trace, judged by events that are alone at their place."""
    told, shown = ({row[:-1]: row[-1] for row in rows} for rows in (expected, found))
    crowded = {place for place, count in Counter(row[:-1] for row in expected).items() if count > 1}
    meanings: dict[Any, set[Any]] = {}
    for place, name in shown.items():
        if place not in crowded:
            meanings.setdefault(name, set()).add(told[place])
    assert [(name, held) for name, held in meanings.items() if not is_one(held)] == []


def is_one(held: set[Any]) -> bool:
    """Whether these are one event: some formats have names of their own for the kernel's, without the system."""
    systems = {system for _, system, _ in held} - {""}
    return len({(kind, name) for kind, _, name in held}) == 1 and len(systems) <= 1


@pytest.mark.parametrize(("source", "program"), conversions(*TRACE_CMDS))
def test_trace_cmd_reports_what_is_projected(source: str, program: str, tmp_path: Path) -> None:
    conversion = convert(source, "trace_cmd", tmp_path)
    rows = programs_model.trace_cmd_rows(needed(program), conversion.path)
    assert_rows(programs_model.trace_dat_rows(conversion), rows)


@pytest.mark.parametrize(("source", "program"), conversions(*UFTRACES))
def test_uftrace_dumps_what_is_projected(source: str, program: str, tmp_path: Path) -> None:
    conversion = convert(source, "uftrace", tmp_path)
    rows = programs_model.uftrace_rows(needed(program), conversion.path)
    assert_rows(programs_model.function_rows(conversion), rows)

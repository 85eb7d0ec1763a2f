"""The table in docs/viewers.md: what each viewer shows of events of each kind."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support import samples
from support.viewers.trace_processor import needs_trace_processor
from support.viewers.trace_processor_versions import Feature
from viewers.programs_model import babeltrace_rows, printed, trace_cmd_rows
from viewers.shown_kinds import ABSENT, in_catapult, in_kernelshark, in_speedscope
from viewers.trace_processor import tables_of

import converter
from converter.fixtures import synthetic_trace
from converter.fixtures.kinds import GROUPS
from converter.ir.kinds import Kind

PAGE = Path(__file__).parents[2] / "docs/viewers.md"
#: Around the table.
START, END = "<!-- viewers -->\n", "<!-- /viewers -->"
#: Around the table of versions.
FEATURES_START, FEATURES_END = "<!-- versions -->\n", "<!-- /versions -->"
#: Kinds that are shown together.
FAMILIES = [
    (Kind.SLICE_BEGIN, Kind.SLICE_END),
    (Kind.ASYNC_BEGIN, Kind.ASYNC_END),
    (Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END),
    (Kind.IRQ_ENTRY, Kind.IRQ_EXIT),
    (Kind.SOFTIRQ_ENTRY, Kind.SOFTIRQ_EXIT),
    (Kind.TIMER_ENTRY, Kind.TIMER_EXIT),
    (Kind.IPI_ENTRY, Kind.IPI_EXIT),
    (Kind.SYSCALL_ENTRY, Kind.SYSCALL_EXIT),
    (Kind.WORK_BEGIN, Kind.WORK_END),
    (Kind.FUNCTION_ENTRY, Kind.FUNCTION_EXIT),
]
#: What flows are between.
CONTEXT = {FAMILIES[2]: (*FAMILIES[0], Kind.SLICE_COMPLETE)}
EVENTS = 24

#: What rows of a table of trace_processor are.
TABLES = {
    "counters": "counter",
    "sched": "scheduling",
    "states": "thread state",
    "flows": "arrow",
    "ftrace": "kernel event",
    "logs": "log",
    "samples": "sample",
}


def in_trace_processor(path: Path) -> set[str]:
    """What the tables of trace_processor have."""
    tables = tables_of(path)
    shown = {
        ("async " if "async" in row["type"] else "") + ("slice" if row["dur"] else "instant")
        for row in tables["slices"]
    }
    return shown | {what for name, what in TABLES.items() if tables[name]}


def in_babeltrace(path: Path) -> set[str]:
    """Whether Babeltrace prints events."""
    return {"event"} if list(babeltrace_rows("babeltrace2", path)) else set()


def in_uftrace(path: Path) -> set[str]:
    """What uftrace dumps."""
    lines = printed("uftrace", "dump", "--no-pager", "-d", str(path))
    what = {"[entry]": "function", "[exit ]": "function", "[event]": "event"}
    filler = "(traceconv)"
    shown = {
        kind for mark, kind in what.items() for line in lines if mark in line and filler not in line
    }
    return shown | ({"scheduling"} if any("linux:sched" in line for line in lines) else set())


def in_trace_cmd(path: Path) -> set[str]:
    """Whether trace-cmd reports events."""
    return {"event"} if list(trace_cmd_rows("trace-cmd", path)) else set()


#: Headings, with what is written and how it is looked at.
VIEWERS: list[tuple[str, str, str, Callable[[Path], set[str]]]] = [
    ("Perfetto", "perfetto", ".pftrace", in_trace_processor),
    ("Chrome JSON in Perfetto", "chrome", ".json", in_trace_processor),
    ("FXT in Perfetto", "fxt", ".fxt", in_trace_processor),
    ("CTF in Babeltrace", "ctf+1.8", ".ctf", in_babeltrace),
    ("uftrace", "uftrace", ".uftrace", in_uftrace),
    ("trace.dat in trace-cmd", "trace_cmd", ".dat", in_trace_cmd),
    ("Chrome JSON in chrome://tracing", "chrome", ".json", in_catapult),
    ("Chrome JSON in speedscope", "chrome", ".json", in_speedscope),
    ("trace.dat in KernelShark", "trace_cmd", ".dat", in_kernelshark),
]


def families() -> list[tuple[Kind, ...]]:
    """All kinds, those that are shown together in one."""
    found: list[tuple[Kind, ...]] = []
    for kind in GROUPS["all"]:
        family = next((one for one in FAMILIES if kind in one), (kind,))
        if family not in found:
            found.append(family)
    return found


def shown(kinds: tuple[Kind, ...], folder: Path, viewer: int) -> set[str]:
    """What a viewer shows of a synthetic trace of kinds."""
    _, target, suffix, look = VIEWERS[viewer]
    path = folder / f"{'-'.join(kind.name for kind in kinds)}{suffix}"
    if not path.exists():
        names = [kind.name.lower() for kind in kinds]
        converter.write(synthetic_trace(names, EVENTS, 0), path, target)
    return look(path)


def cell(family: tuple[Kind, ...], folder: Path, viewer: int, written: str) -> str:
    """What a viewer shows of a family, without what is around it."""
    if ABSENT.get(VIEWERS[viewer][-1]):
        return written
    around = CONTEXT.get(family, ())
    found = shown((*around, *family), folder, viewer)
    if around:
        found -= shown(around, folder, viewer) - {"event"}
    return ", ".join(sorted(found)) or "nothing"


def table(folder: Path, written: str) -> str:
    """The table, of which some columns may stay as they are written."""
    lines = (line.strip("| ").split(" | ") for line in written.splitlines())
    known = {names: dict(enumerate(cells)) for names, *cells in lines}
    rows = [["kind", *(heading for heading, *_ in VIEWERS)], ["---"] * (len(VIEWERS) + 1)]
    for family in families():
        names = ", ".join(f"`{kind.name}`" for kind in family)
        cells = known.get(names, {})
        columns = (cell(family, folder, i, cells.get(i, "")) for i in range(len(VIEWERS)))
        rows.append([names, *columns])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def table_of_versions() -> str:
    """Return the table of what depends on the version of trace_processor."""
    lines = ["| since | what trace_processor shows |", "| --- | --- |"]
    for feature in Feature:
        major, minor = feature.since
        since = f"v{major}" if minor == 0 else f"v{major}.{minor} or before"
        lines.append(f"| {since} | {feature.description} |")
    return "\n".join(lines) + "\n"


def compare_or_write(start: str, end: str, make: Callable[[str], str]) -> None:
    """Assert that the page has between marks what is made of it, or write it where TRACECONV_WRITE_VIEWERS is set."""
    before, _, rest = PAGE.read_text().partition(start)
    written, _, after = rest.partition(end)
    made = make(written)
    if os.environ.get("TRACECONV_WRITE_VIEWERS"):
        PAGE.write_text(f"{before}{start}{made}{end}{after}")
    else:
        assert written == made


def test_the_page_says_what_depends_on_the_version() -> None:
    compare_or_write(FEATURES_START, FEATURES_END, lambda _: table_of_versions())


@needs_trace_processor
@pytest.mark.skipif(
    not samples.ALL and "TRACECONV_WRITE_VIEWERS" not in os.environ,
    reason="a minute and a half: TRACECONV_TESTS=all",
)
def test_the_table_says_what_viewers_show(tmp_path: Path) -> None:
    for program in ("babeltrace2", "uftrace", "trace-cmd"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    compare_or_write(START, END, lambda written: table(tmp_path, written))

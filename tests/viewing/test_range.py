"""What the page says of a range of time: tables of slices and threads, flame graphs of slices and samples."""

import json

import pytest
from support.traces.strategies import batch_of
from support.viewers.browser import Browser, needs_browser
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.analysis.viewing.contents import Contents
from converter.analysis.viewing.page import page
from converter.ir.collect import with_batches
from converter.ir.events import EventClass
from converter.ir.kinds import Kind
from converter.ir.trace import Process, Thread, Trace
from converter.projection.timeline_fields import ADDRESSES, FRAMES, FUNCTIONS, weight

pytestmark = needs_browser

SMALL = "roundtrip_fixtures/trace_cmd/small.dat"


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


def shown(browser, path, trace):
    path.write_bytes(b"".join(page(Contents(trace, "a trace", 1_000_000))))
    browser.open(path)
    browser.value("traceView.then((page) => { globalThis.P = page; })")


def sliced(*slices):
    """A trace of slices: (name, start, duration, thread) in microseconds."""
    events = [
        {"ph": "X", "name": name, "pid": 1, "tid": tid, "ts": start, "dur": duration}
        for name, start, duration, tid in slices
    ]
    return json.dumps({"traceEvents": events}).encode()


def chosen(browser, title):
    """Choose a view of the range."""
    browser.value(
        f"[...P.range.tabs.children].find((one) => one.textContent === {json.dumps(title)}).click()"
    )


def table(browser):
    """The cells of the table, by row."""
    return browser.value(
        "Array.from(P.range.table.querySelectorAll('tr'), (row) => Array.from(row.cells, (one) => one.textContent))"
    )


#: The nodes of the flame graph: names from the root, total and self.
FLAME = """(() => { const path = (node) => node.above ? [...path(node.above), P.range.flame.nameOf(node)] : [];
    return P.range.flame.root.all().slice(1).map((node) => [path(node).join(";"), node.total, node.own]); })()"""


def flame(browser):
    return {path: (total, own) for path, total, own in browser.value(FLAME)}


SLICES = (("outer", 0, 100, 1), ("inner", 10, 30, 1), ("inner", 50, 10, 1), ("deep", 55, 5, 1))


def test_slices_of_a_range_are_summed_by_name(browser, tmp_path):
    with converter.open_trace(sliced(*SLICES, ("inner", 200, 100, 2))) as trace:
        shown(browser, tmp_path / "x.html", trace)
    browser.value("P.sum(0, P.timeline.length)")
    assert table(browser) == [
        ["slices", "count", "total", "self", "min", "p50", "p90", "p99", "max", "avg"],
        [*("inner", "3", "140 µs", "135 µs"), *("10 µs", "30 µs", *["100 µs"] * 3, "46.667 µs")],
        ["outer", "1", "100 µs", "60 µs", *["100 µs"] * 6],
        ["deep", "1", "5 µs", "5 µs", *["5 µs"] * 6],
    ]
    # A part counts with the parts of slices that are in it.
    browser.value("P.sum(20000, 55000)")
    assert table(browser)[1:] == [
        ["outer", "1", "35 µs", "10 µs", *["35 µs"] * 6],
        ["inner", "2", "25 µs", "25 µs", "5 µs", "5 µs", "20 µs", "20 µs", "20 µs", "12.5 µs"],
        ["deep", "1", "0 ns", "0 ns", *["0 ns"] * 6],
    ]
    chosen(browser, "Flame graph of slices")
    assert flame(browser) == {
        "outer": (35_000, 10_000),
        "outer;inner": (25_000, 25_000),
        "outer;inner;deep": (0, 0),
    }
    browser.press("Escape")
    assert browser.value("document.getElementById('range').hidden")


def test_asynchronous_slices_are_in_no_other(browser, tmp_path):
    events = [
        {"ph": ph, "cat": "a", "name": "step", "id": id, "pid": 1, "tid": 1, "ts": ts}
        for ph, id, ts in (("b", 1, 0), ("b", 2, 10), ("e", 2, 20), ("e", 1, 100))
    ]
    with converter.open_trace(json.dumps({"traceEvents": events}).encode()) as trace:
        shown(browser, tmp_path / "x.html", trace)
    browser.press("r")
    assert table(browser)[1] == [
        "step",
        "2",
        "110 µs",
        "110 µs",
        *["10 µs"] * 2,
        *["100 µs"] * 3,
        "55 µs",
    ]


def test_threads_have_their_time_on_cpus(browser, tmp_path):
    with converter.open_trace(SMALL) as trace:
        shown(browser, tmp_path / "x.html", trace)
    browser.value("P.sum(0, P.timeline.length)")
    chosen(browser, "Threads")
    rows = table(browser)
    assert rows[0] == [
        *("thread", "CPU time", "share"),
        *("runnable", "sleeping", "uninterruptible"),
    ]
    assert len(rows) > 2
    running = browser.value(
        """P.timeline.lanes.flatMap((lane) => lane.items.filter((run) => run.kind === STATES && run.busy[run.count])
        .map((run) => run.busy[run.count])).sort((a, b) => b - a)"""
    )
    assert browser.value(
        "P.range.sums.threadRows().map((row) => row[1]).filter(Boolean).sort((a, b) => b - a)"
    ) == (running)


def frame(name, file=b"", address=0):
    values = (name, file, address, b"", 0)
    return list(zip(("function", "mapping", "rel_pc", "source", "line"), values, strict=True))


LEAF, MAIN = frame(b"leaf"), frame(b"main")


def sampled():
    trace = Trace(
        format="other",
        processes=[Process(10, "app")],
        threads=[Thread(11, 0, "worker")],
        event_classes=[
            EventClass(Kind.SAMPLE, "cpu-clock", fields=(FRAMES, weight("ns"))),
            EventClass(Kind.SAMPLE, "</script>", fields=(FUNCTIONS,)),
            EventClass(Kind.SAMPLE, fields=(ADDRESSES,)),
        ],
    )
    rows = [
        (0, 100, [LEAF, MAIN], 1000),
        (0, 300, [MAIN], 500),
        (0, 200, [LEAF, LEAF, MAIN], 2000),
        (0, 250, [], 1),
        (0, 260, [frame(b"", b"/bin/app", 16)], 7),
        (1, 150, [b"<b>", b"main"], None),
        (2, 160, [0x10], None),
    ]
    events = [
        (number, ts, 0, 0, -1, (stack,) if amount is None else (stack, amount))
        for number, ts, stack, amount in rows
    ]
    return with_batches(trace, [batch_of(trace, events)])


def test_samples_are_flame_graphs_by_event(browser, tmp_path):
    shown(browser, tmp_path / "x.html", sampled())
    browser.value("P.sum(0, P.timeline.length)")
    titles = browser.value("[...P.range.tabs.children].map((one) => one.textContent)")
    events = ["Flame graph: cpu-clock", "Flame graph: </script>", "Flame graph: sample"]
    assert titles == ["Slices", "Threads", "Flame graph of slices", *events]
    chosen(browser, events[0])
    assert flame(browser) == {
        "main": (3500, 500),
        "main;leaf": (3000, 1000),
        "main;leaf;leaf": (2000, 2000),
        "app+0x10": (7, 7),
    }
    assert browser.value("P.range.said.textContent") == "3.508 µs"
    # Samples are instants of their threads, too.
    assert browser.value("P.search.find('cpu-clock').then((found) => found.length)") == 5
    chosen(browser, events[1])
    assert flame(browser) == {"main": (1, 0), "main;<b>": (1, 1)}
    chosen(browser, events[2])
    assert flame(browser) == {"0x10": (1, 1)}
    # A part of the trace: from 200 to 260, counted from the first event.
    browser.value("P.sum(100, 160)")
    chosen(browser, events[0])
    assert browser.value("P.range.flame.root.total") == 2008


def test_a_search_says_how_much_of_a_flame_graph_it_finds(browser, tmp_path):
    shown(browser, tmp_path / "x.html", sampled())
    browser.value("P.sum(0, P.timeline.length)")
    chosen(browser, "Flame graph: cpu-clock")
    browser.press("/")
    browser.type("LEAF")
    assert browser.value("P.range.said.textContent") == "3.508 µs; found 3 µs (85.5%)"
    # A click shows a node in full width, below those around it.
    browser.value("P.range.flame.zoom(P.range.flame.drawn.find((one) => one.row === 2).node)")
    widths = browser.value(
        "P.range.flame.drawn.map((one) => [P.range.flame.nameOf(one.node), one.width / P.range.flame.drawn[0].width])"
    )
    assert [name for name, _ in widths] == ["all samples", "main", "leaf", "leaf"]
    assert [share for _, share in widths] == pytest.approx([1, 1, 1, 2 / 3])


def test_callers_and_callees_of_a_name(browser, tmp_path):
    shown(browser, tmp_path / "x.html", sampled())
    browser.value("P.sum(0, P.timeline.length)")
    chosen(browser, "Flame graph: cpu-clock")
    browser.value("P.range.around(P.timeline.header.functions.indexOf('leaf'))")
    assert flame(browser) == {"leaf": (2000, 2000)}
    assert browser.value("P.range.flame.root.own") == 1000
    callers = FLAME.replace("P.range.flame", "P.range.callers")
    assert browser.value(callers) == [["main", 3000, 3000]]
    titles = browser.value("[...P.range.tabs.children].map((one) => one.textContent)")
    assert titles[-1] == "Callers and callees: leaf"


@needs_trace_processor
def test_the_numbers_of_a_range_are_those_of_trace_processor(browser, tmp_path):
    with converter.open_trace(SMALL) as trace:
        shown(browser, tmp_path / "x.html", trace)
    start, end = 5_000_000, 30_000_000
    browser.value(f"P.sum({start}, {end})")
    first = int(browser.value("P.timeline.header.start"))
    converter.convert(SMALL, tmp_path / "x.pftrace")
    inside = f"min(ts + dur, {first + end}) - max(ts, {first + start})"
    rows = answer(
        tmp_path / "x.pftrace",
        f"""with part as (select *, {inside} as took from slice
              where ts <= {first + end} and ts + dur >= {first + start}),
            ranked as (select name, took, row_number() over (partition by name order by took) as rank,
              count() over (partition by name) as n from part)
            select name, count(*), sum(took), sum(took - ifnull((select sum(inner.took) from part as inner
              where inner.parent_id = part.id), 0)), min(took),
              (select took from ranked where ranked.name = part.name and rank = (n + 1) / 2), max(took)
            from part group by name""",
    )
    found = browser.value("P.range.sums.sliceRows()")
    assert len(rows) > 3
    assert {(name, *map(int, numbers)) for name, *numbers in rows} == {
        (name, count, total, own, least, median, most)
        for name, count, total, own, least, median, _, _, most, _ in found
    }
    part = f"min(iif(dur < 0, trace_end(), ts + dur), {first + end}) - max(ts, {first + start})"
    states = answer(
        tmp_path / "x.pftrace",
        f"""select replace(state, '+', ''), sum(max({part}, 0))
            from thread_state join thread using (utid) where tid != 0 group by 1""",
    )
    times = browser.value(
        """P.range.sums.threadRows().map((row) => row.slice(1))
        .reduce((sum, row) => sum.map((one, i) => one + row[i]))"""
    )
    expected = {state: int(time) for state, time in states}
    assert [times[0], *times[2:]] == [expected.get(one, 0) for one in ("Running", "R", "S", "D")]

"""The page itself, in a browser."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from support.viewers.browser import Browser, needs_browser
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.analysis.viewing.contents import Contents
from converter.analysis.viewing.page import SCRIPTS, page

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"

#: What a trace may say to be more than text: markup, scripts, templates, characters that turn others around.
HOSTILE = [
    "</script><script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "{DATA}{POLICY}{STYLE}",
    "'\"`${window.ran = 1}]]>--><!--",
    "javascript:window.ran=1//",
    "nul\0 escape\x1b[31m line\nreturn\r bell\x07 c1\x9b",
    "\u202eright to left\u2066\u200b\ufeff",
    "\ud800 alone, and \U0001f600",
    "constructor",
    "__proto__",
    "x" * 1_000_000,
    "",
]


def written(path, source, limit=1_000_000_000, title="a trace"):
    with converter.open_trace(source) as trace:
        contents = Contents(trace, title, limit)
        path.write_bytes(b"".join(page(contents)))
    return path


def as_json(events):
    return json.dumps({"traceEvents": list(events)}).encode()


def hostile_events():
    return [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": HOSTILE[0]}},
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": HOSTILE[1]}},
        *(
            {
                "ph": "X",
                "name": name,
                "pid": 1,
                "tid": 1,
                "ts": i * 10,
                "dur": 5,
                "args": {name or "-": name},
            }
            for i, name in enumerate(HOSTILE)
        ),
        {"ph": "C", "name": HOSTILE[0], "pid": 1, "ts": 3, "args": {HOSTILE[1]: 1}},
    ]


def test_it_needs_nothing_else_and_allows_nothing_else(tmp_path):
    text = written(tmp_path / "x.html", as_json(hostile_events()), title=HOSTILE[0]).read_text()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    blocks = re.findall(r"<(script|style)(.*?)>(.*?)</\1>", text, re.DOTALL)
    run = [(tag, inside) for tag, attributes, inside in blocks if "octet-stream" not in attributes]
    data = [inside for _, attributes, inside in blocks if "octet-stream" in attributes]
    assert len(run) + len(data) == len(SCRIPTS) + 3
    assert len(run) + len(data) == text.count("<script") + text.count("<style")
    for tag, inside in run:
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src" in policy
        assert f"'sha256-{digest}'" in policy
    for inside in data:
        assert re.fullmatch(r"[A-Za-z0-9+/]+=*", inside)
    # What a trace says stands in the data only.
    for name in HOSTILE[:6]:
        assert name not in text
    assert not re.search(r"\b(src|href|action)=", text)
    assert not re.search(
        r"\b(innerHTML|outerHTML|insertAdjacentHTML|eval|Function\(|document\.write)\b", text
    )


@pytest.fixture(scope="module")
def browser():
    with Browser() as browser:
        yield browser


def opened(browser, path):
    """Open a page, and wait until it is drawn; the class of the page is `P`."""
    browser.events.clear()
    browser.open(path)
    browser.value("traceView.then((page) => { globalThis.P = page; })")


def drawn(browser, kind="SLICES"):
    """The slices that are drawn one by one: names, times of the clock, durations (-1: no end)."""
    return {
        (name, int(ts), duration)
        for name, ts, duration in browser.value(
            f"""P.drawing.draw(), P.drawing.drawn.filter((one) => one.run.kind === {kind} && one.count === 1)
            .map(({{ run, index }}) => [P.timeline.nameOf(run.first + index), `${{P.timeline.clock(run.ts[index])}}`,
              Number.isFinite(run.end[index]) ? run.end[index] - run.ts[index] : -1])"""
        )
    }


def details(browser):
    """What the panel says, by name, once it says it."""
    cells = "Array.from(row.cells, (cell) => cell.textContent)"
    return dict(
        browser.value(
            f"P.shown.then(() => Array.from(document.querySelectorAll('#details tr'), (row) => {cells}))"
        )
    )


def searched(browser, text, key="Enter"):
    browser.press("/")
    browser.type(text)
    browser.press(key)
    browser.press("Escape")
    return details(browser)


@needs_browser
def test_what_a_trace_says_is_text(browser, tmp_path):
    path = written(tmp_path / "x.html", as_json(hostile_events()), title=HOSTILE[0])
    opened(browser, path)
    assert browser.value("document.title") == HOSTILE[0]
    assert browser.value("document.getElementById('title').textContent") == HOSTILE[0]
    names = browser.value("P.timeline.names")
    said = [name.replace("\ud800", "?") for name in HOSTILE]
    for name in said:
        assert name in names or "alone" in name
    for name in HOSTILE[:6]:
        browser.value(
            f"""(() => {{ const item = P.timeline.name.indexOf(P.timeline.names.indexOf({json.dumps(name)}));
            const run = P.timeline.runOf(item), selected = {{ run, index: item - run.first, count: 1 }};
            P.drawing.reveal(selected); P.drawing.draw(); return P.select(selected); }})()"""
        )
        told = details(browser)
        assert told["name"] == told[name] == name
        assert told["of"] == f"{HOSTILE[1]} 1"
        assert told["on"] == f"{HOSTILE[0]} 1"
    assert browser.value("document.querySelectorAll('script').length") == len(SCRIPTS)
    assert browser.value("document.querySelectorAll('img').length") == 0
    assert browser.value("globalThis.ran") is None
    assert browser.value("document.getElementById('status').textContent") == ""
    # Nothing was refused either: nothing was asked for.
    assert [event for event in browser.events if event["method"] == "Log.entryAdded"] == []
    assert browser.value("visible('a\\0b\\u202ec\\n')") == "a\ufffdb\ufffdc\ufffd"


@needs_browser
def test_keys_search_and_clicks(browser, tmp_path):
    events = [
        {
            "ph": "X",
            "name": f"step {i}",
            "pid": 1,
            "tid": 1,
            "ts": 1000 + i * 100,
            "dur": 90.5,
            "args": args,
        }
        for i, args in enumerate(
            [{"n": -(2**53) - 1, "ok": True, "f": 0.5, "t": "text"}, *[{}] * 9]
        )
    ]
    events += [{"ph": "X", "name": "deep", "pid": 1, "tid": 1, "ts": 1710, "dur": 0.007}]
    events += [{"ph": "i", "name": "also", "pid": 1, "tid": 2, "ts": 1700}]
    opened(browser, written(tmp_path / "x.html", as_json(events)))
    assert len(drawn(browser)) == 11
    # Search.
    told = searched(browser, "STEP 3")
    assert told["name"] == "step 3"
    assert (told["time"], told["duration"]) == ("0.001300000 s", "90.5 µs")
    assert browser.value("P.found.textContent") == "1 of 1"
    assert told["of"] == "process 1"
    # Zoom to it, out, in, and move.
    browser.press("f")
    assert browser.value("P.drawing.span") == pytest.approx(90_500 * 2.2)
    before = browser.value("[P.drawing.from, P.drawing.span]")
    browser.press("s")
    assert browser.value("P.drawing.span") == pytest.approx(before[1] * 1.5)
    browser.press("w")
    browser.press("d")
    after = browser.value("[P.drawing.from, P.drawing.span]")
    assert after[1] == pytest.approx(before[1])
    assert after[0] > before[0]
    browser.press("a")
    # Its neighbours, and none any more.
    browser.press(".")
    assert details(browser)["name"] == "step 4"
    browser.press(",")
    browser.press(",")
    assert details(browser)["name"] == "step 2"
    browser.press("Escape")
    assert browser.value("document.getElementById('details').hidden")
    # All of it; a click says all that the event says, exactly.
    browser.press("0")
    place = browser.value(
        """P.drawing.draw(), (({ left, right, top, bottom }) => {
          const canvas = P.canvas.getBoundingClientRect();
          return [canvas.x + (left + right) / 2, canvas.y + (top + bottom) / 2];
        })(P.drawing.drawn.find((one) => P.timeline.nameOf(one.run.first + one.index) === "step 0"))"""
    )
    browser.click(*place)
    told = details(browser)
    assert told["name"] == "step 0"
    assert (told["n"], told["ok"], told["f"], told["t"]) == (
        "-9007199254740993",
        "true",
        "0.5",
        "text",
    )
    # To the nanosecond.
    told = searched(browser, "deep")
    assert (told["time"], told["duration"]) == ("0.001710000 s", "7 ns")
    assert browser.value("P.drawing.span") < 100
    # Search again and again goes around.
    names = [searched(browser, "step ")["name"]]
    for _ in range(10):
        browser.press("/")
        browser.press("Enter")
        browser.press("Escape")
        names.append(details(browser)["name"])
    assert names == [f"step {i % 10}" for i in range(11)]
    assert browser.value("P.search.found.length") == 10
    assert searched(browser, "nothing")["name"] == names[-1]
    assert browser.value("P.found.textContent") == "none"
    # Help, which keys close.
    browser.press("?")
    assert browser.value("P.help.open")
    browser.value("P.help.close()")
    # A group is folded, and unfolded where something in it is looked for.
    browser.value(
        "P.drawing.folded.add(P.timeline.groups[0]), P.drawing.layOut(), P.drawing.draw()"
    )
    assert drawn(browser) == set()
    searched(browser, "step 1")
    assert ("step 1", 1_100_000, 90_500) in drawn(browser)


@needs_browser
def test_what_began_an_item_and_what_ended_it(browser, tmp_path):
    opened(browser, written(tmp_path / "x.html", SMALL))
    told = searched(browser, "IRQ (virtio")
    assert (told["time"], told["duration"]) == ("827.290450510 s", "4.066 µs")
    assert (told["irq"], told["category"], told["ret"], told["on"]) == (
        "36",
        "irq",
        "handled",
        "Irq Cpu 1",
    )
    names = browser.value(
        "Array.from(document.querySelectorAll('#details th'), (th) => th.textContent)"
    )
    assert names.count("irq") == 1


@needs_browser
def test_counters_flows_and_running_threads(browser, tmp_path):
    events = [
        {"ph": "X", "name": "from", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
        {"ph": "X", "name": "to", "pid": 1, "tid": 2, "ts": 50, "dur": 10},
        {"ph": "s", "name": "go", "id": 7, "pid": 1, "tid": 1, "ts": 5},
        {"ph": "f", "bp": "e", "name": "go", "id": 7, "pid": 1, "tid": 2, "ts": 55},
        *(
            {"ph": "C", "name": "c", "pid": 1, "ts": i / 100, "args": {"v": i % 97}}
            for i in range(5000)
        ),
    ]
    opened(browser, written(tmp_path / "x.html", as_json(events)))
    # The greatest of many values in a pixel is drawn.
    tall = browser.value(
        """P.drawing.draw(), P.timeline.runs.filter((run) => run.kind === COUNTER)
          .map((run) => [run.count, run.extremes(0, run.count)])"""
    )
    assert tall == [[5000, [0, 96]]]
    searched(browser, "from")
    ways = browser.value(
        "(({ flowFromTs, flowToTs }) => [Array.from(flowFromTs), Array.from(flowToTs)])(P.timeline.columns)"
    )
    assert ways == [[5000], [55000]]
    opened(browser, written(tmp_path / "y.html", SMALL))
    runs = browser.value(
        """P.timeline.runs.filter((run) => run.kind === TASKS).flatMap((run) =>
          Array.from(run.ts, (ts, i) => [ts, run.end[i],
            P.timeline.lanes[P.timeline.columns.who[run.first + i] - 1]?.name ?? null]))"""
    )
    running = browser.value(
        """P.timeline.lanes.flatMap((lane) => lane.items.filter((run) => run.kind === STATES)
          .flatMap((run) => Array.from(run.ts, (ts, i) => [ts, run.end[i], lane.name, run.textAt(i)])))
          .filter((one) => one.pop() === "running")"""
    )
    assert len(running) > 10
    assert sorted(running) == sorted(run for run in runs if run[2] is not None)


@needs_browser
def test_a_long_item_that_begins_in_the_pixel_of_short_ones_is_drawn_whole(browser, tmp_path):
    events = [
        {"ph": "X", "name": f"{i} short", "pid": 1, "tid": 1, "ts": i / 100, "dur": 0.005}
        for i in range(5)
    ]
    events.append({"ph": "X", "name": "long", "pid": 1, "tid": 1, "ts": 0.06, "dur": 5000})
    events.append({"ph": "X", "name": "last", "pid": 1, "tid": 1, "ts": 9000, "dur": 1000})
    opened(browser, written(tmp_path / "x.html", as_json(events)))
    drawn = browser.value(
        """P.drawing.draw(), P.drawing.drawn.map((one) =>
          [P.timeline.nameOf(one.run.first + one.index), one.count, one.right - one.left])"""
    )
    widths = {name: width for name, _, width in drawn}
    assert [count for _, count, _ in drawn] == [5, 1, 1]
    assert widths["long"] == pytest.approx(5 * widths["last"], rel=0.05)


#: Slices in slices, whose times are no whole microseconds.
NESTED = as_json(
    {
        "ph": "X",
        "name": f"{depth} of {i}",
        "pid": 1,
        "tid": i % 3,
        "ts": i * 50 + depth * 1.001,
        "dur": 40 - depth * 9.003,
    }
    for i in range(60)
    for depth in range(4)
)


#: Recordings, slices with times between microseconds, and the formats whose viewers draw slices.
DRAWN = {
    "trace_cmd/small.dat": 25,
    "uftrace/rich": 25,
    "nested.json": 200,
    **dict.fromkeys(("slices.pftrace", "slices.fxt", "slices.ctf", "slices.dat"), 100),
}


@needs_browser
@needs_trace_processor
@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn_is_what_trace_processor_has(browser, tmp_path, name):
    source = ROOT / "roundtrip_fixtures" / name
    if name == "nested.json":
        source = NESTED
    elif name.startswith("slices"):
        source = tmp_path / name
        converter.convert(NESTED, source)
    output = tmp_path / "x.pftrace"
    converter.convert(source, output)
    rows = answer(output, "select name, ts, dur from slice")
    opened(browser, written(tmp_path / "x.html", source))
    shown = set()
    for part in range(20):
        browser.value(f"P.drawing.show(P.timeline.length * {part} / 20, P.timeline.length / 20)")
        shown |= drawn(browser)
    assert len(shown) >= DRAWN[name]
    assert shown <= {(name, int(ts), int(dur)) for name, ts, dur in rows}


def placed(browser):
    """The names of groups and rows, from the top."""
    return browser.value("P.drawing.placed.map((row) => row.name ?? `[${row.group.name}]`)")


def chosen(browser, control, value):
    browser.value(
        f"P.{control}.value = {json.dumps(value)}, P.{control}.dispatchEvent(new Event('input'))"
    )


@needs_browser
def test_threads_are_sorted_and_filtered_and_a_single_one_has_no_group(browser, tmp_path):
    threads = [(1, 1, "z", 10, 5), (1, 2, "y", 20, 50), (2, 2, "x", 5, 500), (3, 3, "w", 30, 1)]
    events = [
        {"ph": "X", "name": "s", "pid": pid, "tid": tid, "ts": start, "dur": duration}
        for pid, tid, _, start, duration in threads
    ] + [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
        for pid, tid, name, _, _ in threads
    ]
    opened(browser, written(tmp_path / "x.html", as_json(events)))
    two, three = "process 2: x 2", "process 3: w 3"
    assert placed(browser) == ["[process 1]", "z 1", "y 2", two, three]
    chosen(browser, "order", "busy")
    assert placed(browser) == [two, "[process 1]", "y 2", "z 1", three]
    chosen(browser, "order", "name")
    assert placed(browser) == ["[process 1]", "y 2", "z 1", two, three]
    chosen(browser, "order", "start")
    assert placed(browser) == [two, "[process 1]", "z 1", "y 2", three]
    chosen(browser, "filter", "Y 2")
    assert placed(browser) == ["[process 1]", "y 2"]
    # What is looked for is shown, whatever the filter is.
    browser.value("P.query.value = 's', P.find(1).then(() => P.find(-1))")
    assert browser.value("[P.filter.value, P.drawing.selected.run.lane.name]") == ["", "w 3"]


@needs_browser
def test_states_wakeups_links_and_what_the_mouse_is_over(browser, tmp_path):
    opened(browser, written(tmp_path / "x.html", SMALL))
    legend = browser.value(
        "[...document.querySelectorAll('#legend span')].map((one) => one.className)"
    )
    assert legend[:4] == ["running", "runnable", "preempted", "sleeping"]
    # A wakeup has an arrow from the thread that caused it, and the details name that.
    browser.value(
        """globalThis.W = (() => { for (const { states: run } of P.timeline.lanes) {
          const index = run ? run.wakers.findIndex((one) => P.timeline.lanes[one - 1]) : -1;
          if (index >= 0) return { run, index, count: 1 }; } })(), P.go(W)"""
    )
    told = details(browser)
    assert told["state"] == "runnable: R"
    arrow = (
        "P.drawing.arrows.ofSelected().map(([from, ts, to, end]) => [from.name, to.name, end - ts])"
    )
    assert browser.value(arrow) == [[told["woken by"], told["on"], 0]]
    # Kernel fields are decoded, and found by what they mean.
    told = searched(browser, "RCU")
    assert (told["vec"], told["common_flags"]) == (
        "RCU (9)",
        "need-resched|softirq|preempt-resched (52)",
    )
    assert browser.value("P.search.found.length > 20")
    # What is found is in view, and nothing covers it.
    browser.value(
        """globalThis.drawnOne = () => (P.drawing.draw(), P.drawing.drawn.find(({ run, index }) =>
          run === P.drawing.selected.run && index === P.drawing.selected.index))"""
    )
    for _ in range(3):
        browser.value("P.find(1)")
        assert browser.value("drawnOne().bottom <= P.canvas.clientHeight")
    browser.press("t")
    assert browser.value("P.drawing.axis.text(1500, 9)") == "0.000001500"
    # The mouse.
    place = browser.value(
        """(({ left, right, top }) => { const canvas = P.canvas.getBoundingClientRect();
        return [canvas.x + (left + right) / 2, canvas.y + top + 3]; })(drawnOne())"""
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    assert browser.value("P.hover.element.textContent").startswith(f"{details(browser)['name']}\n")
    # The address is a link to the same.
    shown = "[P.drawing.selected.index, P.drawing.from, P.drawing.span]"
    before = browser.value(shown)
    browser.wait("location.hash.includes('&i=')")
    address = browser.value("location.href")
    browser.open("about:blank")
    browser.open(address)
    browser.value("traceView.then((page) => { globalThis.P = page; return P.shown; })")
    assert browser.value(shown) == pytest.approx(before, abs=1)

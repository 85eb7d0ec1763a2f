"""Take the pictures of pages in docs/gallery, each of another kind of trace, in a real Chromium.

Run from the top of the tree:

    python -m tests.page_pictures [NAME]...
"""

import argparse
import tempfile
from pathlib import Path

import converter
from converter.analysis.viewing.contents import Contents
from converter.analysis.viewing.page import page
from tests.support.viewers.browser import Browser

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "roundtrip_fixtures"
GALLERY = ROOT / "docs" / "gallery"
_LIMIT = 50_000_000

#: Shows all of the trace in the panel of a range, at one of its views.
_RANGE = "P.range.chosen = {}, P.sum(0, P.timeline.length), P.drawing.measured = null"
#: A thread that another woke.
_WOKEN = """(() => { for (const { states: run } of P.timeline.lanes) {
    const index = run ? run.wakers.findIndex((one, i) => P.timeline.lanes[one - 1] && run.ts[i] > 2e6) : -1;
    if (index >= 0) return P.select({ run, index, count: 1 }); } })()"""

#: By name: the trace, the width and height of the window, and what is done in the page.
PICTURES: dict[str, tuple[str, tuple[int, int], list[str]]] = {
    "page": ("trace_cmd/small.dat", (1100, 680), [_WOKEN]),
    "calls": ("uftrace/rich", (1100, 440), []),
    "events": ("ctf/ctf_small", (1100, 240), []),
    "range": ("fxt/magic-trace.fxt", (1000, 540), [_RANGE.format(0)]),
    "search": ("chrome/features.json", (1100, 560), ["P.query.value = 'task', P.find(1)"]),
    "flame": ("cpuprofile/node.cpuprofile", (1100, 640), [_RANGE.format(3)]),
}


def take(browser: Browser, name: str) -> None:
    """Take one picture."""
    source, (width, height), steps = PICTURES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        with converter.open_trace(FIXTURES / source) as trace:
            path.write_bytes(b"".join(page(Contents(trace, Path(source).name, _LIMIT))))
        browser.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        browser.open(path)
        browser.value("traceView.then((page) => { globalThis.P = page; })")
        for step in steps:
            browser.value(step)
        browser.value("new Promise(requestAnimationFrame).then(() => P.drawing.draw())")
        browser.screenshot(GALLERY / f"{name}.png")


def main() -> None:
    """Take some pictures, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.page_pictures", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names
    for name in names:
        if name not in PICTURES:
            parser.error(f"no picture is named {name}")
    with Browser() as browser:
        for name in names or PICTURES:
            take(browser, name)


if __name__ == "__main__":
    main()

"""What Catapult's trace viewer (chrome://tracing) makes of Chrome JSON files, where it is found.

It is the page `trace_viewer_full.html` that `TRACECONV_TRACE_VIEWER` names, or the one that `.ci/viewers` has put into
the folder of viewers. Its importer runs under Node, without a browser.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

#: Where `.ci/viewers` puts viewers.
FOLDER = Path(
    os.environ.get("TRACECONV_VIEWERS")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "traceconv-viewers"
)
PAGE = Path(os.environ.get("TRACECONV_TRACE_VIEWER") or FOLDER / "trace_viewer_full.html")
_SCRIPT = Path(__file__).with_name("catapult.js")
#: Seconds that all files of a call may take.
TIMEOUT = 1200


def is_absent() -> bool:
    """Whether it, or Node, is not installed."""
    return shutil.which("node") is None or not PAGE.exists()


needs_catapult = pytest.mark.skipif(
    is_absent(),
    reason="Node, or Catapult's trace_viewer_full.html, is not installed (.ci/viewers)",
)


@dataclass(frozen=True)
class Imported:
    """A file that was imported; times are in milliseconds of its own clock."""

    #: Why it was refused; all else is empty then.
    error: str | None
    #: How often each warning was given, by its type, of asynchronous and flow events with its text.
    warnings: dict[str, int]
    #: Rows by what they are, or their numbers: see `rowsOf` in catapult.js.
    rows: dict[str, Any]


def imported(path: Path) -> Imported:
    """Import a file."""
    return next(imported_all([path]))


def imported_all(paths: Sequence[Path], *, counts: bool = False) -> Iterator[Imported]:
    """Import files in one process; with `counts` there are numbers of rows only."""
    for found in node_lines([str(_SCRIPT), str(PAGE), *(["--counts"] if counts else [])], paths):
        yield Imported(found.pop("error", None), found.pop("warnings", {}), found)


def node_lines(script: Sequence[str], paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """What a script of Node prints of each path, in JSON, once it is ready; of one that ends it, an "error"."""
    left = list(paths)
    while left:
        done = subprocess.run(
            ["node", "--max-old-space-size=4096", "--stack-size=4000", *script],
            input="".join(f"{path}\n" for path in left).encode(),
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
        told = done.stderr.decode(errors="replace")[-2000:]
        lines = done.stdout.splitlines()
        assert lines, told
        yield from map(json.loads, lines[1:])
        left = left[len(lines) - 1 :]
        if left:
            yield {"error": f"ended with {done.returncode}: {told[-300:]}"}
            left = left[1:]


#: Warnings about ends that repeat or contradict what their begins say, and about phases, and lines of ftrace in a file,
#: that it does not know; events are shown.
_HARMLESS = {"arg_merge_error", "title_match_error", "parse_error"}
#: What becomes of asynchronous slices of which one side is missing.
_UNMATCHED = re.compile(r"Nestable async (BEGIN|END) event at .* was unmatched")


def is_step(warning: str) -> bool:
    """Whether a state of a thread was dropped, which is a malformed step here."""
    return "(ph: S, T, p, or F) require an id" in warning


def unmatched(warning: str) -> str | None:
    """BEGIN or END where a warning is about an asynchronous one without the other."""
    match = _UNMATCHED.search(warning)
    return None if match is None else match[1]


def losing(warning: str) -> bool:
    """Whether something is not shown, other than a state of a thread."""
    kind = warning.partition(":")[0]
    return kind not in _HARMLESS and unmatched(warning) is None and not is_step(warning)

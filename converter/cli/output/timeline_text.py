"""``traceconv info IN --timeline``: the use of CPUs and threads, drawn with characters."""

from __future__ import annotations

import shutil
from math import ceil
from typing import Any

from converter.analysis.viewing.shares import Line, Shares, shares_of
from converter.cli.output.first_events import seconds
from converter.errors.terminal import printable
from converter.ir.trace import NANOSECONDS, Trace

#: The least and the most intervals.
_FEWEST, _MOST = 20, 100
_NAME = 20
#: Eighths of a character; a busy interval shows at least the first.
_BLOCKS = " ▁▂▃▄▅▆▇█"


def timeline_of(trace: Trace) -> Shares:
    """Return the shares of as many intervals as fit the terminal."""
    width = shutil.get_terminal_size().columns - _NAME - 12
    return shares_of(trace, min(max(width, _FEWEST), _MOST))


def timeline_text(shares: Shares) -> str:
    """Return a line for each CPU, and for each of the busiest threads."""
    if not shares.cpus and not shares.threads:
        return "no switches of tasks, and no slices"
    what = "threads, by time on a CPU" if shares.cpus else "threads, by time in slices"
    start = seconds(shares.start, NANOSECONDS)
    lines = [f"timeline, from {start} s; a column is {_length(shares.step)}"]
    lines += [_text(line) for line in shares.cpus]
    lines += [what, *(_text(line) for line in shares.threads)]
    if shares.more_threads:
        lines.append(f"  and {shares.more_threads:,} more")
    return "\n".join(lines)


def timeline_form(shares: Shares) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "start_ns": shares.start,
        "step_ns": shares.step,
        "cpus": [line._asdict() for line in shares.cpus],
        "threads": [line._asdict() for line in shares.threads],
    }


def _text(line: Line) -> str:
    name = printable(line.name)
    if len(name) > _NAME:
        name = f"{name[: _NAME - 1]}…"
    drawn = "".join(_BLOCKS[ceil(share * 8)] for share in line.shares)
    return f"  {name:<{_NAME}} {drawn} {line.total:>6.1%}"


def _length(nanoseconds: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"

"""Figures of a trace, drawn by Matplotlib, which is an extra."""

from __future__ import annotations

from typing import IO, Any, Final

import numpy as np

from converter.analysis.statistics.distributions import Distribution
from converter.analysis.viewing.shares import Line, Shares
from converter.errors import UnsupportedError
from converter.errors.terminal import printable

#: The number of time intervals in a figure.
INTERVALS: Final = 600
_WIDTH: Final = 9.0
_COLOURS: Final = ("#4878a8", "#e08a3c")


def timeline_figure(shares: Shares, title: str) -> Any:
    """Draw a row for each CPU and for each of the busiest threads: how busy it was over time."""
    # The first is at the top.
    lines = [*shares.threads[::-1], *shares.cpus[::-1]]
    if not lines:
        raise UnsupportedError("no switches of tasks, and no slices: there is no timeline to draw")
    figure, axes = _figure(title, 1.2 + 0.3 * len(lines))
    edges, unit = _times(shares)
    for row, line in enumerate(lines):
        colour = _COLOURS[row < len(shares.threads)]
        axes.stairs(
            row + 0.85 * np.array(line.shares), edges, baseline=row, fill=True, color=colour
        )
    axes.set_yticks(np.arange(len(lines)) + 0.4, [_label(line) for line in lines])
    axes.set_ylim(-0.1, len(lines))
    axes.set_xlabel(f"time from the first event ({unit})")
    return figure


def cpu_figure(shares: Shares, title: str) -> Any:
    """Draw the share of all CPUs on which threads ran, over time."""
    if not shares.cpus:
        raise UnsupportedError(
            "the trace has no switches of tasks: it does not say who ran on CPUs"
        )
    figure, axes = _figure(title, 3.2)
    edges, unit = _times(shares)
    used = 100 * np.mean([line.shares for line in shares.cpus], axis=0)
    axes.stairs(used, edges, fill=True, color=_COLOURS[0])
    axes.set_ylim(0, 100)
    axes.set_ylabel(f"% of {len(shares.cpus)} CPUs")
    axes.set_xlabel(f"time from the first event ({unit})")
    return figure


def distribution_figure(found: Distribution, title: str, what: str, *, times: bool = False) -> Any:
    """Draw a histogram; of `times` in nanoseconds, on a logarithmic scale."""
    figure, axes = _figure(title, 3.6)
    counts, edges = found.counts, found.edges
    if times:
        taken = np.flatnonzero(counts)
        some = slice(int(taken[0]), int(taken[-1]) + 1)
        counts, edges = counts[some], edges[some.start : some.stop + 1] / 1000
        axes.set_xscale("log")
    axes.stairs(counts, edges, fill=True, color=_COLOURS[0])
    axes.set_xlabel(_drawn(what))
    axes.set_ylabel("events")
    return figure


def save(figure: Any, out: IO[bytes], format: str) -> None:
    """Write a figure as "svg", "png" or "pdf"; for the same trace always the same bytes."""
    from matplotlib import rc_context

    nothing = {"Date": None} if format == "svg" else {"CreationDate": None}
    with rc_context({"svg.hashsalt": "traceconv", "svg.fonttype": "none"}):
        figure.savefig(out, format=format, metadata=nothing if format != "png" else None)


def _figure(title: str, height: float) -> tuple[Any, Any]:
    try:
        from matplotlib.figure import (
            Figure,
        )  # without pyplot there is neither a display nor a state
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "matplotlib":
            raise
        raise UnsupportedError("figures need Matplotlib: pip install 'traceconv[plot]'") from None
    figure = Figure(figsize=(_WIDTH, height), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(_drawn(title), fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _times(shares: Shares) -> tuple[Any, str]:
    count = len((shares.cpus or shares.threads)[0].shares)
    edges = shares.step * np.arange(count + 1)
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if edges[-1] >= size:
            return edges / size, unit
    return edges, "ns"


def _label(line: Line) -> str:
    return f"{_drawn(line.name)}  {line.total:.0%}"


def _drawn(text: str) -> str:
    """Escape a text: Matplotlib would draw a part between dollar signs as a formula."""
    shown = printable(text)
    return (shown if len(shown) <= 60 else f"{shown[:59]}…").replace("$", r"\$")

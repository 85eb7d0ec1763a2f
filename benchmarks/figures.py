"""The table in README.md and the plot in docs/performance.svg, made of what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.processes import Run

_PAGE = Path(__file__).parent / "README.md"
_PLOT = Path(__file__).parent.parent / "docs" / "performance.svg"
_BEGIN, _END = "<!-- figures -->\n", "<!-- end of figures -->\n"
_HEADS = (
    "case",
    "events",
    "ours",
    "tool",
    "ratio",
    "ns/event",
    "cpu",
    "tool",
    "ratio",
    "memory",
    "tool",
    "memcpy",
    "write",
    "zstd",
    "instr/event",
)
#: Of the plot: pixels of a row, of its text and of its bars, whose scale is logarithmic.
_ROW, _TEXT, _DECADE = 18, 210, 150
_SHADES = ("#9ecae1", "#4292c6", "#08519c")


@dataclass(frozen=True, slots=True)
class Figures:
    """One case at one size: ours, the tool's, what the machine takes for the bytes of our output (seconds: `limits`).

    `instructions` are those of an event as last counted.
    """

    name: str
    events: int
    run: Run
    tool: Run | None
    limits: tuple[float, float, float]
    instructions: int | None

    def cells(self) -> list[str]:
        """What stands below the heads."""
        run, tool = self.run, self.tool
        return [
            self.name,
            f"{self.events:,}",
            f"{run.seconds:.2f} s",
            f"{tool.seconds:.2f} s" if tool else "-",
            f"{tool.seconds / run.seconds:.1f}x" if tool else "-",
            f"{run.seconds / max(1, self.events) * 1e9:.0f}",
            f"{run.processor:.2f} s",
            f"{tool.processor:.2f} s" if tool else "-",
            f"{tool.processor / run.processor:.1f}x" if tool else "-",
            f"{run.memory >> 20:,} MB",
            f"{tool.memory >> 20:,} MB" if tool else "-",
            *(f"{seconds * 1e3:.0f} ms" for seconds in self.limits),
            "-" if self.instructions is None else f"{self.instructions:,}",
        ]


def heading() -> str:
    """A line for a terminal."""
    return _line(_HEADS)


def line(figures: Figures) -> str:
    """Likewise."""
    return _line(figures.cells())


def growth(sizes: Sequence[Figures]) -> str:
    """How a case grows from its smallest to its largest input."""
    least, most = sizes[0], sizes[-1]
    return (
        f"{least.name}: {most.events / max(1, least.events):.1f}x the events take "
        f"{most.run.processor / least.run.processor:.1f}x the processor time and "
        f"{most.run.memory / least.run.memory:.2f}x the memory"
    )


def keep(cases: Sequence[Sequence[Figures]], told: str) -> None:
    """Put the table into the page, and the plot into its file; `told` says what was measured, and where."""
    table = ["| " + " | ".join(_HEADS) + " |", "| --- |" + " ---: |" * (len(_HEADS) - 1)]
    table += ["| " + " | ".join(each.cells()) + " |" for sizes in cases for each in sizes]
    grown = [f"- {growth(sizes)}" for sizes in cases if len(sizes) > 1]
    _PLOT.write_text(_plot(cases))
    text = _PAGE.read_text()
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    shown = f"![events a second, by case and size](../docs/{_PLOT.name})"
    parts = [told, *table, "", shown, "", *grown]
    _PAGE.write_text(before + _BEGIN + "\n".join(parts) + "\n" + _END + after)


def _line(cells: Sequence[str]) -> str:
    return f"{cells[0]:<28}{cells[1]:>12}" + "".join(f" {cell:>8}" for cell in cells[2:])


def _plot(cases: Sequence[Sequence[Figures]]) -> str:
    """Events a second of processor time: a bar each size, and a mark for the tool."""
    rows = [(each, shade) for sizes in cases for each, shade in zip(sizes, _SHADES, strict=False)]
    height = _ROW * (len(rows) + 2)
    width = _TEXT + 4 * _DECADE + 50
    size = f'width="{width}" height="{height}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    parts = [svg, f'<rect {size} fill="white"/>']
    for decade in range(5):
        x = _TEXT + decade * _DECADE
        parts.append(f'<line x1="{x}" x2="{x}" y1="{_ROW}" y2="{height}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="12" text-anchor="middle">{10 ** (decade + 4):,}/s</text>')
    for number, (each, shade) in enumerate(rows, 1):
        y = number * _ROW
        parts.append(f'<text x="4" y="{y + 13}">{escape(each.name)} ({each.events:,})</text>')
        right = _place(each.events / each.run.processor)
        parts.append(
            f'<rect x="{_TEXT}" y="{y + 3}" width="{right - _TEXT:.0f}" height="12" fill="{shade}"/>'
        )
        if each.tool is not None:
            mark = _place(each.events / each.tool.processor)
            parts.append(f'<rect x="{mark:.0f}" y="{y + 1}" width="3" height="16" fill="#d94801"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _place(rate: float) -> float:
    """Where a rate is."""
    return _TEXT + _DECADE * min(4.0, max(0.0, log10(rate) - 4))

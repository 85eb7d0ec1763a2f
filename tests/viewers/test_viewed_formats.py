"""Each format's page says what its viewers show: kinds by what they are shown as, from the table in docs/viewers.md."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from viewers.test_table import END, PAGE, START, VIEWERS

from converter import FORMATS

HEADING = "## What its viewers show\n"


def pages() -> dict[str, int]:
    """The formats that the table has, and the first column of each."""
    found: dict[str, int] = {}
    for i, (_, target, *_) in enumerate(VIEWERS):
        found.setdefault(target.partition("+")[0], i + 1)
    return found


def shown_as(column: int) -> str:
    """A table of the kinds that a viewer shows alike, in the order of the first of each."""
    table = PAGE.read_text().partition(START)[2].partition(END)[0]
    kinds: dict[str, list[str]] = {}
    for line in table.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        kinds.setdefault(cells[column], []).append(cells[0])
    most = max(kinds, key=lambda shown: len(kinds[shown]))
    kinds[most] = ["all others"]
    rows = [(shown, ", ".join(kinds[shown])) for shown in [*(kinds.keys() - {most}), most]]
    rows = sorted(rows[:-1], key=lambda row: list(kinds).index(row[0])) + rows[-1:]
    lines = ["| shown as | kinds of events |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {shown} | {names} |" for shown, names in rows)]) + "\n"


@pytest.mark.parametrize("name", [format.name for format in FORMATS])
def test_a_page_says_what_viewers_show(name: str) -> None:
    """Written where TRACECONV_WRITE_VIEWERS is set, as the table that it is from."""
    page = Path(__file__).parents[2] / f"docs/formats/{name}.md"
    text = page.read_text()
    assert HEADING in text
    if name not in pages():
        return
    before, _, rest = text.partition(START)
    written, _, after = rest.partition(END)
    made = shown_as(pages()[name])
    if os.environ.get("TRACECONV_WRITE_VIEWERS"):
        page.write_text(f"{before}{START}{made}{END}{after}")
    else:
        assert written == made

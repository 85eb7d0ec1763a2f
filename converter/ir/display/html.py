"""Tables for the display of objects in notebooks. All text from a trace is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

#: A longer text is cut: names can be as long as a file.
_LONGEST: Final = 200


def html_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], more: int = 0
) -> str:
    """Return a table with a title, and below it the number of further rows."""
    from html import escape

    def cell(value: object) -> str:
        if isinstance(value, int):
            return f'<td style="text-align:right">{value:,}</td>'
        return f'<td style="text-align:left">{escape(_visible(str(value)))}</td>'

    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return (
        f"<div><p><b>{escape(_visible(title))}</b></p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{rest}</div>"
    )


def _visible(text: str) -> str:
    """Return the text without invisible characters, or those that reorder others."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "".join(character if character.isprintable() else "\ufffd" for character in cut)

"""What notebooks show of objects: small tables. All that a trace says is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

#: A longer text is cut: names can be as long as a file.
_LONGEST: Final = 200


def html_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], more: int = 0
) -> str:
    """A table with a title, and below it how many more rows there are."""
    from html import escape

    def cell(value: object) -> str:
        if isinstance(value, int):
            return f'<td style="text-align:right">{value:,}</td>'
        return f'<td style="text-align:left">{escape(_shown(str(value)))}</td>'

    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return (
        f"<div><p><b>{escape(_shown(title))}</b></p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{rest}</div>"
    )


def _shown(text: str) -> str:
    """The text without characters that nobody sees, or that turn others around."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "".join(character if character.isprintable() else "\ufffd" for character in cut)

"""Mutations that change nothing that a test could see, each with the reason."""

from __future__ import annotations

from typing import Final

#: By module, the text of the line and the change.
EQUIVALENT: Final[dict[tuple[str, str, str], str]] = {}

_SIZE = "the size of a batch or block, which only costs depend on"
_LONGER = "a table that is longer than what indexes it"


def _note(path: str, reason: str, *changes: tuple[str, str]) -> None:
    EQUIVALENT.update({(path, line, what): reason for line, what in changes})


_note(
    "converter/ir/canonical.py",
    _SIZE,
    ("_BATCH = 1 << 16", "'1' -> '2'"),
    ("_BATCH = 1 << 16", "'16' -> '17'"),
)
_note(
    "converter/ir/canonical.py",
    _LONGER,
    ("mapping = np.full(max(forms, default=-1) + 2, -1, np.int64)", "'-1' -> '(1)'"),
    ("mapping = np.full(max(forms, default=-1) + 2, -1, np.int64)", "'2' -> '3'"),
)
_note(
    "converter/ir/canonical.py",
    "the numbers of events are not equal here, as equal events come before",
    (
        'longer, which = (one, "first") if len(one[key]) > len(other[key]) else (other, "second")',
        "'>' -> '>='",
    ),
)

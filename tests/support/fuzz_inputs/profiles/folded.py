"""Collapsed call stacks that no fixture is like."""

from __future__ import annotations

from support.fuzzing.corpus import Files

_TEXTS = (
    "# comment\nmain;a 1\nmain;a;b_[k] 2\n\nmain;c 3.25\n",
    "main;a 1 2\r\nmain;b 2.5 0\r\n;; 4\r\n 5\r\n",
    "main;a 99999999999999999999\nmain;b 1\nno count\n#\n",
    "main;" * 300 + "a 1\n",
)


def inputs() -> list[Files]:
    """Texts of all kinds, whole and with a last line that is cut."""
    found: list[Files] = [{"": text.encode()} for text in _TEXTS]
    return [*found, {"": _TEXTS[0].encode()[:-4]}]

"""The text of one event while its template runs: blanks, tabs, lines, and the names of the fields in it."""

from __future__ import annotations

import re
from functools import lru_cache

from converter.formats.aix.trcfmt.entry import Value
from converter.limits import limit

#: The number of its values that get names.
MAX_FIELDS = 256

_TAB = 8
#: With L=0 the first tab stop is here (II.C).
_FIRST_TAB_AT_EDGE = 3
_NAME_SIZE = 64
_NOT_NAME = re.compile(r"\W+", re.ASCII)


class OutputFullError(Exception):
    """The text of the event is longer than `aix.template-text` allows."""


class Output:
    """The text and the fields so far.

    Whitespace of the template is one blank (I.E), and so is the separator after a number (II.B: "trailing space");
    there is never a blank next to another, nor at either end of a line.
    """

    def __init__(self, *, at_edge: bool) -> None:
        self.fields: dict[str, Value] = {}
        self._parts: list[str] = []
        self._size = 0
        self._most = limit("aix.template-text")
        #: The current line: the column of its next character, and its last character.
        self._column = 0
        self._last = ""
        self._blank = False
        self._label = ""
        self._first_tab = _FIRST_TAB_AT_EDGE if at_edge else _TAB

    @property
    def text(self) -> str:
        """All lines."""
        return "".join(self._parts)

    def separate(self) -> None:
        """Add whitespace: a blank, if anything follows on this line."""
        self._blank = True

    def join(self) -> None:
        """Join the next text to the previous one: no blank, not even after a number."""
        self._blank = False

    def write(self, text: str) -> None:
        """Append text to the line, exactly as it is."""
        if not text:
            return
        if self._blank and self._last not in ("", " ") and text[0] != " ":
            text = " " + text
        self._blank = False
        self._append(text)

    def label(self, text: str) -> None:
        """Add text that may be the name of the value after it."""
        self.write(text)
        self._label = f"{self._label} {text}" if self._label else text

    def forget_label(self) -> None:
        """Forget the label: the text so far names the event, not a value."""
        self._label = ""

    def name(self, value: Value, otherwise: str = "field") -> None:
        """Name a value after its label."""
        name = field_name(self._label) or otherwise
        self._label = ""
        if len(self.fields) < MAX_FIELDS:
            self.fields[numbered(name, self.fields)] = value

    def newline(self) -> None:
        """End the line."""
        self._blank = False
        self._label = ""
        self._append("\n")

    def tab(self) -> None:
        """Add blanks up to the next tab stop."""
        self._blank = False
        stop = self._first_tab
        if self._column >= stop:
            stop += ((self._column - stop) // _TAB + 1) * _TAB
        self._append(" " * (stop - self._column))

    def _append(self, text: str) -> None:
        self._size += len(text)
        if self._size > self._most:
            raise OutputFullError
        self._parts.append(text)
        start = text.rfind("\n") + 1
        self._column = len(text) - start + (0 if start else self._column)
        self._last = "" if text.endswith("\n") else text[-1]


@lru_cache(4096)
def field_name(label: str) -> str:
    """Return the name that the text before a value gives it, "" if there is none.

    For ``a b=`` or ``b:`` it is ``b``, for other text the whole text, with underscores for all but letters and digits.
    """
    text = label.rstrip()
    if text.endswith(("=", ":")):
        words = text[:-1].split()
        text = words[-1] if words else ""
    return _NOT_NAME.sub("_", text).strip("_")[-_NAME_SIZE:].strip("_")


def numbered(name: str, taken: dict[str, Value]) -> str:
    """Return the name, with a number if it is taken."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free

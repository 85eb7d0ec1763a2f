"""Lines of a template's text whose blanks and tabs depend on the entry: pending blanks, and the start of a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from converter.formats.aix.report.template_locations import NotExpressedError
from converter.formats.aix.report.template_registers import (
    DUE,
    LINE,
    MACROS,
    STEPS,
    RegisterProgram,
)
from converter.formats.aix.trcfmt.model import Template
from converter.limits import limit
from converter.printing import program as op

_TAB: Final = 8
_FIRST_TAB_AT_EDGE: Final = 3
BLANK, _NEWLINE = 32, 10


@dataclass
class LineProgram(RegisterProgram):
    """A program that tracks its position in a line."""

    def add(self, template: Template, id16: int) -> None:
        """Add the text that a template prints for the entries of a hook.

        Raises:
            NotExpressedError: it cannot be compiled.

        """
        self._zero(MACROS, self.first.places)
        self.code.constant(self.first.items)
        self.code.add(op.STORE, STEPS)
        if self.first.tabs:
            self._mark_line()
        super().add(template, id16)
        self._check_output()

    def _end_line(self) -> None:
        """Give up if a blank ends the line: the engine removes it."""
        self._is_not(BLANK)
        self.code.give_up()

    def _is_not(self, character: int) -> None:
        """Push True if the last character is not this one."""
        self.code.add(op.LAST)
        self.code.constant(character)
        self.code.add(op.NOT_EQUAL)

    def _begin_line(self) -> None:
        self._due = False
        self._mark_line()

    def _mark_line(self) -> None:
        self.code.add(op.PRINTED)
        self.code.add(op.STORE, LINE)

    def _before(self, first: str) -> None:
        if self._due is not False and first != " ":
            self._blank_is_due()
            self.code.unless_zero(lambda: self.code.literal(b" "), None)

    def _blank_is_due(self) -> None:
        """Push True if a blank must precede a character that is not blank."""
        self._is_not(BLANK)
        self._is_not(_NEWLINE)
        self.code.add(op.BOTH)
        if self._due is None:
            self._fetch(DUE)
            self.code.add(op.BOTH)

    def _text(self, text: str) -> None:
        if not (text.isascii() and text.isprintable()):
            # The width of such a character in the text differs from that in the report.
            raise NotExpressedError("characters")
        super()._text(text)

    def _after(self, last: str, *, blank: bool) -> None:
        self._due = blank

    def _separate(self, *, blank: bool) -> None:
        self._due = blank

    def _tab(self) -> None:
        """Print blanks up to the next tab stop."""
        code, stop = self.code, _FIRST_TAB_AT_EDGE if self.at_edge else _TAB
        self._tabs = True
        code.add(op.PRINTED)
        self._fetch(LINE)
        code.add(op.SUBTRACT)
        column = self._store_top()

        def first() -> None:
            code.constant(stop)
            self._fetch(column)
            code.add(op.SUBTRACT)

        def another() -> None:
            code.constant(_TAB)
            self._fetch(column)
            code.constant(stop)
            code.add(op.SUBTRACT)
            code.constant(_TAB)
            code.add(op.REMAINDER)
            code.add(op.SUBTRACT)

        self._fetch(column)
        code.constant(stop)
        code.add(op.LESS)
        code.unless_zero(first, another)
        code.add(op.BLANKS, 1, _TAB + 1)
        self._due = False

    def _check_output(self) -> None:
        """Give up if the text is longer than an event's may be: the engine cuts it."""
        self.code.add(op.PRINTED)
        self.code.constant(limit("aix.template-text"))
        self.code.add(op.LESS_EQUAL)
        self.code.give_up()

    # Items

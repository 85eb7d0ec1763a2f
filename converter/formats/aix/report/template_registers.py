"""Registers of a template's program: values that depend on the entry and are not known at compile time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from converter.formats.aix.report.template_locations import NotExpressedError
from converter.formats.aix.report.template_programs import Known, TemplateProgram
from converter.printing import program as op

#: Pending blank, pointer in bits, steps, start of the line; then the macros of the template, and everything else.
DUE, POINTER, STEPS, LINE, MACROS, OTHERS, _ALL = 0, 1, 2, 3, 8, 40, 256


class Counts(NamedTuple):
    """Totals that are only known at the end: steps outside of loops, macros, and True if there are tabs."""

    items: int
    places: int
    tabs: bool


_NONE: Final = Counts(0, 0, tabs=False)


@dataclass
class RegisterProgram(TemplateProgram):
    """A program with registers; `first` has the counts of a previous compilation."""

    at_edge: bool = False
    first: Counts = _NONE
    _due: bool | None = False
    _base: int = MACROS
    _places: int = OTHERS - MACROS
    _most_places: int = 0
    _free: int = OTHERS
    _tabs: bool = False
    _parameters: dict[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> Counts:
        """The counts of the whole program."""
        return Counts(self._items, self._most_places, self._tabs)

    def _zero(self, first: int, count: int) -> None:
        for number in range(first, first + count):
            self.code.constant(0)
            self.code.add(op.STORE, number)

    def _new(self, count: int = 1) -> int:
        """Allocate registers."""
        number = self._free
        self._free += count
        if self._free > _ALL:
            raise NotExpressedError("registers")
        return number

    def _store_top(self) -> int:
        """Store the number on top of the stack in a new register."""
        number = self._new()
        self.code.add(op.STORE, number)
        return number

    def _fetch(self, number: int) -> None:
        self.code.add(op.FETCH, number)

    def _require(self, operation: int, limit: int) -> None:
        """Give up unless the comparison of the number on top with `limit` is true; the number stays."""
        self.code.add(op.COPY)
        self.code.constant(limit)
        self.code.add(operation)
        self.code.give_up()

    # Branches

    def _known(self) -> Known:
        return self._states, self._pointer, (self._due,)

    def _know(self, known: Known) -> None:
        self._states, self._pointer = known[:2]
        self._due = cast("bool | None", known[2][0])

    def _leave(self) -> Known:
        """Save what is known in its registers."""
        if self._due is not None:
            self.code.constant(int(self._due))
            self.code.add(op.STORE, DUE)
        if self._pointer is not None:
            self.code.constant(self._pointer)
            self.code.add(op.STORE, POINTER)
        self._due = self._pointer = None
        return self._known()

    def _join(self, branches: Sequence[Known]) -> None:
        self._due = self._pointer = None

    def _either(self, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Run one branch or the other, by the number on top of the stack."""
        before = self._known()

        def branch(items: Callable[[], None]) -> Callable[[], None]:
            def run() -> None:
                self._know(before)
                items()
                self._leave()

            return run

        self.code.unless_zero(branch(then), branch(otherwise))
        self._join(())

"""Registers of a template's program: what depends on the entry and is not known before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from converter.formats.aix.report.template_locations import NotExpressedError
from converter.formats.aix.report.template_programs import Known, TemplateProgram
from converter.printing import program as op

#: Whether a blank is due, the pointer in bits, steps, where the line begins; then the macros of the template, and what
#: else there is.
DUE, POINTER, STEPS, LINE, MACROS, OTHERS, _ALL = 0, 1, 2, 3, 8, 40, 256


class Counts(NamedTuple):
    """What is known only at the end: steps that are taken without loops, macros, whether there are tabs."""

    items: int
    places: int
    tabs: bool


_NONE: Final = Counts(0, 0, tabs=False)


@dataclass
class RegisterProgram(TemplateProgram):
    """A program with registers; `first` are the counts of one that was put together before."""

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
        """Those of the whole program."""
        return Counts(self._items, self._most_places, self._tabs)

    def _zero(self, first: int, count: int) -> None:
        for number in range(first, first + count):
            self.code.constant(0)
            self.code.add(op.STORE, number)

    def _new(self, count: int = 1) -> int:
        """Registers of its own for what comes."""
        number = self._free
        self._free += count
        if self._free > _ALL:
            raise NotExpressedError("registers")
        return number

    def _held_here(self) -> int:
        """The number on top in a register of its own."""
        number = self._new()
        self.code.add(op.STORE, number)
        return number

    def _fetch(self, number: int) -> None:
        self.code.add(op.FETCH, number)

    def _require(self, operation: int, limit: int) -> None:
        """Give up unless the number on top, which stays, compares so."""
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
        """What is known goes to its registers."""
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
        """One or the other, by the number on top."""
        before = self._known()

        def branch(items: Callable[[], None]) -> Callable[[], None]:
            def made() -> None:
                self._know(before)
                items()
                self._leave()

            return made

        self.code.unless_zero(branch(then), branch(otherwise))
        self._join(())

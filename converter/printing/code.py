"""Programs put together: operations one after the other, with all that they refer to by number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from converter.kernels.batches.columns import HeldBuffers
from converter.printing import program as op
from converter.printing.directory import Directory
from converter.printing.program import Program

_WIDE: Final = 1 << 64
#: Sizes of integers that are read at once, where their place in the record is known; what is beyond that is in none.
_LOADED: Final = frozenset({1, 2, 4, 8})
_MOST_PLACE: Final = 1 << 32
LEFT, ZEROS, PLUS, BLANK, ALTERNATE = 1, 2, 4, 8, 16
#: Flags of printf() as a form has them.
_FLAGS: Final = {"-": LEFT, "0": ZEROS, "+": PLUS, " ": BLANK, "#": ALTERNATE}


class Form(NamedTuple):
    """A directive of printf(): a precision below 0 is none; `bits` and `conversion` are those of numbers."""

    flags: str = ""
    width: int = 0
    precision: int = -1
    bits: int = 64
    conversion: str = "s"


class Names(NamedTuple):
    """Texts of numbers, each of those from `low` to `high`.

    `unset` is the index of what stands for no flag, or -1; `bits` the size of the numbers, below 0 of signed ones;
    with a separator they are names of bits.
    """

    entries: Sequence[tuple[int, int, bytes]]
    unset: int = -1
    bits: int = 64
    separator: bytes = b""


class Printed(NamedTuple):
    """A program, and what its columns are: keys that say which, to whoever binds them."""

    program: Program
    columns: tuple[Hashable, ...]

    def bind(
        self,
        column: Callable[[Any], Any],
        records: tuple[HeldBuffers, Any, Any] | None = None,
    ) -> Program:
        """The program over the columns that `column` gives for the keys."""
        self.program.bind([column(key) for key in self.columns], records)
        return self.program


class Code:
    """A program that is being put together. A jump's target is given when it is known, by `land`."""

    def __init__(self, *, big_endian: bool = False) -> None:
        self._big_endian = big_endian
        self._operations: list[list[int]] = []
        self._literals = bytearray()
        self._places: dict[bytes, int] = {}
        self._forms: dict[Form, int] = {}
        self._names: list[Names] = []
        self._columns: dict[tuple[Hashable, int], int] = {}
        self._directories: list[Directory] = []
        self._functions: list[Callable[..., bytes]] = []
        #: Those of the alternative at hand, which lead to the other.
        self._given_up: list[int] = []
        #: Literals are not joined across a jump's target.
        self._joint = -1

    def add(self, operation: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        """An operation; its number."""
        self._operations.append([operation, a, b, c])
        self._shorten()
        return len(self._operations) - 1

    def _shorten(self) -> None:
        """Let what is always the same be computed now, and a place that is known be read at once."""
        # What a jump leads to is where it was; what is behind that may be joined with it.
        joint = self._operations[max(0, self._joint - 1) :][-3:]
        codes = [operation for operation, *_ in joint]
        values = [a for _, a, *_ in joint]
        match codes:
            case [*_, op.CONSTANT, op.DROP]:
                del self._operations[-2:]
            case [op.CONSTANT, op.CONSTANT, op.ELEMENT]:
                place = values[0] + values[1] * values[2]
                if min(values) >= 0 and place < _MOST_PLACE:
                    self._operations[-3:] = [[op.CONSTANT, place, 0, 0]]
            case [op.CONSTANT, op.CONSTANT, op.READ]:
                place, size, little = values
                if place >= 0 and size in _LOADED and not little:
                    self._operations[-3:] = [[op.LOAD, place, size, 0]]

    def literal(self, text: bytes) -> None:
        """A text that is always the same."""
        if not text:
            return
        last = self._operations[-1] if self._operations else None
        if last is not None and last[0] == op.LITERAL and self._joint < len(self._operations):
            text = bytes(self._literals[last[1] : last[1] + last[2]]) + text
            self._operations.pop()
        self.add(op.LITERAL, *self._literal(text))

    def constant(self, value: int) -> None:
        """A number onto the stack."""
        value &= _WIDE - 1
        self.add(op.CONSTANT, value - _WIDE if value >> 63 else value)

    def keep(self, mask: int) -> None:
        """Some bits of a number."""
        self.add(op.KEEP, mask - _WIDE if mask >> 63 else mask)

    def column(self, key: Hashable, takes: int) -> int:
        """The number of a column, which operations take as `takes` says."""
        return self._columns.setdefault((key, takes), len(self._columns))

    def number_of(self, key: Hashable, level: int, *, signed: bool = False) -> None:
        """An integer of a column onto the stack."""
        self.add(op.COLUMN, self.column(key, op.SCALAR), level, int(signed))

    def text_of(self, key: Hashable, level: int) -> None:
        """A text of a column."""
        self.add(op.TEXT, self.column(key, op.TEXTS), level)

    def letters(self, texts: Sequence[bytes]) -> None:
        """One of texts of the same size, of which there are a power of two, by a number."""
        start, size = self._literal(b"".join(texts))
        self.add(op.LETTERS, start, size // len(texts), len(texts) - 1)

    def form(self, form: Form) -> int:
        """The number of a form."""
        return self._forms.setdefault(form, len(self._forms))

    def named(self, operation: int, names: Names, b: int = 0) -> None:
        """An operation on names."""
        self._names.append(names)
        self.add(operation, len(self._names) - 1, b)

    def find(self, directory: Directory) -> None:
        """Look a number up."""
        self.add(op.FIND, self.directory(directory))

    def name(self, directory: Directory) -> None:
        """The text of a number."""
        self.add(op.NAME, self.directory(directory))

    def directory(self, directory: Directory) -> int:
        """The number of a directory."""
        if directory not in self._directories:
            self._directories.append(directory)
        return self._directories.index(directory)

    def function(self, function: Callable[..., bytes]) -> int:
        """The number of a function."""
        self._functions.append(function)
        return len(self._functions) - 1

    def call(self, function: Callable[..., bytes], arguments: int) -> None:
        """What a function makes of the record and of some numbers."""
        self.add(op.CALL, self.function(function), arguments)

    def unless_zero(self, then: Callable[[], None], otherwise: Callable[[], None] | None) -> None:
        """One or the other, by the number on top."""
        condition = self.add(op.JUMP_IF_ZERO)
        then()
        if otherwise is None:
            self.land(condition)
            return
        end = self.add(op.JUMP)
        self.land(condition)
        otherwise()
        self.land(end)

    def attempt(self, first: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """The first unless the number on top is 0, or it gives up."""
        condition = self.add(op.JUMP_IF_ZERO)
        known, self._given_up = self._given_up, []
        first()
        end = self.add(op.JUMP)
        for jump in (condition, *self._given_up):
            self.land(jump)
        self._given_up = known
        otherwise()
        self.land(end)

    def give_up(self) -> None:
        """Go on with what stands in the place of all this where the number on top is 0."""
        self._given_up.append(self.add(op.GIVE_UP))

    def each(
        self,
        key: Hashable,
        level: int,
        body: Callable[[], None],
        *,
        between: bytes = b"",
        goes_on: Callable[[], None] | None = None,
    ) -> None:
        """Something for each element of a list, whose rows are on the level above, as long as `goes_on` is not 0."""
        begin = self.add(op.EACH, self.column(key, op.LISTS), level)
        again = self.here()
        ends = None
        if goes_on is not None:
            goes_on()
            ends = self.add(op.JUMP_IF_ZERO)
        if between:
            self.add(op.BEFORE, level + 1)
            first = self.add(op.JUMP_IF_ZERO)
            self.literal(between)
            self.land(first)
        body()
        self.add(op.NEXT, again, level + 1)
        self._operations[begin][3] = self.here()
        if ends is not None:
            self.land(ends)

    def limited(self, body: Callable[[], None], limit: int) -> None:
        """A text that ends after so many bytes, and without the newlines at its end."""
        begin = self.add(op.LIMIT, 0, limit)
        body()
        self._operations[begin][1] = self.add(op.STRIP, limit)
        self.here()

    def here(self) -> int:
        """The number of the next operation, which a jump may lead to."""
        self._joint = len(self._operations) + 1
        return len(self._operations)

    def land(self, jump: int) -> None:
        """A jump leads to the next operation."""
        self._operations[jump][1] = self.here()

    def finish(self) -> Printed:
        """The program."""
        names = [
            (
                [(low, high, *self._literal(text)) for low, high, text in each.entries],
                each.unset,
                each.bits,
                self._literal(each.separator),
            )
            for each in self._names
        ]
        forms = [
            (
                sum({_FLAGS.get(flag, 0) for flag in form.flags}),
                form.width,
                form.precision,
                form.bits,
                ord(form.conversion),
            )
            for form in self._forms
        ]
        program = Program(
            np.array(self._operations, np.int64).reshape(-1, 4),
            bytes(self._literals),
            forms,
            names,
            [takes for _, takes in self._columns],
            self._directories,
            self._functions,
            self._big_endian,
        )
        return Printed(program, tuple(key for key, _ in self._columns))

    def _literal(self, text: bytes) -> tuple[int, int]:
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self._literals)
            self._literals += text
        return place, len(text)

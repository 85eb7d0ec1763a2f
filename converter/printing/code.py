"""Assembles programs: sequences of operations, which refer to their operands by number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from converter.kernels.batches.columns import HeldBuffers
from converter.printing import program as op
from converter.printing.directory import Directory
from converter.printing.program import Program

_WIDE: Final = 1 << 64
#: Sizes of integers that are read at once if their offset in the record is known, and the first offset that is too
#: large.
_LOADED: Final = frozenset({1, 2, 4, 8})
_MOST_PLACE: Final = 1 << 32
LEFT, ZEROS, PLUS, BLANK, ALTERNATE = 1, 2, 4, 8, 16
#: The flags of printf() as bits.
_FLAGS: Final = {"-": LEFT, "0": ZEROS, "+": PLUS, " ": BLANK, "#": ALTERNATE}


class Form(NamedTuple):
    """A directive of printf(): a precision below 0 is none; `bits` and `conversion` are those of numbers."""

    flags: str = ""
    width: int = 0
    precision: int = -1
    bits: int = 64
    conversion: str = "s"


class Names(NamedTuple):
    """Texts of numbers, each for those from `low` to `high`.

    `unset` is the index of the text for no flag, or -1; `bits` is the size of the numbers, negative for signed ones;
    with a separator they are names of bits.
    """

    entries: Sequence[tuple[int, int, bytes]]
    unset: int = -1
    bits: int = 64
    separator: bytes = b""


class Printed(NamedTuple):
    """A program, and the keys of its columns, which the caller of `bind` resolves."""

    program: Program
    columns: tuple[Hashable, ...]

    def bind(
        self,
        column: Callable[[Any], Any],
        records: tuple[HeldBuffers, Any, Any] | None = None,
    ) -> Program:
        """Return the program bound to the columns that `column` returns for the keys."""
        self.program.bind([column(key) for key in self.columns], records)
        return self.program


class Code:
    """A program under construction. The target of a jump is set when it is known, by `land`."""

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
        #: The jumps of the current alternative that lead to the other one.
        self._given_up: list[int] = []
        #: Literals are not joined across the target of a jump.
        self._joint = -1

    def add(self, operation: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Add an operation; return its number."""
        self._operations.append([operation, a, b, c])
        self._shorten()
        return len(self._operations) - 1

    def _shorten(self) -> None:
        """Fold operations on constants, and replace the read at a known offset by a single operation."""
        # A jump's target must stay where it is; operations after it may be joined with it.
        joint = self._operations[max(0, self._joint - 1) :][-3:]
        codes = [operation for operation, *_ in joint]
        values = [a for _, a, *_ in joint]
        match codes:
            case [*_, op.CONSTANT, op.DROP]:
                del self._operations[-2:]
            case [op.CONSTANT, op.CONSTANT, op.ELEMENT]:
                offset = values[0] + values[1] * values[2]
                if min(values) >= 0 and offset < _MOST_PLACE:
                    self._operations[-3:] = [[op.CONSTANT, offset, 0, 0]]
            case [op.CONSTANT, op.CONSTANT, op.READ]:
                offset, size, little = values
                if offset >= 0 and size in _LOADED and not little:
                    self._operations[-3:] = [[op.LOAD, offset, size, 0]]

    def literal(self, text: bytes) -> None:
        """Print a text that is always the same."""
        if not text:
            return
        last = self._operations[-1] if self._operations else None
        if last is not None and last[0] == op.LITERAL and self._joint < len(self._operations):
            text = bytes(self._literals[last[1] : last[1] + last[2]]) + text
            self._operations.pop()
        self.add(op.LITERAL, *self._literal(text))

    def constant(self, value: int) -> None:
        """Push a number."""
        value &= _WIDE - 1
        self.add(op.CONSTANT, value - _WIDE if value >> 63 else value)

    def keep(self, mask: int) -> None:
        """Mask a number."""
        self.add(op.KEEP, mask - _WIDE if mask >> 63 else mask)

    def column(self, key: Hashable, takes: int) -> int:
        """Return the number of a column, which operations access as `takes` says."""
        return self._columns.setdefault((key, takes), len(self._columns))

    def number_of(self, key: Hashable, level: int, *, signed: bool = False) -> None:
        """Push an integer of a column."""
        self.add(op.COLUMN, self.column(key, op.SCALAR), level, int(signed))

    def text_of(self, key: Hashable, level: int) -> None:
        """Print a text of a column."""
        self.add(op.TEXT, self.column(key, op.TEXTS), level)

    def letters(self, texts: Sequence[bytes]) -> None:
        """Print one of several texts of the same size, selected by a number; their count is a power of two."""
        start, size = self._literal(b"".join(texts))
        self.add(op.LETTERS, start, size // len(texts), len(texts) - 1)

    def form(self, form: Form) -> int:
        """Return the number of a form."""
        return self._forms.setdefault(form, len(self._forms))

    def named(self, operation: int, names: Names, b: int = 0) -> None:
        """Add an operation on names."""
        self._names.append(names)
        self.add(operation, len(self._names) - 1, b)

    def find(self, directory: Directory) -> None:
        """Look a number up."""
        self.add(op.FIND, self.directory(directory))

    def name(self, directory: Directory) -> None:
        """Print the text of a number."""
        self.add(op.NAME, self.directory(directory))

    def directory(self, directory: Directory) -> int:
        """Return the number of a directory."""
        if directory not in self._directories:
            self._directories.append(directory)
        return self._directories.index(directory)

    def function(self, function: Callable[..., bytes]) -> int:
        """Return the number of a function."""
        self._functions.append(function)
        return len(self._functions) - 1

    def call(self, function: Callable[..., bytes], arguments: int) -> None:
        """Print the result of a function, called with the record and some numbers."""
        self.add(op.CALL, self.function(function), arguments)

    def unless_zero(self, then: Callable[[], None], otherwise: Callable[[], None] | None) -> None:
        """Run `then` unless the number on top is 0, else `otherwise`."""
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
        """Run `first` unless the number on top is 0; if it is, or if `first` gives up, run `otherwise`."""
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
        """If the number on top is 0, abandon the current alternative and run the other one."""
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
        """Emit `body` for every element of a list, whose rows are on the level above, as long as `goes_on` is not 0."""
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
        """Print a text truncated to `limit` bytes, and without the newlines at its end."""
        begin = self.add(op.LIMIT, 0, limit)
        body()
        self._operations[begin][1] = self.add(op.STRIP, limit)
        self.here()

    def here(self) -> int:
        """Return the number of the next operation, as the target of a jump."""
        self._joint = len(self._operations) + 1
        return len(self._operations)

    def land(self, jump: int) -> None:
        """Make the next operation the target of a jump."""
        self._operations[jump][1] = self.here()

    def finish(self) -> Printed:
        """Return the finished program."""
        names = [
            (
                [(low, high, *self._literal(text)) for low, high, text in names.entries],
                names.unset,
                names.bits,
                self._literal(names.separator),
            )
            for names in self._names
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
        offset = self._places.get(text)
        if offset is None:
            offset = self._places[text] = len(self._literals)
            self._literals += text
        return offset, len(text)

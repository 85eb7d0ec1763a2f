"""Programs for the kernel that decodes records: operations, registers and slots, and what is known of the position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ctf.metadata.field_classes import ByteOrder, Location, Range
from converter.formats.ctf.streams.columns import Plan
from converter.formats.ctf.streams.scan_programs import FLAGS, OPERATIONS, Program
from converter.limits import allowed, limit

#: The most bits that one operation skips.
_LONGEST_SKIP: Final = 1 << 40


@dataclass(slots=True)
class Registers:
    """The registers of one stream class: those with a fixed meaning first, then one for each length and selector."""

    first_free: int
    of: dict[Location, int] = field(default_factory=dict)
    #: True if the integer there is signed; known once its class has been compiled.
    signed: dict[Location, bool] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of registers."""
        return self.first_free + len(self.of)

    def add(self, locations: Iterable[Location]) -> None:
        """Reserve registers, in this order."""
        for location in locations:
            self.of.setdefault(location, self.count)


class Decoder(NamedTuple):
    """A program that decodes records, with the item sizes and the number of its slots.

    `expected` is 1 if each record has exactly one item, 0 if that is not known.
    """

    program: Program
    item_sizes: NDArray[np.int64]
    expected: NDArray[np.int64]
    plans: tuple[Plan, ...]


class State(NamedTuple):
    """Knowledge of the position: it is `offset` above a multiple of `modulus` bits.

    `orders` are the possible byte orders of the last bits.
    """

    modulus: int = 1
    offset: int = 0
    orders: frozenset[ByteOrder] = frozenset()


class Assembler:
    """Appends operations, starting in a given state."""

    def __init__(self, registers: Registers, state: State = State()) -> None:  # noqa: B008 - immutable
        self._registers = registers
        self.modulus, self.offset, self.orders = state
        self._operations: list[list[int]] = []
        self._most = limit("ctf.operations")
        self._ranges: list[list[int]] = []
        self._item_sizes: list[int] = []
        self._expected: list[int] = []
        # Operations before this one are not extended: it is the target of a branch.
        self._barrier = 0
        # The number of enclosing loops.
        self._depth = 0
        # True if each record has the field exactly once.
        self._once = True

    # Programs

    def program(self) -> Program:
        """Return the program so far, with its end."""
        self._append("END")
        operations = np.array(self._operations, np.int64)
        ranges = np.array(self._ranges, np.int64).reshape(-1, 4)
        self._operations.pop()
        return Program(operations, ranges, self._registers.count, len(self._item_sizes))

    def decoder(self, plans: Iterable[Plan]) -> Decoder:
        """Return the program so far, for the columns of these plans."""
        return Decoder(
            self.program(),
            np.array(self._item_sizes, np.int64),
            np.array(self._expected, np.int64),
            tuple(plans),
        )

    def _append(
        self,
        code: str,
        *,
        align: int = 1,
        width: int = 0,
        flags: int = 0,
        slot: int = -1,
        register: int = -1,
        target: int = 0,
        source: int = -1,
        stride: int = 0,
    ) -> list[int]:
        if len(self._operations) >= self._most:
            what, expected = "a record class has too many fields", allowed("ctf.operations")
            raise TraceError(what, field="metadata", expected=expected)
        operation = [
            OPERATIONS[code], align, width, flags, slot, register, target, source, stride,
        ]  # fmt: skip
        self._operations.append(operation)
        return operation

    def _slot(self, item_size: int, *, counted: bool = True) -> int:
        self._item_sizes.append(item_size)
        self._expected.append(1 if self._once and counted else 0)
        return len(self._item_sizes) - 1

    # The position

    def _align(self, alignment: int) -> int:
        """Align the position; return the alignment that the operation has to perform."""
        if alignment > self.modulus:
            self.modulus, self.offset = alignment, 0
            return alignment
        self._skip_bits(-self.offset % alignment)
        return 1

    @property
    def _at_byte(self) -> bool:
        """True if the position is known to be at a byte boundary."""
        return self.modulus >= 8 and self.offset % 8 == 0

    def _advance(self, bits: int) -> None:
        self.offset = (self.offset + bits) % self.modulus

    def _advance_by_multiple(self, unit: int) -> None:
        """Advance by an unknown multiple of `unit` bits."""
        self.modulus = min(self.modulus, unit & -unit)
        self.offset %= self.modulus

    def _skip(self, alignment: int, width: int) -> None:
        if alignment <= self.modulus:
            self._skip_bits(-self.offset % alignment + width)
        else:
            self._append("SKIP", align=self._align(alignment), width=width)
            self._advance(width)

    def _skip_bits(self, bits: int) -> None:
        """Advance by `bits`, merged with the previous skip."""
        last = self._operations[-1] if len(self._operations) > self._barrier else None
        if last is not None and last[0] == OPERATIONS["SKIP"] and last[2] + bits < _LONGEST_SKIP:
            last[2] += bits
        elif bits:
            self._append("SKIP", width=bits)
        self._advance(bits)

    @property
    def state(self) -> State:
        """The knowledge of the position."""
        return State(self.modulus, self.offset, self.orders)

    def _go_to(self, state: State) -> None:
        self.modulus, self.offset, self.orders = state

    def _begin_bits(self, order: ByteOrder, alignment: int) -> None:
        """Prepare for bits of this byte order: earlier bits of another one must have filled their byte."""
        if self.orders and order not in self.orders and alignment < 8:
            align = self._align(alignment)
            if self.modulus < 8 or self.offset % 8:
                self._append("WHOLE", align=align)
        self.orders = frozenset({order})

    def _join(self, states: list[State]) -> None:
        """Continue with what holds in all of these states."""
        modulus = min(state.modulus for state in states)
        while modulus > 1 and len({state.offset % modulus for state in states}) > 1:
            modulus //= 2
        orders = frozenset[ByteOrder]().union(*(state.orders for state in states))
        self._go_to(State(modulus, states[0].offset % modulus, orders))
        self._barrier = len(self._operations)

    def _byte(self, alignment: int) -> int:
        """Align to bytes, as the kernel requires; return the alignment that the operation has to perform."""
        return max(8, self._align(max(8, alignment)))

    def _length(self, length: int | Location) -> tuple[int, int]:
        """Return a known length and -1, or 0 and the register that contains the length."""
        if isinstance(length, Location):
            return 0, self._registers.of[length]
        return length, -1

    # Selections

    def _count(self, slot: int) -> None:
        """Append one value to a slot whenever the program gets here."""
        # A SELECT that any value of any register matches: it continues with the next operation and stores the option's
        # number.
        select = self._append("SELECT", slot=slot, source=0)
        self._select(select, [[0, -1, 0, len(self._operations)]])
        self._barrier = len(self._operations)

    def _selector_flags(self, selector: Location) -> int:
        return FLAGS["SIGNED"] if self._registers.signed.get(selector, False) else 0

    def _select(self, operation: list[int], ranges: list[list[int]]) -> None:
        operation[6] = len(self._ranges)
        operation[2] = len(ranges)
        self._ranges += ranges

    def _bounds(
        self, ranges: Iterable[Range], selector: Location, option: int, target: int
    ) -> Iterator[list[int]]:
        """Yield the ranges, clamped to what 64 bits hold, as words of 64 bits."""
        if self._registers.signed.get(selector, False):
            lowest, highest = -(1 << 63), (1 << 63) - 1
        else:
            lowest, highest = 0, (1 << 64) - 1
        for low, high in ranges:
            first, last = max(low, lowest), min(high, highest)
            if first <= last:
                yield [_word(first), _word(last), option, target]


def _word(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value

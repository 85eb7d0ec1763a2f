"""Values in an entry at a pointer that depends on the entry: characters, integers, bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from converter.formats.aix.report.template_lines import BLANK, LineProgram
from converter.formats.aix.report.template_locations import (
    SIZES,
    WIDE,
    Column,
    NotExpressedError,
    Place,
    Value,
)
from converter.formats.aix.report.template_registers import POINTER
from converter.formats.aix.trcfmt.model import Format, Move
from converter.printing import program as op
from converter.printing.code import Form

#: Codes that are read as numbers.
_NUMBERS: Final = ("X", "D", "U", "o", "E", "T", "P")
#: Beyond any entry: numbers below it can be added to.
FAR: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Register(Place):
    """A number that was read or computed; `offset` is that of the register."""


@dataclass
class ValueProgram(LineProgram):
    """A program that reads and prints values wherever they are."""

    def _characters(self, item: Format) -> None:
        """Print a text of the entry: some bytes, up to a NUL, or, with S, as many as the number before it says."""
        code, part = self.code, item.part if item.code == "A" else 0
        if item.code == "A":
            code.constant(item.size)
        else:
            self._push_operand(self._integer_at(self._size(item), signed=False))
        self._require(op.LESS, FAR)
        length = self._store_top()
        self._push_offset()
        self._require(op.LESS, FAR)
        place = self._store_top()
        self._fetch(place)
        self._fetch(length)
        code.add(op.ADD)
        self._move_to()
        self._fetch(place)
        self._fetch(length)
        code.add(op.PLAIN, int(item.code == "A"))
        size = self._store_top()
        self._fetch(size)
        code.give_up()

        def some() -> None:
            if self._due is not False:
                self._blank_is_due()
                self._fetch(place)
                code.constant(1)
                code.add(op.READ)
                code.constant(BLANK)
                code.add(op.NOT_EQUAL)
                code.add(op.BOTH)
                code.unless_zero(lambda: code.literal(b" "), None)
            self._fetch(place)
            self._fetch(size)
            code.constant(1)
            code.add(op.SUBTRACT)
            code.add(op.STRING)
            self._due = False

        def none() -> None:
            if part:
                self._due = False

        self._fetch(size)
        code.constant(1)
        code.add(op.GREATER)
        self._either(some, none)
        if part:
            self._fetch(size)
            code.constant(part + 1)
            code.add(op.LESS)
            code.unless_zero(lambda: self._pad(part, size), None)
        self._check_output()

    def _pad(self, part: int, size: int) -> None:
        self.code.constant(part + 1)
        self._fetch(size)
        self.code.add(op.SUBTRACT)
        self.code.add(op.BLANKS, 1, part + 1)

    # Values

    def _size(self, format: Format) -> int:
        return {"HB": 8, "HT": 2}.get(format.code) or super()._size(format)

    def _push_offset(self) -> None:
        """Push the byte offset of the next value."""
        if self._pointer is not None:
            self.code.constant(-(-self._pointer // 8))
            return
        self._fetch(POINTER)
        self.code.constant(7)
        self.code.add(op.ADD)
        self.code.constant(3)
        self.code.add(op.SHIFT_RIGHT)

    def _move_to(self) -> None:
        """Move the pointer to the byte offset on the stack."""
        self.code.constant(3)
        self.code.add(op.SHIFT_LEFT)
        self.code.add(op.STORE, POINTER)
        self._pointer = None

    def _read(self, format: Format) -> Value:
        if format.code == "HB":
            return Place(2, 2, mask=format.mask) if self.generic else 0
        if format.code == "HT":
            mask = -1 if format.mask is None else format.mask
            return Place(0, 2, mask=mask & (0xF if self.word == 4 else 0xFFFF))
        if format.code == "B":
            return self._bits(format.size * 8 + format.part, format.mask)
        if format.code not in _NUMBERS:
            raise NotExpressedError(format.code)
        return self._integer_at(self._size(format), signed=format.code == "D", mask=format.mask)

    def _integer_at(self, size: int, *, signed: bool, mask: int | None = None) -> Value:
        """Read a number of that many bytes, which the entry must have, and advance the pointer past it."""
        code = self.code
        if size not in SIZES or (signed and mask is not None):
            raise NotExpressedError("size")
        if self._pointer is not None:
            start = -(-self._pointer // 8)
            if start < 0:
                raise NotExpressedError("place")
            code.constant(start + size)
            self._is_inside()
            self._pointer = 8 * (start + size)
            return Place(start, size, signed, mask)
        self._push_offset()
        place = self._store_top()
        self._fetch(place)
        code.constant(size)
        code.add(op.ADD)
        code.add(op.COPY)
        self._is_inside()
        self._move_to()
        self._fetch(place)
        code.constant(size)
        code.add(op.READ)
        return Register(self._store_top(), size, signed, mask)

    def _is_inside(self) -> None:
        """Give up if the entry ends before the byte offset on the stack."""
        self.code.add(op.RECORD_SIZE)
        self.code.add(op.LESS_EQUAL)
        self.code.give_up()

    def _bits(self, count: int, mask: int | None) -> Value:
        code = self.code
        if not 0 < count <= WIDE:
            raise NotExpressedError("bits")
        if self._pointer is not None:
            code.constant(self._pointer)
        else:
            self._fetch(POINTER)
        # Also for offsets before the entry.
        self._require(op.LESS, 8 * FAR)
        start = self._store_top()
        self._fetch(start)
        code.constant(count)
        code.add(op.ADD)
        code.add(op.COPY)
        code.add(op.RECORD_SIZE)
        code.constant(3)
        code.add(op.SHIFT_LEFT)
        code.add(op.LESS_EQUAL)
        code.give_up()
        code.add(op.STORE, POINTER)
        self._pointer = None
        self._fetch(start)
        code.add(op.BITS, count)
        return Register(self._store_top(), 8, mask=mask)

    def _move(self, item: Move) -> None:
        if item.code in "GW" or self._pointer is not None:
            super()._move(item)
            return
        self._fetch(POINTER)
        if item.code == "R" and item.size == 0:
            self.code.keep((1 << WIDE) - 8)
        else:
            distance = item.size * 8 + item.part if item.code == "O" else -8 * item.size
            self.code.constant(distance)
            self.code.add(op.ADD)
        self.code.add(op.STORE, POINTER)

    def _put(self, value: Value, format: Format, size: int) -> None:
        bits = 8 * format.size + format.part
        if format.code == "B" and 0 < bits <= WIDE:
            form = Form("0", bits, bits=bits, conversion="b")
        elif format.code == "HT":
            form = Form(conversion="X")
        else:
            plain = Format("U", 8) if format.code == "HB" else format
            super()._put(value, plain, size)
            return
        self._load(value, WIDE)
        self.code.add(op.NUMBER, self.code.form(form))

    def _load(self, value: Value, bits: int) -> None:
        if not isinstance(value, Register):
            super()._load(value, bits)
            return
        if value.signed and bits > 8 * value.size:
            raise NotExpressedError("a sign")
        self._fetch(value.offset)
        if value.mask is not None:
            self.code.keep(value.mask & (1 << WIDE) - 1)

    def _push_operand(self, value: Value) -> None:
        """Push a number for arithmetic: one that is not negative."""
        code = self.code
        match value:
            case int():
                if not 0 <= value < 1 << WIDE:
                    raise NotExpressedError("a number")
                code.constant(value)
                return
            case Column():
                self._load(value, WIDE)
                sign = WIDE - 1
            case _ if value.signed:
                self._load(value, 8 * value.size)
                sign = 8 * value.size - 1
            case _:
                self._load(value, WIDE)
                return
        code.add(op.COPY)
        code.constant(sign)
        code.add(op.SHIFT_RIGHT)
        code.add(op.NOT)
        code.give_up()

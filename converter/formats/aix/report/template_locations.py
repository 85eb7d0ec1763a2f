"""Values of a template with the same locations in every entry of a layout.

The pointer's position and the macros' values are known when the program is compiled, or the template is not compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from converter.formats.aix.trcfmt import TemplateFile
from converter.formats.aix.trcfmt.entry import SPECIAL_MACROS
from converter.formats.aix.trcfmt.model import (
    POINTERS,
    WORD,
    Expression,
    Format,
    Macro,
    Move,
    Number,
)
from converter.printing import program as op
from converter.printing.code import Code

#: The offset of the hookdata by word size; macros of numbers that are the same for a layout, and those of events.
_HOOKDATA: Final = {4: 2, 8: 6}
_CONSTANTS: Final = ("HOOKENV", "WORDSIZE", "GENERIC", "TRACEENV", "LARGEDATATYPES", "BUFF")
_COLUMNS: Final = {"PID": "pid", "TID": "tid", "CPUID": "cpu"}
#: Sizes of numbers, in bytes.
SIZES: Final = (1, 2, 4, 8)
#: Bits of the largest.
WIDE: Final = 64


class NotExpressedError(Exception):
    """The template's output depends on more than fixed locations."""


@dataclass(frozen=True, slots=True)
class Place:
    """A number in an entry."""

    offset: int
    size: int
    signed: bool = False
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A number of an event that is known outside of its entry."""

    name: str


Value = Place | Column | int


@dataclass(slots=True)
class LocatedValues:
    """Compiles loads of values in entries of a layout.

    `word` is the size of the layout's words in bytes, `margin` the text at the start of all lines but the first.
    `needed` is, afterwards, the number of bytes that an entry must have.
    """

    code: Code
    file: TemplateFile
    word: int
    generic: bool
    trace_env: int
    margin: bytes
    needed: int = 0
    _pointer: int | None = 0
    _slots: dict[str, int] = field(default_factory=dict)
    _held: list[Value | None] = field(default_factory=list)
    _id: int = 0

    def _begin(self, id16: int, slots: dict[str, int]) -> None:
        """Start at the data of a hook's entries, with undefined macros."""
        self._id = id16
        self._pointer = 8 * (self.word if self.generic else _HOOKDATA[self.word])
        self._slots = slots

    def _size(self, format: Format) -> int:
        return self.word if format.size == WORD else max(format.size, 1)

    def _read(self, format: Format) -> Value:
        """Return the number at the pointer, and advance the pointer past it."""
        if format.code not in ("X", "D", "U", "o", "E") or self._pointer is None:
            raise NotExpressedError(format.code)
        size, offset = self._size(format), -(-self._pointer // 8)
        if size not in SIZES or offset < 0:
            raise NotExpressedError("place")
        self._pointer = 8 * (offset + size)
        self.needed = max(self.needed, offset + size)
        return Place(offset, size, format.code == "D", format.mask)

    def _move(self, item: Move) -> None:
        distance = item.size * 8 + item.part
        match item.code:
            case "G":
                self._pointer = distance
            case "W":
                self._pointer = item.size * self.word * 8
            case "O" if self._pointer is not None:
                self._pointer += distance
            case "R" if self._pointer is not None:
                self._pointer = (
                    self._pointer & ~7 if item.size == 0 else self._pointer - 8 * item.size
                )
            case _:
                raise NotExpressedError("pointer")

    def _named(self, item: Macro) -> Value:
        """Return the value of a macro with its mask applied; 0 if it is not defined."""
        name = item.name
        if (item.format is not None and item.format.code == "S") or name in POINTERS:
            raise NotExpressedError(name)
        if name in self._slots:
            slot = self._slots[name]
            held = self._held[slot] if slot < len(self._held) else 0
            if held is None:
                raise NotExpressedError(name)
            return self._masked(held, item)
        return self._masked(self._of_entry(name), item)

    def _masked(self, value: Value, item: Macro) -> Value:
        if item.mask is None or item.extract is not None:
            return value
        if isinstance(value, int):
            return value & item.mask
        if not isinstance(value, Place) or value.mask is not None or value.signed:
            raise NotExpressedError("mask")
        return Place(value.offset, value.size, mask=item.mask)

    def _of_entry(self, name: str) -> Value:
        """Return the value of a special macro in an entry of this layout."""
        if is_word(name):
            size = self.word if name[0] == "D" else 8
            place = Place(self.word + (int(name[1]) - 1) * size, size)
            self.needed = max(self.needed, place.offset + size)
            return place
        if name in _COLUMNS:
            return Column(_COLUMNS[name])
        if name == "HD":
            return Place(_HOOKDATA[self.word], 2)
        if name == "TRACEID":
            return self._id
        if name in _CONSTANTS:
            return {
                "HOOKENV": 8 * self.word,
                "TRACEENV": self.trace_env,
                "WORDSIZE": self.word,
                "GENERIC": int(self.generic),
            }.get(name, 0)
        if name in SPECIAL_MACROS or name in (
            "ERROR",
            "DEFAULT",
            "STOP",
            "BREAK",
            "SKIP",
            "LOGIDX",
        ):
            raise NotExpressedError(name)
        return 0

    def _assign(self, name: str, value: Expression | None) -> None:
        if name in POINTERS:
            raise NotExpressedError(name)
        slot = self._slots.setdefault(name, len(self._slots))
        self._held.extend([0] * (slot + 1 - len(self._held)))
        match value:
            case None:
                pass
            case Number(number):
                self._held[slot] = number
            case Format():
                self._held[slot] = self._read(value)
            case Macro(extract=None):
                self._held[slot] = self._named(value)
            case _:
                raise NotExpressedError("arithmetic")

    def _load(self, value: Value, bits: int) -> None:
        """Push a number, of which that many bits are used."""
        code = self.code
        match value:
            case int():
                code.constant(value)
            case Column(name):
                code.number_of(name, 0, signed=True)
            case Place(offset, size, signed, mask):
                if signed and (bits > 8 * size or mask is not None):
                    raise NotExpressedError("a sign")
                code.add(op.LOAD, offset, size)
                if mask is not None:
                    code.keep(mask & (1 << WIDE) - 1)

    def _extract(self, value: Value, item: Macro) -> None:
        """Push some bits of a number."""
        assert item.extract is not None
        low, high = item.extract
        self._load(value, WIDE)
        self.code.constant(low)
        self.code.add(op.SHIFT_RIGHT)
        self.code.keep((1 << max(0, min(high, 63) - low + 1)) - 1)
        if item.mask is not None:
            self.code.keep(item.mask & (1 << WIDE) - 1)

    def _compare(self, value: Value, expected: int) -> bool:
        """Push True if the value is that number; return False if it never is."""
        if isinstance(value, Place) and value.signed and value.mask is None:
            bits = 8 * value.size
            if not -(1 << bits - 1) <= expected < 1 << bits - 1:
                return False
            self._load(value, bits)
            self.code.constant(expected & (1 << bits) - 1)
        else:
            signed = isinstance(value, Column)
            if not (-(1 << 63) if signed else 0) <= expected < 1 << (63 if signed else WIDE):
                return False
            self._load(value, WIDE)
            self.code.constant(expected)
        self.code.add(op.EQUAL)
        return True


def is_word(name: str) -> bool:
    """Return True if a macro is a word of the entry: D1 to D5, L1 to L5."""
    return len(name) == 2 and name[0] in "DL" and name[1] in "12345"

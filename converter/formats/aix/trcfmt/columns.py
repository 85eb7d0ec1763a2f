"""Templates without branches, as locations of their values: the source for columns of many entries at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from converter.formats.aix.trcfmt.entry import SPECIAL_MACROS, Value
from converter.formats.aix.trcfmt.files import TemplateFile
from converter.formats.aix.trcfmt.model import (
    POINTERS,
    WORD,
    Assign,
    Block,
    Control,
    Format,
    Function,
    Macro,
    Move,
    Number,
    Subroutine,
    Text,
    macro_slots,
)
from converter.formats.aix.trcfmt.output import MAX_FIELDS, field_name, numbered

#: Macros whose values are not in the entry.
_AROUND = frozenset(SPECIAL_MACROS) - {"HD"}

_MAX_CALLS = 10
_MAX_ITEMS = 10_000


@dataclass(frozen=True, slots=True)
class StaticField:
    """A value at the same location of every entry.

    `offset` counts bytes from the hook word, `width` is in bytes. `format` is X, D, U, o, F, T, E, P: a number; A: text
    up to a NUL or the width; S: text after its length, which has `width` bytes; B: `bits` bits from bit `bit_offset`
    on, 0 being the highest of the first byte.
    """

    name: str
    offset: int
    width: int
    format: str
    bit_offset: int = 0
    bits: int = 0


class _NotStaticError(Exception):
    """The template's output depends on the entry."""


def layout(
    file: TemplateFile, id16: int, hook_env: int, *, generic: bool
) -> tuple[StaticField, ...] | None:
    """Return the values that a template shows, in its order, or None if they differ from entry to entry.

    Templates with SWITCH, LOOP, BITFLAGS, functions, arithmetic, or macros that end the event, are not static, nor is
    anything after a text with a length. `hook_env` is 32 or 64. Values outside of the entry ($PID) are left out.
    """
    template = file.templates.get(id16)
    if template is None:
        return None
    walk = _Walk(file, hook_env // 8, generic)
    try:
        walk.add_template(template.body, bool(template.label), 0)
    except _NotStaticError:
        return None
    return tuple(walk.fields)


class _Walk:
    def __init__(self, file: TemplateFile, word: int, generic: bool) -> None:
        self.file = file
        self.word = word
        self.pointer: int | None = (word if generic else word - 2) * 8
        self.label = ""
        self.fields: list[StaticField] = []
        self.taken: dict[str, Value] = {}
        #: The value of each macro, by its index.
        self.held: dict[int, StaticField] = {}
        self.items = 0

    def add_template(self, block: Block, has_label: bool, calls: int) -> None:
        if calls > _MAX_CALLS:
            raise _NotStaticError
        slots = macro_slots(block)
        for piece in block.pieces:
            self.items += 1
            if self.items > _MAX_ITEMS:
                raise _NotStaticError
            match piece.item:
                case Text(text):
                    self.label = f"{self.label} {text}" if self.label and not has_label else text
                    if has_label:
                        self.label = ""
                        has_label = False
                case Control(letter):
                    self.label = "" if letter == "n" else self.label
                case Move():
                    self.move(piece.item)
                case Format(code="A", size=0):
                    pass
                case Format():
                    self.add(self.read(piece.item), "field")
                case Macro():
                    self.macro(piece.item, slots)
                case Assign(name, value):
                    self.assign(name, value, slots)
                case Subroutine(id16):
                    template = self.file.templates.get(id16)
                    if template is None:
                        raise _NotStaticError
                    self.add_template(template.body, bool(template.label), calls + 1)
                case Function():
                    pass
                case _:
                    raise _NotStaticError

    def add(self, found: StaticField, otherwise: str) -> None:
        name = numbered(field_name(self.label) or otherwise, self.taken)
        self.label = ""
        self.taken[name] = 0
        if len(self.fields) >= MAX_FIELDS:
            raise _NotStaticError
        self.fields.append(replace(found, name=name))

    def read(self, format: Format) -> StaticField:
        """Return the field at the pointer, and advance the pointer past it."""
        if format.mask is not None or format.code in ("HB", "HT") or self.pointer is None:
            raise _NotStaticError
        if format.code == "B":
            bits = format.size * 8 + format.part
            offset, bit = divmod(self.pointer, 8)
            self.pointer += bits
            if bits == 0 or offset < 0 or bit + bits > 64:
                raise _NotStaticError
            return StaticField("", offset, -(-(bit + bits) // 8), "B", bit, bits)
        offset = -(-self.pointer // 8)
        width = self.word if format.size == WORD else max(format.size, 1)
        if offset < 0:
            raise _NotStaticError
        self.pointer = None if format.code == "S" else (offset + width) * 8
        return StaticField("", offset, width, format.code)

    def move(self, item: Move) -> None:
        distance = item.size * 8 + item.part
        if item.code == "G":
            self.pointer = distance
        elif item.code == "W":
            self.pointer = item.size * self.word * 8
        elif self.pointer is None:
            raise _NotStaticError
        elif item.code == "O":
            self.pointer += distance
        elif item.size == 0:
            self.pointer &= ~7
        else:
            self.pointer -= distance

    def macro(self, item: Macro, slots: dict[str, int]) -> None:
        if item.name in _AROUND and item.name not in slots:
            self.label = ""
            return
        if item.extract is not None or item.mask is not None:
            raise _NotStaticError
        found = self.macro_field(item.name, slots)
        shown = item.format.code if item.format is not None else "X"
        if shown in ("A", "S", "F", "B"):
            raise _NotStaticError
        if found.format in ("A", "S", "F", "B"):
            shown = found.format
        self.add(replace(found, format=shown), item.name)

    def macro_field(self, name: str, slots: dict[str, int]) -> StaticField:
        if name in slots:
            held = self.held.get(slots[name])
            if held is None:
                raise _NotStaticError
            return held
        if len(name) == 2 and name[0] in "DL" and name[1] in "12345":
            size = self.word if name[0] == "D" else 8
            return StaticField("", self.word + (int(name[1]) - 1) * size, size, "X")
        if name == "HD":
            return StaticField("", self.word - 2, 2, "X")
        raise _NotStaticError

    def assign(self, name: str, value: object, slots: dict[str, int]) -> None:
        if name in POINTERS:
            raise _NotStaticError
        if value is None:
            return
        if isinstance(value, Format):
            self.held[slots[name]] = self.read(value)
        elif isinstance(value, Macro) and value == Macro(value.name):
            self.held[slots[name]] = self.macro_field(value.name, slots)
        else:
            # A number or a result of arithmetic has no location in the entry. It matters only if it is shown.
            self.held.pop(slots[name], None)
            if not isinstance(value, Number):
                raise _NotStaticError

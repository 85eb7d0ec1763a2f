"""Inverse programs: made of the print formats of events, or of the first text of an event whose format is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.syntax import (
    EventFormat,
    FormatField,
    FormatSyntaxError,
    Location,
)
from converter.formats.ftrace.lines.inverse import (
    NUMBER_POINTER,
    PLACE_DATA,
    PLACE_INLINE,
    PLACE_RELATIVE,
    PLACE_TAIL,
    STEP_CHOICE,
    STEP_FLAGS,
    STEP_LITERAL,
    STEP_NUMBER,
    STEP_SPACES,
    STEP_SYMBOL,
    STEP_TEXT,
)
from converter.formats.ftrace.print_format.expressions import parse_print_fmt
from converter.formats.ftrace.print_format.nodes import (
    Binary,
    Call,
    Cast,
    Choice,
    Conditional,
    Field,
    Index,
    Node,
    Number,
    String,
    Unary,
)
from converter.formats.ftrace.print_format.printf import Directive, parse_format_string
from converter.formats.ftrace.symbol_lookup import octets

_PLACES: Final = {
    Location.INLINE: PLACE_INLINE,
    Location.DATA_LOC: PLACE_DATA,
    Location.REL_LOC: PLACE_RELATIVE,
}
_BASES: Final = {"x": 16, "X": 16, "o": 8}
#: The common fields of a record, whatever its format says of them.
_HEADER: Final = 8
_MOST_FIXED: Final = 1 << 14
_ONE_BIT: Final = -2
_STATE: Final = ("sched", "sched_switch", "prev_state")
#: Letters of older kernels' states: a dead task is one that exits; what a wakeup allows has no bit any more.
_OLD_LETTERS: Final = (("x", 0x10), ("K", 0), ("W", 0), ("N", 0))


class NotInvertibleError(Exception):
    """A print format does not say enough of the record."""


class Step(NamedTuple):
    """A step of a program; `text` is that of a literal, `choices` are those of a choice."""

    code: int
    place: int = 0
    offset: int = 0
    size: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    text: bytes = b""
    choices: tuple[tuple[bytes, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Steps that make records of a format, of whose fields it has those that texts say."""

    format: EventFormat
    steps: tuple[Step, ...]
    #: Bytes of the record before what is of any length.
    fixed: int


@dataclass(slots=True)
class ProgramMaker:
    """The steps of a program, as far as they are known, for the records of a format."""

    format: EventFormat
    steps: list[Step] = field(default_factory=list)
    #: By field: the bits or elements that texts say.
    _said: dict[str, set[int]] = field(default_factory=dict)
    #: Fields that are printed in another form, and of which that form does not say all.
    _derived: set[str] = field(default_factory=set)

    @property
    def _fixed(self) -> int:
        ends = [item.offset + item.size for item in self.format.fields]
        return max([_HEADER, *ends])

    def program(self) -> Program:
        """Return the program; NotInvertibleError where a field is printed that it does not find."""
        said = {name for name in self._said if self._is_whole(name)}
        if not self._derived | self._said.keys() <= said:
            raise NotInvertibleError
        fixed = self._fixed + 8
        if fixed > _MOST_FIXED:
            raise NotInvertibleError
        fields = tuple(item for item in self.format.fields if item.name in said)
        return Program(replace(self.format, fields=fields), tuple(self.steps), fixed)

    def _is_whole(self, name: str) -> bool:
        item = self._field(name)
        parts = self._said[name]
        if -1 in parts or _ONE_BIT in parts:
            return -1 in parts
        length = item.array_length
        if length is not None and length > 0:
            return parts == set(range(length))
        return len(parts) > 1

    # Steps

    def literal(self, text: str) -> None:
        """Text that is always there."""
        if self.steps and self.steps[-1].code == STEP_SPACES:
            text = text.lstrip(" ")
        if not text:
            return
        data = text.encode("latin-1")
        if self.steps and self.steps[-1].code == STEP_LITERAL:
            last = self.steps.pop()
            data = last.text + data
        self.steps.append(Step(STEP_LITERAL, text=data))

    def spaces(self) -> None:
        """Any number of spaces."""
        self.steps.append(Step(STEP_SPACES))

    def number(self, name: str, base: int = 10, *, pointer: bool = False) -> None:
        """Add the number of a field."""
        item = self._number_field(name)
        self._number(item, base, (1, -1), pointer=pointer)

    def any_number(self, name: str) -> None:
        """Add a number of a field, in decimal or after 0x."""
        self._choose(self._number_field(name), (), STEP_CHOICE)

    def unkept_number(self) -> None:
        """Add a number that no field is stored as."""
        self._scratch(10)

    def text(self, name: str, *, trimmed: bool = False) -> None:
        """Add the text of a field."""
        if self.steps and self.steps[-1].code == STEP_TEXT:
            raise NotInvertibleError
        item = self._field(name)
        self._say(name, -1)
        place = PLACE_TAIL if item.is_tail else _PLACES[item.location]
        if place not in (PLACE_TAIL, PLACE_INLINE) and item.size != 4:
            raise NotInvertibleError
        self.steps.append(Step(STEP_TEXT, place, item.offset, item.size, c=int(trimmed)))

    def symbol(self, name: str) -> None:
        """Add the function that contains the address of a field."""
        item = self._number_field(name)
        if item.size != 8:
            raise NotInvertibleError
        self._say(name, -1)
        self.steps.append(Step(STEP_SYMBOL, PLACE_INLINE, item.offset, item.size, c=1))

    def flags(self, name: str, choices: Sequence[tuple[bytes, int]], delimiter: str) -> None:
        """Add the names of bits of a field."""
        self._choose(self._number_field(name), choices, STEP_FLAGS, delimiter)

    def choice(
        self, name: str, choices: Sequence[tuple[bytes, int]], *, adds: bool = False
    ) -> None:
        """Add the name of a value of a field, or of bits that are added to it."""
        self._choose(self._number_field(name), choices, STEP_CHOICE, adds=adds)

    def _choose(
        self,
        item: FormatField,
        choices: Sequence[tuple[bytes, int]],
        code: int,
        delimiter: str = "",
        *,
        adds: bool = False,
    ) -> None:
        first = item.name not in self._said
        if adds:
            # One bit alone does not say what the others are.
            self._say(item.name, _ONE_BIT)
        elif first:
            self._say(item.name, -1)
        else:
            item = self._scratch_field()
        known: dict[bytes, int] = {}
        for text, value in choices:
            known.setdefault(text, value)
        ordered = tuple(sorted(known.items(), key=lambda one: -len(one[0])))
        separator = ord(delimiter) if delimiter else 0
        self.steps.append(
            Step(
                code,
                PLACE_INLINE,
                item.offset,
                item.size,
                c=int(first or not adds),
                d=separator,
                choices=ordered,
            )
        )

    def _number(
        self,
        item: FormatField,
        base: int,
        part: tuple[int, int],
        *,
        pointer: bool = False,
        index: int = 0,
    ) -> None:
        multiplier, which = part
        if -1 in self._said.get(item.name, ()):
            # It is printed once more.
            self._scratch(base, pointer=pointer)
            return
        first = item.name not in self._said or bool(item.array_length)
        self._say(item.name, which)
        size = item.size // (item.array_length or 1)
        self.steps.append(
            Step(
                STEP_NUMBER,
                PLACE_INLINE,
                item.offset + index * size,
                size,
                base,
                multiplier,
                int(first),
                NUMBER_POINTER if pointer else 0,
            )
        )

    def _scratch(self, base: int, *, pointer: bool = False) -> None:
        """Add a number that no field is stored as."""
        kind = NUMBER_POINTER if pointer else 0
        self.steps.append(Step(STEP_NUMBER, PLACE_INLINE, self._fixed, 8, base, 1, 1, kind))

    def _scratch_field(self) -> FormatField:
        return FormatField("", "u64", Location.INLINE, None, self._fixed, 8, False, False)

    def _say(self, name: str, part: int) -> None:
        self._said.setdefault(name, set()).add(part)

    def _field(self, name: str) -> FormatField:
        for item in self.format.fields:
            if item.name == name:
                return item
        raise NotInvertibleError

    def _number_field(self, name: str) -> FormatField:
        item = self._field(name)
        if item.is_array or item.location is not Location.INLINE or item.size not in (1, 2, 4, 8):
            raise NotInvertibleError
        return item

    # Print formats

    def print_format(self) -> Program:
        """Return the program of the format's own text."""
        try:
            text, arguments = parse_print_fmt(octets(self.format.print_fmt))
        except FormatSyntaxError:
            raise NotInvertibleError from None
        remaining = iter(arguments)
        pieces = parse_format_string(text)
        for number, piece in enumerate(pieces):
            if isinstance(piece, str):
                if number == 0 and piece.startswith(" "):
                    # Tools align the texts.
                    self.spaces()
                last = number == len(pieces) - 1
                self.literal(piece.rstrip("\n ") if last else piece)
                continue
            node = next(remaining, None)
            if node is None or piece.stars:
                raise NotInvertibleError
            self._directive(piece, node)
        return self.program()

    def _directive(self, directive: Directive, node: Node) -> None:
        padded = bool(directive.width)
        left = "-" in directive.flags
        if padded and not left:
            self.spaces()
        if directive.conversion == "s":
            self._text_of(node, trimmed=padded and left)
        elif directive.conversion == "p":
            self._pointer(directive.suffix, node)
        elif directive.conversion == "c":
            raise NotInvertibleError
        else:
            self._number_of(node, _BASES.get(directive.conversion, 10))
        if padded and left and self.steps[-1].code != STEP_TEXT:
            self.spaces()

    def _pointer(self, suffix: str, node: Node) -> None:
        name = _plain(node)
        if suffix[:1] in ("s", "S", "f", "F", "B") and suffix[1:2] != "w":
            if name is None:
                raise NotInvertibleError
            self.symbol(name)
        elif suffix in ("", "x", "K"):
            if name is not None and not self._field(name).is_array:
                self.number(name, 16, pointer=True)
            else:
                self._derive(node)
                self._scratch(16, pointer=True)
        else:
            raise NotInvertibleError

    def _derive(self, node: Node) -> None:
        """Note the fields of an expression that cannot be inverted, which must be printed elsewhere."""
        self._derived |= _fields(node)

    def _number_of(self, node: Node, base: int) -> None:
        node = _uncast(node)
        match node:
            case Field(name):
                self.number(name, base)
            case Index(Field(name), Number(index)):
                item = self._field(name)
                length = item.array_length or 0
                if not 0 <= index < length or item.size != length * (item.size // length):
                    raise NotInvertibleError
                if item.location is not Location.INLINE or item.size // length not in (1, 2, 4, 8):
                    raise NotInvertibleError
                self._number(item, base, (1, index), index=index)
            case Binary(">>", operand, Number(bits)) if (of := _plain(operand)) and bits < 64:
                self._number(self._number_field(of), base, (1 << bits, 1))
            case Binary("&", operand, Number(_)) if (of := _plain(operand)) is not None:
                self._number(self._number_field(of), base, (1, 0))
            case Binary("/", operand, Number(by)) if (of := _plain(operand)) and by < 1 << 40:
                self._number(self._number_field(of), base, (by, 1))
            case Binary("%", operand, Number(by)) if (of := _plain(operand)) and by < 1 << 40:
                self._number(self._number_field(of), base, (1, 0))
            case _:
                self._derive(node)
                self._scratch(base)

    def _text_of(self, node: Node, *, trimmed: bool) -> None:
        node = _uncast(node)
        match node:
            case Field(name) if self._field(name).is_string:
                self.text(name, trimmed=trimmed)
            case Call("__get_str" | "__get_rel_str", (Field(name),)):
                self.text(name, trimmed=trimmed)
            case String(text):
                self.literal(text)
            case Choice():
                self._choice_of(node, ())
            case Conditional(_, Choice() as choice, String(text)):
                self._choice_of(choice, ((text.encode("latin-1"), 0),))
            case Conditional(condition, String(yes), String(no)):
                name, value, otherwise = _tested(condition)
                choices = (yes.encode("latin-1"), value), (no.encode("latin-1"), otherwise)
                self.choice(name, choices, adds=isinstance(_uncast(condition), Binary))
            case _:
                raise NotInvertibleError

    def _choice_of(self, choice: Choice, more: tuple[tuple[bytes, int], ...]) -> None:
        name = _plain(choice.value)
        if name is None:
            match _uncast(choice.value):
                case Binary("&", operand, Number(_)):
                    name = _plain(operand)
        if name is None:
            raise NotInvertibleError
        pairs = [
            (text.encode("latin-1"), value) for value, text in choice.pairs if value is not None
        ]
        if (self.format.system, self.format.name, name) == _STATE:
            more += tuple((text.encode(), value) for text, value in _OLD_LETTERS)
        if choice.delimiter is None:
            self.choice(name, [*pairs, *more])
        elif len(choice.delimiter) == 1:
            self.flags(name, [*pairs, *more], choice.delimiter)
        else:
            raise NotInvertibleError


def _uncast(node: Node) -> Node:
    while isinstance(node, Cast):
        node = node.operand
    return node


def _plain(node: Node) -> str | None:
    """Return the name of the field that a node is, but for casts."""
    node = _uncast(node)
    return node.name if isinstance(node, Field) else None


def _fields(node: Node) -> set[str]:
    match _uncast(node):
        case Field(name):
            return {name}
        case Binary(_, left, right) | Index(left, right):
            return _fields(left) | _fields(right)
        case Unary(_, operand):
            return _fields(operand)
        case Number() | String():
            return set()
        case Conditional(condition, then, otherwise):
            return _fields(condition) | _fields(then) | _fields(otherwise)
        case _:
            raise NotInvertibleError


def _tested(condition: Node) -> tuple[str, int, int]:
    """Return the field that a condition tests, and its values where it is true and where it is not."""
    condition = _uncast(condition)
    match condition:
        case Field(name):
            return name, 1, 0
        case Unary("!", operand) if (of := _plain(operand)) is not None:
            return of, 0, 1
        case Binary("&", operand, Number(bits)) if (of := _plain(operand)) is not None:
            return of, bits & -bits, 0
    raise NotInvertibleError


class Tables(NamedTuple):
    """Programs as the kernel takes them."""

    programs: NDArray[np.int64]
    steps: NDArray[np.int64]
    choices: NDArray[np.int64]
    texts: bytes


def tables(programs: Sequence[Program]) -> Tables:
    """Return the programs, in this order, as the kernel takes them."""
    heads: list[tuple[int, int, int]] = []
    rows: list[tuple[int, ...]] = []
    choices: list[tuple[int, int, int]] = []
    texts = bytearray()

    def kept(text: bytes) -> int:
        at = len(texts)
        texts.extend(text)
        return at

    for program in programs:
        heads.append((len(rows), len(program.steps), program.fixed))
        for step in program.steps:
            a, b = step.a, step.b
            if step.code == STEP_LITERAL:
                a, b = kept(step.text), len(step.text)
            elif step.code in (STEP_CHOICE, STEP_FLAGS):
                a, b = len(choices), len(step.choices)
                choices += [(kept(text), len(text), _signed(value)) for text, value in step.choices]
            rows.append((step.code, step.place, step.offset, step.size, a, b, step.c, step.d))
    return Tables(
        np.array(heads, np.int64).reshape(len(heads), 3),
        np.array(rows, np.int64).reshape(len(rows), 8),
        np.array(choices, np.int64).reshape(len(choices), 3),
        bytes(texts),
    )


def joined(first: Tables, second: Tables) -> Tables:
    """Return the programs of both, those of the first before those of the second."""
    programs, steps, choices = (
        np.concatenate(pair) for pair in zip(first[:3], second[:3], strict=True)
    )
    programs[len(first.programs) :, 0] += len(first.steps)
    choices[len(first.choices) :, 0] += len(first.texts)
    new = steps[len(first.steps) :]
    new[new[:, 0] == STEP_LITERAL, 4] += len(first.texts)
    new[np.isin(new[:, 0], (STEP_CHOICE, STEP_FLAGS)), 4] += len(first.choices)
    return Tables(programs, steps, choices, first.texts + second.texts)


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value

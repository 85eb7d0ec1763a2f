"""The contents of a template file as values: templates, their items, expressions.

The terms are those of IBM's "Example Trace Format File", whose section numbers comments name. Everything is immutable
and compares by meaning: an item's position in the file, and the spelling of its numbers, do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, unique

#: The size of a format code that ends in W: a word of the hook's environment, 4 or 8 bytes.
WORD = -1

#: The three and four digits of an id are the same 16 bits: hhh is hhh0.
DEFAULT_TEMPLATE = 0x0080

#: Macros that move the data when they are assigned.
POINTERS = ("DATAPOINTER", "BASEPOINTER")


@unique
class Level(IntEnum):
    """The column at which a template's text starts (I.D). EDGE is that of the line."""

    EDGE = 0
    APPL = 1
    SVC = 2
    KERN = 3
    INT = 4


@dataclass(frozen=True, slots=True)
class Move:
    """A code that moves the data pointer (II.A): G, O, R or W, with a number of bytes (words for W) and of bits."""

    code: str
    size: int
    part: int = 0


@dataclass(frozen=True, slots=True)
class Format:
    """A code that reads data (II.B, II.C): A S B X D U o F HB HT T E P.

    `size` is m, or `WORD`; `part` is n of ``m.n``, `mask` what follows ``&``.
    """

    code: str
    size: int = 0
    part: int = 0
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A string in quotes, or a label of one bare word."""

    text: str
    quoted: bool = True


@dataclass(frozen=True, slots=True)
class Backquoted:
    """A string in which format codes and macros are expanded; all else is as it is."""

    items: tuple[Text | Format | Macro, ...]


@dataclass(frozen=True, slots=True)
class Control:
    r"""``\n`` or ``\t``, by its letter."""

    letter: str


@dataclass(frozen=True, slots=True)
class Macro:
    """``$name``, or ``$name%format``; `extract` are the bits m and n of the format ``%Wm.n``."""

    name: str
    format: Format | None = None
    extract: tuple[int, int] | None = None
    mask: int | None = None


@dataclass(frozen=True, slots=True)
class Subroutine:
    """``$hhh``: another template, inserted here (VII)."""

    id: int


@dataclass(frozen=True, slots=True)
class Call:
    """``name(argument, ...)``: a template function, or a timer."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A constant of an expression."""

    value: int


@dataclass(frozen=True, slots=True)
class Operation:
    """``first op operand op operand ...``, from left to right; operators of one rank."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Case:
    r"""One case of a SWITCH; `match` is None for ``\*``."""

    match: str | None
    target: Item | Block


@dataclass(frozen=True, slots=True)
class Switch:
    """A format code, macro or call followed by a comma (III)."""

    subject: Subject
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """``LOOP subject { body }`` (IV)."""

    count: Subject | Number
    body: Block


@dataclass(frozen=True, slots=True)
class Flag:
    """One entry of BITFLAGS: bits that are set or, with a mask, the value of a bit field."""

    value: int
    mask: int | None
    text: Text | Backquoted
    otherwise: Text | Backquoted | None = None


@dataclass(frozen=True, slots=True)
class Flags:
    """``BITFLAGS subject, ...`` (VIII)."""

    subject: Subject
    entries: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class Assign:
    """``{{ $name = value }}``; without a value it declares the name (V)."""

    name: str
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """``{{ name(parameter, ...) body }}``: a template function, for all templates of the file."""

    name: str
    parameters: tuple[str, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Unknown:
    """The rest of a template that cannot be parsed, as in the file; `reason` says what was expected."""

    text: str
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Piece:
    """An item in its context; `spaced` is True after whitespace, which becomes a blank in the report."""

    item: Item
    spaced: bool


@dataclass(frozen=True, slots=True)
class Block:
    """A descriptor: a sequence of items."""

    pieces: tuple[Piece, ...] = ()


Subject = Format | Macro | Call
Expression = Number | Format | Macro | Call | Operation
Item = (
    Move
    | Format
    | Text
    | Backquoted
    | Control
    | Macro
    | Subroutine
    | Call
    | Switch
    | Loop
    | Flags
    | Assign
    | Function
    | Unknown
)


@dataclass(frozen=True, slots=True)
class Template:
    """The rules for printing the events of a hook.

    `id` has 16 bits; `id_text` are the digits in the file.
    """

    id: int
    version: str = "1.0"
    level: Level = Level.KERN
    body: Block = Block()
    id_text: str = field(default="", compare=False)

    @property
    def label(self) -> str:
        """The string at the beginning, which names the event; empty if there is none, or if it names a value."""
        for piece in self.body.pieces:
            if isinstance(piece.item, Text):
                return "" if piece.item.text.rstrip().endswith("=") else piece.item.text
            if not isinstance(piece.item, Assign | Function | Move):
                break
        return ""


def macro_slots(block: Block) -> dict[str, int]:
    """Return the macros that a template assigns or declares, in that order: subroutines share them by index (VII)."""
    slots: dict[str, int] = {}
    _collect_slots(block, slots)
    return slots


def _collect_slots(block: Block, slots: dict[str, int]) -> None:
    for piece in block.pieces:
        match piece.item:
            case Assign(name) if name not in POINTERS:
                slots.setdefault(name, len(slots))
            case Loop(_, body):
                _collect_slots(body, slots)
            case Switch(_, cases):
                for case in cases:
                    target = case.target
                    block = target if isinstance(target, Block) else Block((Piece(target, False),))
                    _collect_slots(block, slots)


def digits_of(id16: int) -> str:
    """Return an ID as files and reports have it: three digits if the fourth is 0."""
    return f"{id16 >> 4:03X}" if id16 & 0xF == 0 else f"{id16:04X}"

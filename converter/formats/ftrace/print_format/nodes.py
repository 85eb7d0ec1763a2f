"""The nodes of the expressions of a `print fmt`, and the effect of C's operators and casts on numbers.

Arithmetic is libtraceevent's: all numbers are unsigned 64-bit numbers, even where C would compare signed ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from converter.formats.ftrace.event_format.syntax import FormatSyntaxError

MASK: Final = (1 << 64) - 1

#: Functions that walk a tree recurse to its height, which a long chain of operators increases without nesting.
_MAX_HEIGHT: Final = 120


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: int


@dataclass(frozen=True, slots=True)
class String:
    """A string constant, escapes unresolved: libtraceevent resolves them in the format string alone."""

    text: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name that the text does not define: an enumerator the kernel did not replace, or a kernel symbol."""

    name: str


@dataclass(frozen=True, slots=True)
class Record:
    """`REC`, the pointer to the record."""


@dataclass(frozen=True, slots=True)
class Field:
    """`REC->name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Cast:
    """`(type)operand`."""

    type: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Unary:
    """A prefix operator: - + ~ ! & *."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """An infix operator."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Conditional:
    """`condition ? then : otherwise`."""

    condition: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Index:
    """`base[index]`."""

    base: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A helper or function with plain arguments, or with the name of a field (`__get_str`)."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class SizeOf:
    """`sizeof(type)` or, with `field`, `sizeof(REC->field)`."""

    type: str
    field: str | None


@dataclass(frozen=True, slots=True)
class Choice:
    """`__print_flags` (with `delimiter`) and `__print_symbolic` (without), and their _u64 variants.

    The value of a pair is None where it is an undefined name.
    """

    value: Node
    delimiter: str | None
    pairs: tuple[tuple[int | None, str], ...]


@dataclass(frozen=True, slots=True)
class Formatted:
    """The output of a statement expression with `trace_seq_printf()`: format strings and their arguments."""

    parts: tuple[tuple[str, tuple[Node, ...]], ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """`trace_seq_buffer_ptr(p)`: the position at which a statement expression writes."""


Node = (
    Number
    | String
    | Symbol
    | Record
    | Field
    | Cast
    | Unary
    | Binary
    | Conditional
    | Index
    | Call
    | SizeOf
    | Choice
    | Formatted
    | Sequence
)

#: On x86, where trace-cmd usually runs, a shift takes its count modulo 64. What C leaves undefined is 0 here.
OPERATORS: Final[dict[str, Callable[[int, int], int]]] = {
    "*": lambda a, b: a * b & MASK,
    "/": lambda a, b: a // b if b else 0,
    "%": lambda a, b: a % b if b else 0,
    "+": lambda a, b: a + b & MASK,
    "-": lambda a, b: a - b & MASK,
    "<<": lambda a, b: a << (b & 63) & MASK,
    ">>": lambda a, b: a >> (b & 63),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
    "|": lambda a, b: a | b,
    "&&": lambda a, b: int(bool(a and b)),
    "||": lambda a, b: int(bool(a or b)),
}
UNARY_OPERATORS: Final[dict[str, Callable[[int], int]]] = {
    "-": lambda a: -a & MASK,
    "+": lambda a: a,
    "~": lambda a: a ^ MASK,
    "!": lambda a: int(not a),
}
PRECEDENCE: Final = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip

#: Enumerators that some kernels leave in format texts (libtraceevent `eval_flag`), and C's own.
KNOWN_SYMBOLS: Final = {
    "HI_SOFTIRQ": 0, "TIMER_SOFTIRQ": 1, "NET_TX_SOFTIRQ": 2, "NET_RX_SOFTIRQ": 3, "BLOCK_SOFTIRQ": 4,
    "IRQ_POLL_SOFTIRQ": 5, "TASKLET_SOFTIRQ": 6, "SCHED_SOFTIRQ": 7, "HRTIMER_SOFTIRQ": 8, "RCU_SOFTIRQ": 9,
    "HRTIMER_NORESTART": 0, "HRTIMER_RESTART": 1, "NULL": 0, "false": 0, "true": 1,
}  # fmt: skip

_CAST_MASKS: Final = {
    "u8": 0xFF, "s8": 0xFF, "char": 0xFF, "uint8_t": 0xFF,
    "u16": 0xFFFF, "s16": 0xFFFF, "short": 0xFFFF, "uint16_t": 0xFFFF,
    "u32": 0xFFFFFFFF, "s32": 0xFFFFFFFF, "int": 0xFFFFFFFF, "uint32_t": 0xFFFFFFFF,
}  # fmt: skip


def cast_mask(name: str) -> int:
    """Return the bits that a cast keeps. Like libtraceevent's `eval_type()`, it never extends a sign."""
    plain = name.removeprefix("unsigned ").removeprefix("signed ")
    plain = "int" if plain in ("unsigned", "signed") else plain
    return _CAST_MASKS.get(plain.removeprefix("__"), MASK)


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Cast(_, operand) | Unary(_, operand):
            return (operand,)
        case Binary(_, left, right) | Index(left, right):
            return left, right
        case Conditional(condition, then, otherwise):
            return condition, then, otherwise
        case Call(_, arguments):
            return arguments
        case Choice(value, _, _):
            return (value,)
        case Formatted(parts):
            return tuple(argument for _, arguments in parts for argument in arguments)
        case _:
            return ()


def check_height(root: Node) -> None:
    """Raise FormatSyntaxError for a tree that is too high to be walked recursively."""
    level: list[Node] = [root]
    for _ in range(_MAX_HEIGHT):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise FormatSyntaxError("expressions are nested too deeply")


def constant(node: Node) -> int | None:
    """Return the value of a pair of `__print_flags`; as in libtraceevent, an unknown name within an operation is 0."""
    match node:
        case Number(value):
            return value
        case Symbol(name):
            return KNOWN_SYMBOLS.get(name)
        case Cast(declared, operand):
            value_or_none = constant(operand)
            return None if value_or_none is None else value_or_none & cast_mask(declared)
        case Unary(operator, operand) if operator in UNARY_OPERATORS:
            return UNARY_OPERATORS[operator](constant(operand) or 0)
        case Binary(operator, left, right):
            return OPERATORS[operator](constant(left) or 0, constant(right) or 0)
        case Conditional(condition, then, otherwise):
            return constant(then if constant(condition) else otherwise)
        case SizeOf(declared, None):
            return None
        case _:
            raise FormatSyntaxError("a table entry is not a constant")

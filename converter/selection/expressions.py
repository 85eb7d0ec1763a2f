"""Conditions on events, as text and as trees.

condition  = [ patterns ":" ] either
either     = all { "||" all }
all        = one { "&&" one }
one        = "!" one | "(" either ")" | test
test       = operand [ comparison operand | "in" "(" literal { "," literal } ")" ]
operand    = literal | name [ "&" integer ]
comparison = "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from converter.errors import SelectionError
from converter.selection.moments import UNITS

#: Names of the position and time of an event; a field with one of these names is written with a leading dot.
PLACE_NAMES: Final = ("ts", "cpu", "tid", "pid", "comm")
#: The maximum nesting depth of conditions.
_DEEPEST: Final = 100

_TOKENS: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>0[xX][0-9a-fA-F]+|-?\d+(?:\.\d+)?(?:ns|us|ms|s)?(?![\w.]))
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<name>\.?[^\W\d][\w.]*|\.?`[^`]+`)
    |(?P<sign>&&|\|\||==|!=|<=|>=|!~|[<>~!()&,])""",
    re.VERBOSE | re.ASCII,
)
_PATTERNS: Final = re.compile(r"""\s*([^\s"'=<>&|()]+)\s*:\s+""")
#: Hints for common mistakes in operators.
_HINTS: Final = {
    "=": "use == to compare",
    "|": "use || for or",
    "'": "the text has no closing quote",
    '"': "the text has no closing quote",
    "`": "the name has no closing quote",
}
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">=", "~", "!~"})


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal value: a number, or a text. `spans` says that the number is one of seconds."""

    value: int | Fraction | bytes
    position: int
    spans: bool = False


@dataclass(frozen=True, slots=True)
class Name:
    """A field, by its path, or the position or time of the event. `mask` selects bits of a number."""

    path: str
    position: int
    is_place: bool = False
    mask: int | None = None


Operand = Literal | Name


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two operands; without a right one, the test that the left one exists and is not zero."""

    left: Operand
    sign: str = ""
    right: Operand | None = None


@dataclass(frozen=True, slots=True)
class Membership:
    """The test that an operand is one of some values."""

    left: Operand
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """The negation of a condition."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Junction:
    """All of some conditions, or any of them."""

    conditions: tuple[Condition, ...]
    is_any: bool


Condition = Comparison | Membership | Negation | Junction


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition on events whose names match a pattern (on all events, without patterns)."""

    patterns: tuple[str, ...]
    condition: Condition
    text: str


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def parse_clause(text: str) -> Clause:
    """Parse a clause.

    Raises:
        SelectionError: it is not a clause; the message shows where.
    """
    if not text.strip():
        raise SelectionError("a condition is empty: write one such as 'duration > 5ms'")
    patterns: tuple[str, ...] = ()
    start = 0
    prefix = _PATTERNS.match(text)
    if prefix is not None:
        patterns = tuple(prefix.group(1).split(","))
        start = prefix.end()
    parser = _Parser(text, start)
    condition = parser.either()
    parser.end()
    return Clause(patterns, condition, text)


class _Parser:
    """A recursive-descent parser, with a method for each rule."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._tokens = self._split(start)
        self._at = 0
        self._depth = 0

    def _split(self, at: int) -> list[_Token]:
        tokens = []
        while at < len(self._text):
            found = _TOKENS.match(self._text, at)
            if found is None:
                hint = _HINTS.get(self._text[at])
                raise self._error(hint or "this means nothing here", at)
            if found.lastgroup != "space":
                tokens.append(_Token(found.lastgroup or "", found.group(), at))
            at = found.end()
        return [*tokens, _Token("end", "", len(self._text))]

    def _error(self, message: str, position: int) -> SelectionError:
        return SelectionError(message).pointing_at(self._text, position)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _accept(self, *texts: str) -> str | None:
        """Return the next token and advance, if it is one of these."""
        token = self._next
        if token.kind in ("sign", "name") and token.text in texts:
            self._at += 1
            return token.text
        return None

    def _expect(self, text: str) -> None:
        if self._accept(text) is None:
            raise self._error(f"{text!r} is expected", self._next.position)

    def end(self) -> None:
        """Raise an error unless all text is consumed."""
        if self._next.kind == "end":
            return
        if self._next.text == "&":
            raise self._error("a mask is an integer; and is &&", self._next.position)
        raise self._error("&&, || or the end is expected", self._next.position)

    def either(self) -> Condition:
        """Parse a disjunction: conditions of which at least one must hold."""
        parts = [self._all()]
        while self._accept("||"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Junction(tuple(parts), is_any=True)

    def _all(self) -> Condition:
        parts = [self._one()]
        while self._accept("&&"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else Junction(tuple(parts), is_any=False)

    def _one(self) -> Condition:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("conditions are nested too deep", self._next.position)
        try:
            if self._accept("!"):
                return Negation(self._one())
            if self._accept("("):
                condition = self.either()
                self._expect(")")
                return condition
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Condition:
        left = self._operand()
        if self._accept("in"):
            self._expect("(")
            values = [self._literal()]
            while self._accept(","):
                values.append(self._literal())
            self._expect(")")
            return Membership(left, tuple(values))
        sign = self._accept(*_COMPARISONS)
        if sign is None:
            if isinstance(left, Literal):
                raise self._error("a comparison is expected", self._next.position)
            return Comparison(left)
        right = self._operand()
        if isinstance(left, Literal) and isinstance(right, Literal):
            raise self._error("a field is expected on one side", left.position)
        if sign in ("~", "!~") and not (
            isinstance(right, Literal) and isinstance(right.value, bytes)
        ):
            raise self._error('a pattern is expected, such as "x*"', right.position)
        return Comparison(left, sign, right)

    def _operand(self) -> Operand:
        token = self._next
        if token.kind != "name":
            return self._literal()
        self._at += 1
        path = token.text.removeprefix(".").strip("`")
        is_place = token.text in PLACE_NAMES
        mask = None
        if self._accept("&"):
            held = self._literal()
            if not isinstance(held.value, int):
                raise self._error("a mask is an integer", held.position)
            mask = held.value
        return Name(path, token.position, is_place, mask)

    def _literal(self) -> Literal:
        token = self._next
        if token.kind == "text":
            self._at += 1
            value = re.sub(r"\\(.)", r"\1", token.text[1:-1], flags=re.DOTALL)
            return Literal(value.encode("utf-8", "surrogateescape"), token.position)
        if token.kind == "number":
            self._at += 1
            return self._number(token)
        what = "a value is expected: a field, a number, or a text in quotes"
        raise self._error(what, token.position)

    def _number(self, token: _Token) -> Literal:
        if token.text[:2] in ("0x", "0X"):
            return Literal(int(token.text, 16), token.position)
        digits = token.text.rstrip("nums")
        unit = token.text[len(digits) :]
        if len(digits) > 40:
            raise self._error("a number of too many digits", token.position)
        number = Fraction(digits)
        if unit:
            return Literal(number * UNITS[unit], token.position, spans=True)
        return Literal(int(number) if number.denominator == 1 else number, token.position)

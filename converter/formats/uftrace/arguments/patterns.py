"""POSIX extended regular expressions, matched in time linear in the text because patterns come from the recording.

A pattern becomes a nondeterministic automaton, which is walked with the set of its states (Thompson's construction).
Back references, which extended expressions do not have, and collating elements are not supported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from converter.limits import allowed, limit

#: Only this many characters of a name are matched.
_LONGEST_TEXT = 512
_REPETITIONS = frozenset("*+?{")
_CLASSES: dict[str, Callable[[str], bool]] = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "space": str.isspace,
    "upper": str.isupper,
    "lower": str.islower,
    "punct": lambda c: c.isprintable() and not c.isalnum() and not c.isspace(),
}


class PatternError(ValueError):
    """A text is not an extended regular expression, or an unreasonably large one."""


Test = Callable[[str], bool]


@dataclass(slots=True)
class _State:
    """A state: consumes a character (`test`), asserts a position ("^", "$"), or leads to all of `out`."""

    test: Test | None = None
    place: str = ""
    out: list[int] = field(default_factory=list)


def compile_extended(pattern: str) -> Callable[[str], bool]:
    """Return a function that returns True if the expression matches anywhere in a text.

    Raises:
        PatternError: the pattern is not an expression.

    """
    parser = _Parser(pattern)
    start, end = parser.parse()
    states = parser.states

    def closure(numbers: set[int], at_start: bool, at_end: bool) -> set[int]:
        found: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number in found:
                continue
            found.add(number)
            state = states[number]
            if state.test is None and (
                not state.place or (at_start if state.place == "^" else at_end)
            ):
                pending += state.out
        return found

    def matches(text: str) -> bool:
        text = text[:_LONGEST_TEXT]
        current: set[int] = set()
        for at in range(len(text) + 1):
            current = closure(current | {start}, at == 0, at == len(text))
            if end in current:
                return True
            if at < len(text):
                current = {
                    target
                    for number in current
                    if (test := states[number].test) is not None and test(text[at])
                    for target in states[number].out
                }
        return False

    return matches


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = -1
        self.states: list[_State] = []

    def parse(self) -> tuple[int, int]:
        fragment = self._alternatives()
        if self._at < len(self._pattern):
            raise PatternError(f"unmatched ')': {self._pattern[:60]!r}")
        return fragment

    def _state(self, test: Test | None = None, position: str = "") -> int:
        if len(self.states) >= limit("uftrace.pattern-states"):
            expected = allowed("uftrace.pattern-states")
            raise PatternError(f"too large a pattern, {expected}: {self._pattern[:60]!r}")
        self.states.append(_State(test, position))
        return len(self.states) - 1

    def _link(self, source: int, target: int) -> None:
        self.states[source].out.append(target)

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _alternatives(self) -> tuple[int, int]:
        self._depth += 1  # from -1, outside of all groups
        if self._depth > limit("uftrace.pattern-nesting"):
            levels = allowed("uftrace.pattern-nesting")
            raise PatternError(f"groups nested too deeply: {levels}")
        start, end = self._state(), self._state()
        while True:
            first, last = self._sequence()
            self._link(start, first)
            self._link(last, end)
            if self._peek() != "|":
                break
            self._at += 1
        self._depth -= 1
        return start, end

    def _sequence(self) -> tuple[int, int]:
        start = end = self._state()
        while self._peek() not in ("", "|", ")"):
            first, last = self._repeated()
            self._link(end, first)
            end = last
        return start, end

    def _repeated(self) -> tuple[int, int]:
        began = self._at
        fragment = self._atom()
        ended = self._at
        if self._peek() in _REPETITIONS:
            low, high = self._bounds()
            fragment = self._copies(began, ended, fragment, low, high)
            if self._peek() in _REPETITIONS:
                raise PatternError(f"a repetition of a repetition: {self._pattern[:60]!r}")
        return fragment

    def _bounds(self) -> tuple[int, int | None]:
        character = self._peek()
        self._at += 1
        if character != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]
        inside, closed, _ = self._pattern[self._at :].partition("}")
        low, comma, high = inside.partition(",")
        if not closed or not low.isdecimal() or (high and not high.isdecimal()):
            raise PatternError(f"not a repetition: {self._pattern[:60]!r}")
        if max(len(low), len(high)) > 3 or max(int(low), int(high or 0)) > limit(
            "uftrace.pattern-repeats"
        ):
            expected = allowed("uftrace.pattern-repeats")
            raise PatternError(f"too many repetitions, {expected}: {self._pattern[:60]!r}")
        self._at += len(inside) + 1
        return int(low), int(high) if high else None if comma else int(low)

    def _copies(
        self, began: int, ended: int, first: tuple[int, int], low: int, high: int | None
    ) -> tuple[int, int]:
        """Repeat an atom `low` to `high` times, as consecutive copies."""
        start = end = self._state()
        after = self._at
        count = max(low, 1) if high is None else high
        last = (start, start)
        for number in range(count):
            if number:
                self._at = began
                last = self._atom()
                assert self._at == ended
            else:
                last = first
            if number >= low:
                # The repetition may end from here on.
                skip = self._state()
                self._link(end, skip)
                self._link(skip, last[0])
                tail = self._state()
                self._link(last[1], tail)
                self._link(skip, tail)
                end = tail
            else:
                self._link(end, last[0])
                end = last[1]
        if high is None:
            self._link(last[1], last[0])
        self._at = after
        return start, end

    def _atom(self) -> tuple[int, int]:
        character = self._peek()
        self._at += 1
        if character == "(":
            inner = self._alternatives()
            if self._peek() != ")":
                raise PatternError(f"unmatched '(': {self._pattern[:60]!r}")
            self._at += 1
            return inner
        if character in ("^", "$"):
            start = self._state(position=character)
        elif character == ".":
            start = self._state(lambda _: True)
        elif character == "[":
            start = self._state(self._bracket())
        elif character in _REPETITIONS:
            raise PatternError(f"nothing to repeat: {self._pattern[:60]!r}")
        else:
            if character == "\\":
                character = self._peek()
                self._at += 1
                if not character:
                    raise PatternError(f"a backslash at the end: {self._pattern[:60]!r}")
            wanted = character
            start = self._state(lambda c: c == wanted)
        end = self._state()
        self._link(start, end)
        return start, end

    def _bracket(self) -> Test:
        tests: list[Test] = []
        negated = self._peek() == "^"
        self._at += negated
        first = True
        while True:
            character = self._peek()
            if not character:
                raise PatternError(f"unmatched '[': {self._pattern[:60]!r}")
            if character == "]" and not first:
                self._at += 1
                break
            first = False
            rest = self._pattern[self._at :]
            if rest.startswith("[:") and ":]" in rest:
                name = rest[2 : rest.index(":]")]
                if name not in _CLASSES:
                    raise PatternError(f"no such class of characters: {name[:20]!r}")
                tests.append(_CLASSES[name])
                self._at += len(name) + 4
                continue
            self._at += 1
            high = character
            if self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("", "]"):
                high = self._pattern[self._at + 1]
                self._at += 2
            tests.append(lambda c, low=character, high=high: low <= c <= high)  # type: ignore[misc]
        return lambda c: any(test(c) for test in tests) != negated

"""Compiles templates to programs that print entries, if values have the same locations in every entry of a layout.

The output of such a template depends on the entry only by SWITCH; `template_state` compiles all others. Entries that
end before a value are printed by the engine (`trcfmt.evaluate`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from converter.errors.terminal import printable
from converter.formats.aix.report.template_locations import (
    SIZES,
    WIDE,
    LocatedValues,
    NotExpressedError,
    Value,
    is_word,
)
from converter.formats.aix.trcfmt import Entry, digits_of
from converter.formats.aix.trcfmt.entry import SPECIAL_MACROS
from converter.formats.aix.trcfmt.errno import ERRNO_NAMES
from converter.formats.aix.trcfmt.model import (
    WORD,
    Assign,
    Backquoted,
    Block,
    Control,
    Format,
    Function,
    Item,
    Macro,
    Move,
    Subject,
    Subroutine,
    Switch,
    Template,
    Text,
    macro_slots,
)
from converter.formats.aix.trcfmt.values import case_value, is_number
from converter.printing import program as op
from converter.printing.code import Code, Form, Names

#: Less than the steps that the engine allows any entry.
_MOST_ITEMS: Final = 900
_MOST_CALLS: Final = 10
_MOST_DEPTH: Final = 60

#: True if a blank is pending before the next text, and what precedes it: nothing, a blank, or something else.
_State = tuple[bool, str]
_START: Final = frozenset({(False, "")})
Known = tuple[frozenset[_State], int | None, tuple[Value | None, ...]]


@dataclass(slots=True)
class TemplateProgram(LocatedValues):
    """Adds the text of the entries of a layout to a program."""

    _states: frozenset[_State] = _START
    _items: int = 0
    _calls: int = 0
    _depth: int = 0

    def add(self, template: Template, id16: int) -> None:
        """Add the text that a template prints for the entries of a hook.

        Raises:
            NotExpressedError: it cannot be compiled.

        """
        self._begin(id16, macro_slots(template.body))
        self._block(template.body)
        self._end_line()

    # Text

    def _end_line(self) -> None:
        """Remove blanks at the end of a line: here there are none."""
        if any(last != "x" for _, last in self._states):
            raise NotExpressedError("an end of line")

    def _begin_line(self) -> None:
        self._states = _START

    def _before(self, first: str) -> None:
        """Print the blank before a text, if there is one."""
        due = {blank and last == "x" and first != " " for blank, last in self._states}
        if len(due) > 1:
            raise NotExpressedError("a blank that depends on the entry")
        if due.pop():
            self.code.literal(b" ")

    def _text(self, text: str) -> None:
        if not text:
            return
        if "\n" in text or (text[-1].isspace() and text[-1] != " "):
            raise NotExpressedError("whitespace in a text")
        self._before(text[0])
        self.code.literal(printable(text).encode("utf-8", "surrogateescape"))
        self._after(" " if text[-1] == " " else "x", blank=False)

    def _after(self, last: str, *, blank: bool) -> None:
        """Record what was just printed, and whether a blank must follow."""
        self._states = frozenset({(blank, last)})

    def _separate(self, *, blank: bool) -> None:
        self._states = frozenset((blank, last) for _, last in self._states)

    # Items

    def _block(self, block: Block) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise NotExpressedError("depth")
        for number, piece in enumerate(block.pieces):
            if piece.spaced:
                self._separate(blank=True)
            elif number and not isinstance(piece.item, Assign | Move | Function):
                self._separate(blank=False)
            self._item(piece.item)
        self._depth -= 1

    def _count(self) -> None:
        self._items += 1
        if self._items > _MOST_ITEMS:
            raise NotExpressedError("items")

    def _item(self, item: Item) -> None:
        self._count()
        match item:
            case Text(text):
                self._text(text)
            case Format("A", 0, part):
                self._text(" " * part)
            case Format():
                self._number(self._read(item), item, self._size(item))
            case Macro():
                self._macro(item)
            case Control("n"):
                self._end_line()
                self.code.literal(b"\n" + self.margin)
                self._begin_line()
            case Move():
                self._move(item)
            case Switch(subject):
                self._switch(item, subject)
            case Assign(name, value):
                self._assign(name, value)
            case Backquoted(items):
                for number, each in enumerate(items):
                    if number:
                        self._separate(blank=False)
                    self._item(each)
            case Subroutine(id16):
                self._subroutine(id16)
            case Function():
                pass
            case _:
                raise NotExpressedError(type(item).__name__)

    def _number(self, value: Value, format: Format, size: int) -> None:
        self._before("0")
        self._put(value, format, size)
        self._after("x", blank=is_number(format))

    def _put(self, value: Value, format: Format, size: int) -> None:
        """Print a number as a code does, cut to the code's size."""
        code, bits = self.code, 8 * size
        if size not in SIZES:
            raise NotExpressedError("size")
        self._load(value, bits)
        match format.code:
            case "X":
                form = Form("0", 2 * max(size, 1), bits=bits, conversion="X")
                code.add(op.NUMBER, code.form(form))
            case "D" | "U":
                code.add(op.DECIMAL, bits, int(format.code == "D"))
            case "o":
                code.add(op.NUMBER, code.form(Form(bits=bits, conversion="o")))
            case "E":
                names = [
                    (n, n, name.encode()) for n, name in ERRNO_NAMES.items() if 0 <= n >> bits == 0
                ]
                code.keep((1 << bits) - 1)
                code.named(op.LABEL, Names(names))
                code.unless_zero(lambda: _drop(code), lambda: _decimal(code))
            case _:
                raise NotExpressedError(format.code)

    def _macro(self, item: Macro) -> None:
        name = item.name
        if self._is_template(name):
            self._subroutine(int(name, 16))
            return
        value = self._named(item)
        format, size = self._format_of(item)
        if item.extract is None:
            self._number(value, format, size)
            return
        self._before("0")
        self._extract(value, item)
        self.code.add(op.NUMBER, self.code.form(Form(conversion="X")))
        self._after("x", blank=is_number(format))

    def _is_template(self, name: str) -> bool:
        """Return True if ``$hhhh`` is a subroutine."""
        is_macro = len(name) != 4 or name in self._slots
        return not is_macro and _hexadecimal(name) in self.file.templates

    def _format_of(self, item: Macro) -> tuple[Format, int]:
        """Return the format of a macro, and its size (`trcfmt.evaluator`)."""
        if item.format is not None and item.format.code not in ("F", "S", "A", "o"):
            return item.format, self.word if item.format.size == WORD else item.format.size
        if item.name not in self._slots:
            if is_word(item.name):
                return Format("X"), 8 if item.name[0] == "L" else self.word
            if item.name in SPECIAL_MACROS and item.name not in ("HD", "TRACEID", "IPADDR"):
                return Format("D", 8), 8
            if item.name == "IPADDR":
                return Format("X", 4), 4
        return Format("X", 2), 2

    # Statements

    def _switch(self, item: Switch, subject: Subject) -> None:
        value, format = self._subject(subject)
        before = self._known()
        after = []
        ends = []
        for case in item.cases:
            self._count()
            self._know(before)
            otherwise = -1
            if case.match is not None:
                expected = case_value(format, case.match, 0)
                if not isinstance(expected, int) or not self._compare(value, expected):
                    continue
                otherwise = self.code.add(op.JUMP_IF_ZERO)
            if isinstance(case.target, Block):
                self._block(case.target)
            else:
                self._item(case.target)
            after.append(self._leave())
            ends.append(self.code.add(op.JUMP))
            if case.match is None:
                break
            self.code.land(otherwise)
        else:
            self._know(before)
            after.append(self._leave())
        for end in ends:
            self.code.land(end)
        self._join(after)

    def _subject(self, subject: Subject) -> tuple[Value, Format | None]:
        """Return the value of the subject of a SWITCH, and the code that defines the spelling of its cases."""
        match subject:
            case Format():
                return self._read(subject), subject
            case Macro(extract=None):
                return self._named(subject), subject.format
        raise NotExpressedError("the subject of a SWITCH")

    def _known(self) -> Known:
        """Return what is known at this point about the text so far, the pointer and the macros."""
        return self._states, self._pointer, tuple(self._held)

    def _know(self, known: Known) -> None:
        self._states, self._pointer = known[:2]
        self._held = list(known[2])

    def _leave(self) -> Known:
        """Return what is known at the end of a branch."""
        return self._known()

    def _join(self, branches: Sequence[Known]) -> None:
        """Continue after branches with what is known in all of them."""
        self._states = frozenset().union(*(states for states, _, _ in branches))
        pointers = {pointer for _, pointer, _ in branches}
        self._pointer = pointers.pop() if len(pointers) == 1 else None
        longest = max(len(held) for _, _, held in branches)
        columns = [[*held, *[0] * (longest - len(held))] for _, _, held in branches]
        self._held = [
            values[0] if all(one == values[0] for one in values) else None
            for values in zip(*columns, strict=True)
        ]

    def _subroutine(self, id16: int) -> None:
        template = self.file.templates.get(id16)
        self._calls += 1
        if template is None:
            raise NotExpressedError(digits_of(id16))
        self._within_calls(digits_of(id16))
        slots, self._slots = self._slots, macro_slots(template.body)
        self._block(template.body)
        self._slots = slots
        self._calls -= 1

    def _within_calls(self, name: str) -> None:
        if self._calls > _MOST_CALLS:
            raise NotExpressedError(name)


def raw_text(entry: Entry, trace_env: int) -> tuple[int, Callable[[Code], None]]:
    """Return the size of an entry without a template, and a function that prints the words of entries of that size.

    Raises:
        NotExpressedError: the entry has no whole words.

    """
    size, length = entry.word_size, len(entry.data)
    # If the application has the other word size, the hook word is only synthesized for templates.
    if entry.generic or length % size or entry.hook_env != trace_env:
        raise NotExpressedError("words")

    def add(code: Code) -> None:
        form = code.form(Form("0", 2 * size, conversion="X"))
        for at in range(0, length, size):
            code.literal(b" " if at else b"")
            code.add(op.LOAD, at, size)
            code.add(op.NUMBER, form)

    return length, add


def _hexadecimal(name: str) -> int:
    try:
        return int(name, 16)
    except ValueError:
        return -1


def _drop(code: Code) -> None:
    code.add(op.DROP)


def _decimal(code: Code) -> None:
    code.add(op.DECIMAL, WIDE, 0)

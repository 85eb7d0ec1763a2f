r"""The text of one template as items: a recursive descent over format codes, strings, macros and statements.

What the document leaves open is read leniently: a word that is not a format code is a label, and ``label=X4`` is the
label and the code. What cannot be parsed ends the template with an `Unknown` that keeps the text.
"""

from __future__ import annotations

import re

from converter.formats.aix.trcfmt.model import (
    WORD,
    Assign,
    Backquoted,
    Block,
    Call,
    Case,
    Control,
    Expression,
    Flag,
    Flags,
    Format,
    Function,
    Item,
    Loop,
    Macro,
    Move,
    Number,
    Operation,
    Piece,
    Subject,
    Subroutine,
    Switch,
    Text,
    Unknown,
)
from converter.limits import allowed, limit

_MOVE = re.compile(r"([GO])(\d{1,6})(?:\.(\d{1,6}))?|([RW])(\d{1,6})")
_FORMAT = re.compile(
    r"([AB])(\d{1,6})(?:\.(\d{1,6}))?|(X)(\d{1,2}|W)|([DUo])([1248W])|(S)([1248W])|(F)([48])"
    r"|(T)([48W])|(E)([1248W])|(P)([48W])|(HB|HT)"
)
#: What may follow a code in a descriptor, so that words that start like one are labels.
_END_OF_CODE = re.compile(r"""[\s,{}"'`$\\&]|\Z""")
_END_IN_EXPRESSION = re.compile(r"[^\w.]|\Z")
_WORD = re.compile(r"""[^\s"`$\\{}]+""")
_WORD_IN_CASE = re.compile(r"""[^\s"`$\\{},]+""")
_CODE_AFTER_LABEL = re.compile(r"(.*=)([A-ZoXU][0-9A-Z.]*)")
_MACRO = re.compile(r"\$([A-Za-z0-9_]+)")
_SUBROUTINE = re.compile(r"[0-9A-Fa-f]{3}")
_MACRO_FORMAT = re.compile(r"%([A-Za-z])(\d{1,6}|W)?(?:\.(\d{1,6}))?")
_KEYWORD = re.compile(r"(LOOP|BITFLAGS)(?=[\s$])")
_CALL = re.compile(r"([A-Za-z_]\w*)\((?=[\s$)\w])")
_FUNCTION = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\(([\w\s,$]*)\)")
_ASSIGN = re.compile(r"\{\{\s*\$([A-Za-z_]\w*)\s*(=?)")
_NUMBER = re.compile(r"(0[xX][0-9A-Fa-f]{1,16}|[oO][0-7]{1,22}|\d{1,20})(?!\w)")
_BASE_16 = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{1,16})(?!\w)|[oO]([0-7]{1,22})(?!\w)")
_MATCH = re.compile(r"""[^\s,{}"'`]+""")
_IN_BACKQUOTES = re.compile(r"\$[A-Za-z0-9_]+|[A-Za-z0-9.]+|[^$A-Za-z0-9.]+|.", re.DOTALL)
_VALUE_CODES = "XDUoBASEFTP"


class _SyntaxError(Exception):
    """Something else is expected at this position of the template."""


def parse_body(text: str) -> Block:
    """Parse the items of a template after its version; continued lines are joined by newlines.

    Never raises: from the first error on, the text is one `Unknown`.
    """
    scanner = _Scanner(text)
    pieces: list[Piece] = []
    while True:
        spaced = scanner.skip() and bool(pieces)
        start = scanner.at
        if scanner.done:
            return Block(tuple(pieces))
        try:
            item = scanner.item(0)
        except _SyntaxError as error:
            unknown = Unknown(text[start:].rstrip(), f"expected {error}")
            return Block((*pieces, Piece(unknown, spaced)))
        pieces.append(Piece(item, spaced))


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.text)

    def skip(self) -> bool:
        """Skip whitespace; return True if there was any."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at > start

    def accept(self, literal: str) -> bool:
        if self.text.startswith(literal, self.at):
            self.at += len(literal)
            return True
        return False

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def expect(self, literal: str) -> None:
        self.skip()
        if not self.accept(literal):
            raise _SyntaxError(repr(literal))

    def block(self, closing: str, depth: int) -> Block:
        """Parse the items up to `closing`, whose opening has been consumed."""
        if depth > limit("aix.template-nesting"):
            raise _SyntaxError(f"{allowed('aix.template-nesting')} of braces")
        pieces: list[Piece] = []
        while True:
            spaced = self.skip() and bool(pieces)
            if self.done:
                raise _SyntaxError(repr(closing))
            if self.accept(closing):
                return Block(tuple(pieces))
            pieces.append(Piece(self.item(depth), spaced))

    def item(self, depth: int, *, in_case: bool = False) -> Item:
        first = self.text[self.at]
        if first in "\"'":
            return self.quoted()
        if first == "`":
            return self.backquoted()
        if first == "\\":
            for letter in "nt":
                if self.accept("\\" + letter):
                    return Control(letter)
            raise _SyntaxError(r"\n or \t")
        if self.text.startswith("{{", self.at):
            return self.statement(depth)
        if first in "{}":
            raise _SyntaxError("an item, not a brace")
        if first == "$" and (found := _MACRO.match(self.text, self.at)):
            if _SUBROUTINE.fullmatch(found[1]):
                self.at = found.end()
                return Subroutine(int(found[1], 16) << 4)
        elif keyword := self.match(_KEYWORD):
            return self.loop(depth) if keyword[1] == "LOOP" else self.flags()
        elif move := self.move():
            return move
        subject = self.subject(_END_OF_CODE)
        if subject is None:
            return self.label(in_case=in_case)
        return subject if in_case else self.switch(subject, depth)

    def quoted(self) -> Text:
        quote = self.text[self.at]
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            raise _SyntaxError(f"a closing {quote}")
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        return Text(" ".join(inside.split("\n")))

    def backquoted(self) -> Backquoted:
        end = self.text.find("`", self.at + 1)
        if end < 0:
            raise _SyntaxError("a closing `")
        inside = _Scanner(" ".join(self.text[self.at + 1 : end].split("\n")))
        self.at = end + 1
        items: list[Text | Format | Macro] = []
        literal = ""
        while found := _IN_BACKQUOTES.match(inside.text, inside.at):
            code = _FORMAT.fullmatch(found[0])
            if code:
                expanded: Format | Macro = _format_of(code)
                inside.at = found.end()
            elif found[0][0] == "$" and len(found[0]) > 1:
                expanded = inside.macro()
            else:
                literal += found[0]
                inside.at = found.end()
                continue
            if literal:
                items.append(Text(literal))
                literal = ""
            items.append(expanded)
        if literal:
            items.append(Text(literal))
        return Backquoted(tuple(items))

    def label(self, *, in_case: bool) -> Text:
        found = self.match(_WORD_IN_CASE if in_case else _WORD)
        if not found:
            raise _SyntaxError("a string, a format code or a macro")
        word = found[0]
        split = _CODE_AFTER_LABEL.fullmatch(word)
        if split and (_FORMAT.fullmatch(split[2]) or _MOVE.fullmatch(split[2])):
            self.at -= len(split[2])
            word = split[1]
        return Text(word, quoted=False)

    def move(self) -> Move | None:
        found = _MOVE.match(self.text, self.at)
        if not found or not _END_OF_CODE.match(self.text, found.end()):
            return None
        self.at = found.end()
        return Move(found[1] or found[4], int(found[2] or found[5]), int(found[3] or 0))

    def format(self, end: re.Pattern[str]) -> Format | None:
        found = _FORMAT.match(self.text, self.at)
        if not found or not end.match(self.text, found.end()):
            return None
        result = _format_of(found)
        if result.code == "X" and result.size > 16:
            return None
        self.at = found.end()
        return result

    def macro(self) -> Macro:
        found = self.match(_MACRO)
        if not found:
            raise _SyntaxError("the name of a macro")
        shown = self.match(_MACRO_FORMAT)
        if not shown:
            return Macro(found[1])
        letter, size, part = shown[1], shown[2], shown[3]
        if letter == "W" and size not in (None, "W") and part is not None:
            return Macro(found[1], extract=(int(size), int(part)))
        if letter not in _VALUE_CODES:
            return Macro(found[1], Format("X", 2))
        usual = 2 if letter == "X" else WORD
        width = usual if size is None else WORD if size == "W" else int(size)
        return Macro(found[1], Format(letter, width, int(part or 0)))

    def subject(self, end: re.Pattern[str]) -> Subject | None:
        """Parse a format code, macro or call, with its mask; None if something else comes next."""
        found: Subject | None
        if self.text.startswith("$", self.at):
            found = self.macro()
        elif call := _CALL.match(self.text, self.at):
            start = self.at
            try:
                return self.call(call)
            except _SyntaxError:
                self.at = start  # a label with parentheses
                return None
        else:
            found = self.format(end)
        if found is None:
            return None
        before = self.at
        self.skip()
        if self.accept("&"):
            self.skip()
            if number := self.match(_NUMBER):
                mask = _number(number[1])
                if isinstance(found, Format):
                    return Format(found.code, found.size, found.part, mask)
                return Macro(found.name, found.format, found.extract, mask)
        self.at = before
        return found

    def call(self, opening: re.Match[str]) -> Call:
        self.at = opening.end()
        arguments: list[Expression] = []
        self.skip()
        while not self.accept(")"):
            if arguments and not self.accept(","):
                raise _SyntaxError("',' or ')'")
            self.skip()
            arguments.append(self.sum(0))
            self.skip()
        return Call(opening[1], tuple(arguments))

    def switch(self, subject: Subject, depth: int) -> Item:
        before = self.at
        self.skip()
        if not self.accept(","):
            self.at = before
            return subject
        cases: list[Case] = []
        while True:
            cases.append(self.case(depth))
            before = self.at
            self.skip()
            if not self.accept(","):
                self.at = before
                return Switch(subject, tuple(cases))

    def case(self, depth: int) -> Case:
        self.skip()
        if self.done:
            raise _SyntaxError("a case")
        match: str | None = None
        if not self.accept("\\*"):
            if self.text[self.at] in "\"'":
                match = self.quoted().text
            elif found := self.match(_MATCH):
                match = found[0]
            else:
                raise _SyntaxError("the value of a case")
        self.skip()
        if self.done:
            raise _SyntaxError("what a case prints")
        if not self.text.startswith("{{", self.at) and self.accept("{"):
            return Case(match, self.block("}", depth + 1))
        return Case(match, self.item(depth + 1, in_case=True))

    def loop(self, depth: int) -> Loop:
        self.skip()
        count: Subject | Number | None = self.subject(_END_OF_CODE)
        if count is None and (number := self.match(_NUMBER)):
            count = Number(_number(number[1]))
        if count is None:
            raise _SyntaxError("how often to loop")
        self.expect("{")
        return Loop(count, self.block("}", depth + 1))

    def flags(self) -> Flags:
        self.skip()
        subject = self.subject(_END_OF_CODE)
        if subject is None:
            raise _SyntaxError("a format code or a macro")
        self.expect(",")
        entries: list[Flag] = []
        while True:
            entries.append(self.flag())
            before = self.at
            self.skip()
            if not self.accept(","):
                self.at = before
                return Flags(subject, tuple(entries))

    def flag(self) -> Flag:
        self.skip()
        mask = None
        if self.accept("&"):
            mask = self.base_16()
        value = self.base_16()
        text = self.string()
        before = self.at
        self.skip()
        if self.text.startswith("{{", self.at) or not self.accept("{"):
            self.at = before
            return Flag(value, mask, text)
        self.skip()
        if self.accept("}"):
            return Flag(value, mask, text, Text(""))
        otherwise = self.string()
        self.expect("}")
        return Flag(value, mask, text, otherwise)

    def string(self) -> Text | Backquoted:
        self.skip()
        if self.done:
            raise _SyntaxError("a string")
        if self.text[self.at] == "`":
            return self.backquoted()
        return self.quoted() if self.text[self.at] in "\"'" else self.label(in_case=True)

    def base_16(self) -> int:
        self.skip()
        found = self.match(_BASE_16)
        if not found:
            raise _SyntaxError("a hexadecimal number")
        return int(found[1], 16) if found[1] else int(found[2], 8)

    def statement(self, depth: int) -> Assign | Function:
        if function := self.match(_FUNCTION):
            names = [name.strip().removeprefix("$") for name in function[2].split(",")]
            parameters = tuple(name for name in names if name)
            return Function(function[1], parameters, self.block("}}", depth + 1))
        found = self.match(_ASSIGN)
        if not found:
            raise _SyntaxError("{{ $name = expression }}")
        value = self.sum(0) if found[2] else None
        self.expect("}}")
        return Assign(found[1], value)

    def sum(self, depth: int) -> Expression:
        return self.operation("+-", depth)

    def operation(self, operators: str, depth: int) -> Expression:
        if depth > limit("aix.template-nesting"):
            raise _SyntaxError(f"{allowed('aix.template-nesting')} of parentheses")
        first = self.operand(operators, depth)
        rest: list[tuple[str, Expression]] = []
        while True:
            before = self.at
            self.skip()
            operator = self.text[self.at : self.at + 1]
            if not operator or operator not in operators:
                self.at = before
                return Operation(first, tuple(rest)) if rest else first
            self.at += 1
            rest.append((operator, self.operand(operators, depth)))

    def operand(self, operators: str, depth: int) -> Expression:
        self.skip()
        if operators == "+-":
            return self.operation("*/", depth)
        if self.accept("("):
            inner = self.sum(depth + 1)
            self.expect(")")
            return inner
        if number := self.match(_NUMBER):
            return Number(_number(number[1]))
        subject = self.subject(_END_IN_EXPRESSION)
        if subject is None:
            raise _SyntaxError("a number, a format code or a macro")
        return subject


def _format_of(found: re.Match[str]) -> Format:
    parts = [part for part in found.groups() if part is not None]
    size = 0 if len(parts) < 2 else WORD if parts[1] == "W" else int(parts[1])
    return Format(parts[0], size, int(parts[2]) if len(parts) > 2 else 0)


def _number(text: str) -> int:
    if text[:1] in "oO":
        return int(text[1:], 8)
    return int(text, 16) if text[:2] in ("0x", "0X") else int(text)

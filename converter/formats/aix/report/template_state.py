"""Compiles templates whose values move: LOOPs, BITFLAGS, texts of the entry, arithmetic, functions, assigned macros.

What depends on the entry (the pointer, the values of macros, a pending blank) is in registers, unless it is known when
the program is compiled. The program gives up where the engine (`trcfmt.evaluate`) would end a template early, for more
steps than usual, and for rare texts and signs; the engine then makes the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

from converter.formats.aix.report.template_locations import WIDE, Column, NotExpressedError, Value
from converter.formats.aix.report.template_programs import TemplateProgram
from converter.formats.aix.report.template_registers import MACROS, POINTER, STEPS
from converter.formats.aix.report.template_values import FAR, Register, ValueProgram
from converter.formats.aix.trcfmt import Entry, Level, TemplateFile
from converter.formats.aix.trcfmt.evaluator import USUAL_STEPS
from converter.formats.aix.trcfmt.model import (
    POINTERS,
    Block,
    Call,
    Control,
    Expression,
    Flags,
    Format,
    Item,
    Loop,
    Macro,
    Number,
    Operation,
    Subject,
    Template,
    macro_slots,
)
from converter.printing import program as op
from converter.printing.code import Code

_OPERATORS: Final = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "/": op.DIVIDE}


def template_text(
    file: TemplateFile, template: Template, entry: Entry, trace_env: int, margin: bytes
) -> tuple[int, Callable[[Code], None]]:
    """Return the size that entries of a layout must have, and a function that adds their text to a program.

    Raises:
        NotExpressedError: the template cannot be compiled.

    """
    form = file, entry.word_size, entry.generic, trace_env, margin

    def fixed(code: Code) -> int:
        program = TemplateProgram(code, *form)
        program.add(template, entry.id)
        return program.needed

    try:
        return fixed(Code()), lambda code: cast(None, fixed(code))
    except NotExpressedError:
        at_edge = template.level is Level.EDGE
        first = StatefulProgram(Code(), *form, at_edge=at_edge)
        first.add(template, entry.id)
    return first.needed, lambda code: StatefulProgram(
        code, *form, at_edge=at_edge, first=first.counts
    ).add(template, entry.id)


@dataclass
class StatefulProgram(ValueProgram):
    """The program of such a template."""

    def _item(self, item: Item) -> None:
        match item:
            case Format("A" | "S") if item.code == "S" or item.size:
                self._count()
                self._characters(item)
            case Control("t"):
                self._count()
                self._tab()
            case Loop(count, body):
                self._count()
                self._loop(count, body)
            case Flags():
                self._count()
                self._flags(item)
            case Call():
                self._count()
                self._call(item)
            case _:
                super()._item(item)

    def _format_of(self, item: Macro) -> tuple[Format, int]:
        if item.format is None:
            if item.name in POINTERS:
                return Format("U", 8), 8
            if item.name in self._parameters:
                return Format("X", 2), 2
        return super()._format_of(item)

    def _is_template(self, name: str) -> bool:
        return name not in self._parameters and super()._is_template(name)

    def _named(self, item: Macro) -> Value:
        name = item.name
        mask = item.mask if item.extract is None else None
        if item.format is not None and item.format.code == "S":
            raise NotExpressedError(name)
        if name in self._parameters:
            return Register(self._parameters[name], 8, mask=mask)
        if name == "DATAPOINTER":
            self._push_pointer_offset()
            return Register(self._store_top(), 8, mask=mask)
        if name == "BASEPOINTER":
            return 0
        if name in self._slots:
            return Register(self._base + self._slot(name), 8, mask=mask)
        value = super()._named(item)
        if isinstance(value, Column) and item.mask is not None:
            raise NotExpressedError("mask")
        return value

    def _push_pointer_offset(self) -> None:
        if self._pointer is not None:
            self._push_operand(self._pointer // 8)
            return
        self._fetch(POINTER)
        self.code.constant(3)
        self.code.add(op.SHIFT_RIGHT)
        self._require(op.LESS, FAR)

    def _slot(self, name: str) -> int:
        place = self._slots[name]
        if place >= self._places:
            raise NotExpressedError("macros")
        if self._base == MACROS:
            self._most_places = max(self._most_places, place + 1)
        return place

    def _assign(self, name: str, value: Expression | None) -> None:
        if name == "BASEPOINTER":
            raise NotExpressedError(name)
        if name == "DATAPOINTER":
            self._expression(Number(0) if value is None else value)
            self._require(op.LESS, FAR)
            self._move_to()
        elif value is not None:
            self._expression(value)
            self.code.add(op.STORE, self._base + self._slot(name))

    def _expression(self, expression: Expression) -> None:
        """Push the value of an expression."""
        match expression:
            case Number(number):
                self._push_operand(number)
            case Operation(first, rest):
                self._expression(first)
                for operator, operand in rest:
                    self._count()
                    self._expression(operand)
                    self.code.add(_OPERATORS[operator])
            case Format() | Macro():
                self._push_operand(self._subject(expression)[0])
            case _:
                raise NotExpressedError("a call in an expression")

    def _subject(self, subject: Subject) -> tuple[Value, Format | None]:
        if isinstance(subject, Macro) and subject.extract is not None:
            self._extract(self._named(subject), subject)
            return Register(self._store_top(), 8), Format("X", 2)
        return super()._subject(subject)

    # Statements

    def _loop(self, count: Subject | Number, body: Block) -> None:
        """Repeat the body as often as `count` says; each iteration uses some of the steps."""
        code = self.code
        self._push_operand(count.value if isinstance(count, Number) else self._subject(count)[0])
        left = self._store_top()
        self._leave()
        again = code.here()
        self._fetch(left)
        end = code.add(op.JUMP_IF_ZERO)
        items = self._items
        self._block(body)
        self._fetch(STEPS)
        code.constant(self._items - items + 1)
        code.add(op.ADD)
        self._require(op.LESS_EQUAL, USUAL_STEPS)
        code.add(op.STORE, STEPS)
        self._check_output()
        self._fetch(left)
        code.constant(1)
        code.add(op.SUBTRACT)
        code.add(op.STORE, left)
        self._leave()
        code.add(op.AGAIN, again)
        code.land(end)

    def _flags(self, item: Flags) -> None:
        code = self.code
        self._push_operand(self._subject(item.subject)[0])
        bits = self._store_top()
        for entry in item.entries:
            self._count()
            if max(entry.value, entry.mask or 0) >> WIDE:
                raise NotExpressedError("a number")
            self._fetch(bits)
            if entry.mask is not None:
                code.keep(entry.mask)
                code.constant(entry.value)
                code.add(op.EQUAL)
            elif entry.value:
                code.keep(entry.value)
            else:
                code.add(op.NOT)

            def shown(text: Item | None) -> Callable[[], None]:
                def branch() -> None:
                    if text is not None:
                        self._item(text)
                        self._separate(blank=True)

                return branch

            self._either(shown(entry.text), shown(entry.otherwise))

    def _call(self, item: Call) -> None:
        """Inline a template function at its call: it has macros of its own."""
        function = self.file.functions.get(item.name)
        if function is None:
            raise NotExpressedError(item.name)
        arguments = []
        for argument in item.arguments:
            self._expression(argument)
            arguments.append(self._store_top())
        slots = macro_slots(function.body)
        outside = self._slots, self._base, self._places, self._parameters
        self._slots, self._base, self._places = slots, self._new(len(slots)), len(slots)
        self._parameters = dict(zip(function.parameters, arguments, strict=False))
        self._zero(self._base, len(slots))
        self._calls += 1
        self._within_calls(item.name)
        self._block(function.body)
        self._calls -= 1
        self._slots, self._base, self._places, self._parameters = outside

    def _subroutine(self, id16: int) -> None:
        outside, self._parameters = self._parameters, {}
        super()._subroutine(id16)
        self._parameters = outside

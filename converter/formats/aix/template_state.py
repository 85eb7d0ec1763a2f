"""Templates whose values move: LOOPs, BITFLAGS, texts of the entry, arithmetic, functions, macros that are assigned.

What depends on the entry (where the pointer is, what a macro holds, whether a blank is due) is in registers, as far as
it is not known where the program is put together. The program gives up where the engine (`trcfmt.evaluate`) would end
a template early, for more steps than are usual, and for texts and signs that are rare; the engine then makes the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, cast

from converter.formats.aix.template_programs import (
    Column,
    Known,
    NotExpressedError,
    Place,
    TemplateProgram,
    Value,
)
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
    Move,
    Number,
    Operation,
    Subject,
    Template,
    macro_slots,
)
from converter.formats.aix.trcfmt.output import MAX_OUTPUT
from converter.printing import program as op
from converter.printing.code import Code, Form

#: Whether a blank is due, the pointer in bits, steps, where the line begins; then the macros of the template, and what
#: else there is.
_DUE, _POINTER, _STEPS, _LINE, _MACROS, _OTHERS, _ALL = 0, 1, 2, 3, 8, 40, 256
_SIZES: Final = (1, 2, 4, 8)
_WIDE: Final = 64
#: What is read as a number.
_NUMBERS: Final = ("X", "D", "U", "o", "E", "T", "P")
#: Beyond any entry: what is below can be added to.
_FAR: Final = 1 << 32
_OPERATORS: Final = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "/": op.DIVIDE}
_TAB: Final = 8
_FIRST_TAB_AT_EDGE: Final = 3
_BLANK, _NEWLINE = 32, 10


@dataclass(frozen=True, slots=True)
class Register(Place):
    """A number that was read or computed; `offset` is that of the register."""


def template_text(
    file: TemplateFile, template: Template, entry: Entry, trace_env: int, margin: bytes
) -> tuple[int, Callable[[Code], None]]:
    """What adds the text of entries of a form to a program, and how many bytes such an entry must have.

    Raises:
        NotExpressedError: no program can print it.

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


class Counts(NamedTuple):
    """What is known only at the end: steps that are taken without loops, macros, whether there are tabs."""

    items: int
    places: int
    tabs: bool


_NONE: Final = Counts(0, 0, tabs=False)


@dataclass
class StatefulProgram(TemplateProgram):
    """The same for such templates; `first` are the counts of a program that was put together before."""

    at_edge: bool = False
    first: Counts = _NONE
    _due: bool | None = False
    _base: int = _MACROS
    _places: int = _OTHERS - _MACROS
    _most_places: int = 0
    _free: int = _OTHERS
    _tabs: bool = False
    _parameters: dict[str, int] = field(default_factory=dict)

    def add(self, template: Template, id16: int) -> None:
        """The text that a template makes of the entries of a hook.

        Raises:
            NotExpressedError: no program can print it.

        """
        self._zero(_MACROS, self.first.places)
        self.code.constant(self.first.items)
        self.code.add(op.STORE, _STEPS)
        if self.first.tabs:
            self._mark_line()
        super().add(template, id16)
        self._check_output()

    @property
    def counts(self) -> Counts:
        """Those of the whole program."""
        return Counts(self._items, self._most_places, self._tabs)

    def _zero(self, first: int, count: int) -> None:
        for number in range(first, first + count):
            self.code.constant(0)
            self.code.add(op.STORE, number)

    def _new(self, count: int = 1) -> int:
        """Registers of its own for what comes."""
        number = self._free
        self._free += count
        if self._free > _ALL:
            raise NotExpressedError("registers")
        return number

    def _held_here(self) -> int:
        """The number on top in a register of its own."""
        number = self._new()
        self.code.add(op.STORE, number)
        return number

    def _fetch(self, number: int) -> None:
        self.code.add(op.FETCH, number)

    def _require(self, operation: int, limit: int) -> None:
        """Give up unless the number on top, which stays, compares so."""
        self.code.add(op.COPY)
        self.code.constant(limit)
        self.code.add(operation)
        self.code.give_up()

    # Branches

    def _known(self) -> Known:
        return self._states, self._pointer, (self._due,)

    def _know(self, known: Known) -> None:
        self._states, self._pointer = known[:2]
        self._due = cast("bool | None", known[2][0])

    def _leave(self) -> Known:
        """What is known goes to its registers."""
        if self._due is not None:
            self.code.constant(int(self._due))
            self.code.add(op.STORE, _DUE)
        if self._pointer is not None:
            self.code.constant(self._pointer)
            self.code.add(op.STORE, _POINTER)
        self._due = self._pointer = None
        return self._known()

    def _join(self, branches: Sequence[Known]) -> None:
        self._due = self._pointer = None

    def _either(self, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """One or the other, by the number on top."""
        before = self._known()

        def branch(items: Callable[[], None]) -> Callable[[], None]:
            def made() -> None:
                self._know(before)
                items()
                self._leave()

            return made

        self.code.unless_zero(branch(then), branch(otherwise))
        self._join(())

    # Text

    def _end_line(self) -> None:
        """Blanks at the end of a line are left out, by the engine."""
        self._is_not(_BLANK)
        self.code.give_up()

    def _is_not(self, character: int) -> None:
        """Whether the last character is another."""
        self.code.add(op.LAST)
        self.code.constant(character)
        self.code.add(op.NOT_EQUAL)

    def _begin_line(self) -> None:
        self._due = False
        self._mark_line()

    def _mark_line(self) -> None:
        self.code.add(op.PRINTED)
        self.code.add(op.STORE, _LINE)

    def _before(self, first: str) -> None:
        if self._due is not False and first != " ":
            self._blank_is_due()
            self.code.unless_zero(lambda: self.code.literal(b" "), None)

    def _blank_is_due(self) -> None:
        """Whether a blank is to be put in front of what is none."""
        self._is_not(_BLANK)
        self._is_not(_NEWLINE)
        self.code.add(op.BOTH)
        if self._due is None:
            self._fetch(_DUE)
            self.code.add(op.BOTH)

    def _text(self, text: str) -> None:
        if not (text.isascii() and text.isprintable()):
            # What a character takes in the text is not what it takes on the report.
            raise NotExpressedError("characters")
        super()._text(text)

    def _after(self, last: str, *, blank: bool) -> None:
        self._due = blank

    def _separate(self, *, blank: bool) -> None:
        self._due = blank

    def _tab(self) -> None:
        """Blanks up to the next tab stop."""
        code, stop = self.code, _FIRST_TAB_AT_EDGE if self.at_edge else _TAB
        self._tabs = True
        code.add(op.PRINTED)
        self._fetch(_LINE)
        code.add(op.SUBTRACT)
        column = self._held_here()

        def first() -> None:
            code.constant(stop)
            self._fetch(column)
            code.add(op.SUBTRACT)

        def another() -> None:
            code.constant(_TAB)
            self._fetch(column)
            code.constant(stop)
            code.add(op.SUBTRACT)
            code.constant(_TAB)
            code.add(op.REMAINDER)
            code.add(op.SUBTRACT)

        self._fetch(column)
        code.constant(stop)
        code.add(op.LESS)
        code.unless_zero(first, another)
        code.add(op.BLANKS, 1, _TAB + 1)
        self._due = False

    def _check_output(self) -> None:
        """More than an event may have is the engine's to end."""
        self.code.add(op.PRINTED)
        self.code.constant(MAX_OUTPUT)
        self.code.add(op.LESS_EQUAL)
        self.code.give_up()

    # Items

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

    def _characters(self, item: Format) -> None:
        """A text of the entry: of some bytes, up to a NUL, or, with S, of as many as the number in front says."""
        code, part = self.code, item.part if item.code == "A" else 0
        if item.code == "A":
            code.constant(item.size)
        else:
            self._whole(self._integer_at(self._size(item), signed=False))
        self._require(op.LESS, _FAR)
        length = self._held_here()
        self._place()
        self._require(op.LESS, _FAR)
        place = self._held_here()
        self._fetch(place)
        self._fetch(length)
        code.add(op.ADD)
        self._move_to()
        self._fetch(place)
        self._fetch(length)
        code.add(op.PLAIN, int(item.code == "A"))
        size = self._held_here()
        self._fetch(size)
        code.give_up()

        def some() -> None:
            if self._due is not False:
                self._blank_is_due()
                self._fetch(place)
                code.constant(1)
                code.add(op.READ)
                code.constant(_BLANK)
                code.add(op.NOT_EQUAL)
                code.add(op.BOTH)
                code.unless_zero(lambda: code.literal(b" "), None)
            self._fetch(place)
            self._fetch(size)
            code.constant(1)
            code.add(op.SUBTRACT)
            code.add(op.STRING)
            self._due = False

        def none() -> None:
            if part:
                self._due = False

        self._fetch(size)
        code.constant(1)
        code.add(op.GREATER)
        self._either(some, none)
        if part:
            self._fetch(size)
            code.constant(part + 1)
            code.add(op.LESS)
            code.unless_zero(lambda: self._pad(part, size), None)
        self._check_output()

    def _pad(self, part: int, size: int) -> None:
        self.code.constant(part + 1)
        self._fetch(size)
        self.code.add(op.SUBTRACT)
        self.code.add(op.BLANKS, 1, part + 1)

    # Values

    def _size(self, format: Format) -> int:
        return {"HB": 8, "HT": 2}.get(format.code) or super()._size(format)

    def _place(self) -> None:
        """The byte at which the next value begins onto the stack."""
        if self._pointer is not None:
            self.code.constant(-(-self._pointer // 8))
            return
        self._fetch(_POINTER)
        self.code.constant(7)
        self.code.add(op.ADD)
        self.code.constant(3)
        self.code.add(op.SHIFT_RIGHT)

    def _move_to(self) -> None:
        """The pointer goes to the byte on the stack."""
        self.code.constant(3)
        self.code.add(op.SHIFT_LEFT)
        self.code.add(op.STORE, _POINTER)
        self._pointer = None

    def _read(self, format: Format) -> Value:
        if format.code == "HB":
            return Place(2, 2, mask=format.mask) if self.generic else 0
        if format.code == "HT":
            mask = -1 if format.mask is None else format.mask
            return Place(0, 2, mask=mask & (0xF if self.word == 4 else 0xFFFF))
        if format.code == "B":
            return self._bits(format.size * 8 + format.part, format.mask)
        if format.code not in _NUMBERS:
            raise NotExpressedError(format.code)
        return self._integer_at(self._size(format), signed=format.code == "D", mask=format.mask)

    def _integer_at(self, size: int, *, signed: bool, mask: int | None = None) -> Value:
        """A number of that many bytes, behind which the pointer moves; the entry has to have it."""
        code = self.code
        if size not in _SIZES or (signed and mask is not None):
            raise NotExpressedError("size")
        if self._pointer is not None:
            start = -(-self._pointer // 8)
            if start < 0:
                raise NotExpressedError("place")
            code.constant(start + size)
            self._is_inside()
            self._pointer = 8 * (start + size)
            return Place(start, size, signed, mask)
        self._place()
        place = self._held_here()
        self._fetch(place)
        code.constant(size)
        code.add(op.ADD)
        code.add(op.COPY)
        self._is_inside()
        self._move_to()
        self._fetch(place)
        code.constant(size)
        code.add(op.READ)
        return Register(self._held_here(), size, signed, mask)

    def _is_inside(self) -> None:
        """Give up where the entry ends before the byte on the stack."""
        self.code.add(op.RECORD_SIZE)
        self.code.add(op.LESS_EQUAL)
        self.code.give_up()

    def _bits(self, count: int, mask: int | None) -> Value:
        code = self.code
        if not 0 < count <= _WIDE:
            raise NotExpressedError("bits")
        if self._pointer is not None:
            code.constant(self._pointer)
        else:
            self._fetch(_POINTER)
        # Also of what is in front of the entry.
        self._require(op.LESS, 8 * _FAR)
        start = self._held_here()
        self._fetch(start)
        code.constant(count)
        code.add(op.ADD)
        code.add(op.COPY)
        code.add(op.RECORD_SIZE)
        code.constant(3)
        code.add(op.SHIFT_LEFT)
        code.add(op.LESS_EQUAL)
        code.give_up()
        code.add(op.STORE, _POINTER)
        self._pointer = None
        self._fetch(start)
        code.add(op.BITS, count)
        return Register(self._held_here(), 8, mask=mask)

    def _move(self, item: Move) -> None:
        if item.code in "GW" or self._pointer is not None:
            super()._move(item)
            return
        self._fetch(_POINTER)
        if item.code == "R" and item.size == 0:
            self.code.keep((1 << _WIDE) - 8)
        else:
            distance = item.size * 8 + item.part if item.code == "O" else -8 * item.size
            self.code.constant(distance)
            self.code.add(op.ADD)
        self.code.add(op.STORE, _POINTER)

    def _put(self, value: Value, format: Format, size: int) -> None:
        bits = 8 * format.size + format.part
        if format.code == "B" and 0 < bits <= _WIDE:
            form = Form("0", bits, bits=bits, conversion="b")
        elif format.code == "HT":
            form = Form(conversion="X")
        else:
            plain = Format("U", 8) if format.code == "HB" else format
            super()._put(value, plain, size)
            return
        self._load(value, _WIDE)
        self.code.add(op.NUMBER, self.code.form(form))

    def _load(self, value: Value, bits: int) -> None:
        if not isinstance(value, Register):
            super()._load(value, bits)
            return
        if value.signed and bits > 8 * value.size:
            raise NotExpressedError("a sign")
        self._fetch(value.offset)
        if value.mask is not None:
            self.code.keep(value.mask & (1 << _WIDE) - 1)

    def _whole(self, value: Value) -> None:
        """A number for computing onto the stack: one that is not below 0."""
        code = self.code
        match value:
            case int():
                if not 0 <= value < 1 << _WIDE:
                    raise NotExpressedError("a number")
                code.constant(value)
                return
            case Column():
                self._load(value, _WIDE)
                sign = _WIDE - 1
            case _ if value.signed:
                self._load(value, 8 * value.size)
                sign = 8 * value.size - 1
            case _:
                self._load(value, _WIDE)
                return
        code.add(op.COPY)
        code.constant(sign)
        code.add(op.SHIFT_RIGHT)
        code.add(op.NOT)
        code.give_up()

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
            self._place_of_pointer()
            return Register(self._held_here(), 8, mask=mask)
        if name == "BASEPOINTER":
            return 0
        if name in self._slots:
            return Register(self._base + self._slot(name), 8, mask=mask)
        value = super()._named(item)
        if isinstance(value, Column) and item.mask is not None:
            raise NotExpressedError("mask")
        return value

    def _place_of_pointer(self) -> None:
        if self._pointer is not None:
            self._whole(self._pointer // 8)
            return
        self._fetch(_POINTER)
        self.code.constant(3)
        self.code.add(op.SHIFT_RIGHT)
        self._require(op.LESS, _FAR)

    def _slot(self, name: str) -> int:
        place = self._slots[name]
        if place >= self._places:
            raise NotExpressedError("macros")
        if self._base == _MACROS:
            self._most_places = max(self._most_places, place + 1)
        return place

    def _assign(self, name: str, value: Expression | None) -> None:
        if name == "BASEPOINTER":
            raise NotExpressedError(name)
        if name == "DATAPOINTER":
            self._expression(Number(0) if value is None else value)
            self._require(op.LESS, _FAR)
            self._move_to()
        elif value is not None:
            self._expression(value)
            self.code.add(op.STORE, self._base + self._slot(name))

    def _expression(self, expression: Expression) -> None:
        """The value of an expression onto the stack."""
        match expression:
            case Number(number):
                self._whole(number)
            case Operation(first, rest):
                self._expression(first)
                for operator, operand in rest:
                    self._count()
                    self._expression(operand)
                    self.code.add(_OPERATORS[operator])
            case Format() | Macro():
                self._whole(self._subject(expression)[0])
            case _:
                raise NotExpressedError("a call in an expression")

    def _subject(self, subject: Subject) -> tuple[Value, Format | None]:
        if isinstance(subject, Macro) and subject.extract is not None:
            self._extract(self._named(subject), subject)
            return Register(self._held_here(), 8), Format("X", 2)
        return super()._subject(subject)

    # Statements

    def _loop(self, count: Subject | Number, body: Block) -> None:
        """The body as often as the count says; every time some of the steps are used."""
        code = self.code
        self._whole(count.value if isinstance(count, Number) else self._subject(count)[0])
        left = self._held_here()
        self._leave()
        again = code.here()
        self._fetch(left)
        end = code.add(op.JUMP_IF_ZERO)
        items = self._items
        self._block(body)
        self._fetch(_STEPS)
        code.constant(self._items - items + 1)
        code.add(op.ADD)
        self._require(op.LESS_EQUAL, USUAL_STEPS)
        code.add(op.STORE, _STEPS)
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
        self._whole(self._subject(item.subject)[0])
        bits = self._held_here()
        for entry in item.entries:
            self._count()
            if max(entry.value, entry.mask or 0) >> _WIDE:
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
                def made() -> None:
                    if text is not None:
                        self._item(text)
                        self._separate(blank=True)

                return made

            self._either(shown(entry.text), shown(entry.otherwise))

    def _call(self, item: Call) -> None:
        """A template function, in the place of its call: it has macros of its own."""
        function = self.file.functions.get(item.name)
        if function is None:
            raise NotExpressedError(item.name)
        arguments = []
        for argument in item.arguments:
            self._expression(argument)
            arguments.append(self._held_here())
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

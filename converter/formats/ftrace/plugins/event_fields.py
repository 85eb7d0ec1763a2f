"""The fields of the events of one class, for compilers of their text: the operations of each field."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from converter.ir.events import EventClass
from converter.ir.field_classes import ArrayClass, BytesClass, IntegerClass, StringClass
from converter.printing import program as op
from converter.printing.code import Code, Form

#: Adds operations that print something, or that leave a number.
Emit = Callable[[], None]


class EventFields:
    """Fields by name. Columns have the keys ("field", index), columns of lists ("list", ...) and ("values", ...)."""

    def __init__(self, event_class: EventClass, code: Code, printed: Emit) -> None:
        self.code = code
        #: Adds the text of the `print fmt`.
        self.printed = printed
        self.native = event_class.native
        self._places = {field.name: i for i, field in reversed([*enumerate(event_class.fields)])}
        self._classes = [field.type for field in event_class.fields]

    def number(self, name: str, *, signed: bool = False) -> Emit | None:
        """Return an integer as an unsigned number of its own size, or sign-extended to 64 bits; None where the class
        has no such field.
        """
        index = self._places.get(name)
        if index is None or not isinstance(self._classes[index], IntegerClass):
            return None
        return lambda: self.code.number_of(("field", index), 1, signed=signed)

    def bits(self, name: str) -> int:
        """Return the size of an integer in bits."""
        field_class = self._classes[self._places[name]]
        assert isinstance(field_class, IntegerClass)
        return field_class.bits

    def text(self, name: str) -> tuple[str, int] | None:
        """Return the column of a text; None where the class has no such field."""
        index = self._places.get(name)
        if index is None or not isinstance(self._classes[index], StringClass):
            return None
        return "field", index

    def elements(self, name: str) -> Elements | None:
        """Return the elements of an array, or the bytes; None where the class has no such field."""
        index = self._places.get(name)
        held = None if index is None else self._classes[index]
        is_list = isinstance(held, BytesClass) or (
            isinstance(held, ArrayClass) and isinstance(held.element, IntegerClass)
        )
        return Elements(self.code, index) if index is not None and is_list else None


class Elements:
    """The integers of a list."""

    def __init__(self, code: Code, index: int) -> None:
        self._code = code
        self._place = index

    def count(self) -> None:
        """Leave the number of elements."""
        self._code.add(op.COUNT, self._code.column(("list", self._place), op.LISTS), 1)

    def one(self) -> None:
        """Leave the current element."""
        self._code.number_of(("values", self._place), 2)

    def two_digits(self) -> None:
        """Print the current element, a byte, in hexadecimal."""
        self.one()
        self._code.add(op.NUMBER, self._code.form(Form("0", 2, conversion="x")))

    def for_each(self, body: Emit, *, between: bytes = b"", goes_on: Emit | None = None) -> None:
        """Emit `body` for each element."""
        self._code.each(("list", self._place), 1, body, between=between, goes_on=goes_on)


def decimal(code: Code, number: Emit, bits: int = 64, *, signed: bool = False) -> None:
    """Print a number of `bits` bits in decimal as C does."""
    number()
    code.add(op.DECIMAL, bits, int(signed))


def hexadecimal(code: Code, number: Emit, prefix: bytes = b"0x", digits: int = 0) -> None:
    """Print a number in hexadecimal, with at least `digits` digits."""
    code.literal(prefix)
    number()
    if digits:
        code.add(op.NUMBER, code.form(Form("0", digits, conversion="x")))
    else:
        code.add(op.HEXADECIMAL, 64)


def switch(code: Code, number: Emit, cases: Sequence[tuple[int, Emit]], otherwise: Emit) -> None:
    """Emit the case that matches a number."""
    if not cases:
        otherwise()
        return
    (value, then), rest = cases[0], cases[1:]
    number()
    code.constant(value)
    code.add(op.EQUAL)
    code.unless_zero(then, lambda: switch(code, number, rest, otherwise))

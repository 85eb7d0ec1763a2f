"""Compiles the expressions of a `print fmt` into operations on a record's bytes.

An expression has up to three meanings, as in libtraceevent: a number (`eval_num_arg()`), memory (what `%pI4` and
`__print_hex` print), and a text (see `print_texts`). An expression is compiled into a function that adds its operations
to the program, so that errors come before any operation. No operation fails for a record, however short: a number that
is not in the record is 0, and memory is cut at the record's end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from converter.formats.ftrace.event_format.syntax import (
    EventFormat,
    FormatField,
    FormatSyntaxError,
    Location,
    type_size,
)
from converter.formats.ftrace.print_format.kernel_pointers import ByteOrder
from converter.formats.ftrace.print_format.nodes import (
    KNOWN_SYMBOLS,
    MASK,
    Binary,
    Call,
    Cast,
    Choice,
    Conditional,
    Field,
    Formatted,
    Index,
    Node,
    Number,
    Record,
    SizeOf,
    String,
    Symbol,
    Unary,
    cast_mask,
)
from converter.formats.ftrace.print_format.text_sources import TextSources
from converter.printing import program as op
from converter.printing.code import Code

#: Adds the operations that leave a number, or a range of the record (offset and length).
NumberOf = Callable[[], None]
MemoryOf = Callable[[], None]

#: The helpers of stage3_trace_output.h that take the name of a field.
DYNAMIC_ARRAYS: Final = frozenset(
    (
        "__get_dynamic_array",
        "__get_rel_dynamic_array",
        "__get_sockaddr",
        "__get_rel_sockaddr",
        "__get_sockaddr_rel",
    )
)
#: Functions that reverse the order of bytes, and the number of bytes.
_SWAPS: Final = {
    f"{prefix}{8 * size}": size for prefix in ("__fswab", "__builtin_bswap") for size in (2, 4, 8)
}
STRINGS: Final = frozenset(("__get_str", "__get_rel_str"))
BITMASKS: Final = frozenset(("__get_bitmask", "__get_rel_bitmask"))
CPUMASKS: Final = frozenset(("__get_cpumask", "__get_rel_cpumask"))
STACKTRACES: Final = frozenset(("__get_stacktrace", "__get_rel_stacktrace"))
_LENGTHS: Final = frozenset(("__get_dynamic_array_len", "__get_rel_dynamic_array_len"))
_MEMORY_CALLS: Final = DYNAMIC_ARRAYS | STRINGS | BITMASKS | CPUMASKS | STACKTRACES

#: Bits of `common_flags` (enum trace_flag_type).
_HARDIRQ: Final = 0x08
_SOFTIRQ: Final = 0x10
_IRQ_FLAGS: Final = {
    "__event_in_hardirq": _HARDIRQ,
    "__event_in_softirq": _SOFTIRQ,
    "__event_in_irq": _HARDIRQ | _SOFTIRQ,
}
_NANOSECONDS: Final = 1_000_000_000
_OPERATORS: Final = {
    "*": op.MULTIPLY, "/": op.DIVIDE, "%": op.REMAINDER, "+": op.ADD, "-": op.SUBTRACT, "<<": op.SHIFT_LEFT,
    ">>": op.SHIFT_RIGHT, "<": op.LESS, ">": op.GREATER, "<=": op.LESS_EQUAL, ">=": op.GREATER_EQUAL, "==": op.EQUAL,
    "!=": op.NOT_EQUAL, "&": op.AND, "^": op.XOR, "|": op.OR, "&&": op.BOTH, "||": op.EITHER,
}  # fmt: skip
_UNARY_OPERATORS: Final = {"-": op.NEGATE, "~": op.INVERT, "!": op.NOT}
#: Functions that return a text; `print_texts` implements them.
TEXT_CALLS: Final = frozenset(
    (
        "__print_hex",
        "__print_hex_str",
        "__print_array",
        "__print_dynamic_array",
        "mc_event_error_type",
        "jbd2_dev_to_name",
        "xen_hypercall_name",
        "scsi_trace_parse_cdb",
    )
)


class Evaluator:
    """Compiles the expressions of one event."""

    def __init__(
        self,
        event: EventFormat,
        sources: TextSources,
        byte_order: ByteOrder,
        long_size: int,
        code: Code,
    ) -> None:
        self._sources = sources
        self._byte_order: ByteOrder = byte_order
        self._long_size = long_size
        self._code = code
        self._fields = {
            field.name: field for field in (*reversed(event.fields), *reversed(event.common_fields))
        }

    def number(self, node: Node) -> NumberOf:
        """Compile an expression's value as an unsigned 64-bit number."""
        match node:
            case Number(value):
                return self._constant(value)
            case Symbol(name):
                return self._constant(KNOWN_SYMBOLS.get(name, 0))
            case SizeOf():
                return self._constant(self._size_of(node))
            case Field(name):
                return self.reader(self.field(name))
            case Cast(declared, operand):
                number, mask = self.number(operand), cast_mask(declared)
                return number if mask == MASK else self._kept(number, mask)
            case Unary("*", operand):
                return self._element(operand, Number(0))
            case Unary("+", operand):
                return self.number(operand)
            case Unary(operator, operand) if operator in _UNARY_OPERATORS:
                return self.append(self.number(operand), _UNARY_OPERATORS[operator])
            case Binary(operator, left, right):
                return self.append(
                    _both(self.number(left), self.number(right)), _OPERATORS[operator]
                )
            case Conditional(condition, then, otherwise):
                return self.chosen(
                    self.number(condition), self.number(then), self.number(otherwise)
                )
            case Index(base, index):
                return self._element(base, index)
            case Call(name, arguments):
                return self._number_call(name, arguments)
            case String() | Choice() | Formatted():
                return self._constant(0)
        address = self.memory(node)
        if address is None:
            raise FormatSyntaxError("an expression is not a number")
        return self.append(address, op.DROP)

    def append(self, operands: NumberOf, operation: int, *given: int) -> NumberOf:
        """Append an operation to the operations that leave its operands."""

        def emit() -> None:
            operands()
            self._code.add(operation, *given)

        return emit

    def chosen(self, test: NumberOf, yes: NumberOf, no: NumberOf) -> NumberOf:
        """Compile a conditional: `yes` where the number `test` is not 0, else `no`."""

        def emit() -> None:
            test()
            self._code.unless_zero(yes, no)

        return emit

    def _constant(self, value: int) -> NumberOf:
        return lambda: self._code.constant(value)

    def _kept(self, number: NumberOf, mask: int) -> NumberOf:
        def emit() -> None:
            number()
            self._code.keep(mask)

        return emit

    def _number_call(self, name: str, arguments: tuple[Node, ...]) -> NumberOf:
        if name in _LENGTHS:
            return self.append(self.extent(self.named_field(arguments)), op.LENGTH)
        if name in _IRQ_FLAGS:
            return self._kept(self.number(Field("common_flags")), _IRQ_FLAGS[name])
        if name in ("__le16_to_cpup", "__le32_to_cpup"):
            return self._little_endian(arguments, 2 if "16" in name else 4)
        if name in ("__print_ns_to_secs", "__print_ns_without_secs"):
            operation = op.DIVIDE if name == "__print_ns_to_secs" else op.REMAINDER
            return self.append(
                _both(self.only(name, arguments), self._constant(_NANOSECONDS)), operation
            )
        # As in libtraceevent's plugins: HZ is not in the trace, so jiffies stay jiffies.
        if name in ("jiffies_to_msecs", "jiffies_to_usecs"):
            return self.only(name, arguments)
        if name == "is_writable_pte":
            return self._kept(self.only(name, arguments), 2)
        if name in _SWAPS:
            return self._swapped(self.only(name, arguments), _SWAPS[name])
        if name == "__builtin_constant_p":
            return self._constant(0)
        if name in TEXT_CALLS or name in STRINGS or name in STACKTRACES:
            return self._constant(0)
        memory = self.memory(Call(name, arguments))
        if memory is not None:
            return self.append(memory, op.DROP)
        raise FormatSyntaxError(f"function {name} is not defined")

    def only(self, name: str, arguments: tuple[Node, ...]) -> NumberOf:
        """Compile the value of a function's only argument."""
        if len(arguments) != 1:
            raise FormatSyntaxError(f"{name} takes one argument")
        return self.number(arguments[0])

    def _little_endian(self, arguments: tuple[Node, ...], size: int) -> NumberOf:
        memory = self.memory(arguments[0]) if len(arguments) == 1 else None
        if memory is None:
            raise FormatSyntaxError("an argument is not memory")
        range_and_size = _both(self.append(memory, op.DROP), self._constant(size))
        return self.append(range_and_size, op.READ, 1)

    def _swapped(self, number: NumberOf, size: int) -> NumberOf:
        """Compile the lowest bytes of a number in reverse order."""

        def emit() -> None:
            self._code.constant(0)
            for position in range(size):
                number()
                self._code.constant(8 * position)
                self._code.add(op.SHIFT_RIGHT)
                self._code.keep(0xFF)
                self._code.constant(8 * (size - 1 - position))
                self._code.add(op.SHIFT_LEFT)
                self._code.add(op.OR)

        return emit

    def _size_of(self, node: SizeOf) -> int:
        if node.field is not None:
            return self.field(node.field).size
        size = type_size(node.type, self._long_size)
        if not size:
            raise FormatSyntaxError(f"sizeof({node.type}) is not in the trace")
        return size

    def reader(self, field: FormatField) -> NumberOf:
        """Compile the bytes at a field's offset as a number, if their size is that of a number."""
        offset, size = field.offset, field.size
        if size not in (1, 2, 4, 8):
            return self._constant(0)
        return lambda: _added(self._code, op.LOAD, offset, size)

    def _element(self, base: Node, index: Node) -> NumberOf:
        """Compile `base[index]`, or `*base` with index 0."""
        offset = self._element_place(base, index)
        if offset is None:
            raise FormatSyntaxError("an index into what is not an array of the record")
        return self.append(_both(offset, self._constant(self._pointed_size(base))), op.READ)

    def _element_place(self, base: Node, index: Node) -> NumberOf | None:
        """Compile the offset of an element."""
        memory, number = self.memory(base), self.number(index)
        if memory is None:
            return None
        operands = _both(self.append(memory, op.DROP), number)
        return self.append(operands, op.ELEMENT, self._pointed_size(base))

    def _pointed_size(self, node: Node) -> int:
        """Return the size of a pointer expression's target; a long where it is unknown (as in libtraceevent)."""
        size = 0
        match node:
            case Cast(declared, operand):
                if declared.endswith("*"):
                    size = type_size(declared.removesuffix("*").rstrip(), self._long_size)
                return size or self._pointed_size(operand)
            case Field(name):
                size = self.field(name).element_bytes(self._long_size)
            case Record():
                size = 1
            case Call(name, arguments) if name in STRINGS:
                size = 1
            case Call(name, arguments) if name in _MEMORY_CALLS:
                size = self.named_field(arguments).element_bytes(self._long_size)
            case Unary("&", operand):
                return self._pointed_size(operand)
            case Binary("+", left, _):
                return self._pointed_size(left)
        return size or self._long_size

    def memory(self, node: Node) -> MemoryOf | None:
        """Compile the range of the record that an expression points to; None if it does not point into the record."""
        match node:
            case Record():
                return _both(self._constant(0), lambda: _added(self._code, op.RECORD_SIZE))
            case Field(name):
                return self.extent(self.field(name))
            case Call(name, arguments) if name in _MEMORY_CALLS:
                return self.extent(self.named_field(arguments))
            case Cast(_, operand):
                return self.memory(operand)
            case Unary("&", Index(base, index)):
                element = self._element_place(base, index)
                return None if element is None else self.append(element, op.REST)
            case Unary("&", operand):
                return self.memory(operand)
            case Binary("+", left, right):
                if isinstance(left, Field) and not self.field(left.name).is_array:
                    return None
                element = self._element_place(left, right)
                return None if element is None else self.append(element, op.REST)
            case Conditional(condition, then, otherwise):
                test, yes, no = self.number(condition), self.memory(then), self.memory(otherwise)
                return None if yes is None or no is None else self.chosen(test, yes, no)
        return None

    def field(self, name: str) -> FormatField:
        """Return the field of that name; FormatSyntaxError where there is none."""
        field = self._fields.get(name)
        if field is None:
            raise FormatSyntaxError(f"the event has no field {name!r}")
        return field

    def named_field(self, arguments: tuple[Node, ...]) -> FormatField:
        """Return the field that a helper such as `__get_str(name)` names."""
        if not arguments or not isinstance(arguments[0], Field):
            raise FormatSyntaxError("expected the name of a field")
        return self.field(arguments[0].name)

    def extent(self, field: FormatField) -> MemoryOf:
        """Compile the range of a field's bytes; it is empty where the location word points out of the record."""
        offset, size = field.offset, field.size
        if field.location is not Location.INLINE:
            relative = int(field.location is Location.REL_LOC)
            return lambda: _added(self._code, op.DYNAMIC, offset, size, relative)
        if size:
            return _both(self._constant(offset), self._constant(size))
        return self.append(self._constant(offset), op.REST)


def _both(first: NumberOf, second: NumberOf) -> NumberOf:
    def emit() -> None:
        first()
        second()

    return emit


def _added(code: Code, operation: int, *given: int) -> None:
    code.add(operation, *given)

"""Compiles the expressions of a `print fmt` into functions of a record's bytes.

An expression has up to three meanings, as in libtraceevent: a number (`eval_num_arg()`), memory (what `%pI4` and
`__print_hex` print), and a text (see `print_texts`). Nothing that is compiled here raises for a record, however short:
a number that is not in the record is 0, and memory is cut at the record's end.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from converter.formats.trace_cmd.event_format import (
    EventFormat,
    FormatField,
    FormatSyntaxError,
    Location,
    type_size,
)
from converter.formats.trace_cmd.kernel_pointers import ByteOrder
from converter.formats.trace_cmd.print_nodes import (
    KNOWN_SYMBOLS,
    MASK,
    OPERATORS,
    UNARY_OPERATORS,
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
from converter.formats.trace_cmd.symbol_lookup import SymbolLookup

NumberOf = Callable[[bytes], int]
#: Offset and length in the record.
MemoryOf = Callable[[bytes], tuple[int, int]]

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
#: Functions that give a text; `print_texts` has them.
TEXT_CALLS: Final = frozenset(
    (
        "__print_hex",
        "__print_hex_str",
        "__print_array",
        "__print_dynamic_array",
        "mc_event_error_type",
        "jbd2_dev_to_name",
    )
)


class Evaluator:
    """Compiles the expressions of one event."""

    def __init__(
        self, event: EventFormat, symbols: SymbolLookup, byte_order: ByteOrder, long_size: int
    ) -> None:
        self._symbols = symbols
        self._byte_order: ByteOrder = byte_order
        self._long_size = long_size
        self._fields = {
            field.name: field for field in (*reversed(event.fields), *reversed(event.common_fields))
        }

    def number(self, node: Node) -> NumberOf:
        """The value of an expression as an unsigned 64-bit number."""
        match node:
            case Number(value):
                return _constant(value)
            case Symbol(name):
                return _constant(KNOWN_SYMBOLS.get(name, 0))
            case SizeOf():
                return _constant(self._size_of(node))
            case Field(name):
                return self.reader(self.field(name))
            case Cast(declared, operand):
                number, mask = self.number(operand), cast_mask(declared)
                return number if mask == MASK else lambda record: number(record) & mask
            case Unary("*", operand):
                return self._element(operand, Number(0))
            case Unary(operator, operand) if operator in UNARY_OPERATORS:
                number, unary = self.number(operand), UNARY_OPERATORS[operator]
                return lambda record: unary(number(record))
            case Binary(operator, left, right):
                return self._binary(operator, left, right)
            case Conditional(condition, then, otherwise):
                test, yes, no = self.number(condition), self.number(then), self.number(otherwise)
                return lambda record: yes(record) if test(record) else no(record)
            case Index(base, index):
                return self._element(base, index)
            case Call(name, arguments):
                return self._number_call(name, arguments)
            case String() | Choice() | Formatted():
                return _constant(0)
        address = self.memory(node)
        if address is None:
            raise FormatSyntaxError("an expression is not a number")
        return lambda record: address(record)[0]

    def _binary(self, operator: str, left: Node, right: Node) -> NumberOf:
        first, function = self.number(left), OPERATORS[operator]
        if isinstance(right, Number):
            value = right.value
            return lambda record: function(first(record), value)
        second = self.number(right)
        return lambda record: function(first(record), second(record))

    def _number_call(self, name: str, arguments: tuple[Node, ...]) -> NumberOf:
        if name in _LENGTHS:
            extent = self.extent(self.named_field(arguments))
            return lambda record: extent(record)[1]
        if name in _IRQ_FLAGS:
            flags, mask = self.number(Field("common_flags")), _IRQ_FLAGS[name]
            return lambda record: flags(record) & mask
        if name in ("__le16_to_cpup", "__le32_to_cpup"):
            return self._little_endian(arguments, 2 if "16" in name else 4)
        if name in ("__print_ns_to_secs", "__print_ns_without_secs"):
            value = self.only(name, arguments)
            if name == "__print_ns_to_secs":
                return lambda record: value(record) // _NANOSECONDS
            return lambda record: value(record) % _NANOSECONDS
        # As libtraceevent's plugins have it: HZ is not in the trace, so jiffies stay jiffies.
        if name in ("jiffies_to_msecs", "jiffies_to_usecs"):
            return self.only(name, arguments)
        if name == "is_writable_pte":
            value = self.only(name, arguments)
            return lambda record: value(record) & 2
        if name in TEXT_CALLS or name in STRINGS or name in STACKTRACES:
            return _constant(0)
        memory = self.memory(Call(name, arguments))
        if memory is not None:
            return lambda record: memory(record)[0]
        raise FormatSyntaxError(f"function {name} is not defined")

    def only(self, name: str, arguments: tuple[Node, ...]) -> NumberOf:
        """The value of a function's only argument."""
        if len(arguments) != 1:
            raise FormatSyntaxError(f"{name} takes one argument")
        return self.number(arguments[0])

    def _little_endian(self, arguments: tuple[Node, ...], size: int) -> NumberOf:
        memory = self.memory(arguments[0]) if len(arguments) == 1 else None
        if memory is None:
            raise FormatSyntaxError("an argument is not memory")

        def value(record: bytes) -> int:
            offset, _ = memory(record)
            return int.from_bytes(record[offset : offset + size], "little")

        return value

    def _size_of(self, node: SizeOf) -> int:
        if node.field is not None:
            return self.field(node.field).size
        size = type_size(node.type, self._long_size)
        if not size:
            raise FormatSyntaxError(f"sizeof({node.type}) is not in the trace")
        return size

    def reader(self, field: FormatField) -> NumberOf:
        """The bytes at a field's offset as a number, if their size is one that a number has."""
        offset, size = field.offset, field.size
        code = {1: "B", 2: "H", 4: "I", 8: "Q"}.get(size)
        if code is None:
            return _constant(0)
        unpack = Struct((">" if self._byte_order == "big" else "<") + code).unpack_from
        end = offset + size

        def read(record: bytes) -> int:
            value: int = unpack(record, offset)[0] if len(record) >= end else 0
            return value

        return read

    def _element(self, base: Node, index: Node) -> NumberOf:
        """`base[index]`, or `*base` with index 0."""
        place, order = self._element_place(base, index), self._byte_order
        if place is None:
            raise FormatSyntaxError("an index into what is not an array of the record")

        def read(record: bytes) -> int:
            offset, size = place(record)
            data = record[offset : offset + size]
            return int.from_bytes(data, order) if len(data) == size <= 8 else 0

        return read

    def _element_place(self, base: Node, index: Node) -> MemoryOf | None:
        memory, number = self.memory(base), self.number(index)
        if memory is None:
            return None
        size = self._pointed_size(base)
        return lambda record: (memory(record)[0] + number(record) * size, size)

    def _pointed_size(self, node: Node) -> int:
        """Size of what a pointer expression points to; a long where nothing says (as libtraceevent does)."""
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
        """Where an expression points to in the record; None where it is no pointer into it."""
        match node:
            case Record():
                return lambda record: (0, len(record))
            case Field(name):
                return self.extent(self.field(name))
            case Call(name, arguments) if name in _MEMORY_CALLS:
                return self.extent(self.named_field(arguments))
            case Cast(_, operand):
                return self.memory(operand)
            case Unary("&", Index(base, index)):
                element = self._element_place(base, index)
                return None if element is None else _until_end(element)
            case Unary("&", operand):
                return self.memory(operand)
            case Binary("+", left, right):
                if isinstance(left, Field) and not self.field(left.name).is_array:
                    return None
                element = self._element_place(left, right)
                return None if element is None else _until_end(element)
            case Conditional(condition, then, otherwise):
                test, yes, no = self.number(condition), self.memory(then), self.memory(otherwise)
                if yes is None or no is None:
                    return None
                return lambda record: yes(record) if test(record) else no(record)
        return None

    def field(self, name: str) -> FormatField:
        """The field of that name; FormatSyntaxError where there is none."""
        field = self._fields.get(name)
        if field is None:
            raise FormatSyntaxError(f"the event has no field {name!r}")
        return field

    def named_field(self, arguments: tuple[Node, ...]) -> FormatField:
        """The field that a helper such as `__get_str(name)` names."""
        if not arguments or not isinstance(arguments[0], Field):
            raise FormatSyntaxError("expected the name of a field")
        return self.field(arguments[0].name)

    def extent(self, field: FormatField) -> MemoryOf:
        """Where the bytes of a field are; an empty extent where its location word points out of the record."""
        offset, size = field.offset, field.size
        if field.location is Location.INLINE:
            if size:
                return lambda _: (offset, size)
            return lambda record: (offset, max(0, len(record) - offset))
        read = self.reader(field)
        base = offset + size if field.location is Location.REL_LOC else 0

        def dynamic(record: bytes) -> tuple[int, int]:
            word, total = read(record), len(record)
            start = (word & 0xFFFF) + base
            # The oldest kind is an offset only.
            length = (word >> 16 & 0xFFFF) if size != 2 else max(0, total - start)
            if start > total:
                return 0, 0
            return start, length if start + length <= total else 0

        return dynamic


def _constant(value: int) -> NumberOf:
    return lambda _: value


def c_string(record: bytes, offset: int, length: int) -> str:
    """The bytes up to the first NUL, or all, with one character per byte."""
    end = record.find(b"\0", offset, offset + length)
    return record[offset : offset + length if end < 0 else end].decode("latin-1")


def _until_end(place: MemoryOf) -> MemoryOf:
    def extent(record: bytes) -> tuple[int, int]:
        offset = place(record)[0]
        return offset, max(0, len(record) - offset)

    return extent

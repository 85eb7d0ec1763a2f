"""Compiles what `%s` and `%p` print, and with them whole format strings, into functions of a record's bytes.

Like libtraceevent's `print_str_arg()`, `%-8s` is applied to each name that `__print_flags` prints and not to the whole.
Texts have one character per byte (see `symbol_lookup`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from converter.formats.trace_cmd.event_format import FormatField, FormatSyntaxError
from converter.formats.trace_cmd.kernel_pointers import (
    bitmap,
    format_bit_list,
    format_bit_mask,
    format_hex,
    format_memory,
    is_memory_suffix,
)
from converter.formats.trace_cmd.print_evaluation import (
    BITMASKS,
    CPUMASKS,
    DYNAMIC_ARRAYS,
    STACKTRACES,
    STRINGS,
    Evaluator,
    MemoryOf,
    NumberOf,
    c_string,
)
from converter.formats.trace_cmd.print_nodes import (
    MASK,
    Call,
    Cast,
    Choice,
    Conditional,
    Field,
    Formatted,
    Node,
    Number,
    String,
    Symbol,
)
from converter.formats.trace_cmd.printf import (
    Directive,
    number_formatter,
    parse_format_string,
    string_formatter,
    with_sizes,
)
from converter.formats.trace_cmd.symbol_lookup import pointer_text, printk_text, symbol_text

Apply = Callable[[str], str]
TextOf = Callable[[bytes, Apply], str]
PieceOf = Callable[[bytes], str]

#: `enum hw_event_mc_err_type` (include/linux/edac.h), for `mc_event_error_type()` of ras_event.h.
_MC_ERRORS: Final = ("Corrected", "Uncorrected", "Deferred", "Fatal")


class TextEvaluator(Evaluator):
    """Compiles the format strings and the texts of one event."""

    def pieces(self, format_string: str, arguments: tuple[Node, ...]) -> list[PieceOf]:
        """One function for each literal text and each directive of a format string."""
        remaining = iter(arguments)
        compiled: list[PieceOf] = []
        for piece in parse_format_string(format_string):
            if isinstance(piece, str):
                compiled.append(_literal(piece))
                continue
            taken = list(islice(remaining, piece.stars + 1))
            if len(taken) <= piece.stars:
                raise FormatSyntaxError(f"no argument for the conversion %{piece.conversion}")
            sizes = [self.number(node) for node in taken[:-1]]
            compiled.append(self._directive(piece, sizes, taken[-1]))
        return compiled

    def _directive(self, directive: Directive, sizes: list[NumberOf], node: Node) -> PieceOf:
        if directive.conversion == "p":
            return self._pointer(directive, sizes, node)
        if directive.conversion == "s":
            text = self.text(node)
            if not sizes:
                apply = string_formatter(directive)
                return lambda record: text(record, apply)
            return lambda record: text(
                record, string_formatter(with_sizes(directive, [size(record) for size in sizes]))
            )
        number = self.number(node)
        if not sizes:
            form = number_formatter(directive)
            return lambda record: form(number(record))
        return lambda record: number_formatter(
            with_sizes(directive, [size(record) for size in sizes])
        )(number(record))

    def _pointer(self, directive: Directive, sizes: list[NumberOf], node: Node) -> PieceOf:
        # libtraceevent ignores the width of every pointer; as a length it matters to %*ph and %*pb.
        suffix, symbols = directive.suffix, self._symbols
        if is_memory_suffix(suffix):
            memory = self.memory(node)
            if memory is not None:
                return self._memory_pointer(directive, sizes, memory)
        number = self.number(node)
        if suffix[:1] in ("s", "S", "f", "F", "B") and suffix[1:2] != "w":
            with_offset = suffix[0] in "SFB"
            return lambda record: symbol_text(symbols, number(record), with_offset)
        return lambda record: pointer_text(number(record))

    def _memory_pointer(
        self, directive: Directive, sizes: list[NumberOf], memory: MemoryOf
    ) -> PieceOf:
        suffix, byte_order, long_size = directive.suffix, self._byte_order, self._long_size

        def piece(record: bytes) -> str:
            width = directive.width
            if sizes:
                sized = with_sizes(directive, [size(record) for size in sizes])
                width = 0 if "-" in sized.flags else sized.width
            offset, length = memory(record)
            data = record[offset : offset + length]
            return format_memory(suffix, data, width, byte_order, long_size)

        return piece

    def text(self, node: Node) -> TextOf:
        """What `%s` prints; `Apply` is the directive's padding and cutting."""
        match node:
            case String(text):
                return lambda _, apply: apply(text)
            case Number(value):
                signed = str(value - (1 << 64) if value >> 63 else value)
                return lambda _, apply: apply(signed)
            case Symbol(name):
                return lambda _, apply: apply(name)
            case Field(name):
                return self._field_text(self.field(name))
            case Choice():
                return self._choice(node)
            case Conditional(condition, then, otherwise):
                test, yes, no = self.number(condition), self.text(then), self.text(otherwise)
                return lambda record, apply: (yes if test(record) else no)(record, apply)
            case Cast(_, operand):
                return self.text(operand)
            case Call():
                return self._text_call(node)
            case Formatted(parts):
                pieces = [piece for part in parts for piece in self.pieces(*part)]
                return lambda record, apply: apply("".join([piece(record) for piece in pieces]))
        memory = self.memory(node)
        if memory is None:
            self.number(node)  # for its errors
            return lambda _, __: ""
        return lambda record, apply: apply(c_string(record, *memory(record)))

    def _field_text(self, field: FormatField) -> TextOf:
        if not field.is_array and field.size == self._long_size:
            # A pointer: to a string of the kernel's, if it is one of those that the trace keeps.
            read, symbols = self.reader(field), self._symbols

            def pointed(record: bytes, _: Apply) -> str:
                address = read(record)
                text = printk_text(symbols, address)
                return f"{address:x}" if text is None else text

            return pointed
        extent = self.extent(field)
        return lambda record, apply: apply(c_string(record, *extent(record)))

    def _choice(self, node: Choice) -> TextOf:
        number = self.number(node.value)
        if node.delimiter is None:
            names: dict[int, str] = {}
            for value, name in node.pairs:
                if value is not None:
                    names.setdefault(value, name)
                    if value >> 63 and (width := self._signed_width(node.value)):
                        names.setdefault(value & width, name)

            def symbolic(record: bytes, apply: Apply) -> str:
                value = number(record)
                name = names.get(value)
                return f"0x{value:x}" if name is None else apply(name)

            return symbolic
        flags = [(value, name) for value, name in node.pairs if value]
        delimiter = node.delimiter
        # libtraceevent takes a name that nothing defines (and -1) for the one that 0 has.
        unset = next((name for value, name in node.pairs if value in (None, MASK)), None)

        def combined(record: bytes, apply: Apply) -> str:
            value = number(record)
            if not value:
                return "" if unset is None else apply(unset)
            parts: list[str] = []
            for flag, name in flags:
                if value & flag == flag:
                    parts.append(apply(name))
                    value &= ~flag
            if value:
                parts.append(f"0x{value:x}")
            return delimiter.join(parts)

        return combined

    def _signed_width(self, node: Node) -> int:
        """The mask of a signed field narrower than 64 bits, whose -1 is read as an unsigned number."""
        if isinstance(node, Field):
            field = self.field(node.name)
            if field.signed and field.size < 8:
                return (1 << 8 * field.size) - 1
        return 0

    def _text_call(self, node: Call) -> TextOf:
        name, arguments = node.name, node.arguments
        if name in STRINGS or name in DYNAMIC_ARRAYS:
            extent = self.extent(self.named_field(arguments))

            def string(record: bytes, apply: Apply) -> str:
                offset, length = extent(record)
                return apply(c_string(record, offset, length)) if length else ""

            return string
        if name in BITMASKS or name in CPUMASKS:
            return self._mask(name in CPUMASKS, self.named_field(arguments))
        if name in STACKTRACES:
            return self._stacktrace(self.named_field(arguments))
        if name in ("__print_hex", "__print_hex_str"):
            return self._hex(name, arguments)
        if name in ("__print_array", "__print_dynamic_array"):
            return self._array(name, arguments)
        function = _TEXT_FUNCTIONS.get(name, str)
        number = self.only(name, arguments) if name in _TEXT_FUNCTIONS else self.number(node)
        return lambda record, apply: apply(function(number(record)))

    def _mask(self, as_list: bool, field: FormatField) -> TextOf:
        extent, order, long_size = self.extent(field), self._byte_order, self._long_size

        def mask(record: bytes, apply: Apply) -> str:
            offset, length = extent(record)
            bits = bitmap(record[offset : offset + length], long_size, order)
            return apply(format_bit_list(bits) if as_list else format_bit_mask(bits, length))

        return mask

    def _stacktrace(self, field: FormatField) -> TextOf:
        """`__get_stacktrace` of synthetic events, printed as the kernel's `print_synth_event()` does."""
        extent, symbols = self.extent(field), self._symbols
        order, size = self._byte_order, self._long_size

        def stacktrace(record: bytes, apply: Apply) -> str:
            offset, length = extent(record)
            lines = ["STACK:\n"]
            for start in range(offset, offset + length - size + 1, size):
                address = int.from_bytes(record[start : start + size], order)
                if not address:
                    break
                lines.append(f"=> {symbol_text(symbols, address, True)}\n")
            return apply("".join(lines))

        return stacktrace

    def _hex(self, name: str, arguments: tuple[Node, ...]) -> TextOf:
        memory = self.memory(arguments[0]) if len(arguments) in (2, 3) else None
        if memory is None:
            raise FormatSyntaxError(f"{name}: an argument is not memory")
        count = self.number(arguments[1])
        delimiter = " " if name == "__print_hex" else ""

        def hexadecimal(record: bytes, _: Apply) -> str:
            offset = memory(record)[0]
            # A length of 2**31 and more is negative to libtraceevent.
            length = count(record) & 0xFFFFFFFF
            if length >> 31:
                return ""
            return format_hex(record[offset : offset + length], delimiter)

        return hexadecimal

    def _array(self, name: str, arguments: tuple[Node, ...]) -> TextOf:
        """`__print_array(memory, count, element size)`, `__print_dynamic_array(field, element size)`."""
        dynamic = name == "__print_dynamic_array"
        if len(arguments) != 3 - dynamic:
            raise FormatSyntaxError(f"{name}: wrong number of arguments")
        memory = self.memory(arguments[0])
        if memory is None:
            raise FormatSyntaxError(f"{name}: an argument is not memory")
        count, element_size = self.number(arguments[1]), self.number(arguments[-1])
        order = self._byte_order

        def array(record: bytes, _: Apply) -> str:
            offset, length = memory(record)
            size = element_size(record) & 0xFFFFFFFF
            step = size if size in (1, 2, 4, 8) else 1
            number = length // step if dynamic else count(record) & 0xFFFFFFFF
            end = min(len(record), offset + step * (number if number < 1 << 31 else 0))
            bad = "" if size == step else f"BAD SIZE:{size} "
            values = [
                f"{bad}0x{int.from_bytes(record[start : start + step], order):x}"
                for start in range(offset, end - step + 1, step)
            ]
            return "{" + ",".join(values) + "}"

        return array


def _mc_error(value: int) -> str:
    return _MC_ERRORS[value] if value < len(_MC_ERRORS) else "Info"


def _device_name(value: int) -> str:
    return f"{value >> 20}:{value & 0xFFFFF}"


_TEXT_FUNCTIONS: Final[dict[str, Callable[[int], str]]] = {
    "mc_event_error_type": _mc_error,
    "jbd2_dev_to_name": _device_name,
}


def _literal(text: str) -> PieceOf:
    return lambda _: text

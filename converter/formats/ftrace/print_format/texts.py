"""Compiles whole format strings, with the output of `%s` and `%p`, into operations on a record's bytes.

As in libtraceevent's `print_str_arg()`, `%-8s` applies to each name that `__print_flags` prints, not to their whole.
Texts have one character per byte (see `symbol_lookup`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from converter.formats.ftrace.event_format.syntax import FormatField, FormatSyntaxError
from converter.formats.ftrace.print_format.evaluation import (
    BITMASKS,
    CPUMASKS,
    DYNAMIC_ARRAYS,
    STACKTRACES,
    STRINGS,
    Evaluator,
    MemoryOf,
    NumberOf,
)
from converter.formats.ftrace.print_format.functions import TEXT_FUNCTIONS
from converter.formats.ftrace.print_format.kernel_pointers import (
    bitmap,
    format_bit_list,
    format_bit_mask,
    format_memory,
    is_memory_suffix,
)
from converter.formats.ftrace.print_format.nodes import (
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
from converter.formats.ftrace.print_format.printf import (
    ARGUMENT,
    Directive,
    parse_format_string,
    with_sizes,
)
from converter.formats.ftrace.print_format.scsi_commands import command_text
from converter.formats.ftrace.print_format.text_sources import found_offset
from converter.formats.ftrace.symbol_lookup import symbol_text
from converter.printing import program as op
from converter.printing.code import Form, Names
from converter.printing.directory import Directory

#: Adds the operations that print something.
PieceOf = Callable[[], None]
#: Adds the operations that print a text, given those that set the format of texts, or None for no formatting.
TextOf = Callable[[PieceOf | None], None]

_HEX_DELIMITERS: Final = {"__print_hex": ord(" "), "__print_hex_str": -1}


class TextEvaluator(Evaluator):
    """Compiles the format strings and the texts of one event."""

    def pieces(self, format_string: str, arguments: tuple[Node, ...]) -> list[PieceOf]:
        """Return one item for each literal text and each directive of a format string."""
        remaining = iter(arguments)
        compiled: list[PieceOf] = []
        for piece in parse_format_string(format_string):
            if isinstance(piece, str):
                compiled.append(self.literal(piece))
                continue
            taken = list(islice(remaining, piece.stars + 1))
            if len(taken) <= piece.stars:
                raise FormatSyntaxError(f"no argument for the conversion %{piece.conversion}")
            sizes = [self.number(node) for node in taken[:-1]]
            compiled.append(self._directive(piece, sizes, taken[-1]))
        return compiled

    def literal(self, text: str) -> PieceOf:
        """Return a constant text."""
        data = text.encode("latin-1")
        return lambda: self._code.literal(data)

    def _directive(self, directive: Directive, sizes: list[NumberOf], node: Node) -> PieceOf:
        if directive.conversion == "p":
            return self._pointer(directive, sizes, node)
        form = _form(directive)
        stars = (directive.width == ARGUMENT) + 2 * (directive.precision == ARGUMENT)
        code = self._code
        if directive.conversion == "s":
            text = self.text(node)
            if not sizes and not form.width and form.precision < 0:
                return lambda: text(None)

            def state_form() -> None:
                for size in sizes:
                    size()
                code.add(op.FORM, code.form(form), len(sizes), stars)

            def formed() -> None:
                state_form()
                text(state_form)

            return formed
        number = self.number(node)

        def printed() -> None:
            for size in sizes:
                size()
            number()
            if form == Form(bits=form.bits, conversion=form.conversion) and not sizes:
                if form.conversion in "diu":
                    code.add(op.DECIMAL, form.bits, int(form.conversion != "u"))
                    return
                if form.conversion == "x":
                    code.add(op.HEXADECIMAL, form.bits)
                    return
            code.add(op.NUMBER, code.form(form), len(sizes), stars)

        return printed

    def _pointer(self, directive: Directive, sizes: list[NumberOf], node: Node) -> PieceOf:
        # libtraceevent ignores the width of every pointer; as a length it matters to %*ph and %*pb.
        suffix = directive.suffix
        if is_memory_suffix(suffix):
            memory = self.memory(node)
            if memory is not None:
                return self._memory_pointer(directive, sizes, memory)
        number = self.number(node)
        if suffix[:1] in ("s", "S", "f", "F", "B") and suffix[1:2] != "w":
            return self.symbol(number, with_offset=suffix[0] in "SFB")
        return self.chosen(number, self.hexadecimal(number), self.literal("(nil)"))

    def formed_number(self, number: NumberOf, form: Form) -> PieceOf:
        """Return a number in a format."""

        def printed() -> None:
            number()
            self._code.add(op.NUMBER, self._code.form(form))

        return printed

    def hexadecimal(self, number: NumberOf, prefix: str = "0x") -> PieceOf:
        """Return a number in hexadecimal after a prefix."""

        def printed() -> None:
            self._code.literal(prefix.encode())
            number()
            self._code.add(op.HEXADECIMAL, 64)

        return printed

    def symbol(self, address: NumberOf, *, with_offset: bool) -> PieceOf:
        """Return the function that contains an address."""
        code = self._code

        def name() -> None:
            code.add(op.FOUND_TEXT)
            if with_offset:
                found_offset(code)

        return self._found(address, self._sources.functions, name, self.hexadecimal(address))

    def _found(
        self, number: NumberOf, directory: Directory, known: PieceOf, unknown: PieceOf
    ) -> PieceOf:
        def emit() -> None:
            number()
            self._code.find(directory)
            self._code.unless_zero(known, unknown)

        return emit

    def called(self, function: Callable[..., str], *numbers: NumberOf, count: int = 0) -> PieceOf:
        """Return the text of a function called with the record and numbers (`count` of them, if some leave several)."""

        def text(record: bytes, *given: int) -> bytes:
            return function(record, *given).encode("latin-1")

        def emit() -> None:
            for number in numbers:
                number()
            self._code.call(text, count or len(numbers))

        return emit

    def _memory_pointer(
        self, directive: Directive, sizes: list[NumberOf], memory: MemoryOf
    ) -> PieceOf:
        suffix, byte_order, long_size = directive.suffix, self._byte_order, self._long_size

        def piece(record: bytes, offset: int, length: int, *given: int) -> str:
            width = directive.width
            if given:
                sized = with_sizes(directive, list(given))
                width = 0 if "-" in sized.flags else sized.width
            data = record[offset : offset + length]
            return format_memory(suffix, data, width, byte_order, long_size)

        return self.called(piece, memory, *sizes, count=2 + len(sizes))

    def text(self, node: Node) -> TextOf:
        """Return the output of `%s`."""
        match node:
            case String(text):
                return self._formed(self.literal(text))
            case Number(value):
                return self._formed(self.literal(str(value - (1 << 64) if value >> 63 else value)))
            case Symbol(name):
                return self._formed(self.literal(name))
            case Field(name):
                return self._field_text(self.field(name))
            case Choice():
                return self._choice(node)
            case Conditional(condition, then, otherwise):
                return self._either(self.number(condition), self.text(then), self.text(otherwise))
            case Cast(_, operand):
                return self.text(operand)
            case Call():
                return self._text_call(node)
            case Formatted(parts):
                return self._formatted([piece for part in parts for piece in self.pieces(*part)])
        memory = self.memory(node)
        if memory is None:
            self.number(node)  # for its errors
            return lambda _: None
        return self._formed(self.append(memory, op.STRING))

    def _formed(self, piece: PieceOf) -> TextOf:
        """Apply the format of texts to a text."""
        code = self._code

        def emit(form: PieceOf | None) -> None:
            if form is None:
                piece()
                return
            code.add(op.MARK)
            piece()
            code.add(op.FIT)

        return emit

    def _either(self, test: NumberOf, yes: TextOf, no: TextOf) -> TextOf:
        return lambda form: self.chosen(test, lambda: yes(form), lambda: no(form))()

    def _formatted(self, pieces: list[PieceOf]) -> TextOf:
        code = self._code

        def emit(form: PieceOf | None) -> None:
            if form is not None:
                code.add(op.MARK)
            for piece in pieces:
                piece()
            if form is not None:
                # The parts have had their own formats.
                form()
                code.add(op.FIT)

        return emit

    def _field_text(self, field: FormatField) -> TextOf:
        if not field.is_array and field.size == self._long_size:
            # A pointer to a string of the kernel, if the trace has it.
            address = self.reader(field)
            pointed = self._found(
                address,
                self._sources.strings,
                lambda: _done(self._code.add(op.FOUND_TEXT)),
                self.hexadecimal(address, ""),
            )
            return lambda _: pointed()
        return self._formed(self.append(self.extent(field), op.STRING))

    def _choice(self, node: Choice) -> TextOf:
        number, code = self.number(node.value), self._code
        if node.delimiter is None:
            names: dict[int, str] = {}
            for value, name in node.pairs:
                if value is not None:
                    names.setdefault(value, name)
                    if value >> 63 and (width := self._signed_width(node.value)):
                        names.setdefault(value & width, name)
            entries = [(value, value, names[value].encode("latin-1")) for value in sorted(names)]
            known = Names(entries)
            operation = op.CHOOSE
        else:
            flags = [(value, name) for value, name in node.pairs if value]
            # libtraceevent treats an undefined name (and -1) as the name of 0.
            unset = [name for value, name in node.pairs if value in (None, MASK)][:1]
            entries = [(value, value, name.encode("latin-1")) for value, name in flags]
            entries += [(0, 0, name.encode("latin-1")) for name in unset]
            known = Names(
                entries,
                len(flags) if unset else -1,
                separator=node.delimiter.encode("latin-1"),
            )
            operation = op.FLAGS

        def emit(form: PieceOf | None) -> None:
            number()
            code.named(operation, known, int(form is not None))

        return emit

    def _signed_width(self, node: Node) -> int:
        """Return the mask of a signed field narrower than 64 bits, whose -1 is read as an unsigned number."""
        if isinstance(node, Field):
            field = self.field(node.name)
            if field.signed and field.size < 8:
                return (1 << 8 * field.size) - 1
        return 0

    def _text_call(self, node: Call) -> TextOf:
        name, arguments = node.name, node.arguments
        if name in STRINGS or name in DYNAMIC_ARRAYS:
            return self._string(self.extent(self.named_field(arguments)))
        if name in BITMASKS or name in CPUMASKS:
            return self._mask(name in CPUMASKS, self.named_field(arguments))
        if name in STACKTRACES:
            return self._stacktrace(self.named_field(arguments))
        if name in ("__print_hex", "__print_hex_str"):
            return self._hex(name, arguments)
        if name in ("__print_array", "__print_dynamic_array"):
            return self._array(name, arguments)
        if name == "scsi_trace_parse_cdb":
            return self._scsi_command(arguments)
        if name in TEXT_FUNCTIONS:
            function = TEXT_FUNCTIONS[name]
            return self._formed(
                self.called(lambda _, value: function(value), self.only(name, arguments))
            )
        return self._formed(self.append(self.number(node), op.DECIMAL, 64, 0))

    def _string(self, extent: MemoryOf) -> TextOf:
        """Return a string of the record; one without any bytes is not formatted."""
        text = self._formed(self.append(extent, op.STRING))

        def emit(form: PieceOf | None) -> None:
            if form is None:
                text(None)
                return
            self.chosen(self.append(extent, op.LENGTH), lambda: text(form), lambda: None)()

        return emit

    def _mask(self, as_list: bool, field: FormatField) -> TextOf:
        order, long_size = self._byte_order, self._long_size

        def mask(record: bytes, offset: int, length: int) -> str:
            bits = bitmap(record[offset : offset + length], long_size, order)
            return format_bit_list(bits) if as_list else format_bit_mask(bits, length)

        return self._formed(self.called(mask, self.extent(field), count=2))

    def _stacktrace(self, field: FormatField) -> TextOf:
        """Compile `__get_stacktrace` of synthetic events, printed as the kernel's `print_synth_event()` does."""
        symbols, order, size = self._sources.symbols, self._byte_order, self._long_size

        def stacktrace(record: bytes, offset: int, length: int) -> str:
            lines = ["STACK:\n"]
            for start in range(offset, offset + length - size + 1, size):
                address = int.from_bytes(record[start : start + size], order)
                if not address:
                    break
                if start == offset and address <= length // size:
                    # The number of frames, which Linux 6.3 and later store first.
                    continue
                lines.append(f"=> {symbol_text(symbols, address, True)}\n")
            return "".join(lines)

        return self._formed(self.called(stacktrace, self.extent(field), count=2))

    def _hex(self, name: str, arguments: tuple[Node, ...]) -> TextOf:
        memory = self.memory(arguments[0]) if len(arguments) in (2, 3) else None
        if memory is None:
            raise FormatSyntaxError(f"{name}: an argument is not memory")
        count, given = self.number(arguments[1]), memory

        def emit(_: PieceOf | None) -> None:
            given()
            count()
            self._code.add(op.OCTETS, _HEX_DELIMITERS[name])

        return emit

    def _scsi_command(self, arguments: tuple[Node, ...]) -> TextOf:
        """Compile `scsi_trace_parse_cdb(p, memory, length)`."""
        memory = self.memory(arguments[1]) if len(arguments) == 3 else None
        if memory is None:
            raise FormatSyntaxError("scsi_trace_parse_cdb: an argument is not memory")

        def command(record: bytes, offset: int, _: int, length: int) -> str:
            return command_text(record[offset : offset + length])

        return self._formed(self.called(command, memory, self.number(arguments[2]), count=3))

    def _array(self, name: str, arguments: tuple[Node, ...]) -> TextOf:
        """Compile `__print_array(memory, count, element size)`, `__print_dynamic_array(field, element size)`."""
        dynamic = name == "__print_dynamic_array"
        if len(arguments) != 3 - dynamic:
            raise FormatSyntaxError(f"{name}: wrong number of arguments")
        memory = self.memory(arguments[0])
        if memory is None:
            raise FormatSyntaxError(f"{name}: an argument is not memory")
        numbers = [self.number(node) for node in arguments[1:]]

        def emit(_: PieceOf | None) -> None:
            memory()
            for number in numbers:
                number()
            self._code.add(op.ARRAY, int(dynamic))

        return emit


def _form(directive: Directive) -> Form:
    """Return the format of numbers and texts that a directive states, without widths that are arguments."""
    width, precision = directive.width, directive.precision
    return Form(
        directive.flags,
        width if width is not None and width != ARGUMENT else 0,
        precision if precision is not None and precision != ARGUMENT else -1,
        directive.bits,
        directive.conversion,
    )


def _done(_: int) -> None:
    pass

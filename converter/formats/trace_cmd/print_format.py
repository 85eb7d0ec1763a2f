"""Prints a record of the ring buffer as `trace-cmd report -N` does: by the `print fmt` of its event's format file.

`compile_print_format()` compiles that text once per event; no text of a trace is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable

from converter.formats.trace_cmd.binary_printk import render_bprint
from converter.formats.trace_cmd.event_format import (
    EventFormat,
    FormatField,
    FormatSyntaxError,
    Location,
)
from converter.formats.trace_cmd.kernel_pointers import ByteOrder
from converter.formats.trace_cmd.print_evaluation import c_string
from converter.formats.trace_cmd.print_expressions import parse_print_fmt
from converter.formats.trace_cmd.print_nodes import Field, Node
from converter.formats.trace_cmd.print_texts import PieceOf, TextEvaluator
from converter.formats.trace_cmd.symbol_lookup import (
    SymbolLookup,
    as_text,
    octets,
    printk_text,
    symbol_text,
)

__all__ = ["PrintFormat", "SymbolLookup", "compile_print_format", "render_bprint"]

#: A record of 64 KiB printed as an array of bytes has five characters for each.
_MAX_TEXT = 1 << 20


class PrintFormat:
    """The compiled `print fmt` of an event.

    `parsable` is False, and `reason` says why, where records print as `[FAILED TO PARSE] field=value ...`.
    """

    __slots__ = ("_pieces", "event", "parsable", "reason")

    def __init__(self, event: EventFormat, pieces: list[PieceOf], reason: str | None) -> None:
        self.event = event
        self.parsable = reason is None
        self.reason = reason
        self._pieces = pieces

    def render(self, record: bytes | memoryview) -> str:
        """The text of one record, which starts with `common_type`. Bytes that are not UTF-8 become surrogates."""
        data = record if isinstance(record, bytes) else bytes(record)
        parts: list[str] = []
        room = _MAX_TEXT
        for piece in self._pieces:
            part = piece(data)
            room -= len(part)
            if room < 0:
                parts.append(part[:room])
                break
            parts.append(part)
        return as_text("".join(parts))


def compile_print_format(
    fmt: EventFormat, symbols: SymbolLookup, byte_order: ByteOrder, long_size: int
) -> PrintFormat:
    """Compile an event's `print fmt` for records of that byte order and size of `long`.

    A text that cannot be evaluated gives a `PrintFormat` that is not `parsable`.
    """
    if fmt.system == "ftrace" and fmt.name == "bprint":
        piece = _bprint_piece(fmt, symbols, byte_order, long_size)
        if piece is not None:
            return PrintFormat(fmt, [piece], None)
    try:
        evaluator = TextEvaluator(fmt, symbols, byte_order, long_size)
        format_string, arguments = parse_print_fmt(octets(fmt.print_fmt))
        if not arguments and fmt.system == "ftrace":
            # The oldest ftrace formats had no arguments: the fields are meant, in their order.
            fields: list[Node] = [Field(field.name) for field in fmt.fields]
            arguments = tuple(fields)
        return PrintFormat(fmt, evaluator.pieces(format_string, arguments), None)
    except FormatSyntaxError as error:
        return PrintFormat(fmt, _raw_pieces(fmt, byte_order, long_size, symbols), str(error))


def _bprint_piece(
    fmt: EventFormat, symbols: SymbolLookup, byte_order: ByteOrder, long_size: int
) -> PieceOf | None:
    fields = {field.name: field for field in fmt.fields}
    if not {"ip", "fmt", "buf"} <= fields.keys():
        return None
    evaluator = TextEvaluator(fmt, symbols, byte_order, long_size)
    caller, address = evaluator.number(Field("ip")), evaluator.number(Field("fmt"))
    start = fields["buf"].offset

    def bprint(record: bytes) -> str:
        text = printk_text(symbols, address(record))
        prefix = f"{symbol_text(symbols, caller(record), False)}: "
        if text is None:
            return f"{prefix}(NO FORMAT FOUND at {address(record):x})\n"
        return prefix + octets(
            render_bprint(as_text(text), record[start:], byte_order, long_size, symbols)
        )

    return bprint


def _raw_pieces(
    fmt: EventFormat, byte_order: ByteOrder, long_size: int, symbols: SymbolLookup
) -> list[PieceOf]:
    evaluator = TextEvaluator(fmt, symbols, byte_order, long_size)
    return [lambda _: "[FAILED TO PARSE]", *[_raw_piece(field, evaluator) for field in fmt.fields]]


def _raw_piece(field: FormatField, evaluator: TextEvaluator) -> PieceOf:
    """` name=value` (libtraceevent `print_field_raw()`)."""
    prefix = f" {octets(field.name)}="
    if not field.is_array:
        number, form = evaluator.reader(field), _raw_number(field)
        return lambda record: prefix + form(number(record))
    extent, is_string = evaluator.extent(field), field.is_string
    rest = field.size == 0 and field.location is Location.INLINE

    def array(record: bytes) -> str:
        offset, length = extent(record)
        if is_string:
            text = c_string(record, offset, length)
            if rest or all(" " <= char <= "~" or char in "\t\n\v\f\r" for char in text):
                return prefix + text
        data = record[offset : offset + length]
        return f"{prefix}ARRAY[{', '.join([f'{byte:02x}' for byte in data])}]"

    return array


def _raw_number(field: FormatField) -> Callable[[int], str]:
    size, bits = field.size, 8 * field.size
    if field.is_pointer or (field.is_long and (not field.signed or size == 4)):
        return lambda value: f"0x{value:x}"
    if not field.signed or size not in (1, 2, 4, 8):
        return str
    template = "%2d" if size == 2 else "%d"
    return lambda value: template % (value - (1 << bits) if value >> (bits - 1) else value)

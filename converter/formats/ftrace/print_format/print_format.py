"""Prints a record of the ring buffer as `trace-cmd report -N` does: by the `print fmt` of its event's format file.

`add_print_format()` compiles that text once per event; no text of a trace is ever executed.
"""

from __future__ import annotations

import numpy as np

from converter.formats.ftrace.event_format.syntax import (
    EventFormat,
    FormatField,
    FormatSyntaxError,
    Location,
)
from converter.formats.ftrace.print_format.binary_printk import render_bprint
from converter.formats.ftrace.print_format.expressions import parse_print_fmt
from converter.formats.ftrace.print_format.kernel_pointers import ByteOrder
from converter.formats.ftrace.print_format.nodes import Field, Node
from converter.formats.ftrace.print_format.text_sources import TextSources
from converter.formats.ftrace.print_format.texts import PieceOf, TextEvaluator
from converter.formats.ftrace.symbol_lookup import as_text, octets, printk_text, symbol_text
from converter.kernels.batches.gather import Segments
from converter.kernels.tables.strings import StringTable
from converter.printing import program as op
from converter.printing.code import Code, Form
from converter.printing.printer import Printer

#: A record of 64 KiB printed as an array of bytes has five characters for each byte.
_MAX_TEXT = 1 << 20
_AT_THE_START = np.zeros(1, np.int64)


def add_print_format(
    code: Code, fmt: EventFormat, sources: TextSources, byte_order: ByteOrder, long_size: int
) -> str | None:
    """Add the operations that print an event's records, without newlines at the end.

    Return the reason if the `print fmt` cannot be evaluated: records then print as
    `[FAILED TO PARSE] field=value ...`.
    """
    evaluator = TextEvaluator(fmt, sources, byte_order, long_size, code)
    pieces, reason = _pieces(fmt, evaluator, sources, byte_order, long_size)

    def text() -> None:
        for piece in pieces:
            piece()

    code.limited(text, _MAX_TEXT)
    return reason


class PrintFormat:
    """The compiled `print fmt` of an event, for single records.

    If `parsable` is False, records print as `[FAILED TO PARSE] field=value ...` for `reason`.
    """

    __slots__ = ("_printer", "_program", "event", "parsable", "reason")

    def __init__(
        self, fmt: EventFormat, sources: TextSources, byte_order: ByteOrder, long_size: int
    ) -> None:
        code = Code(big_endian=byte_order == "big")
        self.event = fmt
        self.reason = add_print_format(code, fmt, sources, byte_order, long_size)
        self.parsable = self.reason is None
        self._program = code.finish().program
        self._printer = Printer(StringTable())

    def render(self, record: bytes | memoryview) -> str:
        """Return the text of a record, which starts with `common_type`. Bytes that are not UTF-8 become surrogates."""
        size = np.array([len(record)], np.uint32)
        self._program.bind((), (Segments([record]), _AT_THE_START, size))
        return self._printer.text(self._program, 0, 0).decode("utf-8", "surrogateescape")


def _pieces(
    fmt: EventFormat,
    evaluator: TextEvaluator,
    sources: TextSources,
    byte_order: ByteOrder,
    long_size: int,
) -> tuple[list[PieceOf], str | None]:
    if fmt.system == "ftrace" and fmt.name == "bprint":
        piece = _bprint_piece(fmt, evaluator, sources, byte_order, long_size)
        if piece is not None:
            return [piece], None
    try:
        format_string, arguments = parse_print_fmt(octets(fmt.print_fmt))
        if not arguments and fmt.system == "ftrace":
            # The oldest ftrace formats had no arguments: they print the fields in order.
            fields: list[Node] = [Field(field.name) for field in fmt.fields]
            arguments = tuple(fields)
        return evaluator.pieces(format_string, arguments), None
    except FormatSyntaxError as error:
        failed = evaluator.literal("[FAILED TO PARSE]")
        return [failed, *[_raw_piece(field, evaluator) for field in fmt.fields]], str(error)


def _bprint_piece(
    fmt: EventFormat,
    evaluator: TextEvaluator,
    sources: TextSources,
    byte_order: ByteOrder,
    long_size: int,
) -> PieceOf | None:
    fields = {field.name: field for field in fmt.fields}
    if not {"ip", "fmt", "buf"} <= fields.keys():
        return None
    start, symbols = fields["buf"].offset, sources.symbols

    def bprint(record: bytes, caller: int, address: int) -> str:
        text = printk_text(symbols, address)
        prefix = f"{symbol_text(symbols, caller, False)}: "
        if text is None:
            return f"{prefix}(NO FORMAT FOUND at {address:x})\n"
        return prefix + octets(
            render_bprint(as_text(text), record[start:], byte_order, long_size, symbols)
        )

    return evaluator.called(bprint, evaluator.number(Field("ip")), evaluator.number(Field("fmt")))


def _raw_piece(field: FormatField, evaluator: TextEvaluator) -> PieceOf:
    """Return the text ` name=value` (libtraceevent `print_field_raw()`)."""
    name = evaluator.literal(f" {octets(field.name)}=")
    value = _raw_array(field, evaluator) if field.is_array else _raw_number(field, evaluator)

    def piece() -> None:
        name()
        value()

    return piece


def _raw_array(field: FormatField, evaluator: TextEvaluator) -> PieceOf:
    is_string = field.is_string
    rest = field.size == 0 and field.location is Location.INLINE

    def array(record: bytes, offset: int, length: int) -> str:
        data = record[offset : offset + length]
        if is_string:
            text = data.partition(b"\0")[0].decode("latin-1")
            if rest or all(" " <= char <= "~" or char in "\t\n\v\f\r" for char in text):
                return text
        return f"ARRAY[{', '.join([f'{byte:02x}' for byte in data])}]"

    return evaluator.called(array, evaluator.extent(field), count=2)


def _raw_number(field: FormatField, evaluator: TextEvaluator) -> PieceOf:
    number = evaluator.reader(field)
    size, bits = field.size, 8 * field.size
    if field.is_pointer or (field.is_long and (not field.signed or size == 4)):
        return evaluator.hexadecimal(number)
    if not field.signed or size not in (1, 2, 4, 8):
        return evaluator.append(number, op.DECIMAL, 64, 0)
    if size == 2:
        return evaluator.formed_number(number, Form(width=2, bits=16, conversion="d"))
    return evaluator.append(number, op.DECIMAL, bits, 1)

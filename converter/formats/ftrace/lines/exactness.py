"""Tries whether the texts of a kernel's event say all of its record: some records are printed, and read again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.event_format.gathers import columns_of
from converter.formats.ftrace.lines.column_texts import add_text
from converter.formats.ftrace.lines.inverse import Inverses
from converter.formats.ftrace.lines.programs import tables
from converter.formats.ftrace.lines.scan.line_scan import Lines
from converter.formats.ftrace.lines.text_formats import STATE_BITS, TextFormat, escaper
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Role
from converter.kernels.batches.gather import Segments
from converter.kernels.tables.strings import StringTable
from converter.printing.code import Code
from converter.printing.printer import Printer

#: Bits of the values that are tried: none, one, some, all.
_PATTERNS = (0, 1, 0x1234567890ABCDEF, (1 << 64) - 1, 1 << 63, 0x8000, 0x80000000)
_TEXTS = (b"", b"a", b"a b", b"x=1 y", b"(z) [w]", b"-1", b"12")


def comes_back(found: TextFormat, fields: tuple[Field, ...]) -> bool:
    """Return True if records of all kinds come back from their texts."""
    strings = StringTable()
    columns: list[NDArray[np.generic]] = []
    for number, field in enumerate(fields):
        if isinstance(field.type, IntegerClass):
            mask = STATE_BITS if field.role is Role.PREV_STATE else (1 << field.type.bits) - 1
            values = np.array([pattern & mask for pattern in _PATTERNS], np.uint64)
            columns.append(values.astype(f"u{field.type.bits // 8}").view(field.type.dtype))
            continue
        escape = escaper(found.escaped.get(field.name, b""))
        texts = _TEXTS[number % 3 :] + _TEXTS[: number % 3]
        ids = [strings.intern(escape(text)) for text in texts]
        columns.append(np.array(ids, np.int32))
    lines = [
        b"a-1 [000] ..... 1.0: e: " + text for text in _printed(found, fields, columns, strings)
    ]
    return _inverted(found, fields, lines, columns, strings)


def _printed(
    found: TextFormat,
    fields: tuple[Field, ...],
    columns: list[NDArray[np.generic]],
    strings: StringTable,
) -> list[bytes]:
    code = Code()
    add_text(code, found.format, {field.name: number for number, field in enumerate(fields)})
    printed = code.finish()
    program = printed.bind(lambda key: columns[key[1]])
    printer = Printer(strings)
    return [printer.text(program, row, row) for row in range(len(_PATTERNS))]


def _inverted(
    found: TextFormat,
    fields: tuple[Field, ...],
    texts: list[bytes],
    columns: list[NDArray[np.generic]],
    strings: StringTable,
) -> bool:
    data = b"\n".join(texts)
    lines = Lines(len(texts) + 1, StringTable(), b"", ticks=False, of_report=False)
    lines.scan(data, 0)
    if lines.count != len(texts):
        return False
    inverses = Inverses(StringTable())
    first = np.array([0, 0, 0, 1], np.int32)
    inverses.load(tables([found.program]), first, np.zeros(1, np.int32))
    which = np.full(lines.count, -1, np.int32)
    start, size = np.zeros(lines.count, np.int64), np.zeros(lines.count, np.int64)
    rows = np.arange(lines.count, dtype=np.int64)
    records = inverses.run(data, lines, rows, (which, start, size))
    if (which < 0).any():
        return False
    _, known, gathers = fields_of(found.program.format, 8, None)
    table = columns_of(gathers).table(
        lines.count,
        lambda: (start, size.astype(np.uint32)),
        Segments([records]),
        strings,
        big_endian=False,
    )
    names = [field.name for field in known]
    return all(
        np.array_equal(np.asarray(table.column(names.index(field.name))), column)
        for field, column in zip(fields, columns, strict=True)
    )

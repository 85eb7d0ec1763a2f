"""The texts of print formats, printed of columns: `converter.formats.ftrace.print_format` prints them of records."""

from __future__ import annotations

from collections.abc import Mapping

from converter.formats.ftrace.event_format.syntax import EventFormat, FormatField
from converter.formats.ftrace.print_format.evaluation import MemoryOf, NumberOf
from converter.formats.ftrace.print_format.expressions import parse_print_fmt
from converter.formats.ftrace.print_format.text_sources import TextSources
from converter.formats.ftrace.print_format.texts import PieceOf, TextEvaluator, TextOf
from converter.formats.ftrace.symbol_lookup import octets
from converter.printing.code import Code


class _NoTexts:
    """A kernel of which nothing is known."""

    def function(self, address: int) -> None:
        """Return None: there are no names."""

    def printk(self, address: int) -> None:
        """Return None: there are no texts."""


class _ColumnTexts(TextEvaluator):
    """Compiles texts whose fields are columns, by their indexes."""

    def __init__(self, format: EventFormat, code: Code, columns: Mapping[str, int]) -> None:
        super().__init__(format, TextSources(_NoTexts()), "little", 8, code)
        self._columns = columns

    def reader(self, field: FormatField) -> NumberOf:
        """Return the number of a field."""
        index = self._columns[field.name]
        return lambda: self._code.number_of(("field", index), 1)

    def _field_text(self, field: FormatField) -> TextOf:
        return self._formed(self._column_text(field))

    def _string(self, extent: MemoryOf) -> TextOf:
        return self._formed(extent)

    def extent(self, field: FormatField) -> MemoryOf:
        """Return what prints a text, in place of where it is."""
        return self._column_text(field)

    def _column_text(self, field: FormatField) -> PieceOf:
        index = self._columns[field.name]
        return lambda: self._code.text_of(("field", index), 1)


def add_text(code: Code, format: EventFormat, columns: Mapping[str, int]) -> None:
    """Add the operations that print the events of a format, with the index of the column of each field."""
    text, arguments = parse_print_fmt(octets(format.print_fmt))
    for piece in _ColumnTexts(format, code, columns).pieces(text, arguments):
        piece()

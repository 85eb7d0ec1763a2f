"""Errors in metadata: each names the line and the column."""

from __future__ import annotations

from bisect import bisect_right

from converter.errors import TraceError

#: Bytes of a text or blob, and elements of an array, of fixed length.
MAX_LENGTH = (1 << 31) - 1
#: Bits of an alignment, and of an integer.
MAX_ALIGNMENT = 1 << 31
MAX_INTEGER_BITS = 1 << 16


class Positions:
    """Converts offsets in a text to lines and columns, both counted from 1."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] | None = None

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset."""
        if self._starts is None:
            self._starts = [0]
            at = self._text.find("\n")
            while at >= 0:
                self._starts.append(at + 1)
                at = self._text.find("\n", at + 1)
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def error(
        self,
        offset: int,
        message: str = "",
        *,
        expected: str | None = None,
        found: object = None,
        field: str = "",
    ) -> TraceError:
        """Return an error at an offset, for the caller to raise."""
        line, column = self.place(offset)
        where = f"line {line}, column {column}"
        return TraceError(
            f"{where}: {message}" if message else where,
            format="ctf",
            field=f"metadata.{field}" if field else "metadata",
            expected=expected,
            found=found,
        )

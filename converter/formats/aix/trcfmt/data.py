"""The data pointer of a template, and the values read at it."""

from __future__ import annotations

from converter.formats.aix.trcfmt.entry import Entry, Value
from converter.formats.aix.trcfmt.model import WORD, Format, Macro, Move
from converter.formats.aix.trcfmt.values import decode


class EndError(Exception):
    """The template ends here; `warning` is the reason if it should not, `raw` requests the entry's raw words."""

    def __init__(self, warning: str = "", *, raw: bool = False) -> None:
        super().__init__(warning)
        self.warning = warning
        self.raw = raw


def masked(value: Value, item: Format | Macro) -> Value:
    """Return a value with the mask of its format code or macro applied, if it has one."""
    if item.mask is None or not isinstance(value, int):
        return value
    return value & item.mask


class Data:
    """The data of an entry. `pointer` counts bits from the base pointer, `base` bytes from the hook word."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.pointer = entry.data_pointer * 8
        self.base = 0

    def read(self, format: Format) -> tuple[Value, int]:
        """Return the value at the data pointer, and its size in bytes; advances the pointer past it."""
        if format.code == "HB":
            return masked(self.entry.length if self.entry.generic else 0, format), 8
        if format.code == "HT":
            return masked(self.entry.hook_type, format), 2
        if format.code == "B":
            return masked(self.bits(format.size * 8 + format.part), format), format.size
        size = self.entry.word_size if format.size == WORD else format.size
        if format.code == "S":
            length = self.exactly(size)
            return self.text(int.from_bytes(length)), size
        if format.code == "A":
            return decode(format, size, self.at_most(size)), size
        size = max(size, 1)
        return masked(decode(format, size, self.exactly(size)), format), size

    def exactly(self, size: int) -> bytes:
        """Return the bytes at the next byte boundary; EndError if the entry ends before."""
        data = self.at_most(size)
        if len(data) < size:
            raise EndError("reads beyond the end of the entry")
        return data

    def text(self, size: int) -> str:
        """Return a text of `size` bytes, shorter at the end of the entry."""
        return str(decode(Format("S"), size, self.at_most(size)))

    def at_most(self, size: int) -> bytes:
        """Return the bytes at the next byte boundary, fewer at the end of the entry."""
        at = -(-self.pointer // 8)
        self.pointer = (at + size) * 8
        start = at + self.base
        if start < 0:
            raise EndError("reads before the start of the entry")
        return self.entry.data[start : start + size]

    def bits(self, count: int) -> int:
        """Return the `count` bits at the pointer."""
        start = self.pointer + self.base * 8
        end = start + count
        if start < 0 or end > len(self.entry.data) * 8:
            raise EndError("reads beyond the end of the entry")
        self.pointer += count
        covered = int.from_bytes(self.entry.data[start // 8 : -(-end // 8)])
        return covered >> (-end % 8) & ((1 << count) - 1)

    def move(self, item: Move) -> None:
        """Set the pointer as a code of II.A says."""
        match item.code:
            case "G":
                self.pointer = item.size * 8 + item.part
            case "O":
                self.pointer += item.size * 8 + item.part
            case "W":
                self.pointer = item.size * self.entry.word_size * 8
            case "R" if item.size == 0:
                self.pointer &= ~7
            case _:
                self.pointer -= item.size * 8

"""Chances for drawn FXT: a time that goes on, texts, arguments at the limits of their values."""

from __future__ import annotations

import random
import struct
from typing import Any

from support.fxt import files as fxt
from support.fxt.writer import HIGH
from support.viewers.trace_processor_versions import Feature, shows

from converter.formats.fxt.record_types import ArgumentType

#: Lengths about those of words.
_TEXTS = [
    b"",
    b"a",
    b"1234567",
    b"12345678",
    b"123456789",
    "é€".encode(),
    b"0x10",
    b"-7",
    b"x" * 41,
]
_TRUE = (1 << 64) - 1
if not shows(Feature.JSON_ESCAPES):
    # Text that is like a number begins with an escape in JSON.
    _TEXTS = [text for text in _TEXTS if text not in (b"0x10", b"-7")]


class Draw(random.Random):
    """Chances, and a time that goes on."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        #: Strings that are registered for the whole document.
        self.slots: list[int] = []
        #: Ticks between what is next to each other.
        self.unit = 1
        self.now = self.choice([0, 1, 1000, 1 << 31, (1 << 45) + 7])

    def chance(self, share: float) -> bool:
        return self.random() < share

    def next(self, most: int = 20) -> int:
        """The next time, which is the same at times."""
        self.now += self.unit * self.choice([0, 1, self.randrange(1, most), most])
        return self.now

    def text(self) -> bytes:
        return self.choice(_TEXTS)

    def argument(self, name: bytes | int | None = None) -> dict[str, Any]:
        """An argument of any type, at the limits of its values at times."""
        name = (
            self.choice([b"p", b"q", b"argument", b"12345678", *self.slots])
            if name is None
            else name
        )
        bits = struct.unpack("<Q", struct.pack("<d", self.choice([0.5, -1.25, 1e300, 0.0, 3.0])))[0]
        kind, value = self.choice(
            [
                (ArgumentType.NULL, None),
                (ArgumentType.INT32, self.choice([0, -5, -(1 << 31), (1 << 31) - 1])),
                (ArgumentType.UINT32, self.choice([0, 7, HIGH - 1])),
                (ArgumentType.INT64, self.choice([9, 1 << 62, 1 << 63, _TRUE])),
                (ArgumentType.UINT64, self.choice([0, 1 << 40, (1 << 63) - 1, 1 << 63, _TRUE])),
                (ArgumentType.DOUBLE, bits),
                (ArgumentType.STRING, self.choice([self.text(), *self.slots])),
                (ArgumentType.POINTER, self.choice([0, 0x7FFF_1234, 0xFFFF_8000_0000_1000])),
                (ArgumentType.KOID, self.choice([0, 11, HIGH + 5])),
                (ArgumentType.BOOLEAN, self.chance(0.5)),
            ]
        )
        return fxt.argument(kind, name, value)

    def arguments(self, most: int = 3, prefix: bytes = b"n") -> list[dict[str, Any]]:
        """Arguments of names that differ."""
        count = self.choice([0, 0, 1, self.randint(0, most)])
        first = [self.argument(None if prefix == b"n" else prefix) for _ in range(min(count, 1))]
        return first + [self.argument(b"%s%d" % (prefix, n)) for n in range(1, count)]

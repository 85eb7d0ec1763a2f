"""Messages of trace_printk(), which the kernel stores as the address of a text and, for bprint, packed arguments.

The texts are in section PRINTK, in the spelling of tracefs/printk_formats.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from converter.errors import TraceError
from converter.formats.ftrace.event_format.gathers import BytesAt, IntegerAt
from converter.formats.ftrace.event_format.record_tables import Records
from converter.formats.ftrace.event_format.syntax import EventFormat
from converter.formats.ftrace.layout import SectionId, parse
from converter.formats.ftrace.recording import Recording
from converter.formats.ftrace.symbol_lookup import as_text, printk_text
from converter.ir.columns import Column, list_of_bytes
from converter.ir.symbols import SymbolTable

#: The number of rendered messages that are cached, as most repeat.
_KEPT = 1 << 16


class KernelTexts:
    """The functions (KALLSYMS) and printk strings (PRINTK) of a file by address, read on demand."""

    def __init__(self, file: Recording, symbols: SymbolTable | None) -> None:
        self._file = file
        self._symbols = symbols
        self._printk: dict[int, str] | None = None

    def function(self, address: int) -> tuple[str, int] | None:
        """Return the symbol that covers an address, and the offset in it."""
        found = None if self._symbols is None else self._symbols.lookup(address)
        return None if found is None else (found[0].decode("utf-8", "surrogateescape"), found[1])

    def printk(self, address: int) -> str | None:
        """Return the string at an address, without its quotes and with its escapes."""
        if self._printk is None:
            self._printk = self._read()
        return self._printk.get(address)

    def _read(self) -> dict[int, str]:
        section = self._file.section(SectionId.PRINTK)
        if section is None:
            return {}
        try:
            text = parse(self._file.layout.short_text, bytes(section), section.offset, "PRINTK")
        except TraceError as error:
            self._file.warn(error)
            return {}
        lines = re.findall(rb'^(?:0x)?([0-9a-fA-F]{1,16}) *: *"?(.*?)"?$', text, re.MULTILINE)
        return {
            int(address, 16): line.decode("utf-8", "surrogateescape") for address, line in lines
        }


class BinaryMessage(NamedTuple):
    """The message of bprint or, if `arguments` is None, of bputs."""

    format: IntegerAt
    arguments: BytesAt | None
    texts: KernelTexts
    long_size: int
    cache: dict[tuple[int, bytes], bytes]

    def load(self, records: Records) -> Column:
        """Return the column. Each distinct message is rendered once."""
        addresses = self.format.load(records)
        assert isinstance(addresses, np.ndarray)
        packed = [b""] * records.count
        if self.arguments is not None:
            column = self.arguments.copied(records, 1, until_nul=False)
            assert isinstance(column.values, np.ndarray)
            data = column.values.tobytes()
            bounds = column.offsets.tolist()
            packed = [data[a:b] for a, b in pairwise(bounds)]
        messages = []
        for key in zip(addresses.tolist(), packed, strict=True):
            message = self.cache.get(key)
            if message is None:
                if len(self.cache) >= _KEPT:
                    self.cache.clear()
                message = self.cache[key] = self._render(*key, big_endian=records.big_endian)
            messages.append(message)
        return list_of_bytes(messages)

    def _render(self, address: int, packed: bytes, *, big_endian: bool) -> bytes:
        text = printk_text(self.texts, address)
        if text is None:
            rendered = f"(NO FORMAT FOUND at {address:x})"
        elif self.arguments is None:
            rendered = as_text(text)
        else:
            # Imported here: few files have such messages, and the printf module takes time to import.
            from converter.formats.ftrace.print_format.binary_printk import render_bprint

            rendered = render_bprint(
                as_text(text), packed, "big" if big_endian else "little", self.long_size, self.texts
            )
        return rendered.rstrip("\n").encode("utf-8", "surrogateescape")


def binary_message(format: EventFormat, texts: KernelTexts, long_size: int) -> BinaryMessage | None:
    """Return the message of a format's events; None if it is neither bprint nor bputs."""
    address = format.field("fmt" if format.name == "bprint" else "str")
    buffer = format.field("buf")
    if format.system != "ftrace" or format.name not in ("bprint", "bputs") or address is None:
        return None
    if address.size not in (4, 8) or (format.name == "bprint" and buffer is None):
        return None
    return BinaryMessage(
        IntegerAt(address.offset, address.size, np.dtype(f"u{address.size}")),
        BytesAt(buffer.offset, -1) if buffer is not None and format.name == "bprint" else None,
        texts,
        long_size,
        {},
    )

"""The functions of an ELF file, by their offsets in the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.limits import allowed, limit
from converter.storage.source import Source

_MAGIC: Final = b"\x7fELF"
_SYMTAB: Final = 2
_NOTE: Final = 7
_DYNSYM: Final = 11
#: STT_FUNC and STT_GNU_IFUNC; STB_GLOBAL and STB_WEAK.
_FUNCTIONS: Final = (2, 10)
_GLOBAL: Final = 1
_WEAK: Final = 2
_BUILD_ID: Final = 3


@dataclass(frozen=True, slots=True)
class Functions:
    """Functions in ascending order of `start`, up to `end`; names are mangled."""

    start: NDArray[np.uint64]
    end: NDArray[np.uint64]
    names: list[bytes]
    build_id: bytes = b""

    def find(self, offsets: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of the function at each offset, -1 where there is none."""
        at = np.searchsorted(self.start, offsets, side="right").astype(np.int64) - 1
        if not len(self.start):
            return at
        inside = (at >= 0) & (offsets < self.end[np.maximum(at, 0)])
        return np.where(inside, at, -1)


def functions_of(
    source: Source, find_debug: Callable[[bytes], Source | None] | None = None
) -> Functions:
    """Return the functions of an ELF file, from its symbol table or, if it has none, from that for the linker.

    Args:
        source: the file.
        find_debug: opens the file with the symbol table of one that has none, by its build id.

    Raises:
        TraceError: it is no ELF file, or a damaged one.

    """
    file = _File(source)
    build_id = next(
        (
            found
            for number, kind in enumerate(file.kinds)
            if kind == _NOTE and (found := _build_id(file.content(number), file.order))
        ),
        b"",
    )
    if _SYMTAB not in file.kinds and build_id and find_debug is not None:
        debug = find_debug(build_id)
        if debug is not None:
            with debug:
                other = _File(debug)
                if _SYMTAB in other.kinds and len(other.kinds) >= len(file.kinds):
                    return _functions(other, _SYMTAB, file.deltas, build_id)
    for kind in (_SYMTAB, _DYNSYM):
        if kind in file.kinds:
            return _functions(file, kind, file.deltas, build_id)
    none = np.zeros(0, np.uint64)
    return Functions(none, none, [], build_id)


class _File:
    """The sections of an ELF file."""

    def __init__(self, source: Source) -> None:
        head = source.read(0, 64)
        is_elf = head[:4] == _MAGIC and len(head) >= 52
        if not is_elf or head[4] not in (1, 2) or head[5] not in (1, 2):
            found = repr(head[:6])
            raise TraceError(path=source.name, offset=0, expected="an ELF file", found=found)
        self.source = source
        self.order = "<" if head[5] == 1 else ">"
        self.is_64 = head[4] == 2
        self.sections = _sections(source, head, self.order, is_64=self.is_64)
        self.kinds: list[int] = self.sections["type"].tolist()

    @property
    def deltas(self) -> NDArray[np.uint64]:
        """By section: what added to an address in it gives the offset in the file."""
        offset, address = (self.sections[name].astype(np.uint64) for name in ("offset", "addr"))
        deltas: NDArray[np.uint64] = offset - address
        return deltas

    def content(self, number: int) -> bytes:
        """Return the bytes of a section."""
        section = self.sections[number]
        size = int(section["size"])
        path = self.source.name
        if size > limit("perf.symbols"):
            expected = allowed("perf.symbols")
            raise TraceError(path=path, field="sh_size", expected=expected, found=size)
        offset = min(int(section["offset"]), 1 << 62)
        return self.source.read_exactly(offset, size, field="section")


def _sections(source: Source, head: bytes, order: str, *, is_64: bool) -> NDArray[Any]:
    word = "u8" if is_64 else "u4"
    dtype = np.dtype(
        [
            ("name", f"{order}u4"),
            ("type", f"{order}u4"),
            ("flags", f"{order}{word}"),
            ("addr", f"{order}{word}"),
            ("offset", f"{order}{word}"),
            ("size", f"{order}{word}"),
            ("link", f"{order}u4"),
            ("info", f"{order}u4"),
            ("align", f"{order}{word}"),
            ("entsize", f"{order}{word}"),
        ]
    )
    if is_64:
        (offset,) = np.frombuffer(head, f"{order}u8", 1, 40).tolist()
        size, count = np.frombuffer(head, f"{order}u2", 2, 58).tolist()
    else:
        (offset,) = np.frombuffer(head, f"{order}u4", 1, 32).tolist()
        size, count = np.frombuffer(head, f"{order}u2", 2, 46).tolist()
    if count and size != dtype.itemsize:
        raise TraceError(
            path=source.name, field="e_shentsize", expected=str(dtype.itemsize), found=size
        )
    data = source.read_exactly(min(offset, 1 << 62), size * count, field="sections")
    return np.frombuffer(data, dtype)


def _build_id(data: bytes, order: str) -> bytes:
    at = 0
    while at + 12 <= len(data):
        name, size, kind = np.frombuffer(data, f"{order}u4", 3, at).tolist()
        start = at + 12 + (name + 3) // 4 * 4
        if kind == _BUILD_ID and data[at + 12 : at + 16] == b"GNU\0":
            return data[start : start + size]
        at = start + (size + 3) // 4 * 4
    return b""


def _functions(file: _File, kind: int, deltas: NDArray[np.uint64], build_id: bytes) -> Functions:
    order, number = file.order, file.kinds.index(kind)
    tail = [("info", "u1"), ("other", "u1"), ("section", f"{order}u2")]
    if file.is_64:
        fields = [("name", f"{order}u4"), *tail, ("value", f"{order}u8"), ("size", f"{order}u8")]
    else:
        words = [(name, f"{order}u4") for name in ("name", "value", "size")]
        fields = [*words, *tail]
    dtype = np.dtype(fields)
    data = file.content(number)
    symbols = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
    link = int(file.sections[number]["link"])
    if link >= len(file.kinds):
        path = file.source.name
        raise TraceError(path=path, field="sh_link", expected="a section", found=link)
    texts = file.content(link)
    is_function = np.isin(symbols["info"] & 15, _FUNCTIONS) & (symbols["name"] > 0)
    place = symbols["section"].astype(np.int64)
    is_function &= (place > 0) & (place < len(deltas))
    symbols, place = symbols[is_function], place[is_function]
    start = symbols["value"].astype(np.uint64) + deltas[place]
    names = [
        texts[at : texts.find(b"\0", at)] if at < len(texts) else b""
        for at in symbols["name"].tolist()
    ]
    # Of several functions at one place the one that perf prefers is the last.
    bind = symbols["info"] >> 4
    bars = [len(name) - len(name.lstrip(b"_")) for name in names]
    lengths = [len(name) for name in names]
    rank = np.lexsort(
        (
            np.array(lengths, np.int64),
            -np.array(bars, np.int64),
            bind == _GLOBAL,
            bind != _WEAK,
            symbols["size"] > 0,
            start,
        )
    )
    start = start[rank]
    last = np.ones(len(start), np.bool_)
    last[:-1] = start[1:] != start[:-1]
    rank, start = rank[last], start[last]
    size = symbols["size"][rank].astype(np.uint64)
    following = np.append(start[1:], start[-1:])
    end = np.where(size > 0, start + size, following)
    return Functions(start, end, [names[number] for number in rank.tolist()], build_id)


def functions_of_map(text: bytes) -> Functions:
    """Return the functions that a program has made and named: lines of start, size (hexadecimal) and name.

    Starts are addresses here. Lines that are none are left out.
    """
    found: dict[int, tuple[int, bytes]] = {}
    for line in text.splitlines():
        parts = line.split(None, 2)
        try:
            start, size = int(parts[0], 16), int(parts[1], 16)
        except (ValueError, IndexError):
            continue
        if len(parts) == 3 and start >= 0 and size > 0 and start + size < 1 << 64:
            found[start] = start + size, parts[2]
    items = sorted(found.items())
    return Functions(
        np.array([start for start, _ in items], np.uint64),
        np.array([end for _, (end, _) in items], np.uint64),
        [name for _, (_, name) in items],
    )

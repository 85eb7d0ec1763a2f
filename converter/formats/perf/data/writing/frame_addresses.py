"""Addresses for the frames of call stacks: perf has names of functions only by the addresses that they are at.

A function without an address gets a range of the kernel's address space that no kernel uses, where KSYMBOL records can
name it and its file. A frame in a file, whose function is unknown, gets an address in a range of its file, which an
MMAP2 record maps: perf looks up its symbol if it has that file. Plain addresses stay.

perf takes all symbols of KSYMBOL records to start at offset 0 of their file, and tells those of one file apart by their
sizes alone. So each function of a file is said to have a size of its own, which is larger than its range.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perf.data.side_table import FRAME_TYPE
from converter.ir.columns import ListColumn, StructColumn, string_ids
from converter.ir.symbols import SymbolTable
from converter.kernels.tables.strings import StringTable

#: Where functions start: vacant in the layouts of x86-64 and arm64.
_FUNCTIONS: Final = 0xFFFF_E000_0000_0000
_FUNCTIONS_END: Final = 0xFFFF_F000_0000_0000
#: A function has a range of this size: frames that differ in file or line have different addresses in it.
FUNCTION_SIZE: Final = 1 << 16
#: Where files start, and the room for each.
_FILES: Final = 0x1000_0000_0000
_FILES_END: Final = 0x2000_0000_0000
FILE_SIZE: Final = 1 << 32
_MOST_FILES: Final = (_FILES_END - _FILES) // FILE_SIZE
#: Addresses from here on are the kernel's; the last ones are marks in call chains.
_KERNEL_SPACE: Final = 1 << 63
_FIRST_MARK: Final = (1 << 64) - 4095
#: Half of what a record can say: the other half are the said sizes of the kernel's functions.
_MOST_SYMBOL_BYTES: Final = 1 << 31
#: What perf calls the file of the kernel's functions.
_KERNEL_FILE: Final = b"[kernel.kallsyms]"
#: A frame as bytes: `timeline_fields.FRAME`, without padding.
_BYTES: Final = np.dtype(
    [
        ("rel_pc", np.uint64),
        ("function", np.int32),
        ("mapping", np.int32),
        ("source", np.int32),
        ("line", np.uint32),
    ]
)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function: where it starts, the size of its range, its name, and its file if that is known.

    `said_size` is the size that no other function of the file has.
    """

    address: int
    size: int
    name: bytes
    file: bytes = b""
    said_size: int = 0


@dataclass(frozen=True, slots=True)
class Mapped:
    """A file in the address space of a process."""

    process: int
    address: int
    name: bytes


class FrameAddresses:
    """The addresses of frames, and what records have to say of them.

    Args:
        strings: those of the trace.
        symbols: the kernel's, for plain addresses; None without any.

    """

    def __init__(self, strings: StringTable, symbols: SymbolTable | None) -> None:
        self._strings = strings
        self._symbols = symbols
        self._frames = StringTable()
        self._addresses: NDArray[np.uint64] = np.zeros(1, np.uint64)
        #: By function and mapping: the next address in its range, the end of the range, and its number in the file.
        self._functions: dict[tuple[int, int], tuple[int, int, int]] = {}
        #: By mapping: the number of functions.
        self._counts: dict[int, int] = {}
        self._next_function = _FUNCTIONS
        #: By mapping: the start of its range.
        self._files: dict[int, int] = {}
        self._names = [b""]
        self._mapped: set[int] = set()
        self._taken: set[int] = set()
        #: Addresses of the kernel's space that frames have, without a name and with the name of their function.
        self._plain: set[int] = set()
        self._kernel_frames: set[int] = set()
        #: All symbols so far, by address; the kernel's own are complete only in the end.
        self.symbols: dict[int, Symbol] = {}
        self._kernel: dict[int, tuple[bytes, int, bytes]] = {}
        #: Plain addresses in functions of the kernel.
        self.kernel_addresses: set[int] = set()
        self._new_symbols: list[Symbol] = []
        self._new_mapped: list[Mapped] = []

    def of(self, column: ListColumn, process: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the address of each frame of a column of `timeline_fields.FRAMES`; `process` is that of each stack."""
        values = column.values
        assert isinstance(values, StructColumn)
        data = np.empty(len(values), _BYTES)
        names = ("function", "mapping", "rel_pc", "source", "line")
        for name, member in zip(names, values.members, strict=True):
            is_text = name in ("function", "mapping", "source")
            data[name] = string_ids(member, self._strings) if is_text else np.asarray(member)
        ids = np.empty(len(data), np.int32)
        width = _BYTES.itemsize
        starts = np.arange(len(data), dtype=np.int64) * width
        self._frames.intern_spans(
            data.view(np.uint8), starts, np.full(len(data), width, np.int64), ids
        )
        known = len(self._addresses)
        if len(self._frames) > known:
            self._add(known)
        addresses = self._addresses[ids]
        self._note_files(addresses, column, process)
        return addresses

    def take_new(self) -> tuple[list[Symbol], list[Mapped]]:
        """Return the functions and the mappings since the last call."""
        new = self._new_symbols, self._new_mapped
        self._new_symbols, self._new_mapped = [], []
        return new

    def note_kernel(self, addresses: Iterable[int], file: bytes = b"") -> None:
        """Note addresses of the kernel, in whose functions there are any; `file` is the module if it is known."""
        if self._symbols is None:
            return
        for address in addresses:
            found = self._symbols.lookup(address) if address >= _KERNEL_SPACE else None
            if found is not None:
                start = address - found[1]
                _, last, known = self._kernel.get(start, (b"", 0, _KERNEL_FILE))
                self._kernel[start] = found[0], max(last, address), file or known
                self.kernel_addresses.add(address)

    def kernel_symbols(self) -> list[Symbol]:
        """Return the functions of the kernel at plain addresses, in the order of their addresses."""
        found = []
        for number, (address, (name, last, file)) in enumerate(sorted(self._kernel.items()), 1):
            size = min(last - address + 1, _MOST_SYMBOL_BYTES)
            found.append(Symbol(address, size, name, file, _MOST_SYMBOL_BYTES + number))
        return found

    def table(self) -> tuple[NDArray[np.void], list[bytes]]:
        """Return the frames that are more than a plain address, in the order of addresses, and their texts."""
        frames = self._rows(1)
        table = np.zeros(len(frames), FRAME_TYPE)
        for name in _BYTES.names or ():
            table[name] = frames[name]
        table["address"] = self._addresses[1:]
        is_plain = (table["address"] == frames["rel_pc"]) & _is_bare(frames)
        table = table[~is_plain]
        table = table[np.argsort(table["address"], kind="stable")]
        texts = np.concatenate([table[name] for name in ("function", "mapping", "source")])
        used, numbers = np.unique(texts, return_inverse=True)
        numbers = numbers.reshape(3, -1)
        for name, column in zip(("function", "mapping", "source"), numbers, strict=True):
            table[name] = column
        return table, [self._strings[id] for id in used.tolist()]

    def _rows(self, first: int) -> NDArray[Any]:
        text = b"".join(self._frames[number] for number in range(first, len(self._frames)))
        return np.frombuffer(text, _BYTES)

    def _add(self, known: int) -> None:
        """Give each new frame an address."""
        frames = self._rows(known)
        addresses = frames["rel_pc"].copy()
        # Without a frame, a sample has the address 0.
        is_plain = _is_bare(frames) & (addresses < _FIRST_MARK) & (addresses != 0)
        for start, end in ((_FUNCTIONS, _FUNCTIONS_END), (_FILES, _FILES_END)):
            is_plain &= (addresses < np.uint64(start)) | (addresses >= np.uint64(end))
        if self._kernel_frames:
            is_plain &= ~np.isin(addresses, np.array(list(self._kernel_frames), np.uint64))
        kernel = np.unique(addresses[is_plain & (addresses >= np.uint64(_KERNEL_SPACE))]).tolist()
        self.note_kernel(kernel)
        self._plain.update(kernel)
        for row in np.flatnonzero(~is_plain).tolist():
            frame = frames[row]
            addresses[row] = self._address(
                int(frame["function"]), int(frame["mapping"]), int(frame["rel_pc"])
            )
        self._addresses = np.concatenate([self._addresses, addresses])

    def _address(self, function: int, mapping: int, rel_pc: int) -> int:
        if function == 0 and mapping and rel_pc < FILE_SIZE:
            if mapping not in self._files and len(self._files) < _MOST_FILES:
                self._files[mapping] = _FILES + len(self._files) * FILE_SIZE
                self._names.append(self._strings[mapping])
            start = self._files.get(mapping)
            if start is not None and start + rel_pc not in self._taken:
                self._taken.add(start + rel_pc)
                return start + rel_pc
        name = self._strings[function]
        if self._is_at(name, rel_pc):
            self._kernel_frames.add(rel_pc)
            self.note_kernel([rel_pc], self._strings[mapping])
            return rel_pc
        address, end, number = self._functions.get((function, mapping), (0, 0, 0))
        if not number:
            number = self._counts[mapping] = self._counts.get(mapping, 0) + 1
        if address == end:
            address = self._next_function
            end = address + FUNCTION_SIZE
            self._next_function = end
            if name:
                file, said_size = self._strings[mapping], FUNCTION_SIZE + number
                symbol = Symbol(address, FUNCTION_SIZE, name, file, said_size)
                self.symbols[address] = symbol
                self._new_symbols.append(symbol)
        self._functions[function, mapping] = address + 1, end, number
        return address

    def _is_at(self, name: bytes, address: int) -> bool:
        """Return True if a function of the kernel is at an address that no other frame has."""
        if self._symbols is None or not name or not _KERNEL_SPACE <= address < _FIRST_MARK:
            return False
        if address in self._plain or address in self._kernel_frames:
            return False
        if _FUNCTIONS <= address < _FUNCTIONS_END:
            return False
        found = self._symbols.lookup(address)
        return found is not None and found[0] == name

    def _note_files(
        self, addresses: NDArray[np.uint64], column: ListColumn, process: NDArray[np.int64]
    ) -> None:
        in_file = (addresses >= np.uint64(_FILES)) & (addresses < np.uint64(_FILES_END))
        if not in_file.any():
            return
        offsets = np.asarray(column.offsets, np.int64)
        rows = np.repeat(np.arange(len(process)), np.diff(offsets))
        at = np.flatnonzero(in_file[offsets[0] : offsets[-1]])
        number = (addresses[at + offsets[0]] - np.uint64(_FILES)) // np.uint64(FILE_SIZE)
        pairs = (process[rows[at]] << 16) | number.astype(np.int64)
        for pair in np.unique(pairs).tolist():
            if pair not in self._mapped:
                self._mapped.add(pair)
                start = _FILES + (pair & 0xFFFF) * FILE_SIZE
                name = self._names[(pair & 0xFFFF) + 1]
                self._new_mapped.append(Mapped(pair >> 16, start, name))


def _is_bare(frames: NDArray[Any]) -> NDArray[np.bool_]:
    """Return True for frames of which nothing but an address is known."""
    named = frames["function"] | frames["mapping"] | frames["source"]
    bare: NDArray[np.bool_] = (named == 0) & (frames["line"] == 0)
    return bare

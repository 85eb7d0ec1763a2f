"""Records that say for viewers what a new file's samples mean: names of threads, functions and files."""

from __future__ import annotations

import struct
from typing import Final

from converter.formats.perf.data.layout import CpuMode, RecordType
from converter.formats.perf.data.writing.frame_addresses import Symbol

#: The longest name in a record: with everything else, it has less than 64 KiB.
_LONGEST: Final = 4095
_HEADER: Final = struct.Struct("<IHH")
#: At the end of all records, see `SampleType`: process and thread, time, CPU and a reserved number, identifier.
_TRAILER: Final = struct.Struct("<iiQiIQ")
_TASK: Final = struct.Struct("<ii")
_FORK: Final = struct.Struct("<iiiiQ")
_MMAP: Final = struct.Struct("<iiQQQ")
_MMAP2: Final = struct.Struct("<IIQQII")
_KSYMBOL: Final = struct.Struct("<QIHH")
#: PROT_READ and PROT_EXEC; MAP_PRIVATE.
_PROTECTION: Final = 5
_PRIVATE: Final = 2
_KERNEL_MAP: Final = b"[kernel.kallsyms]_text"
#: Where no function of the kernel is: else perf takes plain addresses for functions of the kernel that it runs on.
_NO_KERNEL: Final = 0xFFFF_FFFF_FFFF_0000


class Records:
    """Makes records without a time, which perf takes at once; `id` is an id of samples with a CPU."""

    def __init__(self, id: int) -> None:
        self._id = id

    def comm(self, pid: int, tid: int, name: bytes) -> bytes:
        """Return the name of a thread."""
        return self._record(RecordType.COMM, 0, _TASK.pack(pid, tid) + _text(name), pid, tid)

    def fork(self, pid: int, parent: int) -> bytes:
        """Return a process with its parent."""
        data = _FORK.pack(pid, parent, pid, parent, 0)
        return self._record(RecordType.FORK, 0, data, pid, pid)

    def mapping(self, pid: int, start: int, size: int, name: bytes) -> bytes:
        """Return a file in the address space of a process."""
        data = _MMAP.pack(pid, pid, start, size, 0)
        data += _MMAP2.pack(0, 0, 0, 0, _PROTECTION, _PRIVATE) + _text(name)
        return self._record(RecordType.MMAP2, CpuMode.USER, data, pid, pid)

    def kernel(self) -> bytes:
        """Return a mapping of the kernel that has no function."""
        data = _MMAP.pack(-1, 0, _NO_KERNEL, 0x1000, _NO_KERNEL) + _text(_KERNEL_MAP)
        return self._record(RecordType.MMAP, CpuMode.KERNEL, data, -1, 0)

    def symbol(self, symbol: Symbol) -> bytes:
        """Return a function, which has the kernel's address space.

        perf calls the file as the first symbol at an address. With the function before and after it in the tree of
        symbols, it finds the middle one of three of the same start.
        """
        if not symbol.file:
            return self._symbol(symbol.address, symbol.size, symbol.name)
        named = self._symbol(symbol.address, symbol.said_size, symbol.name)
        return self._symbol(symbol.address, symbol.size, symbol.file) + named + named

    def _symbol(self, address: int, size: int, name: bytes) -> bytes:
        data = _KSYMBOL.pack(address, size, 0, 0) + _text(name)
        return self._record(RecordType.KSYMBOL, 0, data, -1, 0)

    def _record(self, kind: RecordType, misc: int, data: bytes, pid: int, tid: int) -> bytes:
        data += _TRAILER.pack(pid, tid, 0, -1, 0, self._id)
        return _HEADER.pack(kind, misc, _HEADER.size + len(data)) + data


def _text(text: bytes) -> bytes:
    """Return a text with NUL bytes to a multiple of 8."""
    text = text.partition(b"\0")[0][:_LONGEST]
    return text + bytes(8 - len(text) % 8)

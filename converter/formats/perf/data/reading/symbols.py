"""Names of functions: the kernel's from kallsyms, those of programs from files of the recorded machine."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.errors import RemarkError, TraceError
from converter.formats.elf.demangle import demangled
from converter.formats.elf.functions import Functions, functions_of, functions_of_map
from converter.formats.ftrace.symbols import symbols_of_text
from converter.formats.perf.data.layout import Feature
from converter.formats.perf.data.mapping import KERNEL
from converter.formats.perf.data.reading.opening import PerfFile
from converter.ir.symbols import SymbolTable
from converter.kernels.tables.strings import StringTable
from converter.limits import allowed, limit
from converter.storage.opening import open_source
from converter.storage.source import Source

#: The name that perf gives the file with the functions that a program has made.
_MADE: Final = re.compile(r"/tmp/perf-\d+\.map")  # noqa: S108 - a name in recordings
#: A record of BUILD_ID: a header, pid, and the id with its padding; the file's name follows.
_NAME_AT: Final = 36
_BUILD_ID_AT: Final = 12
_BUILD_ID_SIZE_AT: Final = 32
_HAS_SIZE: Final = 1 << 15
_ID_SIZE: Final = 20


def kernel_symbols_of(path: str) -> SymbolTable:
    """Return the functions in a file like /proc/kallsyms.

    Raises:
        TraceError: it cannot be read, or is too large.

    """
    with open_source(path) as source:
        if source.size > limit("perf.symbols"):
            expected = allowed("perf.symbols")
            raise TraceError(path=path, expected=expected, found=source.size)
        return symbols_of_text(source.read(0, source.size))


class Symboliser:
    """Finds the functions of frames.

    Args:
        file: the recording.
        strings: of the trace.
        kernel: the kernel's functions, None if unknown.
        symfs: the folder with the files of the recorded machine, None if there is none.

    """

    def __init__(
        self, file: PerfFile, strings: StringTable, kernel: SymbolTable | None, symfs: str | None
    ) -> None:
        self._file = file
        self._strings = strings
        self._kernel = kernel
        self._symfs = symfs
        self._build_ids = _build_ids(file)
        self._functions: dict[int, Functions | None] = {}
        self._kernel_id = strings.intern(KERNEL)

    def __call__(self, mapping: NDArray[np.int32], offset: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the functions of frames as ids of strings, 0 for unknown ones."""
        found = np.zeros(len(mapping), np.int32)
        for number in np.unique(mapping).tolist():
            at = np.flatnonzero(mapping == number)
            if number == self._kernel_id:
                found[at] = self._in_kernel(offset[at])
                continue
            functions = self._of_mapping(number) if number and self._symfs is not None else None
            if functions is not None and len(functions.names):
                places = functions.find(offset[at])
                named = {
                    place: self._strings.intern(_shown(functions.names[place]))
                    for place in np.unique(places).tolist()
                    if place >= 0
                }
                found[at] = [named.get(place, 0) for place in places.tolist()]
        return found

    def _in_kernel(self, addresses: NDArray[np.uint64]) -> list[int]:
        if self._kernel is None:
            return [0] * len(addresses)
        found = (self._kernel.lookup(address) for address in addresses.tolist())
        return [0 if one is None else self._strings.intern(one[0]) for one in found]

    def _of_mapping(self, number: int) -> Functions | None:
        """Return the functions of a mapping's file, None if there is none."""
        if number not in self._functions:
            name = self._strings[number].decode("utf-8", "surrogateescape")
            self._functions[number] = self._read(name)
        return self._functions[number]

    def _read(self, name: str) -> Functions | None:
        path = PurePosixPath(name)
        if not path.is_absolute() or ".." in path.parts or "\0" in name or self._symfs is None:
            return None
        inside = str(PurePosixPath(self._symfs) / path.relative_to("/"))
        try:
            with open_source(inside) as source:
                if _MADE.fullmatch(name):
                    size = min(source.size, limit("perf.symbols"))
                    return functions_of_map(source.read(0, size))
                functions = functions_of(source, self._open_debug)
        except (TraceError, OSError):
            # Most mappings have no file there, or one without symbols.
            return None
        expected = self._build_ids.get(name)
        if expected and functions.build_id and not functions.build_id.startswith(expected):
            message = f"{inside} is not the file that was recorded: its functions are not used"
            self._file.warn(RemarkError(message))
            return None
        return functions

    def _open_debug(self, build_id: bytes) -> Source | None:
        """Open the file with the symbols of one that has none, where distributions put it."""
        name = build_id.hex()
        place = PurePosixPath(self._symfs or "/") / "usr/lib/debug/.build-id" / name[:2]
        try:
            return open_source(str(place / f"{name[2:]}.debug"))
        except (TraceError, OSError):
            return None


def _shown(name: bytes) -> str:
    return demangled(name.decode("utf-8", "surrogateescape"))


def _build_ids(file: PerfFile) -> dict[str, bytes]:
    """Return the build ids that a recording has, by the names of files."""
    data = file.features.get(Feature.BUILD_ID, b"")
    order = "big" if file.big_endian else "little"
    found: dict[str, bytes] = {}
    at = 0
    while at + _NAME_AT <= len(data):
        misc = int.from_bytes(data[at + 4 : at + 6], order)  # type: ignore[arg-type]
        size = int.from_bytes(data[at + 6 : at + 8], order)  # type: ignore[arg-type]
        if size < _NAME_AT:
            break
        length = data[at + _BUILD_ID_SIZE_AT] if misc & _HAS_SIZE else _ID_SIZE
        name = data[at + _NAME_AT : at + size].partition(b"\0")[0]
        id = data[at + _BUILD_ID_AT : at + _BUILD_ID_AT + min(length, _ID_SIZE)]
        found[name.decode("utf-8", "surrogateescape")] = id
        at += size
    return found

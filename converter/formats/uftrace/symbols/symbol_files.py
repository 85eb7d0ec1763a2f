"""Symbols of programs and libraries, and their addresses in a session (utils/symbol.c, utils/session.c).

A .sym file has addresses relative to the start of its file's mapping, ascending:

    # symbols: 241
    # path name: /usr/bin/x
    # build-id: b865df09af6e030c80722d7c2579e89e42781b40
    0000000000002030 P printf
    0000000000001119 00000022 T helper        (with the size, since uftrace 0.14)
    0000000000009328 ? __sym_end              (the end of the symbols before it; without sizes)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from posixpath import basename

import numpy as np
from numpy.typing import NDArray

from converter.errors import RemarkError, TraceError
from converter.formats.uftrace.directory import DataDirectory
from converter.formats.uftrace.layout import Feature
from converter.formats.uftrace.symbols.debug_info import DebugInfo, parse_debug_info
from converter.formats.uftrace.task_sessions import Library, Session
from converter.limits import allowed, limit

_SYMBOL = re.compile(rb"([0-9a-fA-F]{1,16}) (?:([0-9a-fA-F]{1,16}) )?(\S) (.*)")
_MAPPING = re.compile(
    rb"([0-9a-fA-F]{1,16})-([0-9a-fA-F]{1,16}) +\S{4} +[0-9a-fA-F]+ +\S+ +\d+ +(\S.*)"
)
_BUILD_ID = re.compile(rb" build-id:([0-9a-fA-F]*)$")
_ID_LINE = b"# build-id: "
#: The letter of an end in files without sizes.
_END = b"?"
#: The maximum size of a library opened later, whose map is not recorded, beyond its mapping at the base.
_LIBRARY_SIZE = 1 << 32
_PAGE = 0x1000
#: The module of the functions of a Python program (UFTRACE_PYTHON_SYMTAB_NAME): no map names it. Its addresses are the
#: numbers of functions, from 1 on, in every session.
_PYTHON = "python.fake"


@dataclass(frozen=True, slots=True)
class Symbols:
    """The symbols of a file: starts and ends (uint64, relative) ascending, and their unmodified names."""

    starts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    names: list[bytes]
    debug_info: DebugInfo


class Module:
    """A file with symbols, which are read on demand."""

    def __init__(self, directory: DataDirectory, file: str, path: str) -> None:
        self.path = path
        self._directory = directory
        self._file = file
        self._symbols: Symbols | None = None

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return basename(self.path)

    @property
    def symbols(self) -> Symbols:
        """The symbols; those that cannot be read are omitted with a warning."""
        if self._symbols is None:
            self._symbols = self._load()
        return self._symbols

    def _load(self) -> Symbols:
        text = self._directory.read_if_there(self._file) or b""
        starts, ends, names, bad = parse_symbols(text)
        if bad:
            error = TraceError(f"{bad} lines are no symbols", field="symbols")
            self._directory.warn(error, self._file)
        info = DebugInfo()
        # A Python program writes its own files, whatever the recorder says of others.
        if self._directory.header.features & Feature.DEBUG_INFO or self.path == _PYTHON:
            name = f"{self._file.removesuffix('.sym')}.dbg"
            info = parse_debug_info(self._directory.read_if_there(name) or b"")
        return Symbols(np.array(starts, np.uint64), np.array(ends, np.uint64), names, info)


@dataclass(frozen=True, slots=True)
class Mapping:
    """A file in memory."""

    start: int
    end: int
    path: str
    build_id: bytes = b""


def parse_symbols(text: bytes) -> tuple[list[int], list[int], list[bytes], int]:
    """Return starts, ends and names of a .sym file's symbols, ascending, and the number of invalid lines."""
    bad = 0
    found: list[tuple[int, int | None, bytes | None]] = []
    for line in text.split(b"\n"):
        if not line or line.startswith(b"#"):
            continue
        match = _SYMBOL.fullmatch(line)
        if match is None:
            bad += 1
            continue
        size = int(match[2], 16) if match[2] else None
        name = None if match[3] == _END else match[4]
        found.append((int(match[1], 16), size, name))
    found.sort(key=lambda item: item[0])
    starts: list[int] = []
    ends: list[int] = []
    names: list[bytes] = []
    for index, (start, size, name) in enumerate(found):
        following = found[index + 1][0] if index + 1 < len(found) else (1 << 64) - 1
        if name is None or (size is None and following == start):
            continue
        starts.append(start)
        ends.append(min(start + size, following) if size else following)
        names.append(name)
    return starts, ends, names, bad


def parse_mappings(text: bytes) -> tuple[list[Mapping], int]:
    """Return the files of a map, ascending by address, and the number of invalid lines.

    Consecutive lines of one file are one mapping.
    """
    mappings: list[Mapping] = []
    bad = 0
    for line in text.split(b"\n"):
        if not line:
            continue
        match = _MAPPING.fullmatch(line)
        if match is None:
            # Anonymous memory has no path.
            bad += line.count(b" ") < 4
            continue
        path = match[3]
        build_id = b""
        if tail := _BUILD_ID.search(path):
            build_id = tail[1]
            path = path[: tail.start()]
        name = path.rstrip().decode("utf-8", "surrogateescape")
        if name.startswith("["):
            continue
        start, end = int(match[1], 16), int(match[2], 16)
        if mappings and mappings[-1].path == name and mappings[-1].end <= end:
            start = mappings.pop().start
        if start < end:
            mappings.append(Mapping(start, end, name, build_id))
        else:
            bad += 1
    mappings.sort(key=lambda mapping: mapping.start)
    return mappings, bad


class Modules:
    """The symbols of all files, each read once, and the address spaces of sessions built from them."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        self.all: list[Module] = []
        self._numbers: dict[str, int] = {}
        self._mappings: dict[str, list[Mapping]] = {}
        self._steps_left = limit("uftrace.layout")
        self._relative = bool(directory.header.features & Feature.SYM_REL_ADDR)

    def space(self, session: Session, libraries: list[Library]) -> list[tuple[int, int, int, int]]:
        """Return (start, end, base of symbols, module or -1) of a session's mappings, ascending, without overlaps."""
        mappings = self._mapped(session.sid)
        steps = (len(mappings) + len(libraries)) * (1 + len(libraries))
        self._steps_left -= steps
        if self._steps_left < 0:
            expected = allowed("uftrace.layout")
            what = "too many sessions and libraries: no symbols"
            self._directory.warn(RemarkError(what, expected=expected))
            return []
        for library in libraries:
            end = library.base + self._extent(library)
            mappings = [
                known for known in mappings if known.end <= library.base or known.start >= end
            ]
            mappings.append(Mapping(library.base, end, library.path))
        mappings = sorted(mappings, key=lambda mapping: mapping.start)
        found: list[tuple[int, int, int, int]] = []
        for mapping in mappings:
            start = max(mapping.start, found[-1][1] if found else 0)
            if start < mapping.end:
                module = self.number(mapping)
                base = mapping.start if self._relative else 0
                found.append((start, mapping.end, base, module))
        return found

    def _mapped(self, sid: str) -> list[Mapping]:
        """Return the mappings of a session id, which several sessions can share."""
        if sid not in self._mappings:
            name = f"sid-{sid}.map"
            text = self._directory.read_if_there(name)
            if text is None:
                self._directory.warn(
                    TraceError("there is no map: functions are addresses", field="map"), name
                )
                text = b""
            self._mappings[sid], bad = parse_mappings(text)
            if bad:
                self._directory.warn(TraceError(f"{bad} lines are no mappings", field="map"), name)
            self._mappings[sid][:0] = self._python()
        return self._mappings[sid]

    def _python(self) -> list[Mapping]:
        """Return the mapping of a Python program's functions, which comes before all others at the same addresses."""
        if f"{_PYTHON}.sym" not in self._directory:
            return []
        mapping = Mapping(0, 0, _PYTHON)
        symbols = self.all[self.number(mapping)].symbols
        last = int(symbols.starts[-1]) if symbols.names else 0
        pages = min(max(len(symbols.names), last + 1), _LIBRARY_SIZE)
        return [replace(mapping, end=-(-pages // _PAGE) * _PAGE)]

    def _extent(self, library: Library) -> int:
        number = self.number(Mapping(0, 0, library.path))
        symbols = self.all[number].symbols if number >= 0 else None
        last = 1 if symbols is None or not symbols.names else int(symbols.ends[-1])
        if symbols is not None and last == (1 << 64) - 1:
            last = int(symbols.starts[-1]) + _PAGE
        return min(max(last, 1), _LIBRARY_SIZE, (1 << 64) - 1 - library.base)

    def number(self, mapping: Mapping) -> int:
        """Return the number of a mapping's module; -1 if it has no symbols."""
        file = self._file(mapping)
        if file is None:
            return -1
        if file not in self._numbers:
            self._numbers[file] = len(self.all)
            self.all.append(Module(self._directory, file, mapping.path))
        return self._numbers[file]

    def _file(self, mapping: Mapping) -> str | None:
        """Return the .sym file: by name, or by build id where two files have the same name."""
        name = basename(mapping.path)
        if mapping.build_id:
            distinct = f"{name}-{mapping.build_id[:4].decode('ascii')}.sym"
            if distinct in self._directory:
                return distinct
        usual = f"{name}.sym"
        return usual if name and usual in self._directory else None


def space_times(
    session: Session, start: int, warn: Callable[[TraceError], None]
) -> list[tuple[int, list[Library]]]:
    """Return the libraries of a session by start time; the session is current from `start` on.

    A library is present from the start, since calls into it precede the record of its opening, unless it replaced
    another one: then both are distinguished by time.
    """
    times: list[tuple[int, dict[int, Library]]] = [(start, {})]
    for library in sorted(session.libraries, key=lambda item: item.time):
        last, known = times[-1]
        if library.base in known:
            if len(times) > limit("uftrace.replaced"):
                what = "libraries opened in place of others are not distinguished"
                warn(TraceError(what, expected=allowed("uftrace.replaced")))
                break
            known = {base: other for base, other in known.items() if base != library.base}
            times.append((max(library.time, last + 1), known))
        known[library.base] = library
    return [(time, list(known.values())) for time, known in times]

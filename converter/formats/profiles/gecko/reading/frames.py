"""Frames and stacks: the tables of functions, libraries, sources and addresses of a thread, or shared by all."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.gecko.reading.tables import (
    addresses_of,
    columns,
    dictionary,
    numbers_of,
    padded,
    values_at,
)
from converter.formats.profiles.trees import FrameTable
from converter.kernels.tables.strings import StringTable

#: Locations of raw profiles, as the profiler splits them: an address; a function of a library; one of a script.
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{1,16}")
_NATIVE: Final = re.compile(r"(.*) \(in ([^)]*)\) (\+ [0-9]+)")
_SCRIPT: Final = re.compile(r"(.*) \((.+?):([0-9]{1,9})(?::[0-9]+)?\)")
_FILE: Final = re.compile(r"(.+?):([0-9]{1,9})(?::[0-9]+)?")
#: Longer texts are names as they are: what splits texts takes too long for them.
_LONGEST: Final = 1 << 12
#: What the profiler calls the code of a file that is in no function.
_ROOT: Final = "(root scope)"

_Made = TypeVar("_Made")
_Texts = NDArray[np.int64]
#: A location in parts: function, mapping, address in it, source file, line.
_Location = tuple[str, str, int, str, int]


@dataclass(frozen=True, slots=True)
class Stacks:
    """Frames by number, and stacks: the one around each, its innermost frame, and its category (-1: none)."""

    frames: FrameTable
    outer: NDArray[np.int64]
    frame: NDArray[np.int32]
    category: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.outer)


class FrameReader:
    """Reads tables of frames; texts become strings of the trace."""

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        self._made: dict[tuple[str, int], tuple[list[Any], Any]] = {}

    def texts(self, listed_strings: list[Any]) -> _Texts:
        """Return the string of each text of a list."""
        return self._once("texts", listed_strings, self._texts)

    def _texts(self, texts: list[Any]) -> _Texts:
        return np.array(
            [self._intern(one if isinstance(one, str) else str(one)) for one in texts], np.int64
        )

    def _once(self, what: str, items: list[Any], make: Callable[[list[Any]], _Made]) -> _Made:
        """Return what is made of a list, which several threads may share."""
        if not items:
            return make(items)
        known = self._made.get((what, id(items)))
        if known is None:
            # The list is kept, so that no other gets its id.
            known = self._made[what, id(items)] = items, make(items)
        made: _Made = known[1]
        return made

    def _intern(self, text: str) -> int:
        return self._strings.intern(text.encode("utf-8", "replace"))

    def stacks(
        self, tables: dict[str, Any], strings: list[Any], libs: list[Any], sources: dict[str, Any]
    ) -> Stacks:
        """Return the stacks of tables.

        Args:
            tables: the object with the tables, of a thread or of all.
            strings: the texts that they refer to.
            libs: the libraries of the profile.
            sources: the table of source files of newer profiles.

        """
        frame_table = dictionary(tables, "frameTable")
        location, function, line, address, category = columns(
            frame_table, "location", "func", "line", "address", "category"
        )
        if location:
            frames = self._located(location, line, strings, libs)
        else:
            frames = self._processed(tables, strings, libs, sources, (function, line, address))
        stack_table = dictionary(tables, "stackTable")
        prefix, frame, own_category = columns(stack_table, "prefix", "frame", "category")
        outer = numbers_of(padded(prefix, len(frame)))
        # The stack around one must have a lower index.
        outer[outer >= np.arange(len(outer))] = -1
        innermost = numbers_of(frame)
        innermost[innermost >= len(frames)] = -1
        if own_category:
            categories = numbers_of(padded(own_category, len(frame)))
        else:
            of_frames = numbers_of(padded(category, len(frames)))
            categories = np.append(of_frames, -1)[innermost]
            categories = _inherited(categories, outer)
        # What is no frame is one of which nothing is known.
        known = FrameTable(*(np.append(one, one.dtype.type(0)) for one in _columns_of(frames)))
        innermost[innermost < 0] = len(frames)
        return Stacks(known, outer, innermost.astype(np.int32), categories)

    def _processed(
        self,
        tables: dict[str, Any],
        strings: list[Any],
        libs: list[Any],
        sources: dict[str, Any],
        of_frames: tuple[list[Any], list[Any], list[Any]],
    ) -> FrameTable:
        names = self.texts(strings)
        function, line, address = of_frames
        count = len(function)
        index = numbers_of(function)
        name, resource, file, source = columns(
            dictionary(tables, "funcTable"), "name", "resource", "fileName", "source"
        )
        functions = values_at(values_at(names, numbers_of(name)), index)
        if source:
            file_names, urls = columns(sources, "filename", "url")
            of_sources = values_at(names, numbers_of(file_names or urls))
            files = values_at(of_sources, numbers_of(source))
        else:
            files = values_at(names, numbers_of(file))
        mapping = values_at(self._resources(tables, names, libs), numbers_of(resource))
        rel_pc = addresses_of(address, count)
        functions = self._without_addresses(functions, rel_pc)
        return FrameTable(
            functions.astype(np.int32),
            values_at(mapping, index).astype(np.int32),
            rel_pc,
            values_at(files, index).astype(np.int32),
            _lines(line, count),
        )

    def _resources(self, tables: dict[str, Any], names: _Texts, libs: list[Any]) -> _Texts:
        """Return the name of each resource: its own, or that of its library."""
        lib, name = columns(dictionary(tables, "resourceTable"), "lib", "name")
        found = values_at(names, numbers_of(name))
        if (found == 0).any() or len(lib) > len(found):
            of_libs = self._once(
                "libs", libs, lambda libs: self._texts([_name_of(one) for one in libs])
            )
            count = max(len(found), len(lib))
            found = np.append(found, np.zeros(count - len(found), np.int64))
            libraries = values_at(of_libs, numbers_of(padded(lib, count)))
            found = np.where(found == 0, libraries, found)
        return found

    def _without_addresses(self, functions: _Texts, address: NDArray[np.uint64]) -> _Texts:
        """Remove names that are only the address of the frame, as profiles without symbols have them."""
        rows = np.flatnonzero(address)
        if not len(rows):
            return functions
        functions = functions.copy()
        for row, function, at in zip(
            rows.tolist(), functions[rows].tolist(), address[rows].tolist(), strict=True
        ):
            text = self._strings[function]
            if text.startswith(b"0x") and text.lower() == b"0x%x" % at:
                functions[row] = 0
        return functions

    def _located(
        self, location: list[Any], line: list[Any], strings: list[Any], libs: list[Any]
    ) -> FrameTable:
        """Return the frames of raw profiles, whose locations are texts."""
        split = self._once(
            "locations",
            strings,
            lambda texts: _split_all(texts, self._once("ranges", libs, _ranges)),
        )
        empty: _Location = ("", "", 0, "", 0)
        numbers = numbers_of(location)
        numbers[numbers >= len(split)] = -1
        chosen = [split[number] if number >= 0 else empty for number in numbers.tolist()]
        lines = _lines(line, len(location))
        of_text = np.array([one[4] for one in chosen], np.uint32)
        return FrameTable(
            np.array([self._intern(one[0]) for one in chosen], np.int32),
            np.array([self._intern(one[1]) for one in chosen], np.int32),
            np.array([one[2] for one in chosen], np.uint64),
            np.array([self._intern(one[3]) for one in chosen], np.int32),
            np.where(lines == 0, of_text, lines),
        )


def _columns_of(frames: FrameTable) -> tuple[NDArray[Any], ...]:
    return frames.function, frames.mapping, frames.rel_pc, frames.source, frames.line


def _lines(line: list[Any], count: int) -> NDArray[np.uint32]:
    """Return line numbers, 0 where there is none."""
    lines = numbers_of(padded(line, count))
    return np.where(lines < 0, 0, lines).astype(np.uint32)


def _inherited(category: NDArray[np.int64], outer: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the category of each stack: that of its frame, or else of the stack around it."""
    result, around = category.copy(), outer.copy()
    # All at once: each step looks twice as far.
    while (missing := (result < 0) & (around >= 0)).any():
        at = np.flatnonzero(missing)
        further = around[at]
        result[at], around[at] = result[further], around[further]
    return result


def _name_of(lib: Any) -> str:
    """Return the name of a library."""
    if not isinstance(lib, dict):
        return ""
    return next((lib[key] for key in ("name", "debugName") if isinstance(lib.get(key), str)), "")


def _ranges(libs: list[Any]) -> list[tuple[int, int, str]]:
    """Return where libraries were in memory."""
    return sorted(
        (lib["start"], lib["end"], _name_of(lib))
        for lib in libs
        if isinstance(lib, dict)
        and type(lib.get("start")) is int
        and type(lib.get("end")) is int
        and 0 <= lib["start"] < lib["end"] < 1 << 64
    )


def _split_all(texts: list[Any], ranges: list[tuple[int, int, str]]) -> list[_Location]:
    return [_split(one if isinstance(one, str) else str(one), ranges) for one in texts]


def _split(text: str, ranges: list[tuple[int, int, str]]) -> _Location:
    if len(text) > _LONGEST:
        return text, "", 0, "", 0
    if _ADDRESS.fullmatch(text):
        at = int(text, 16)
        number = bisect_right(ranges, at, key=lambda one: one[0]) - 1
        if number >= 0 and at < ranges[number][1]:
            start, _, name = ranges[number]
            return "", name, at - start, "", 0
        return "", "", at, "", 0
    if found := _NATIVE.fullmatch(text):
        return found[1], found[2], 0, "", 0
    if found := _SCRIPT.fullmatch(text):
        return found[1], "", 0, found[2], int(found[3])
    if found := _FILE.fullmatch(text):
        return _ROOT, "", 0, found[1], int(found[2])
    return text, "", 0, "", 0

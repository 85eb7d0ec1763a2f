"""Locations, functions and mappings of a profile that is written: a location per frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.pprof.layout import (
    FunctionField,
    LineField,
    LocationField,
    MappingField,
    ProfileField,
)
from converter.formats.profiles.pprof.writing.strings import Strings
from converter.kernels.protobuf.encode import ENCODED, NUMBER, encode_messages

_Numbers = NDArray[np.uint64]


class Bases(NamedTuple):
    """The highest ids that there are: new ones follow."""

    location: int = 0
    function: int = 0
    mapping: int = 0


def location_messages(frames: NDArray[np.void], strings: Strings, bases: Bases) -> list[bytes]:
    """Return mappings, locations and functions for frames, with a location each, in their order.

    Args:
        frames: rows of `StackTable.frames`.
        strings: the string table, which gets what they are called.
        bases: after which ids begin.

    """
    count = len(frames)
    named = (frames["function"] != 0) | (frames["source"] != 0) | (frames["line"] != 0)
    pairs = np.stack([frames["function"], frames["source"]], axis=1)[named]
    functions, which = np.unique(pairs, axis=0, return_inverse=True)
    function = which.reshape(-1).astype(np.uint64) + np.uint64(1 + bases.function)
    line = frames["line"][named].astype(np.uint64)
    lines, line_offsets = encode_messages(
        LocationField.LINE,
        len(line),
        [
            (LineField.FUNCTION_ID, NUMBER, function, None),
            (LineField.LINE, NUMBER, line, None),
        ],
    )
    of_frame = np.concatenate([np.zeros(1, np.int64), np.cumsum(named)])
    binaries, mapping = np.unique(frames["mapping"], return_inverse=True)
    # The frames of no binary are first, if there are any.
    has_none = len(binaries) > 0 and int(binaries[0]) == 0
    number = mapping.reshape(-1).astype(np.uint64) + np.uint64(not has_none)
    mapping_id = np.where(number == 0, number, number + np.uint64(bases.mapping))
    address = np.ascontiguousarray(frames["address"])
    locations, _ = encode_messages(
        ProfileField.LOCATION,
        count,
        [
            (LocationField.ID, NUMBER, _ids(count, bases.location), None),
            (LocationField.MAPPING_ID, NUMBER, mapping_id, None),
            (LocationField.ADDRESS, NUMBER, address, None),
            (LocationField.LINE, ENCODED, lines, line_offsets[of_frame]),
        ],
    )
    last = np.zeros(len(binaries) + 1, np.uint64)
    np.maximum.at(last, number.astype(np.int64), address)
    binaries = binaries[int(has_none) :]
    mappings = _mappings(binaries, last[1 : len(binaries) + 1], strings, bases.mapping)
    return [mappings, locations.tobytes(), _functions(functions, strings, bases.function)]


def _functions(functions: NDArray[np.int32], strings: Strings, base: int) -> bytes:
    names, files = (strings.indexes(functions[:, i]) for i in (0, 1))
    data, _ = encode_messages(
        ProfileField.FUNCTION,
        len(functions),
        [
            (FunctionField.ID, NUMBER, _ids(len(functions), base), None),
            (FunctionField.NAME, NUMBER, names, None),
            (FunctionField.SYSTEM_NAME, NUMBER, names, None),
            (FunctionField.FILENAME, NUMBER, files, None),
        ],
    )
    return data.tobytes()


def _mappings(binaries: NDArray[np.int32], last: _Numbers, strings: Strings, base: int) -> bytes:
    """Return a mapping per binary, from its offset 0 to after the last address: addresses are offsets in the file."""
    count = len(binaries)
    # Where no address is known, neither is the end.
    unmoved = (last == 0) | (last == np.iinfo(np.uint64).max)
    limit = np.where(unmoved, last, last + np.uint64(1))
    yes = np.ones(count, np.uint64)
    data, _ = encode_messages(
        ProfileField.MAPPING,
        count,
        [
            (MappingField.ID, NUMBER, _ids(count, base), None),
            (MappingField.MEMORY_LIMIT, NUMBER, limit, None),
            (MappingField.FILENAME, NUMBER, strings.indexes(binaries), None),
            (MappingField.HAS_FUNCTIONS, NUMBER, yes, None),
            (MappingField.HAS_FILENAMES, NUMBER, yes, None),
            (MappingField.HAS_LINE_NUMBERS, NUMBER, yes, None),
            (MappingField.HAS_INLINE_FRAMES, NUMBER, yes, None),
        ],
    )
    return data.tobytes()


def _ids(count: int, base: int) -> _Numbers:
    return np.arange(base + 1, base + count + 1, dtype=np.uint64)

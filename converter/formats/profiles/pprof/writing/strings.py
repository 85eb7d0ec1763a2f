"""The string table of a profile that is written: each text once, the first of which is empty."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.profiles.pprof.layout import ProfileField
from converter.kernels.protobuf.encode import varint
from converter.kernels.tables.strings import StringTable

_TAG: Final = varint(ProfileField.STRING_TABLE << 3 | 2)


class Strings:
    """Indexes of strings, by their ids in the trace: those of a profile that was read, and new ones after them."""

    def __init__(self, strings: StringTable, known: NDArray[np.int32]) -> None:
        """Start with the strings of a profile that was read, by their indexes there; none for a new profile."""
        self._strings = strings
        self._is_new = not len(known)
        #: The index of a second empty string: a label whose text has index 0 is a number.
        self.empty_text = max(len(known), 1)
        self._index = np.zeros(len(strings), np.uint64)
        # Of equal strings, the first counts.
        self._index[known[::-1]] = np.arange(len(known), dtype=np.uint64)[::-1]
        self._ids: list[int] = []

    def indexes(self, ids: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Return the indexes of strings by their ids; that of the empty one is 0."""
        if len(self._strings) > len(self._index):
            room = np.zeros(2 * len(self._strings) - len(self._index), np.uint64)
            self._index = np.concatenate([self._index, room])
        found = np.unique(ids)
        new = found[(self._index[found] == 0) & (found != 0)]
        if len(new):
            first = self.empty_text + 1 + len(self._ids)
            self._index[new] = np.arange(first, first + len(new), dtype=np.uint64)
            self._ids.extend(new.tolist())
        return np.where(ids == 0, np.uint64(0), self._index[ids])

    def index(self, text: str | bytes) -> int:
        """Return the index of a text."""
        id = self._strings.intern(text)
        return int(self.indexes(np.array([id], np.int32))[0])

    def encoded(self) -> bytes:
        """Return the fields of the new strings, which follow those that were read."""
        parts = [_TAG + b"\0"] * (1 + self._is_new)
        for id in self._ids:
            text = self._strings[id]
            parts.append(_TAG + varint(len(text)) + text)
        return b"".join(parts)

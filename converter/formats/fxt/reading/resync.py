"""Finds the record where reading continues after damage: one with parts of consistent lengths, with more records after
it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from converter.formats.fxt.record_types import RecordType
from converter.limits import limit
from converter.storage.source import Source

#: This many records must follow each other, unless the file ends earlier.
_IN_A_ROW = 4
#: The file is searched in parts of this many words; a record that is searched for is not longer.
_SEARCHED_WORDS = 1 << 17
_MOST_WORDS = 1 << 12
_LAST_EVENT_KIND = 10
_LAST_ARGUMENT_TYPE = 10
_SWITCH, _WAKEUP = 1, 2
#: If this bit of a string reference is set, its other bits are the length of an inline string.
_INLINE = 0x8000


class Search:
    """Searches for records in one file, whose records start at multiples of 8 bytes."""

    def __init__(self, source: Source, order: Literal["little", "big"]) -> None:
        self._source = source
        self._type = np.dtype(np.uint64).newbyteorder("<" if order == "little" else ">")
        self._gaps = 0
        self._most_gaps = limit("holes")
        #: True once there are more gaps than the limit allows: the search has ended.
        self.given_up = False

    def next(self, offset: int, end: int | None = None, *, cut_off: bool = False) -> int | None:
        """Return the offset of the first of several records between `offset` and `end`, None if there are none.

        In a record that is `cut_off` at the end of the file, no record found inside counts as ending there.
        """
        if self.given_up:
            return None
        found = self._found(offset, end, cut_off=cut_off)
        if found is None:
            return None
        self.given_up = self._gaps == self._most_gaps
        self._gaps += 1
        return None if self.given_up else found

    def _found(self, offset: int, end: int | None, *, cut_off: bool) -> int | None:
        source = self._source
        end = min(source.size if end is None else end, source.size)
        for start in range(offset, end - 7, 8 * _SEARCHED_WORDS):
            searched = min(_SEARCHED_WORDS, (end - start) // 8)
            data = source.read(start, 8 * (searched + _IN_A_ROW * _MOST_WORDS))
            words = np.frombuffer(data, self._type, len(data) // 8)
            at_end = not cut_off and start + len(data) >= source.size
            for at in _candidates(words[:searched]).tolist():
                if _are_records(words, at, at_end=at_end):
                    return int(start + 8 * at)
        return None


def _candidates(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the indices of words that may be the header of an event, or of a switch or wakeup."""
    kind = words & np.uint64(15)
    events = (kind == RecordType.EVENT) & (
        (words >> np.uint64(16)) & np.uint64(15) <= _LAST_EVENT_KIND
    )
    what = words >> np.uint64(60)
    scheduling = (kind == RecordType.SCHEDULING) & ((what == _SWITCH) | (what == _WAKEUP))
    return np.flatnonzero(events | scheduling)


def _are_records(words: NDArray[np.uint64], at: int, *, at_end: bool) -> bool:
    for _ in range(1 + _IN_A_ROW):
        if at == len(words):
            return at_end
        if not _is_record(words, at):
            return False
        at += _words_of(int(words[at]))
    return True


def _is_record(words: NDArray[np.uint64], at: int) -> bool:
    if at > len(words):
        return False
    header = int(words[at])
    kind = header & 15
    if kind in (RecordType.EVENT, RecordType.SCHEDULING):
        return _is_whole(words, at)
    return bool(_words_of(header)) and (kind <= RecordType.PROFILER or kind == RecordType.LARGE)


def _words_of(header: int) -> int:
    return header >> 4 & (0xFFFF_FFFF if header & 15 == RecordType.LARGE else 0xFFF)


def _is_whole(words: NDArray[np.uint64], start: int) -> bool:
    """Return True if the parts of an event, a switch or a wakeup take as many words as its header says.

    Arguments have similar headers, but no names where events have them.
    """
    header = int(words[start])
    end = start + _words_of(header)
    if end > len(words):
        return False
    extra = 0
    if header & 15 == RecordType.EVENT:
        kind = header >> 16 & 15
        if not header >> 48:
            return False
        # Time; process and thread unless they are references; category and name.
        at = start + 2 + 2 * (not header >> 24 & 0xFF)
        at += _text_words(header >> 32 & 0xFFFF) + _text_words(header >> 48)
        count = header >> 20 & 15
        extra = int(kind == 1 or kind >= 4)
    else:
        if header >> 60 not in (_SWITCH, _WAKEUP):
            return False
        at = start + (4 if header >> 60 == _SWITCH else 3)
        count = header >> 16 & 15
    for _ in range(count):
        if at >= end:
            return False
        argument = int(words[at])
        size = argument >> 4 & 0xFFF
        if argument & 15 > _LAST_ARGUMENT_TYPE or size < 1 + _text_words(argument >> 16 & 0xFFFF):
            return False
        at += size
    return at + extra == end


def _text_words(reference: int) -> int:
    return ((reference & ~_INLINE) + 7) // 8 if reference & _INLINE else 0

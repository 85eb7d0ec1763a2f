"""Recognises profiles by their fields. This imports nothing else: it is loaded to recognise any input."""

from __future__ import annotations

from typing import Final

#: Fields of Profile that are length-delimited, and those that are numbers; a comment may be either (packed).
_MESSAGES: Final = frozenset({1, 2, 3, 4, 5, 6, 11, 13})
_NUMBERS: Final = frozenset({7, 8, 9, 10, 12, 13, 14, 15})
#: The fields of messages in Profile that are numbers, and those that may be length-delimited.
_PARTS: Final = {
    1: (frozenset({1, 2}), frozenset[int]()),
    2: (frozenset({1, 2}), frozenset({1, 2, 3})),
    3: (frozenset(range(1, 11)), frozenset[int]()),
    4: (frozenset({1, 2, 3, 5}), frozenset({4})),
    5: (frozenset(range(1, 6)), frozenset[int]()),
    11: (frozenset({1, 2}), frozenset[int]()),
}
#: Fields of higher numbers are of later versions, or those of a producer.
_LAST_FIELD: Final = 15
_SAMPLE_TYPE: Final = 1
_STRING_TABLE: Final = 6


def is_profile(head: bytes, whole: int) -> bool:
    """Return True if a file starts with fields of Profile, one of which is a sample type, or the empty first string.

    Args:
        head: the first bytes.
        whole: the number of bytes from which on the file may go on after the head.

    """
    is_cut = len(head) >= whole
    has_type = False
    at, strings = 0, 0
    while at < len(head):
        field = _field(head, at)
        if field is None:
            break
        number, wire, start, end = field
        is_new = number > _LAST_FIELD and has_type
        if wire not in (0, 2) or not (is_new or number in (_MESSAGES if wire else _NUMBERS)):
            return False
        if end > len(head):
            return is_cut and (has_type or strings > 1)
        if number in _PARTS and not _fits(head, start, end, number):
            return False
        has_type |= number == _SAMPLE_TYPE and end > start
        if number == _STRING_TABLE:
            if not strings and end > start:
                return False
            strings += 1
        at = end
    # What is cut off may be the start of a field.
    return (at == len(head) or is_cut) and (has_type or strings > 1)


def _fits(data: bytes, at: int, end: int, number: int) -> bool:
    """Return True if a message in Profile has only fields that it may have."""
    numbers, messages = _PARTS[number]
    while at < end:
        field = _field(data, at)
        if field is None or field[3] > end or field[1] not in (0, 2):
            return False
        if field[0] not in (messages if field[1] else numbers):
            return False
        at = field[3]
    return True


def _field(data: bytes, at: int) -> tuple[int, int, int, int] | None:
    """Return number and wire type of a field, and where its contents start and end; None where it is cut off."""
    tag, at = read_varint(data, at)
    if at < 0:
        return None
    match tag & 7:
        case 0:
            start, (_, at) = at, read_varint(data, at)
            return None if at < 0 else (tag >> 3, 0, start, at)
        case 2:
            size, at = read_varint(data, at)
            return None if at < 0 else (tag >> 3, 2, at, at + size)
    return tag >> 3, tag & 7, at, at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the offset after it; -1 where it is cut off or too long."""
    value = 0
    for shift, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    return 0, -1

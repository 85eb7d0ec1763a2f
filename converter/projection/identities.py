"""Ids that are text, as numbers for formats that have no others."""

from __future__ import annotations

from typing import Final

from converter.ir.kinds import Kind

_FLOWS: Final = frozenset({Kind.FLOW_BEGIN, Kind.FLOW_STEP, Kind.FLOW_END})
#: The kinds whose events match by their ids.
MATCHED: Final = _FLOWS | {Kind.ASYNC_BEGIN, Kind.ASYNC_INSTANT, Kind.ASYNC_END}


def matched_number(text: bytes, kind: Kind) -> int:
    """Return the number for an id of JSON: equal where importers take ids as equal.

    They parse those of flows as hexadecimal; all others match by their texts: ``abc`` is not ``ABC`` or ``0xabc``.
    """
    if kind in _FLOWS:
        try:
            number = -1 if b"_" in text else int(text, 16)
        except ValueError:
            number = -1
        if 0 <= number < 1 << 64:
            return number
    return _hash(text)


def plain_number(text: bytes) -> int:
    """Return the number that a text is, or else a hash."""
    try:
        return int(text, 16) if text[:2].lower() == b"0x" else int(text)
    except ValueError:
        return _hash(text)


def _hash(text: bytes) -> int:
    # Imported only here: it loads OpenSSL, and few traces have such ids.
    from hashlib import blake2b

    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")

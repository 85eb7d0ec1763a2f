"""Dimensions of AIX traces: hooks, threads, templates."""

from __future__ import annotations

from scale.drawn import Dimension, Drawn, token, tokens
from support.aix.files import entry_64, stream, words_64

#: Hooks of users, of which a 64-bit kernel numbers 16 bits.
_FIRST = 0x2000
#: The first of 4,096 hooks of templates that this package has no name for.
_DESCRIBED = 0x600


def hooks(count: int) -> Drawn:
    """Hooks that nothing describes, with an entry each."""
    entries = (words_64(_FIRST + number, number, ts=10 + number) for number in range(count))
    return Drawn({"": stream("64", *entries)}, frozenset(), count)


def threads(count: int) -> Drawn:
    """Threads with an entry each."""
    entries = (words_64(_FIRST, n, tid=100 + n, ts=10 + n) for n in range(count))
    return Drawn({"": stream("64", *entries)}, frozenset(), count)


def templates(count: int) -> Drawn:
    """Templates of hooks with a field each, and an entry of each hook."""
    lines = [
        f'{_DESCRIBED + number:03X} 1.0 "{token("h", number)}" "value="$D1%X8\n'
        for number in range(count)
    ]
    entries = (
        words_64(_DESCRIBED + number << 4, number, ts=10 + number) for number in range(count)
    )
    files = {"@trace": stream("64", *entries), "@trace.trcfmt": "".join(lines).encode()}
    return Drawn(files, tokens("h", count), count)


def texts(count: int) -> Drawn:
    """Bytes of an entry's data."""
    data = bytes(number & 0xFF for number in range(count))
    entries = [entry_64(_FIRST, data, word=number, ts=10 + number) for number in range(2)]
    return Drawn({"": stream("64", *entries)}, frozenset(), 2)


def words(count: int) -> Drawn:
    """Data words of an entry."""
    entries = [words_64(_FIRST, *range(count), ts=10 + number) for number in range(2)]
    return Drawn({"": stream("64", *entries)}, frozenset(), 2)


def executed(count: int) -> Drawn:
    """Programs that processes execute, which name them."""
    entries = (
        entry_64(0x1340, token("p", n).encode() + b"\0", word=1000 + n, tid=7 + n, ts=10 + n)
        for n in range(count)
    )
    return Drawn({"": stream("64", *entries)}, tokens("p", count), count)


DIMENSIONS = [
    Dimension("hooks", hooks, "aix", most=1 << 15),
    Dimension("threads of AIX", threads, "aix"),
    Dimension("templates", templates, "aix", most=1 << 11),
    # The length of an entry's data has 16 bits.
    Dimension("bytes of an entry", texts, "aix", most=(1 << 16) - 1),
    Dimension("words of an entry", words, "aix", most=(1 << 13) - 1),
    Dimension("executed programs", executed, "aix"),
]

"""What a dimension draws at a size: a trace or the files of one, and what must be found in it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converter.ir.trace import Trace

#: Files of an input by name; that of a format that is one file has none.
Files = Mapping[str, bytes]
#: The exponents of sizes: tables of kernels are first renewed at 128 and 256 entries.
FIRST, LAST = 7, 17
_TOKEN = re.compile(r"zq[a-z]+\d+_")
_BYTES = re.compile(r'"bytes": "([\w+/=]+)"')


@dataclass(frozen=True, slots=True)
class Drawn:
    """A trace, or files of a format, that has something a certain number of times."""

    source: Trace | Files
    #: Names that everything which was drawn has, each with a number of its own.
    tokens: frozenset[str] = frozenset()
    #: Events that a file has, where it is a file; those of a trace are known.
    events: int | None = None
    #: Whether reading it gives warnings.
    is_damaged: bool = False

    def stored(self, folder: Path) -> Path:
        """Write the files; the path of the first, or of the folder that they are in."""
        assert not isinstance(self.source, Trace)
        for name, data in self.source.items():
            path = folder / "source" / name if name else folder / "source"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return folder / "source" / next((n for n in self.source if n.startswith("@")), "")


@dataclass(frozen=True, slots=True)
class Dimension:
    """Something that a trace has a number of."""

    name: str
    draw: Callable[[int], Drawn]
    #: The format of the files that are drawn; none for a trace, which is drawn for all formats.
    format: str = ""
    #: The largest number that the format, or the time that a test takes, allows.
    most: int = 1 << LAST
    #: The smallest number that makes a file.
    least: int = 0
    #: The number up to which the format or a limit of the reader goes: one more is refused or told of.
    limit: int | None = None
    #: What becomes of one more: a "refusal" or "warnings".
    above: str = "refusal"

    def sizes(self, last: int = LAST) -> Iterator[int]:
        """Sizes in ascending order: 0, 1, 2, and those around powers of two and around the limit."""
        found = {0, 1, 2}
        found |= {(1 << k) + step for k in range(FIRST, last + 1) for step in (-1, 0, 1)}
        found = {size for size in found if self.least <= size <= self.most}
        if self.limit is not None:
            found = {size for size in found if size <= self.limit}
            if self.limit <= 1 << last:
                found |= {self.limit - 1, self.limit, self.limit + 1}
        return iter(sorted(found))

    def within(self, size: int) -> int:
        """The nearest size that there is."""
        most = self.most if self.limit is None else min(self.most, self.limit + 1)
        return min(max(size, self.least), most)


def token(kind: str, number: int) -> str:
    """A name that nothing else has; those of other numbers are no part of it."""
    return f"zq{kind}{number}_"


def tokens(kind: str, count: int) -> frozenset[str]:
    """The names of all that were drawn."""
    return frozenset(token(kind, number) for number in range(count))


def tokens_in(form: Mapping[str, Any]) -> frozenset[str]:
    """The names in a canonical form, also in its bytes."""
    text = json.dumps(form)
    held = (base64.b64decode(one).decode("latin-1") for one in _BYTES.findall(text))
    return names_in("\n".join((text, *held)))


def names_in(text: str) -> frozenset[str]:
    """The names in a text."""
    return frozenset(_TOKEN.findall(text))

"""The remedies for losses: the formats that keep what another one loses, and `--lossless`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from converter.projection.loss_codes import LOSS_CODES

#: A line for each property of a trace, with the formats that keep it and have viewers, the most common first. A test
#: compares it with the capabilities of the formats, which need not be loaded for a remedy.
_KEPT_BY: Final = Path(__file__).with_name("kept_by.txt")
#: The number of formats that a remedy names.
_NAMED: Final = 2


@cache
def kept_by() -> Mapping[str, tuple[str, ...]]:
    """Return the formats that keep each property."""
    lines = (line.partition(": ") for line in _KEPT_BY.read_text("utf-8").splitlines())
    return {name: tuple(formats.split()) for name, _, formats in lines}


def remedy_of(code: str) -> str:
    """Return what keeps the subject of losses of a code."""
    formats = kept_by().get(LOSS_CODES[code].keeps, ())
    named = " or ".join(f"-t {one}" for one in formats[:_NAMED])
    return f"{named} keeps it; --lossless carries it" if named else "--lossless carries it"

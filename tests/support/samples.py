"""Which of many combinations are tested for every change, and which only at night.

`TRACECONV_TESTS=all` in the environment tests all of them (.github/workflows/nightly.yml). Otherwise the choice is the
same in each run, so that a change that breaks nothing passes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, TypeVar
from zlib import crc32

#: True if all combinations are tested.
ALL: Final = os.environ.get("TRACECONV_TESTS") == "all"

Item = TypeVar("Item")


def sampled(items: Iterable[Item], one_in: int) -> list[Item]:
    """Return one in `one_in` of the combinations, in their order.

    Of combinations that are tuples, each member occurs at least once at its position: every source and every target.
    """
    found = list(items)
    if ALL:
        return found
    chosen = {at for at, item in enumerate(found) if crc32(repr(item).encode()) % one_in == 0}
    seen = {member for at in chosen for member in _members(found[at])}
    for at, item in enumerate(found):
        if not seen.issuperset(_members(item)):
            chosen.add(at)
            seen.update(_members(item))
    return [found[at] for at in sorted(chosen)]


def _members(item: object) -> set[tuple[int, object]]:
    return set(enumerate(item)) if isinstance(item, tuple) else set()

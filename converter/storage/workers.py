"""How many threads do the work of a conversion that needs no interpreter: decompression, scanning, decoding,
compression. What comes out does not depend on it.
"""

from __future__ import annotations

import os

_wanted: int | None = None


def workers() -> int:
    """The threads for one such step: as many as were asked for, or as there are processors for this process."""
    if _wanted is not None:
        return _wanted
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def use_workers(count: int | None) -> None:
    """Have so many threads from now on; None: as there are processors."""
    global _wanted  # noqa: PLW0603 - of the process, as its processors are
    _wanted = count

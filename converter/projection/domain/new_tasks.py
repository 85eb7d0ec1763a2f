"""New tasks as Linux tells them: whether they are threads stands in flags, which other systems do not have."""

from __future__ import annotations

from typing import Final

import numpy as np

from converter.ir.columns import Column
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Role
from converter.projection.capabilities import Projection
from converter.projection.engine.pieces import Piece

CLONE_FLAGS: Final = Field("clone_flags", IntegerClass(64), Role.CLONE_FLAGS)
#: include/uapi/linux/sched.h.
_CLONE_THREAD: Final = 0x10000


def with_clone_flags(piece: Piece, projection: Projection) -> Piece:
    """Tasks without flags are threads, where the trace has them in a process that has another number."""
    tids = piece.integers(Role.TID)
    if tids is None or piece.event_class.index_of(Role.CLONE_FLAGS) is not None:
        return piece

    def flags() -> Column:
        threads = projection.thread_of_tid(tids)
        others = (threads >= 0) & (projection.pids_of(threads) != tids.astype(np.int64))
        return np.where(others, np.uint64(_CLONE_THREAD), np.uint64(0))

    return piece.with_argument(CLONE_FLAGS, flags)

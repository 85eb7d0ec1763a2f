"""New tasks as Linux describes them: flags say whether they are threads. Other systems do not have these flags."""

from __future__ import annotations

from typing import Final

import numpy as np

from converter.ir.columns import Column
from converter.ir.events import Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Role
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import Partition

CLONE_FLAGS: Final = Field("clone_flags", IntegerClass(64), Role.CLONE_FLAGS)
#: include/uapi/linux/sched.h.
_CLONE_THREAD: Final = 0x10000


def with_clone_flags(partition: Partition, projection: Projection) -> Partition:
    """Add flags to tasks without any: they are threads if the trace has them in a process with another number."""
    tids = partition.integers(Role.TID)
    if tids is None or partition.event_class.index_of(Role.CLONE_FLAGS) is not None:
        return partition

    def flags() -> Column:
        threads = projection.thread_of_tid(tids)
        others = (threads >= 0) & (projection.pids_of(threads) != tids.astype(np.int64))
        return np.where(others, np.uint64(_CLONE_THREAD), np.uint64(0))

    return partition.with_argument(CLONE_FLAGS, flags)

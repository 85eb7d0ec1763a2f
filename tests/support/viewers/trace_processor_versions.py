"""Features that only newer versions of trace_processor have; nothing else in the tests asks for its version."""

from __future__ import annotations

from enum import Enum

from support.viewers.trace_processor import version
from support.viewers.trace_processor_engines import Version


class Feature(Enum):
    """A feature: the first version known to have it, and what it is, as docs/viewers.md says it.

    Perfetto's CHANGELOG names the versions that are whole numbers; others are the first that was seen to have it.
    """

    JSON_SORT_INDEXES = (53, 0), "Chrome JSON: `process_sort_index` and `thread_sort_index`"
    JSON_THREAD_STATES = (54, 0), "Chrome JSON: events of the phase `T` are thread states"
    GECKO_PROFILES = (56, 0), "Firefox profiles: the processed ones (54), and markers as slices"
    OVERLAPPING_SLICES = (
        (57, 0),
        "a complete slice that crosses the end of another, on a track of its own",
    )
    ZSTD_PACKETS = (58, 0), "Perfetto: packets that are compressed with zstd"
    JSON_ESCAPES = (
        (58, 2),
        "Chrome JSON: escapes in texts; before, they are shown as they are in the file unless one is of a quote",
    )
    JSON_NAN = (58, 2), "Chrome JSON: `NaN` and `Infinity`; before, the file is refused"
    FXT_WAKERS = (58, 2), "FXT: which thread wakes another"
    NAMED_WORK_ENDS = (58, 2), "Perfetto: the function of `workqueue_execute_end` by its name"
    SAMPLES_WITHOUT_COUNT = (58, 2), "Perfetto: a sample without a count is no value of a counter"
    NAMES_OF_NEW_TASKS = (58, 2), "Perfetto: names in a process tree after `task_newtask`"
    ENDS_WITHOUT_THREAD_TIME = (58, 2), "Perfetto: the end of a slice may have no thread time"
    DEPTH_LIMIT = (
        (58, 2),
        "slices within 512 others are left out and counted; before, they are drawn over the outermost",
    )

    @property
    def since(self) -> Version:
        """The first version that has it."""
        return self.value[0]

    @property
    def description(self) -> str:
        """What it is."""
        return self.value[1]


def shows(feature: Feature) -> bool:
    """Tell whether the engine that is asked has a feature."""
    return version() >= feature.since

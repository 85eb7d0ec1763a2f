"""What trace_processor shows only since a version; nothing else in the tests asks for its version."""

from __future__ import annotations

from enum import Enum

from support.trace_processor import version
from support.trace_processor_engines import Version


class Feature(Enum):
    """A feature, with the first version that has it and what it is, as docs/viewers.md says it."""

    SORT_INDEXES = (53, 0), "`process_sort_index` and `thread_sort_index` of Chrome JSON"

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

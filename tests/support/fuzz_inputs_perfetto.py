"""Perfetto files that no fixture is like."""

from __future__ import annotations

from support import perfetto_files as made
from support.fuzz_corpus import Files


def inputs() -> list[Files]:
    """One feature each."""
    builders = (
        made.kernel_typed,
        made.kernel_compact,
        made.kernel_lost,
        made.kernel_generic,
        made.compressed,
        made.timeline,
        made.annotations,
        made.interned,
        made.legacy,
        made.extra_counters,
        made.callstacks,
        made.clocks,
        made.tables,
    )
    return [{"": build()} for build in builders]

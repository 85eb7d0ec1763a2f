"""The list of all dimensions."""

from __future__ import annotations

from scale import (
    built,
    of_aix,
    of_chrome,
    of_ctf,
    of_fxt,
    of_lttng_legacy,
    of_perfetto,
    of_trace_cmd,
    of_uftrace,
)

_MODULES = (
    built,
    of_fxt,
    of_perfetto,
    of_ctf,
    of_trace_cmd,
    of_uftrace,
    of_aix,
    of_lttng_legacy,
    of_chrome,
)

#: What traces have a number of, by name: first those of any trace, then those of files of a format.
DIMENSIONS = {one.name: one for module in _MODULES for one in module.DIMENSIONS}
assert len(DIMENSIONS) == sum(len(module.DIMENSIONS) for module in _MODULES)

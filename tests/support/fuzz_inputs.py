"""Inputs that no fixture is like, by format: old versions, other byte orders, what is described in rare ways."""

from __future__ import annotations

import importlib

from support.fuzz_corpus import Files

#: Formats with a module of their inputs.
_MODULES = (
    "aix",
    "arrow",
    "chrome",
    "cpuprofile",
    "ctf",
    "folded",
    "ftrace_text",
    "fxt",
    "gecko",
    "ir",
    "lttng_legacy",
    "parquet",
    "perf",
    "perf_script",
    "perfetto",
    "pprof",
    "simpleperf",
    "speedscope",
    "trace_cmd",
    "uftrace",
)


def made(format: str) -> list[Files]:
    """The inputs of a format, and of streams of 32-bit AIX kernels (`aix+32`)."""
    name, _, variant = format.partition("+")
    if name not in _MODULES:
        return []
    # Some take packages that others do without.
    module = importlib.import_module(f"support.fuzz_inputs_{name}")
    return list(module.inputs_32() if variant == "32" else module.inputs())

"""The table of formats, in detection order.

It imports no format: descriptors are found by the names of their folders, and each imports its own reader and writer
on first use. This is the only way from here to a format, so that all formats may import this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from converter.formats.descriptor import Format
    from converter.ir.symbols import SymbolTable
    from converter.ir.trace import Trace

#: The formats in the order of detection, each with its package in `converter.formats`.
_PACKAGES = {
    "ir": "ir",
    "trace_cmd": "trace_cmd",
    "fxt": "fxt",
    "uftrace": "uftrace",
    "perf": "perf.data",
    "ctf": "ctf",
    "lttng_legacy": "lttng_legacy",
    "pprof": "profiles.pprof",
    "simpleperf": "profiles.simpleperf",
    "perfetto": "perfetto",
    "gecko": "profiles.gecko",
    "speedscope": "profiles.speedscope",
    "cpuprofile": "profiles.cpuprofile",
    "chrome": "chrome",
    "aix": "aix",
    "perf_script": "perf.script",
    "ftrace_text": "ftrace_text",
    "folded": "profiles.folded",
    "parquet": "columnar.parquet",
    "arrow": "columnar.arrow",
}


@cache
def format_of(name: str) -> Format | None:
    """Return the format of a name: the descriptor in its package of `converter.formats`, or in one of others."""
    package = _PACKAGES.get(name)
    if package is not None:
        return cast("Format", import_module(f"converter.formats.{package}").FORMAT)
    return _elsewhere().get(name)


@cache
def _elsewhere() -> dict[str, Format]:
    """Return the formats of other packages, which are searched only if none of ours matches."""
    from converter.formats.plugins import plugins

    return plugins(_PACKAGES)


def formats() -> Iterator[Format]:
    """Yield all formats; each is imported only when requested."""
    for name in _PACKAGES:
        yield cast("Format", format_of(name))
    yield from _elsewhere().values()


def format_read(trace: Trace) -> Format | None:
    """Return the format that a trace was read from, None for one without a file."""
    return format_of(trace.format)


def portable_sidecar(trace: Trace) -> dict[str, dict[str, Any]]:
    """Return a trace's sidecar as JSON-like values and bytes, independent of the source."""
    return {
        name: owner.portable(trace) if (owner := format_of(name)) else content
        for name, content in trace.sidecar.items()
    }


def travelling_sidecar(trace: Trace) -> dict[str, dict[str, Any]]:
    """Return the sidecar for embedding a trace: its writer restores the same file from it, if nothing has changed."""
    return {
        name: owner.travelling(trace) if (owner := format_of(name)) else content
        for name, content in trace.sidecar.items()
    }


def travelled_symbols(trace: Trace) -> SymbolTable | None:
    """Return the symbols in a trace's embedded sidecar, if any."""
    format = format_read(trace)
    sidecar = trace.sidecar.get(trace.format)
    return None if format is None or not sidecar else format.symbols(sidecar)


def keeps_symbols(trace: Trace, travelling: dict[str, dict[str, Any]]) -> bool:
    """Return True if the embedded sidecar of a trace contains its symbols."""
    format = format_read(trace)
    return format is not None and format.travels_whole and bool(travelling.get(trace.format))

"""The table of formats, in detection order.

It imports no format: descriptors are found by the names of their folders, and each imports its own reader and writer
when they are first used. That is the only way from here to a format, so that all of them may import what is here.
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

#: The folders of `converter.formats`, in the order in which they are asked whether an input is theirs.
_NAMES = (
    "ir",
    "trace_cmd",
    "fxt",
    "uftrace",
    "ctf",
    "lttng_legacy",
    "perfetto",
    "chrome",
    "aix",
    "parquet",
    "arrow",
)


@cache
def format_of(name: str) -> Format | None:
    """The format of a name: the descriptor in that folder of `converter.formats`, or in another package."""
    if name in _NAMES:
        return cast("Format", import_module(f"converter.formats.{name}").FORMAT)
    return _elsewhere().get(name)


@cache
def _elsewhere() -> dict[str, Format]:
    """The formats of other packages, which are looked for only when none of ours is the one."""
    from converter.formats.plugins import plugins

    return plugins(_NAMES)


def formats() -> Iterator[Format]:
    """All of them; each is imported when the one before was not enough."""
    for name in _NAMES:
        yield cast("Format", format_of(name))
    yield from _elsewhere().values()


def format_read(trace: Trace) -> Format | None:
    """The format that a trace was read from, None of one that is of no file."""
    return format_of(trace.format)


def portable_sidecar(trace: Trace) -> dict[str, dict[str, Any]]:
    """A trace's sidecar as JSON-like values and bytes, which does not need the source."""
    return {
        name: owner.portable(trace) if (owner := format_of(name)) else content
        for name, content in trace.sidecar.items()
    }


def travelling_sidecar(trace: Trace) -> dict[str, dict[str, Any]]:
    """The same for a trace that travels: what its writer makes the same file of, where nothing has changed."""
    return {
        name: owner.travelling(trace) if (owner := format_of(name)) else content
        for name, content in trace.sidecar.items()
    }


def travelled_symbols(trace: Trace) -> SymbolTable | None:
    """The symbols that a trace's sidecar has once it has travelled, if any."""
    format = format_read(trace)
    sidecar = trace.sidecar.get(trace.format)
    return None if format is None or not sidecar else format.symbols(sidecar)


def keeps_symbols(trace: Trace, travelling: dict[str, dict[str, Any]]) -> bool:
    """Whether the symbols of a trace are in its sidecar as that travels."""
    format = format_read(trace)
    return format is not None and format.travels_whole and bool(travelling.get(trace.format))

"""The origin of a trace: what was opened, and the state of its tables before any event was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from converter.ir.trace import Origin, Trace


def origin_of(trace: Trace, name: str, options: Mapping[str, str], *, travelled: bool) -> Origin:
    """Return the origin of a trace that its reader has just made."""
    return Origin(name, dict(options), travelled, _tables(trace))


def is_unchanged(trace: Trace) -> bool:
    """Return True if a trace has the events of its source, and its tables are as they were when it was opened.

    Reading events adds to the tables, and after that the origin of additions is unknown.
    """
    origin = trace.origin
    return origin is not None and trace.is_as_read and origin.tables == _tables(trace)


def _tables(trace: Trace) -> tuple[Any, ...]:
    """Return a snapshot of the tables: copies of what may be changed in place."""
    return (
        trace.format,
        trace.variant,
        trace.clock,
        list(trace.clock_domains),
        dict(trace.environment),
        [(one.pid, one.name, one.parent_pid, one.command_line) for one in trace.processes],
        [(one.tid, one.process, one.name) for one in trace.threads],
        list(trace.tracks),
        list(trace.event_classes),
        None if trace.symbols is None else _Identity(trace.symbols),
        {
            name: {key: _Identity(value) for key, value in content.items()}
            for name, content in trace.sidecar.items()
        },
    )


class _Identity:
    """Equal to another reference to the same object: some objects are too large to compare."""

    __slots__ = ("_it",)

    def __init__(self, it: object) -> None:
        self._it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self._it is other._it

    __hash__ = None  # type: ignore[assignment]

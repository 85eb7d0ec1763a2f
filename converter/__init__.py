"""Convert between trace formats: any to any, both ways, with a report of what did not fit.

    report = converter.convert("trace.dat", "trace.fxt")

    with converter.open_trace("trace.dat") as trace:
        for batch in trace.batches():
            ...

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from converter.ir.hooks import HOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from converter.analysis.building.builder import TraceBuilder
    from converter.analysis.building.places import Place
    from converter.errors import (
        ArgumentError,
        DefectError,
        ExistingOutputError,
        MemoryLimitError,
        MissingFileError,
        NothingLeftError,
        OpenFilesError,
        OutputError,
        SelectionError,
        SelectionWarning,
        StrictLossError,
        TraceError,
        TraceWarning,
        TruncatedError,
        UnknownFormatError,
        UnknownNameError,
        UnsupportedError,
    )
    from converter.formats.descriptor import Format
    from converter.ir.canonical import difference
    from converter.ir.display.trace_event import TraceEvent
    from converter.ir.event_columns import EventColumns
    from converter.ir.events import Batch, EventClass, Field
    from converter.ir.kinds import Kind, Role
    from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track
    from converter.jobs.comparing.differences import TraceDifference
    from converter.jobs.comparison import diff
    from converter.jobs.conversion import convert, write
    from converter.jobs.reading import detect, open_merged, open_trace, read
    from converter.jobs.round_trips import RoundTrip, roundtrip
    from converter.jobs.splitting import SplitPart, split
    from converter.merging.merge import merge
    from converter.merging.merged_trace import MergedInput, MergedTrace
    from converter.projection.losses import Loss, LossReport
    from converter.registry import FORMATS
    from converter.selection.select import select
    from converter.selection.selection import Selection

__all__ = [
    "FORMATS",
    "ArgumentError",
    "Batch",
    "ClockDomain",
    "DefectError",
    "EventClass",
    "EventColumns",
    "ExistingOutputError",
    "Field",
    "Format",
    "Kind",
    "Loss",
    "LossReport",
    "MemoryLimitError",
    "MergedInput",
    "MergedTrace",
    "MissingFileError",
    "NothingLeftError",
    "OpenFilesError",
    "OutputError",
    "Place",
    "Process",
    "Role",
    "RoundTrip",
    "Selection",
    "SelectionError",
    "SelectionWarning",
    "SplitPart",
    "StrictLossError",
    "Thread",
    "Trace",
    "TraceBuilder",
    "TraceDifference",
    "TraceError",
    "TraceEvent",
    "TraceWarning",
    "Track",
    "TruncatedError",
    "UnknownFormatError",
    "UnknownNameError",
    "UnsupportedError",
    "convert",
    "detect",
    "diff",
    "difference",
    "merge",
    "open_merged",
    "open_trace",
    "read",
    "roundtrip",
    "select",
    "split",
    "write",
]

_MODULES = {
    "converter.analysis.building.builder": ("TraceBuilder",),
    "converter.analysis.building.places": ("Place",),
    "converter.jobs.conversion": ("convert", "write"),
    "converter.jobs.comparing.differences": ("TraceDifference",),
    "converter.jobs.comparison": ("diff",),
    "converter.errors": (
        "ArgumentError",
        "DefectError",
        "ExistingOutputError",
        "MemoryLimitError",
        "MissingFileError",
        "NothingLeftError",
        "OpenFilesError",
        "OutputError",
        "SelectionError",
        "SelectionWarning",
        "StrictLossError",
        "TraceError",
        "TraceWarning",
        "TruncatedError",
        "UnknownFormatError",
        "UnknownNameError",
        "UnsupportedError",
    ),
    "converter.formats.descriptor": ("Format",),
    "converter.ir.canonical": ("difference",),
    "converter.ir.event_columns": ("EventColumns",),
    "converter.ir.display.trace_event": ("TraceEvent",),
    "converter.ir.events": ("Batch", "EventClass", "Field"),
    "converter.ir.kinds": ("Kind", "Role"),
    "converter.ir.trace": ("ClockDomain", "Process", "Thread", "Trace", "Track"),
    "converter.merging.merge": ("merge",),
    "converter.merging.merged_trace": ("MergedInput", "MergedTrace"),
    "converter.projection.losses": ("Loss", "LossReport"),
    "converter.jobs.reading": ("detect", "open_merged", "open_trace", "read"),
    "converter.registry": ("FORMATS",),
    "converter.jobs.round_trips": ("RoundTrip", "roundtrip"),
    "converter.selection.select": ("select",),
    "converter.selection.selection": ("Selection",),
    "converter.jobs.splitting": ("SplitPart", "split"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def _hook(module: str, name: str, needs: str = "") -> Callable[[], Callable[..., Any]]:
    """Return a function that imports and finds another, whose module may need an optional library."""

    def find() -> Callable[..., Any]:
        try:
            return cast("Callable[..., Any]", getattr(import_module(module), name))
        except ModuleNotFoundError as error:
            if not needs or error.name != needs:
                raise
            message = f"this needs {needs}: pip install 'traceconv[{module.split('.')[-2]}]'"
            raise ModuleNotFoundError(message, name=needs) from None

    return find


if TYPE_CHECKING:
    #: The version of the distribution, such as "0.1.0".
    __version__: str

HOOKS.update(
    columns=_hook("converter.analysis.columns.collecting", "event_columns"),
    column_stream=_hook("converter.analysis.columns.collecting", "event_column_stream"),
    slices=_hook("converter.analysis.tables.timeline", "slices"),
    counters=_hook("converter.analysis.tables.timeline", "counters"),
    samples=_hook("converter.analysis.tables.timeline", "samples"),
    sched=_hook("converter.analysis.tables.scheduling", "sched"),
    thread_states=_hook("converter.analysis.tables.scheduling", "thread_states"),
    rows=_hook("converter.analysis.columns.iteration", "iter_events"),
    data_frame=_hook("converter.analysis.columns.frames", "data_frame"),
    polars_frame=_hook("converter.analysis.columns.frames", "polars_frame"),
    table=_hook("converter.analysis.arrow.tables", "table", "pyarrow"),
    table_reader=_hook("converter.analysis.arrow.tables", "reader", "pyarrow"),
    column_table=_hook("converter.analysis.arrow.column_table", "column_table", "pyarrow"),
)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("traceconv")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""The layout of profiles: the members of the document and the columns of its tables, and the version that is written.

Sources: `docs-developer/gecko-profile-format.md`, `processed-profile-format.md` and `CHANGELOG-formats.md` of
firefox-devtools/profiler, and the type definitions in its `src/types/profile.ts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Any, Final

#: The version of raw profiles, and that of processed ones, that are written. In this version all tables are those of a
#: thread, times are numbers, counters have one table of samples, and categories are those of stacks.
RAW_VERSION: Final = 24
VERSION: Final = 49

#: The member that this project adds to documents, threads, markers and counters: profilers ignore it.
OWN: Final = "traceconv"
OWN_VERSION: Final = 1
#: The column of markers with their tracks.
OWN_TRACK: Final = "traceconvTrack"

#: Members of a document that are read; all others are kept as they are.
READ_MEMBERS: Final = frozenset({"meta", "threads", "counters", "shared", "processes", OWN})
#: Members of a thread that become events, or tables of their names.
READ_OF_THREADS: Final = frozenset(
    {
        *("samples", "markers", "jsAllocations", "nativeAllocations", "frameTable", "funcTable"),
        *("stackTable", "stringTable", "stringArray", "resourceTable", "nativeSymbols"),
        *("sources", OWN),
    }
)

#: Times are in milliseconds.
NANOSECONDS: Final = 1_000_000
#: Times from here on, in nanoseconds, are not exact as doubles of milliseconds.
EXACT: Final = 1 << 51
#: The unit of weights by `weightType`. Times are milliseconds in a profile.
UNITS: Final = {"samples": "count", "tracing-ms": "ns", "bytes": "bytes"}
WEIGHT_TYPES: Final = {unit: name for name, unit in UNITS.items()}

#: Categories of counters whose counts are changes of an amount; those of others are amounts of an interval.
ACCUMULATED: Final = frozenset({"Memory"})
#: Categories of counters that profilers draw, each in a way of its own; all others are not drawn.
COUNTER_CATEGORIES: Final = ("Memory", "power", "Bandwidth", "CPU")
#: The category of other counters in a file, so that they are drawn.
DRAWN_AS: Final = "Memory"
#: The resource type of libraries.
LIBRARY: Final = 1
#: The colours of new categories in turn.
COLORS: Final = (
    "blue",
    "green",
    "orange",
    "purple",
    "yellow",
    "lightblue",
    "red",
    "brown",
    "magenta",
)
DEFAULT_CATEGORY: Final = "Other"
DEFAULT_COLOR: Final = "grey"


@unique
class MarkerPhase(IntEnum):
    """The phases of markers."""

    INSTANT = 0
    INTERVAL = 1
    INTERVAL_START = 2
    INTERVAL_END = 3


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of a table in the processed form, each of which has `length` values."""

    columns: tuple[str, ...]

    def form(self, length: int, **columns: list[Any]) -> dict[str, Any]:
        """Return a table as JSON-like values; columns that are not given are null throughout."""
        absent: list[Any] = [None] * length
        return {"length": length} | {name: columns.get(name, absent) for name in self.columns}


FRAMES: Final = Table(
    (
        *("address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol"),
        *("innerWindowID", "implementation", "line", "column"),
    )
)
FUNCTIONS: Final = Table(
    (
        *("name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber"),
        "columnNumber",
    )
)
RESOURCES: Final = Table(("lib", "name", "host", "type"))
STACKS: Final = Table(("frame", "prefix", "category", "subcategory"))
NATIVE_SYMBOLS: Final = Table(("libIndex", "address", "name", "functionSize"))

#: Numbers of ids that are text: above any real one.
FIRST_TEXT_ID: Final = 1 << 62

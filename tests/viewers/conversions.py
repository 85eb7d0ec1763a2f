"""What is converted for the viewers: recordings and synthetic traces, and what becomes of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from support.samples import ALL
from viewers.projected import Event, events_of

import converter
from converter.fixtures import synthetic_trace
from converter.fixtures.kinds import GROUPS
from converter.fixtures.script import script
from converter.ir.collect import collect
from converter.ir.trace import Trace
from converter.projection.losses import LossReport
from converter.projection.project import project
from converter.registry import format_named

RECORDINGS = Path(__file__).parents[2] / "roundtrip_fixtures"
#: Files beside the recordings that are none.
_OTHER = (".md", ".txt.gz", ".txt.zst", ".jsonl.zst", ".trcfmt", ".canonical.json", ".losses.json")
_OTHER_NAMES = {"manifest.json", "ir-json.json"}
#: Formats that a file does not tell, by its suffix.
_NEEDS_NAME = {".aix32": "aix+32", ".aix": "aix"}


def _recordings() -> list[str]:
    return [
        f"{folder.name}/{path.name}"
        for folder in sorted(RECORDINGS.iterdir())
        if folder.is_dir()
        for path in sorted(folder.iterdir())
        if not path.name.endswith(_OTHER) and path.name not in _OTHER_NAMES
    ]


#: Recordings with tens of thousands of rows, which are converted at night only.
_LONG = {"lttng_legacy/kernel-2.5.tar.gz", "perfetto/kernel_every_event.pftrace"}
#: Recordings by their paths, and synthetic traces by the group of their kinds.
SOURCES = [
    *(source for source in _recordings() if ALL or source not in _LONG),
    *(f"synthetic/{group}" for group in GROUPS),
]


def format_of(source: str) -> str:
    """The name of the format of a source."""
    folder, _, name = source.partition("/")
    if folder == "generated":
        return name.partition(".")[0].partition("-")[0]
    return "ir" if folder == "synthetic" else folder


def reader_format(source: str) -> str | None:
    """The format of a recording that does not tell it itself."""
    return _NEEDS_NAME.get(Path(source).suffix)


@cache
def source_trace(source: str) -> Trace:
    """A source, in memory."""
    folder, _, name = source.partition("/")
    if folder == "synthetic":
        return collect(synthetic_trace(name, 2 * len(script(GROUPS[name])), 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return converter.read(RECORDINGS / source, reader_format(source))


@dataclass(frozen=True)
class Conversion:
    """A source as a file of another format, the projection, which is what that file holds, and what that loses."""

    source: str
    target: str
    path: Path
    trace: Trace
    events: list[Event]
    losses: LossReport


def convert(source: str, target: str, folder: Path, copy: Path | None = None) -> Conversion:
    """Write a source, or a copy of it, as a target, a format or "format+variant"."""
    format, variant = format_named(target)
    suffix = format.suffixes[0]
    trace = source_trace(source) if copy is None else converter.read(copy)
    path = folder / f"{source.replace('/', '_')}.{target}{suffix}"
    converter.write(trace, path, target)
    projected, losses = project(trace, format.capabilities(variant), format.name)
    projected = collect(projected)
    return Conversion(source, target, path, projected, events_of(projected), losses)

"""Apache Parquet: the events of a trace as a table, in one file or in one a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

MAGIC: Final = b"PAR1"
#: In a directory: all of the trace that is no event. What begins like this is no data for readers of such directories.
TABLES_FILE: Final = "_traceconv.tcir"
#: Likewise what the directory says of itself.
ABOUT_FILE: Final = "_traceconv.json"


def capabilities(variant: str) -> Capabilities:
    """Never asked for: what is no column travels in the metadata."""
    raise NotImplementedError(variant)


def sniff(head: bytes) -> bool:
    """Whether a file begins as Parquet, or a directory is one of ours."""
    if head.startswith(b"dir:"):
        return TABLES_FILE.encode() in head[4:].split(b"\n")
    return head.startswith(MAGIC)


FORMAT = Format(
    name="parquet",
    title="Apache Parquet",
    suffixes=(".parquet",),
    spec="https://parquet.apache.org/docs/file-format/",
    variants=("", "dataset"),
    directories=("dataset",),
    shared=("dataset",),
    capabilities=capabilities,
    sniff=sniff,
    holds_all=True,
    files_when_lossless=True,
    reads_twice=True,
    options=("time", "unit", "event", "cpu", "tid", "pid"),
    needs=("pyarrow", "arrow"),
)

"""Apache Parquet: the events of a trace as a table, in one file or in one per class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

MAGIC: Final = b"PAR1"
#: In a directory: everything but the events. Readers of such directories skip names with this prefix.
TABLES_FILE: Final = "_traceconv.tcir"
#: Also skipped: the directory's description of itself.
ABOUT_FILE: Final = "_traceconv.json"


def capabilities(variant: str) -> Capabilities:
    """Never called: what is not a column is embedded in the metadata."""
    raise NotImplementedError(variant)


def sniff(head: bytes) -> bool:
    """Return True if a file starts as Parquet, or a directory is one of ours."""
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
    package="converter.formats.columnar.parquet",
)

"""uftrace: the directory of function traces that `uftrace record` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

#: What the `info` file starts with (uftrace.h, UFTRACE_MAGIC_STR).
MAGIC = b"Ftrace!\0"


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.uftrace.capabilities import capabilities

    return capabilities(variant)


def sniff(head: bytes) -> bool:
    """Return True if a directory has uftrace's files at its top, or a file is the `info` of such a directory."""
    if head.startswith(b"dir:"):
        names = set(head[4:].split(b"\n"))
        return b"info" in names and (
            not names.isdisjoint({b"task.txt", b"task"})
            or any(name.endswith(b".dat") for name in names)
        )
    return head.startswith(MAGIC)


FORMAT = Format(
    name="uftrace",
    title="uftrace data directory",
    suffixes=(".uftrace", "uftrace.data"),
    spec="https://github.com/namhyung/uftrace/wiki/Data-Format",
    variants=(),
    capabilities=_capabilities,
    sniff=sniff,
    directory=True,
    has_portable=True,
    sends_source=True,
    options=("srcline",),
    reports=True,
)

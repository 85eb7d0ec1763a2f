"""perf.data: recordings of `perf record`, as files and as what it writes into a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

#: The start of version 1, in either byte order, and of version 2 in little-endian and in big-endian files.
MAGIC_1: Final = b"PERFFILE"
MAGIC_2: Final = b"PERFILE2"
MAGIC_2_BIG: Final = b"2ELIFREP"


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.perf.data.capabilities import capabilities

    return capabilities(variant)


def sniff(head: bytes) -> bool:
    """Return True if a file starts with a magic number of perf, or a directory is one of `perf record --threads`."""
    if head.startswith(b"dir:"):
        return {b"data", b"data.0"} <= set(head[4:].split(b"\n"))
    return head[:8] in (MAGIC_1, MAGIC_2, MAGIC_2_BIG)


FORMAT = Format(
    name="perf",
    title="Linux perf.data",
    suffixes=(".perf.data", ".data"),
    spec="https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree/tools/perf/"
    "Documentation/perf.data-file-format.txt",
    variants=("",),
    aliases=("perf.data", "perf_data"),
    capabilities=_capabilities,
    sniff=sniff,
    patches_output=True,
    replays=False,
    replays_records=True,
    has_portable=True,
    sends_source=True,
    travels_whole=True,
    embeds=True,
    options=("kallsyms", "symfs"),
    options_of_files=("kallsyms",),
    package="converter.formats.perf.data",
)

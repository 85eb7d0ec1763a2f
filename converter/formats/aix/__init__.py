"""AIX system trace: the raw stream of `trace -o -` and `trcrpt -r`, and the text of `trcrpt` reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.aix.layout import MAGIC, OWN_START_32
from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.aix.capabilities import capabilities

    return capabilities(variant)


def sniff(head: bytes) -> bool:
    """Return True for a raw 64-bit stream, a 32-bit one that traceconv wrote, or the text of a report.

    The streams of 32-bit kernels themselves have no magic number.
    """
    if head.startswith((MAGIC, OWN_START_32)):
        return True
    # Each report's heading has this word; most files without it can be ruled out quickly.
    if b"SYSCALL" not in head:
        return False
    from converter.formats.aix.reading import report_text

    return report_text.sniff(head)


FORMAT = Format(
    name="aix",
    title="AIX trace",
    suffixes=(".aix", ".trcfile"),
    spec="https://www.ibm.com/docs/en/aix/7.3?topic=files-trcfmt-file",
    variants=("64", "32"),
    aliases=("trcrpt",),
    capabilities=_capabilities,
    sniff=sniff,
    options=("variant", "trcfmt"),
    options_of_files=("trcfmt",),
    embeds=True,
    reads_in_order=True,
    replays_as_any_variant=False,
    has_portable=True,
    sends_source=True,
    reports=True,
)

"""Text of perf script: samples with their call stacks, and tracepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format
from converter.formats.perf.script.recognition import HEADER, SAMPLE_LINE, STACK, has_foreign_lines

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities


def sniff(head: bytes) -> bool:
    """Return True if a file has a sample near its start, or perf's header."""
    if b"\0" in head or has_foreign_lines(head):
        return False
    return any(pattern.search(head) for pattern in (SAMPLE_LINE, HEADER, STACK))


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.perf.script.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="perf_script",
    title="Text of perf script",
    suffixes=(".perf", ".script"),
    spec="https://man7.org/linux/man-pages/man1/perf-script.1.html",
    variants=("", "ns"),
    capabilities=_capabilities,
    sniff=sniff,
    embeds=True,
    options=("formats",),
    options_of_files=("formats",),
    package="converter.formats.perf.script",
)

"""Text of Linux ftrace: the kernel's `trace` and `trace_pipe`, trace-cmd's report, and systrace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format
from converter.formats.ftrace_text.recognition import EVENT_LINE, GRAPH_LINE, HEADER_LINE

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities


def sniff(head: bytes) -> bool:
    """Return True if a file starts with a header of the kernel's or trace-cmd's, or has an event near its start."""
    if b"\0" in head:
        return False
    return any((HEADER_LINE.match(head), EVENT_LINE.search(head), GRAPH_LINE.search(head)))


def is_live(head: bytes) -> bool:
    """Return True for the start of a text of the kernel or of a tool; one of this converter has a table at its end."""
    from converter.formats.ftrace.lines.text_mapping import OWN  # needed for streams only

    return sniff(head) and OWN not in head and not head.lstrip().startswith((b"<", b"{"))


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.ftrace_text.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="ftrace_text",
    title="Text of Linux ftrace (trace, trace-cmd report, systrace)",
    suffixes=(".ftrace", ".systrace"),
    spec="https://docs.kernel.org/trace/ftrace.html",
    variants=("", "report"),
    aliases=("systrace", "atrace", "trace_pipe"),
    capabilities=_capabilities,
    sniff=sniff,
    embeds=True,
    searches=True,
    is_live=is_live,
    options=("clock", "formats", "machine"),
    options_of_files=("formats",),
)

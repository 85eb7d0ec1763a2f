"""Chrome JSON: the Trace Event Format of chrome://tracing, which Perfetto and most trace viewers read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

# The text may be cut anywhere, so only the beginning counts: an array that is empty or whose first element is an object
# with a phase or another member of an event, or an object whose first member is one of the format's.
_SPACE = rb"[ \t\r\n]*"
_EVENT_MEMBERS = rb"ph|ts|dur|tts|tdur|pid|tid|name|cat|id|id2|scope|s|args|bind_id|flow_in|flow_out|cname|bp|sf|stack"
#: Members of the object with the events, as a pattern.
TRACE_MEMBERS = (
    rb"traceEvents|traceconv|displayTimeUnit|systemTraceEvents|stackFrames|samples|otherData|metadata|traceAnnotations"
    rb"|powerTraceAsString|androidProcessDump|cgroupDump|controllerTraceDataKey|clientInfo"
)
_ARRAY = re.compile(
    rb"\[" + _SPACE + rb"(\]|$|\{" + _SPACE + rb'("(' + _EVENT_MEMBERS + rb')"|\}|$))'
)
_OBJECT = re.compile(rb"\{" + _SPACE + rb'(\}|$|"(' + TRACE_MEMBERS + rb')")')
_EVENTS = re.compile(rb'"traceEvents"' + _SPACE + rb":" + _SPACE + rb"\[")
# Other JSON files that begin alike: CTF 2 metadata is a text sequence whose fragments are objects with a "type".
_PHASE = re.compile(rb'"(ph|ts)"' + _SPACE + rb":")


def sniff(head: bytes) -> bool:
    """Return True if a file begins like a Chrome JSON trace."""
    if head.startswith(b"\xef\xbb\xbf"):
        head = head[3:]
    head = head.lstrip(b" \t\r\n")
    if _EVENTS.search(head) and head.startswith(b"{"):
        return True
    if match := _ARRAY.match(head):
        return match.group(3) is None or len(head) < 64 or _PHASE.search(head) is not None
    return _OBJECT.match(head) is not None


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.chrome.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="chrome",
    title="Chrome JSON (Trace Event Format)",
    suffixes=(".json",),
    spec="https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU",
    variants=("",),
    shared=("",),
    aliases=("json", "catapult", "trace_event"),
    capabilities=_capabilities,
    sniff=sniff,
    embeds=True,
    reads_in_order=True,
    searches=True,
)

"""Gecko: profiles of Firefox, which samply, perf and other profilers write as well, for profiler.firefox.com."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities


_SPACE = rb"[ \t\r\n]*"
#: The beginning of a profile: its first member.
_OBJECT = re.compile(
    rb"(\xef\xbb\xbf)?" + _SPACE + rb"\{" + _SPACE + rb'"(meta|libs|threads|shared|pages|profile)"'
)
_META = re.compile(rb'"meta"' + _SPACE + rb":" + _SPACE + rb"\{")
#: Members that only profiles have: of the document, of its `meta`, of its threads.
_OF_PROFILES = re.compile(
    rb'"(threads|interval|preprocessedProfileVersion|processType|stackwalk|categories|markerSchema'
    rb'|frameTable|stackTable|stringTable|stringArray)"' + _SPACE + rb":"
)
_EVENTS = re.compile(rb'"traceEvents"' + _SPACE + rb":" + _SPACE + rb"\[")


def sniff(head: bytes) -> bool:
    """Return True if a file begins like a profile of Firefox."""
    return (
        _OBJECT.match(head) is not None
        and _META.search(head) is not None
        and _OF_PROFILES.search(head) is not None
        and _EVENTS.search(head) is None
    )


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.profiles.gecko.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="gecko",
    title="Firefox profile (Gecko)",
    package="converter.formats.profiles.gecko",
    suffixes=(".profile.json", ".gecko.json"),
    spec="https://github.com/firefox-devtools/profiler/blob/main/docs-developer/gecko-profile-format.md",
    variants=("",),
    aliases=("firefox", "samply"),
    capabilities=_capabilities,
    sniff=sniff,
    replays=False,
    embeds=True,
    searches=True,
)

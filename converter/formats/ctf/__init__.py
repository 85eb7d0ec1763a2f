"""CTF, the Common Trace Format: what LTTng 2.x, barectf, perf, Babeltrace and Zephyr write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities


def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of CTF."""
    from converter.formats.ctf.capabilities import capabilities as declared

    return declared(variant)


def sniff(head: bytes) -> bool:
    """Return True if a directory has a `metadata` file at any depth, or a file is one."""
    if not head.startswith(b"dir:"):
        return head.startswith((b"/* CTF 1.8", b"\x57\x1d\xd1\x75", b"\x75\xd1\x1d\x57"))
    return any(name.rpartition(b"/")[2] == b"metadata" for name in head[4:].split(b"\n"))


FORMAT = Format(
    name="ctf",
    title="Common Trace Format (LTTng 2.x, barectf, perf)",
    suffixes=(".ctf",),
    spec="https://diamon.org/ctf/",
    # "" is the version of the source, 1.8 for other formats.
    variants=("", "1.8", "2"),
    aliases=("lttng", "babeltrace", "barectf", "ctf1+1.8", "ctf1.8+1.8", "ctf2+2"),
    capabilities=capabilities,
    sniff=sniff,
    directory=True,
    has_portable=True,
    sends_source=True,
)

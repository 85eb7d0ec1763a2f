"""Legacy LTTng (0.x): the binary directories that LTTV read, versions 1.0 and 2.1 to 2.6."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

#: Files that every legacy trace has: channels of CPUs, with the number after the last underscore.
_CHANNEL_FILE = re.compile(rb"(control/)?(flight-)?(cpu|facilities|metadata)_\d+")


def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of a variant."""
    from converter.formats.lttng_legacy.capabilities import capabilities as declared

    return declared(variant)


def sniff(head: bytes) -> bool:
    """Return True if a directory has channel files of a legacy trace at its top or one folder below."""
    if not head.startswith(b"dir:"):
        return False
    names = head[4:].split(b"\n")
    return any(
        _CHANNEL_FILE.fullmatch(name) or _CHANNEL_FILE.fullmatch(name.partition(b"/")[2])
        for name in names
    )


FORMAT = Format(
    name="lttng_legacy",
    title="Legacy LTTng 0.x (LTTV)",
    suffixes=(".lttng", ".ltt"),
    spec="https://lttng.org/files/",
    # "" is the version of the source, 2.6 for traces of other formats.
    variants=("", "2.6", "1.0"),
    aliases=("lttv", "ltt", "lttng0"),
    capabilities=capabilities,
    sniff=sniff,
    directory=True,
    replays_as_any_variant=False,
    has_portable=True,
    sends_source=True,
)

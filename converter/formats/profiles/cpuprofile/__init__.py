"""CPU profiles of V8, as Node.js, Chrome's DevTools and editors write them (.cpuprofile)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from converter.formats.descriptor import Format
from converter.formats.profiles.cpuprofile.recognition import is_profile

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.profiles.cpuprofile.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="cpuprofile",
    title="V8 CPU profile (DevTools, node --cpu-prof)",
    suffixes=(".cpuprofile",),
    spec="https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile",
    variants=("",),
    capabilities=_capabilities,
    sniff=is_profile,
    replays=False,
    replays_records=True,
    embeds=True,
    package="converter.formats.profiles.cpuprofile",
)

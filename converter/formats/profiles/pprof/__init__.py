"""Profiles of pprof (profile.proto), as Go, gperftools, perf_to_profile and many profilers write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converter.formats.descriptor import Format
from converter.formats.profiles.pprof.recognition import is_profile

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

#: The size of the head that `sniff` gets, unless the file is shorter.
_HEAD_BYTES: Final = 4096


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.profiles.pprof.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="pprof",
    title="pprof profile (profile.proto)",
    suffixes=(".pprof", ".pb.gz"),
    spec="https://github.com/google/pprof/blob/main/proto/profile.proto",
    variants=("",),
    capabilities=_capabilities,
    sniff=lambda head: is_profile(head, _HEAD_BYTES),
    replays=False,
    replays_records=True,
    embeds=True,
    package="converter.formats.profiles.pprof",
)

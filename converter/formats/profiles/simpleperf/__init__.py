"""Samples of simpleperf, Android's profiler: what `simpleperf report-sample --protobuf` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from converter.formats.descriptor import Format

if TYPE_CHECKING:
    from converter.projection.capabilities import Capabilities

_MAGIC: Final = b"SIMPLEPERF"


def _capabilities(variant: str) -> Capabilities:
    from converter.formats.profiles.simpleperf.capabilities import capabilities

    return capabilities(variant)


FORMAT = Format(
    name="simpleperf",
    title="simpleperf samples (report-sample --protobuf)",
    suffixes=(".simpleperf",),
    spec="https://android.googlesource.com/platform/system/extras/+/refs/heads/main/simpleperf/cmd_report_sample.proto",
    variants=("",),
    capabilities=_capabilities,
    sniff=lambda head: head.startswith(_MAGIC),
    replays=False,
    replays_records=True,
    embeds=True,
    package="converter.formats.profiles.simpleperf",
)

"""The capabilities of CPU profiles: the samples of one thread, with times."""

from __future__ import annotations

from functools import cache
from typing import Final

from converter.formats.profiles.cpuprofile.sampling import SAMPLE, sampled
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Capabilities, KindSupport

_SAMPLE: Final = KindSupport(
    fields=SAMPLE.fields,
    required=frozenset({Role.FRAMES}),
    arguments=False,
    thread=False,
    event=("", ""),
)

__all__ = ["SAMPLE", "capabilities"]


@cache
def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of CPU profiles."""
    del variant
    return Capabilities(
        {Kind.SAMPLE: _SAMPLE},
        rewrite=sampled,
        clock_rates=False,
        negative_times=True,
        time_order=True,
        call_stacks=True,
    )

"""The capabilities of profiles: sums of samples by event, thread and call stack, with labels."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from converter.formats.profiles.capabilities import with_whole_frames
from converter.formats.profiles.pprof.summing import summed
from converter.formats.profiles.samples import unit_of
from converter.formats.profiles.sums import ORDER
from converter.ir.events import EventClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Capabilities, KindSupport
from converter.projection.timeline_fields import FRAMES, weight

_SAMPLE: Final = KindSupport(
    fields=(FRAMES, weight("")),
    required=frozenset({Role.FRAMES}),
    named=True,
    holds=Capabilities(
        {},
        integers=frozenset({(64, True)}),
        floats=frozenset(),
        booleans=False,
        nulls=False,
        blobs=False,
        units=True,
    ),
)


@cache
def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of profiles."""
    del variant
    return Capabilities(
        {Kind.SAMPLE: replace(_SAMPLE, of_class=_support)},
        integers=frozenset({(64, True)}),
        floats=frozenset(),
        booleans=False,
        nulls=False,
        blobs=False,
        units=True,
        adapters={Kind.SAMPLE: with_whole_frames},
        rewrite=summed,
        only_clock=ORDER,
        id_bits=63,
        call_stacks=True,
        epoch=True,
    )


def _support(event_class: EventClass) -> KindSupport:
    """Return how samples of a class are held: the weight has the unit that the source has."""
    return replace(_SAMPLE, fields=(FRAMES, weight(unit_of(event_class))))

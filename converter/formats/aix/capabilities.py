"""Capabilities of a raw stream: events of any other format, with all declared fields, in user hooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from converter.formats.aix.entries.encoding import MAX_NODES, can_be_held
from converter.ir.events import EventClass
from converter.ir.field_classes import Style, media_types_of
from converter.ir.kinds import Kind
from converter.projection.capabilities import Capabilities, KindSupport

#: An event's data is split into entries of 4,096 bytes; this bounds what a reader must hold at once.
MAX_BYTES = 1 << 25

_CONTENTS = Capabilities(
    kinds={},
    integers=frozenset((bits, signed) for bits in range(1, 65) for signed in (False, True)),
    styles=frozenset(Style),
    labels=True,
    units=True,
    arrays=True,
    structures=True,
    variants=True,
    optionals=True,
    max_string_bytes=MAX_BYTES,
    max_blob_bytes=MAX_BYTES,
    utf8_only=False,
    negative_times=True,
    negative_durations=True,
    late_ends=True,
    tracks=True,
    clock_names=True,
    other_clocks=True,
    epoch=True,
    environment=True,
    command_lines=True,
)

#: Capabilities for classes with too many or too deep fields: plain fields, and the rest in further events.
_PLAIN: Mapping[str, Any] = {
    "arrays": False,
    "structures": False,
    "variants": False,
    "optionals": False,
    "max_arguments": MAX_NODES,
}
_SUPPORT = KindSupport(cpu=True, track=True, named=True, roles=True)


def _support(event_class: EventClass) -> KindSupport:
    media_types = frozenset(
        each for field in event_class.fields for each in media_types_of(field.type)
    )
    holds = replace(_CONTENTS, media_types=media_types) if media_types else None
    if not can_be_held(event_class.fields):
        holds = replace(holds or _CONTENTS, **_PLAIN)
    return replace(_SUPPORT, timed=event_class.timed, holds=holds)


@cache
def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of a variant: thread IDs of 32-bit kernels have 32 bits."""
    support = replace(_SUPPORT, of_class=_support)
    return replace(
        _CONTENTS,
        kinds=dict.fromkeys(Kind, support),
        id_bits=32 if variant == "32" else 64,
    )

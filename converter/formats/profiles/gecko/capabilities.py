"""The capabilities of profiles: samples with call stacks, markers with data, and counters of one value."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np

from converter.formats.json_values.narrowing import narrowed
from converter.formats.profiles.capabilities import sample_support, with_whole_frames
from converter.formats.profiles.gecko.layout import COUNTER_CATEGORIES
from converter.formats.profiles.gecko.mapping import (
    CATEGORY,
    NAME,
    OF_SAMPLES,
    PHASES,
    VALUES,
    marker_fields,
)
from converter.ir.columns import string_ids
from converter.ir.events import EventClass
from converter.ir.field_classes import Style
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.domain.counter_series import place_counters, series_as_counters
from converter.projection.engine.fitting import is_value
from converter.projection.engine.partitions import Partition
from converter.projection.timeline_fields import JSON_TEXT

_COUNTER: Final = KindSupport(
    (NAME, CATEGORY, VALUES[0]),
    (VALUES[1],),
    required=frozenset({Role.VALUE}),
    arguments=False,
    drawn_values=True,
    thread=False,
    track=True,
)


def _of_counter(event_class: EventClass) -> KindSupport | None:
    """Return how a counter is held: with one value."""
    return None if sum(map(is_value, event_class.fields)) > 1 else _COUNTER


def _as_counter(partition: Partition, projection: Projection) -> Partition:
    """Put counters on tracks; report those of categories that viewers know no units of."""
    partition = place_counters(narrowed(partition, projection), projection)
    if projection.is_own:
        return partition
    index = partition.event_class.index_of(Role.CATEGORY)
    if index is None:
        projection.lose("counter-as-bytes", partition)
        return partition
    strings = projection.source.strings
    known = [strings.intern(name) for name in COUNTER_CATEGORIES]
    categories = string_ids(partition.table.column(index), strings)
    projection.lose("counter-as-bytes", partition, rows=~np.isin(categories, known))
    return partition


@cache
def capabilities(variant: str) -> Capabilities:  # noqa: ARG001 - there is one
    """Return the capabilities of profiles."""
    markers = {
        kind: KindSupport(
            marker_fields(kind),
            required=frozenset({Role.DURATION} if kind is Kind.SLICE_COMPLETE else ()),
            track=True,
            one_place=True,
        )
        for kind in PHASES
    }
    return Capabilities(
        {
            **markers,
            Kind.COUNTER: replace(_COUNTER, of_class=_of_counter),
            Kind.SAMPLE: sample_support(optional=OF_SAMPLES, named=True),
        },
        integers=frozenset({(64, True), (64, False)}),
        floats=frozenset({64}),
        media_types=frozenset({JSON_TEXT.media_type}),
        styles=frozenset({Style.HEXADECIMAL}),
        wide_styles=frozenset({Style.HEXADECIMAL}),
        units=True,
        arrays=True,
        structures=True,
        negative_times=True,
        clock_rates=False,
        ends=EndMatching.NAME,
        named_ends=True,
        call_stacks=True,
        lowerings={Kind.COUNTER: series_as_counters},
        adapters={
            **dict.fromkeys(markers, narrowed),
            Kind.COUNTER: _as_counter,
            Kind.SAMPLE: with_whole_frames,
        },
        tracks=True,
        track_units=True,
        clock_names=True,
        other_clocks=True,
        epoch=True,
        environment=True,
        command_lines=True,
    )

"""The capabilities of Perfetto traces: the fields of each kind as the reader returns them, and their adapters."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from converter.formats.perfetto import mapping
from converter.formats.perfetto.adapters.kernel_events import (
    CANONICAL,
    GENERIC_SUPPORT,
    kernel_adapter,
    kernel_support,
    tracepoint_or_instant,
)
from converter.formats.perfetto.adapters.positions import (
    drop_foreign_packets,
    on_threads_by_tid,
    without_foreign_packets,
)
from converter.formats.perfetto.adapters.record_shapes import as_log_entries
from converter.formats.perfetto.adapters.scheduling import as_scheduled
from converter.ir.events import EventClass
from converter.ir.field_classes import ArrayClass, IntegerClass, StringClass, Style
from converter.ir.kinds import Kind, Role
from converter.ir.semantics import EndMatching, FlowMatching
from converter.projection.capabilities import Capabilities, KindSupport, Lowering, Projection
from converter.projection.domain.scheduling.task_names import NAMED_KINDS
from converter.projection.engine.partitions import Partition
from converter.projection.timeline_fields import FOLLOWED, FRAME

#: Values of debug annotations. `keep_lists` decides about arrays.
_ARGUMENTS: Final = Capabilities(
    {},
    integers=frozenset({(64, False), (64, True)}),
    floats=frozenset({64}),
    blobs=False,
    media_types=frozenset({mapping.JSON_VALUE.media_type}),
    styles=frozenset({Style.POINTER}),
    wide_styles=frozenset({Style.POINTER}),
    arrays=True,
    structures=True,
)


def _counter_support(event_class: EventClass) -> KindSupport | None:
    """Return how a counter is held: with one value, which is a number. See also `_without_texts`."""
    from converter.projection.engine.fitting import is_value

    return None if sum(map(is_value, event_class.fields)) > 1 else _COUNTER


_LOST: Final = KindSupport(arguments=False, thread=False, cpu=True)


def _lost(partition: Partition, projection: Projection) -> Partition:
    """Adapt lost events: the record has no count if the class has none."""
    if partition.integers(Role.COUNT) is None:
        return partition
    from converter.projection.domain.lost_events import counted

    return counted()(partition, projection)


def _lost_support(event_class: EventClass) -> KindSupport:
    """Return how lost events are held, with their number where the source knows it."""
    counted = mapping.COUNTED_LOST_EVENTS
    index = event_class.index_of(Role.COUNT)
    if index is None or not isinstance(event_class.fields[index].type, IntegerClass):
        return _LOST
    return replace(_LOST, fields=counted.fields, event=("", counted.name))


def _native_support(event_class: EventClass) -> KindSupport:
    return KindSupport(
        mapping.NATIVE_PACKET.fields,
        arguments=False,
        thread=False,
        event=(event_class.category, event_class.name),
        timed=event_class.timed,
        required=frozenset({Role.TYPE, Role.PAYLOAD}),
    )


def _log_support(event_class: EventClass) -> KindSupport | None:
    """Return how a log entry is held: with a message and Android's other fields; with arguments, as an instant."""
    for field in event_class.fields:
        own = field.role in (Role.MESSAGE, Role.CATEGORY) and isinstance(field.type, StringClass)
        if not own and field not in mapping.log_fields():
            return None
    roles = {field.role for field in event_class.fields}
    return _LOG if len(roles) == len(event_class.fields) else None


def _sample_support(event_class: EventClass) -> KindSupport | None:
    """Return how a sample is held: with a stack of frames, addresses or functions; others are instants."""
    index = event_class.index_of(Role.FRAMES)
    frames = None if index is None else event_class.fields[index].type
    if not isinstance(frames, ArrayClass):
        return None
    if not isinstance(frames.element, IntegerClass | StringClass) and frames.element != FRAME:
        return None
    counter = event_class.index_of(Role.VALUE)
    unit = "" if counter is None else event_class.fields[counter].unit
    fields = mapping.sample_fields(unit)
    return replace(_SAMPLE, fields=fields, event=("", event_class.name))


_LOG: Final = KindSupport(mapping.log_fields(), required=frozenset({Role.MESSAGE}), arguments=False)
_SAMPLE: Final = KindSupport(
    mapping.SAMPLE_FIELDS,
    (mapping.UNWIND_ERROR,),
    required=frozenset({Role.FRAMES}),
    arguments=False,
    cpu=True,
    holds=Capabilities({}, arrays=True, structures=True),
)

_COUNTER: Final = KindSupport(
    (*mapping.leading_fields(Kind.COUNTER), mapping.COUNTER_VALUES[True]),
    (mapping.COUNTER_VALUES[False], *mapping.PARTS),
    required=frozenset({Role.VALUE}),
    drawn_values=True,
    thread=False,
    track=True,
    holds=_ARGUMENTS,
)


# Adapters of timeline events are imported when the first one is projected: traces of a kernel have none.


def _fitted(partition: Partition, projection: Projection) -> Partition:
    from converter.formats.perfetto.adapters.argument_lists import keep_lists
    from converter.formats.perfetto.adapters.argument_names import report_names
    from converter.formats.perfetto.adapters.json_arguments import as_pointers
    from converter.formats.perfetto.adapters.timeline_fields import as_parts

    kept = keep_lists(as_pointers(partition, projection), projection)
    from converter.projection.unseen import lose_empty

    lose_empty(kept, projection)
    return as_parts(report_names(kept, projection), projection)


def _fitted_counter(partition: Partition, projection: Projection) -> Partition:
    from converter.projection.domain.counter_series import place_counters

    return _fitted(place_counters(partition, projection), projection)


def _as_perf_samples(partition: Partition, projection: Projection) -> Partition:
    from converter.formats.perfetto.adapters.samples import as_perf_samples

    return as_perf_samples(partition, projection)


def _series_as_counters(partition: Partition, projection: Projection) -> list[Partition] | None:
    from converter.projection.domain.counter_series import series_as_counters

    return series_as_counters(partition, projection)


def _without_texts(partition: Partition, projection: Projection) -> list[Partition]:
    from converter.projection.domain.counter_series import without_texts

    return without_texts(partition, projection)


def _without_clock_syncs(partition: Partition, projection: Projection) -> list[Partition] | None:
    from converter.formats.perfetto.adapters.json_arguments import without_clock_syncs

    return without_clock_syncs(partition, projection)


def _by_syntax(partition: Partition, projection: Projection) -> list[Partition]:
    from converter.formats.perfetto.adapters.markers import by_syntax

    return by_syntax(partition, projection)


@cache
def capabilities(variant: str) -> Capabilities:
    """Return what a Perfetto trace can hold, by kind: the fields that the reader returns.

    Kernel events are the typed message of their name where the package has one, the message of their kind, or else
    generic events of 64-bit integers, floating-point numbers, strings and bytes.
    """
    del variant
    kinds: dict[Kind, KindSupport] = {}
    for kind in mapping.TYPE_KINDS.values():
        kinds[kind] = KindSupport(
            mapping.leading_fields(kind),
            mapping.MOMENT_PARTS,
            track=True,
            one_place=True,
            holds=_ARGUMENTS,
        )
    kinds[Kind.SLICE_COMPLETE] = KindSupport(
        mapping.leading_fields(Kind.SLICE_COMPLETE),
        mapping.PARTS,
        required=frozenset({Role.DURATION}),
        holds=_ARGUMENTS,
    )
    kinds[Kind.COUNTER] = replace(_COUNTER, of_class=_counter_support)
    for kind in sorted(mapping.ID_KINDS):
        kinds[kind] = KindSupport(
            mapping.leading_fields(kind),
            mapping.MOMENT_PARTS,
            required=frozenset({Role.ID}),
            track=True,
            one_place=True,
            holds=_ARGUMENTS,
        )
    kinds[Kind.TYPED] = replace(GENERIC_SUPPORT, of_class=kernel_support)
    # What messages hold is asked for each class: those of all kinds together would take longer than a small trace.
    kinds |= dict.fromkeys(sorted(CANONICAL), kinds[Kind.TYPED])
    kinds[Kind.LOG] = replace(_LOG, of_class=_log_support)
    kinds[Kind.SAMPLE] = replace(_SAMPLE, of_class=_sample_support)
    kinds[Kind.DISCARDED] = replace(_LOST, of_class=_lost_support)
    native = EventClass(Kind.NATIVE)
    kinds[Kind.NATIVE] = replace(_native_support(native), of_class=_native_support)
    lowerings: dict[Kind, Lowering] = {kind: tracepoint_or_instant(kind) for kind in CANONICAL}
    lowerings[Kind.NATIVE] = without_foreign_packets
    lowerings[Kind.CLOCK_SYNC] = _without_clock_syncs
    lowerings[Kind.COUNTER] = _series_as_counters
    adapters = dict.fromkeys((Kind.TYPED, *CANONICAL), kernel_adapter(on_threads_by_tid))
    adapters |= dict.fromkeys(NAMED_KINDS, kernel_adapter(as_scheduled))
    for kind in (*mapping.TYPE_KINDS.values(), *mapping.ID_KINDS, Kind.SLICE_COMPLETE):
        adapters[kind] = _fitted
    adapters[Kind.COUNTER] = _fitted_counter
    adapters[Kind.LOG] = as_log_entries
    adapters[Kind.SAMPLE] = _as_perf_samples
    adapters[Kind.NATIVE] = drop_foreign_packets
    adapters[Kind.DISCARDED] = _lost
    return Capabilities(
        kinds,
        integers=frozenset({(64, False), (64, True)}),
        floats=frozenset({64}),
        blobs=False,
        styles=frozenset({Style.POINTER}),
        wide_styles=frozenset({Style.POINTER}),
        structures=True,
        clock_rates=False,
        exits_by_switch=True,
        duration_unit=1000,
        ends=EndMatching.NAME_OR_UNNAMED,
        complete_first=False,
        flow_matching=FlowMatching.NAME_AND_ID,
        flow_fields=frozenset(FOLLOWED),
        max_cpu=1023,
        max_depth=512,
        id_bits=31,
        cpuless=False,
        lowerings=lowerings,
        call_stacks=True,
        totals=True,
        program_instants=True,
        adapters=adapters,
        splitters={Kind.COUNTER: _without_texts, Kind.MARK: _by_syntax},
        tracks=True,
        task_tracks=True,
        track_units=True,
        clock_names=True,
        other_clocks=True,
        epoch=True,
        environment=True,
        command_lines=True,
        symbols=True,
        json_documents=True,
    )

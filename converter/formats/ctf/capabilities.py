"""CTF's capabilities: nearly all events of other formats, the kernel's in the layout in which LTTng records them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np

from converter.formats.ctf.lttng_events import EVENTS, NEEDED, is_lttng_event
from converter.ir.columns import constant_column
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import FieldClass, IntegerClass, Style, media_types_of, parts_of
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Adapter, Capabilities, KindSupport, Projection
from converter.projection.domain.lost_events import COUNT, counted
from converter.projection.domain.scheduling.sched_conventions import with_linux_state
from converter.projection.domain.scheduling.state_bits import bits_of_release, with_state_bits
from converter.projection.domain.scheduling.task_names import NAMED_KINDS, with_tasks
from converter.projection.engine.partitions import Partition
from converter.projection.losses import LossClass

#: Packets count the events that were lost. If their number is unknown, there is a gap in the numbers of packets.
LOST: Final = EventClass(Kind.DISCARDED, "discarded", fields=(COUNT,))
_PACKETS: Final = Field("packets", IntegerClass(64))
LOST_PACKETS: Final = EventClass(Kind.DISCARDED, "discarded_packets", fields=(COUNT, _PACKETS))
#: The most packets in a gap: sums of these stay within the 64 bits of a packet's number.
_MOST_PACKETS: Final = (1 << 32) - 1
#: Records that only their own format can interpret.
_FOREIGN: Final = frozenset({Kind.NATIVE})
#: Timers without high resolution have other events.
_TIMERS: Final = frozenset({Kind.TIMER_ENTRY, Kind.TIMER_EXIT})
_ANY: Final = KindSupport(thread=True, cpu=True, track=True, named=True, roles=True)


@cache
def capabilities(variant: str) -> Capabilities:
    """Return the capabilities of a variant: CTF 1.8 and 2 hold the same, but Babeltrace shows flags in CTF 2 alone."""
    adapters: dict[Kind, Adapter] = {
        **dict.fromkeys(NAMED_KINDS & EVENTS.keys(), _adapt_scheduling),
        Kind.DISCARDED: counted(),
    }
    if variant == "1.8":
        adapters = {**dict.fromkeys(set(Kind) - _FOREIGN, _count_flags), **adapters}
    any_class = replace(_ANY, of_class=_support)
    kinds = {kind: any_class for kind in Kind if kind not in _FOREIGN}
    for kind in EVENTS:
        kinds[kind] = replace(_lttng_support(kind), of_class=_support)
    kinds[Kind.DISCARDED] = replace(_lost_support(LOST), of_class=_lost_support)
    return Capabilities(
        kinds=kinds,
        integers=frozenset((bits, signed) for bits in range(1, 65) for signed in (False, True)),
        styles=frozenset(Style),
        labels=True,
        units=True,
        arrays=True,
        structures=True,
        variants=True,
        optionals=True,
        nul_ends_strings=True,
        utf8_only=False,
        negative_times=True,
        negative_durations=True,
        late_ends=True,
        # Babeltrace takes the next value for an overflow, and rejects the whole trace.
        latest_ns=(1 << 63) - 2,
        max_cpu=(1 << 31) - 1,
        # -1, in the upper half of the 64-bit numbers, is no thread.
        id_bits=63,
        adapters=adapters,
        splitters={Kind.DISCARDED: _split_lost},
        tracks=True,
        track_units=True,
        clock_names=True,
        other_clocks=True,
        epoch=True,
        environment=True,
        command_lines=True,
    )


def _lttng_support(kind: Kind) -> KindSupport:
    name, fields = EVENTS[kind]
    return KindSupport(
        fields=fields,
        required=NEEDED[kind],
        cpu=True,
        track=True,
        event=("", name),
        roles=True,
    )


def _support(event_class: EventClass) -> KindSupport:
    """Return the support for a class: as it is, or as LTTng's event if it has its fields; bytes have any media type."""
    kind = event_class.kind
    roles = {field.role for field in event_class.fields}
    as_it_is = kind not in EVENTS or kind in _TIMERS or is_lttng_event(event_class)
    support = _ANY if as_it_is or not roles >= NEEDED[kind] else _lttng_support(kind)
    media_types = frozenset(
        each for field in event_class.fields for each in media_types_of(field.type)
    )
    if not media_types:
        return support
    return replace(support, holds=replace(capabilities(""), media_types=media_types))


def _lost_support(event_class: EventClass) -> KindSupport:
    held = LOST if packets_field(event_class) is None else LOST_PACKETS
    return KindSupport(
        fields=held.fields, arguments=False, thread=False, cpu=True, event=("", held.name)
    )


def packets_field(event_class: EventClass) -> int | None:
    """Return the index of the field with the number of lost packets, whose number of events is unknown."""
    return next((i for i, one in enumerate(event_class.fields) if one == _PACKETS), None)


# Adapters


def _split_lost(partition: Partition, projection: Projection) -> list[Partition]:
    """Split lost events into those whose number is known and lost packets."""
    counts = partition.integers(Role.COUNT)
    if counts is None:
        return [_as_packets(partition, projection)]
    known, unknown = partition.split(counts >= 0)
    parts = [] if unknown is None else [_as_packets(unknown, projection)]
    if known is not None:
        index = packets_field(known.event_class)
        if index is not None:
            projection.lose("gap-packets-dropped", known)
            known = known.without_field(index)
        parts.append(known)
    return parts


def _as_packets(partition: Partition, projection: Projection) -> Partition:
    """Turn gaps of unknown size into missing packets: as many as the source says, or one."""
    index = packets_field(partition.event_class)
    if index is None:
        projection.lose("gap-as-lost-packet", partition)
        return partition.with_argument(_PACKETS, constant_column(np.uint64(1), len(partition)))
    columns = partition.lazy_columns()
    said = np.asarray(partition.table.column(index))
    columns[index] = np.clip(said, 1, _MOST_PACKETS)
    changed = np.asarray(columns[index] != said)
    projection.lose("gap-packets-capped", partition, rows=changed, limit=_MOST_PACKETS)
    return partition.rewritten(partition.event_class, columns)


def _renamed(partition: Partition, point: tuple[str, str], projection: Projection) -> Partition:
    """Rename events to LTTng's name, including those that have all of its fields only after conversion."""
    event_class = partition.event_class
    category, name = point
    if (event_class.category, event_class.name) == point:
        return partition
    if any((event_class.category, event_class.name)):
        projection.lose("event-renamed", partition, loss_class=LossClass.KEPT, shown=name)

    def renamed() -> EventClass:
        return replace(event_class, category=category, name=name)

    return partition.rewritten(
        partition.derive(("called", name), renamed), partition.lazy_columns()
    )


def _count_flags(partition: Partition, projection: Projection) -> Partition:
    """Count the events whose flags Babeltrace does not name: CTF 1.8 has no bit maps."""
    event_class = partition.event_class
    for field in event_class.fields:
        if _has_flags(field.type):
            projection.lose("flag-names", partition, field=field.name)
    return partition


def _has_flags(held: FieldClass) -> bool:
    return any(isinstance(part, IntegerClass) and part.flags for part in parts_of(held))


def _adapt_scheduling(partition: Partition, projection: Projection) -> Partition:
    """Add the task names that LTTng's event has, and the state of the task that is switched out in Linux's numbers."""
    support = _support(partition.event_class)
    if support.event is not None:
        partition = _renamed(with_tasks(partition, projection), support.event, projection)
    if partition.event_class.kind is not Kind.SCHED_SWITCH:
        return partition
    release = str(projection.source.environment.get("kernel_release", ""))
    return with_state_bits(with_linux_state(partition), projection, bits_of_release(release))

"""Lowering: replaces events of kinds that a format does not have.

A rule rewrites the class and reuses the columns. It returns partitions of simpler kinds, which may be lowered in turn,
or None if nothing simpler is left: the events are dropped, and counted.
"""

from __future__ import annotations

from dataclasses import replace

from converter.ir.events import class_label
from converter.ir.kinds import Kind
from converter.projection.capabilities import Lowering, Projection
from converter.projection.engine.partitions import Partition
from converter.projection.engine.placing import is_absent
from converter.projection.instants import as_instant, as_typed, lower_to_instant, superseded


def lower_message(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to an instant, which the message's flow is bound to if there are flows, else to the tracepoint
    that it was.
    """
    kinds = projection.capabilities.kinds
    if Kind.TYPED in kinds and Kind.FLOW_BEGIN not in kinds:
        return [as_typed(partition)]
    return lower_to_instant(partition, projection)


def lowering_of(kind: Kind) -> Lowering:
    """Return the rule for a kind; those without one become instants. Rules of a domain are imported when needed."""
    if kind in (Kind.MESSAGE_SEND, Kind.MESSAGE_RECEIVE):
        return lower_message
    if kind is Kind.MARK:
        from converter.projection.domain.atrace import lower_mark

        return lower_mark
    if kind is Kind.SAMPLE:
        from converter.projection.domain.lowered_samples import lower_sample

        return lower_sample
    from converter.projection.domain.linux_timeline import LINUX_LOWERINGS

    return LINUX_LOWERINGS.get(kind, lower_to_instant)


def lowering_for(partition: Partition, projection: Projection) -> Lowering | None:
    """Return the rule that a partition of the source needs though the format has its kind, or None."""
    if superseded(partition, projection):
        return lower_to_instant
    return lower_program_event if _is_of_program(partition, projection) else None


def lower_program_event(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower to an instant named by provider and tracepoint: the latter alone may be as short as "end"."""
    named = replace(partition.event_class, name=class_label(partition.event_class))
    return [as_instant(partition.rewritten(named, partition.lazy_columns()), projection)]


def _is_of_program(partition: Partition, projection: Projection) -> bool:
    """Return True for tracepoints of programs, if the format's viewers take tracepoints for those of a kernel."""
    if partition.event_class.kind is not Kind.TYPED or not projection.capabilities.program_instants:
        return False
    if partition.event_class in projection.source.of_programs:
        return True
    return is_absent(partition.batch.cpu if partition.cpu is None else partition.cpu)


def lose_native(code: str, partition: Partition, projection: Projection) -> None:
    """Count records that only their own format has."""
    if len(partition):
        name = projection.own_class(partition).name or "unnamed"
        projection.lose(code, partition, format=projection.source.format, name=name)

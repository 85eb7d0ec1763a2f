"""The last resort of lowering: any event as an instant, or as a tracepoint that nothing interprets."""

from __future__ import annotations

from dataclasses import replace

from converter.ir.events import EventClass, Field
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.capabilities import Projection
from converter.projection.engine.partitions import CONTEXT_ROLES, Partition

NAME = Field("name", StringClass(), Role.NAME)
CATEGORY = Field("category", StringClass(), Role.CATEGORY)

#: Kinds whose events carry a name of their own, which an instant keeps.
NAMED_BY_EVENT = frozenset(
    {
        Kind.SLICE_BEGIN,
        Kind.SLICE_END,
        Kind.SLICE_COMPLETE,
        Kind.INSTANT,
        Kind.COUNTER,
        Kind.ASYNC_BEGIN,
        Kind.ASYNC_INSTANT,
        Kind.ASYNC_END,
        Kind.FLOW_BEGIN,
        Kind.FLOW_STEP,
        Kind.FLOW_END,
        Kind.STATE,
        Kind.OBJECT_NEW,
        Kind.OBJECT_SNAPSHOT,
        Kind.OBJECT_DELETE,
        Kind.OBJECT_INFO,
        Kind.BLOB,
    }
)


def lower_to_instant(partition: Partition, projection: Projection) -> list[Partition] | None:
    """Lower any event to an instant with all its fields as arguments, named after its class.

    If the format has tracepoints but no instants, it becomes one of those; return None if it has neither.
    """
    kinds = projection.capabilities.kinds
    kind = partition.event_class.kind
    if Kind.INSTANT in kinds and kind is not Kind.INSTANT:
        return [as_instant(partition, projection)]
    if Kind.TYPED in kinds and kind is not Kind.TYPED:
        return [as_typed(partition)]
    return None


def as_instant(partition: Partition, projection: Projection) -> Partition:
    """Return an instant with all fields as arguments, named as the event is, or else after its class."""
    event_class = partition.event_class
    if event_class.kind in NAMED_BY_EVENT and event_class.index_of(Role.NAME) is not None:
        return partition.as_kind(
            Kind.INSTANT, roles={Role.NAME: Role.NAME, Role.CATEGORY: Role.CATEGORY}
        )
    name = event_class.name or event_class.kind.name.lower()
    leading = [(NAME, projection.constant(name, len(partition)))]
    if event_class.category:
        leading.append((CATEGORY, projection.constant(event_class.category, len(partition))))
    return partition.as_kind(Kind.INSTANT, leading)


def as_typed(partition: Partition) -> Partition:
    """Return a tracepoint with all fields as arguments, named after its class."""
    event_class = partition.event_class
    fields = tuple(
        field if field.role in CONTEXT_ROLES else replace(field, role=Role.NONE)
        for field in event_class.fields
    )
    return partition.rewritten(
        replace(
            event_class,
            kind=Kind.TYPED,
            name=event_class.name or event_class.kind.name.lower(),
            fields=fields,
        ),
        partition.lazy_columns(),
    )


def superseded(partition: Partition, projection: Projection) -> bool:
    """Return True if other events of the source say the same better, so that these remain instants.

    A wakeup is recorded twice: sched_waking by the waker, sched_wakeup where the task is enqueued. If the target has
    one record for both, it is made from the first.
    """
    kinds = projection.capabilities.kinds
    return (
        partition.event_class.kind in (Kind.SCHED_WAKEUP, Kind.SCHED_WAKEUP_NEW)
        and Kind.SCHED_WAKING not in kinds
        and Kind.SCHED_WAKEUP in kinds
        and projection.occurs(_is_waking)
    )


def _is_waking(event_class: EventClass) -> bool:
    return event_class.kind is Kind.SCHED_WAKING

"""Projects one partition to those that a format holds of it.

It is lowered until the format knows its kind, nested fields are flattened, rows are moved to where the format can have
them, and fields are fitted. What the format's record cannot hold goes to instants right after it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from converter.ir.events import EventClass, class_label
from converter.ir.kinds import Kind
from converter.projection.capabilities import Capabilities, KindSupport, Projection
from converter.projection.engine.fitting import Fitter, is_value
from converter.projection.engine.nested_fields import (
    flattened,
    is_nested,
    is_varying,
    split_by_presence,
)
from converter.projection.engine.partitions import ByClass, Partition
from converter.projection.engine.placing import Placing
from converter.projection.instants import CATEGORY, NAME, as_instant
from converter.projection.loss_codes.names import kind_name
from converter.projection.lowering import lose_native, lowering_for, lowering_of

#: Lowering terminates, as no rule returns a kind that its input was made from. This limit enforces it.
MAX_LOWERINGS = 6


class PartitionProjection:
    """Projects partitions.

    Args:
        projection: the interface for the rules.
        placing: moves rows to where the format can have them.
        support: returns how the format holds a class, None for one of a kind that it lacks.
        bookkeeping: names of native records that only describe the recording itself.
    """

    def __init__(
        self,
        projection: Projection,
        placing: Placing,
        support: ByClass[KindSupport | None],
        bookkeeping: Collection[str],
    ) -> None:
        self._projection = projection
        self._capabilities = projection.capabilities
        self._placing = placing
        self._support = support
        self._bookkeeping = bookkeeping
        self._fitter = Fitter(projection)
        self._is_nested = ByClass(lambda one: is_nested(one, self._argument_capabilities(one)))
        self._is_varying = ByClass(lambda one: is_varying(one, self._argument_capabilities(one)))
        self._has_texts: Callable[[EventClass], bool] | None = None
        if projection.source.semantics.counter_series:
            from converter.projection.domain.counter_texts import has_texts

            self._has_texts = ByClass(has_texts)
        self._has_required = ByClass(self._required_are_there)

    def project(self, partition: Partition) -> list[Partition]:
        """Return the partitions that the format holds of one of any kind."""
        event_class = partition.event_class
        if self._has_texts is not None and self._has_texts(event_class):
            from converter.projection.domain.counter_texts import texts_as_values

            support = self._support(event_class)
            counts = support is None or support.numeric_values or support.drawn_values
            if counts or not self._has_required(event_class):
                parts = texts_as_values(partition, self._projection)
                return [fitted for part in parts for fitted in self._fit(part, 0)]
        return self._fit(partition, 0)

    def _fit(self, partition: Partition, depth: int) -> list[Partition]:
        """Return those of a partition that `depth` rules have made from the source's."""
        event_class = partition.event_class
        if event_class.kind is Kind.NATIVE and event_class.name in self._bookkeeping:
            self._projection.lose("recording-record-dropped", partition)
            return []
        support = self._support(partition.event_class)
        rule = lowering_for(partition, self._projection) if depth == 0 else None
        if rule is None and (support is None or not self._has_required(partition.event_class)):
            kind = partition.event_class.kind
            rule = self._capabilities.lowerings.get(kind) or lowering_of(kind)
        if rule is not None:
            return self._lower(partition, rule, depth)
        assert support is not None
        if self._is_nested(partition.event_class):
            self._projection.lose("nested-fields", partition)
            partition = flattened(partition, self._argument_capabilities(partition.event_class))
        if self._is_varying(partition.event_class):
            self._projection.lose("optional-fields", partition)
            parts = split_by_presence(partition, self._argument_capabilities(partition.event_class))
            return [fitted for part in parts for fitted in self._fit(part, max(depth, 1))]
        splitter = self._capabilities.splitters.get(partition.event_class.kind)
        if splitter is None:
            return self._adapted(partition, support, depth)
        result = []
        for part in splitter(partition, self._projection):
            held = self._support(part.event_class)
            assert held is not None
            result += self._adapted(part, held, depth)
        return result

    def _adapted(self, partition: Partition, support: KindSupport, depth: int) -> list[Partition]:
        """Return a partition of a kind that the format holds, as it holds it."""
        adapter = self._capabilities.adapters.get(partition.event_class.kind)
        if adapter is not None:
            kind = partition.event_class.kind
            partition = adapter(partition, self._projection)
            if not len(partition):
                return []
            if partition.event_class.kind is not kind:
                return self._fit(partition, depth + 1)
        return [
            part
            for placed in self._placing.place(partition, support)
            for part in self._split_by_record(self._fitter.fit(placed), support)
        ]

    def _required_are_there(self, event_class: EventClass) -> bool:
        roles = {field.role for field in event_class.fields}
        support = self._support(event_class)
        return support is not None and support.required <= roles

    def _argument_capabilities(self, event_class: EventClass) -> Capabilities:
        """Return the capabilities for arguments of a class."""
        support = self._support(event_class)
        return self._capabilities if support is None else support.holds or self._capabilities

    def _lower(
        self, partition: Partition, rule: Callable[..., list[Partition] | None], depth: int
    ) -> list[Partition]:
        lowered = rule(partition, self._projection) if depth < MAX_LOWERINGS else None
        if lowered is None:
            self._projection.lose("event-dropped", partition)
            return []
        # Viewers interpret only records of their own format.
        unread = partition.event_class.kind is Kind.NATIVE and bool(self._bookkeeping)
        for part in lowered:
            if unread:
                lose_native("native-unshown", part, self._projection)
                continue
            if not self._has_required(part.event_class):
                # It is lowered further, which says what it becomes.
                continue
            shown = kind_name(part.event_class.kind)
            if part.event_class.kind is partition.event_class.kind:
                self._projection.lose("value-on-its-own", part)
            else:
                self._projection.lose("event-as", part, shown=shown)
        return [fitted for part in lowered for fitted in self._fit(part, depth + 1)]

    def _split_by_record(self, partition: Partition, support: KindSupport) -> list[Partition]:
        """Split a fitted partition into what the format's record holds, and the rest as instants right after it."""
        if not support.values_only:
            return self._limit_arguments(partition, support)
        fields = partition.event_class.fields
        own = len(support.fields)
        other_arguments = [i for i in range(own, len(fields)) if not is_value(fields[i])]
        if not other_arguments:
            return self._limit_arguments(partition, support)
        self._projection.lose("counter-arguments-in-instants", partition)
        naming = [i for i in range(own) if fields[i].role in (NAME.role, CATEGORY.role)]
        rest = _with_fields(
            partition, partition.event_class, [*naming, *other_arguments], partition.after + 1
        )
        values = [i for i in range(len(fields)) if i not in other_arguments]
        kept = _with_fields(partition, partition.event_class, values, partition.after)
        return [
            *self._limit_arguments(kept, support),
            *self._fit(as_instant(rest, self._projection), 1),
        ]

    def _limit_arguments(self, partition: Partition, support: KindSupport) -> list[Partition]:
        """Move arguments beyond the format's limit to instants right after."""
        limit = (support.holds or self._capabilities).max_arguments
        fields = partition.event_class.fields
        last = len(fields) - len(support.trailing)
        end = len(support.fields)
        if limit is None or last <= end + limit:
            return [partition]
        while end < last and fields[end] in support.optional:
            end += 1
        end += limit
        if last <= end:
            return [partition]
        which = [*range(end), *range(last, len(fields))]
        parts = [_with_fields(partition, partition.event_class, which, partition.after)]
        instants = self._capabilities.kinds.get(Kind.INSTANT)
        is_named = instants is not None and NAME.role in {part.role for part in instants.fields}
        # If an instant has no field for its name, that is an argument too.
        room = limit if is_named else limit - 1
        kinds = self._capabilities.kinds.keys() | self._capabilities.lowerings.keys()
        if Kind.INSTANT not in kinds or room < 1:
            self._projection.lose("arguments-dropped", partition, limit=limit)
            return parts
        self._projection.lose("arguments-in-instants", partition, limit=limit)
        name = f"{class_label(partition.event_class)} (continued)"
        beyond = EventClass(Kind.TYPED, name)
        for after, start in enumerate(range(end, last, room), partition.after + 1):
            rest = _with_fields(partition, beyond, range(start, min(start + room, last)), after)
            parts += self._fit(as_instant(rest, self._projection), 1)
        return parts


def _with_fields(
    partition: Partition, event_class: EventClass, which: Sequence[int], after: int
) -> Partition:
    """Return the same rows as a class of some of the fields, `after` positions later."""
    fields = tuple(partition.event_class.fields[i] for i in which)
    columns = [partition.table.lazy(i) for i in which]
    return partition.rewritten(replace(event_class, fields=fields), columns, after=after)

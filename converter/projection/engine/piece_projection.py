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
from converter.projection.engine.pieces import ByClass, Piece
from converter.projection.engine.placing import Placing
from converter.projection.instants import CATEGORY, NAME, as_instant, lower_to_instant
from converter.projection.losses import Aspect, LossClass, LossKind
from converter.projection.lowering import LOWERINGS, lowering_for, native_records

#: Lowering terminates, as no rule returns a kind that its input was made from. This limit enforces it.
MAX_LOWERINGS = 6


class PieceProjection:
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
        self._has_required = ByClass(self._required_are_there)

    def project(self, piece: Piece) -> list[Piece]:
        """Return the partitions that the format holds of one of any kind."""
        return self._fit(piece, 0)

    def _fit(self, piece: Piece, depth: int) -> list[Piece]:
        """Return those of a partition that `depth` rules have made from the source's."""
        event_class = piece.event_class
        if event_class.kind is Kind.NATIVE and event_class.name in self._bookkeeping:
            what = f"{class_label(event_class)} (bookkeeping)"
            self._projection.lose(LossKind.DROPPED, what, piece, loss_class=LossClass.DETAIL)
            return []
        support = self._support(piece.event_class)
        rule = lowering_for(piece, self._projection) if depth == 0 else None
        if rule is None and (support is None or not self._has_required(piece.event_class)):
            kind = piece.event_class.kind
            rule = self._capabilities.lowerings.get(kind) or LOWERINGS.get(kind, lower_to_instant)
        if rule is not None:
            return self._lower(piece, rule, depth)
        assert support is not None
        if self._is_nested(piece.event_class):
            what = f"{class_label(piece.event_class)}: structures and arrays as fields"
            self._projection.lose(
                LossKind.LOWERED, what, piece, None, LossClass.DETAIL, Aspect.STRUCTURE
            )
            piece = flattened(piece, self._argument_capabilities(piece.event_class))
        if self._is_varying(piece.event_class):
            what = f"{class_label(piece.event_class)}: optional values as event classes"
            self._projection.lose(
                LossKind.LOWERED, what, piece, None, LossClass.DETAIL, Aspect.STRUCTURE
            )
            parts = split_by_presence(piece, self._argument_capabilities(piece.event_class))
            return [fitted for part in parts for fitted in self._fit(part, max(depth, 1))]
        splitter = self._capabilities.splitters.get(piece.event_class.kind)
        if splitter is None:
            return self._adapted(piece, support, depth)
        result = []
        for part in splitter(piece, self._projection):
            held = self._support(part.event_class)
            assert held is not None
            result += self._adapted(part, held, depth)
        return result

    def _adapted(self, piece: Piece, support: KindSupport, depth: int) -> list[Piece]:
        """Return a partition of a kind that the format holds, as it holds it."""
        adapter = self._capabilities.adapters.get(piece.event_class.kind)
        if adapter is not None:
            kind = piece.event_class.kind
            piece = adapter(piece, self._projection)
            if not len(piece):
                return []
            if piece.event_class.kind is not kind:
                return self._fit(piece, depth + 1)
        return [
            part
            for placed in self._placing.place(piece, support)
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
        self, piece: Piece, rule: Callable[..., list[Piece] | None], depth: int
    ) -> list[Piece]:
        lowered = rule(piece, self._projection) if depth < MAX_LOWERINGS else None
        if lowered is None:
            what = f"events {class_label(piece.event_class)}"
            self._projection.lose(LossKind.DROPPED, what, piece, aspect=Aspect.EVENTS)
            return []
        # Viewers interpret only records of their own format.
        unread = piece.event_class.kind is Kind.NATIVE and bool(self._bookkeeping)
        for part in lowered:
            if unread:
                what = native_records(piece, self._projection)
                self._projection.lose(LossKind.UNSHOWN, what, part, aspect=Aspect.EVENTS)
                continue
            kind = part.event_class.kind.name.lower()
            what = f"{class_label(piece.event_class)} as {kind}"
            self._projection.lose(LossKind.LOWERED, what, part, aspect=Aspect.FORMS)
        return [fitted for part in lowered for fitted in self._fit(part, depth + 1)]

    def _split_by_record(self, piece: Piece, support: KindSupport) -> list[Piece]:
        """Split a fitted partition into what the format's record holds, and the rest as instants right after it."""
        if not support.values_only:
            return self._limit_arguments(piece, support)
        fields = piece.event_class.fields
        own = len(support.fields)
        other_arguments = [i for i in range(own, len(fields)) if not is_value(fields[i])]
        if not other_arguments:
            return self._limit_arguments(piece, support)
        what = f"{class_label(piece.event_class)}: what is no value in instants"
        self._projection.lose(LossKind.LOWERED, what, piece)
        naming = [i for i in range(own) if fields[i].role in (NAME.role, CATEGORY.role)]
        rest = _with_fields(piece, piece.event_class, [*naming, *other_arguments], piece.after + 1)
        values = [i for i in range(len(fields)) if i not in other_arguments]
        kept = _with_fields(piece, piece.event_class, values, piece.after)
        return [
            *self._limit_arguments(kept, support),
            *self._fit(as_instant(rest, self._projection), 1),
        ]

    def _limit_arguments(self, piece: Piece, support: KindSupport) -> list[Piece]:
        """Move arguments beyond the format's limit to instants right after."""
        limit = (support.holds or self._capabilities).max_arguments
        fields = piece.event_class.fields
        last = len(fields) - len(support.trailing)
        end = len(support.fields)
        if limit is None or last <= end + limit:
            return [piece]
        while end < last and fields[end] in support.optional:
            end += 1
        end += limit
        if last <= end:
            return [piece]
        which = [*range(end), *range(last, len(fields))]
        parts = [_with_fields(piece, piece.event_class, which, piece.after)]
        instants = self._capabilities.kinds.get(Kind.INSTANT)
        is_named = instants is not None and NAME.role in {part.role for part in instants.fields}
        # If an instant has no field for its name, that is an argument too.
        room = limit if is_named else limit - 1
        kinds = self._capabilities.kinds.keys() | self._capabilities.lowerings.keys()
        if Kind.INSTANT not in kinds or room < 1:
            self._projection.lose(LossKind.DROPPED, f"arguments beyond {limit}", piece)
            return parts
        self._projection.lose(
            LossKind.LOWERED, f"arguments beyond {limit} in further instants", piece
        )
        name = f"{class_label(piece.event_class)} (continued)"
        beyond = EventClass(Kind.TYPED, name)
        for after, start in enumerate(range(end, last, room), piece.after + 1):
            rest = _with_fields(piece, beyond, range(start, min(start + room, last)), after)
            parts += self._fit(as_instant(rest, self._projection), 1)
        return parts


def _with_fields(piece: Piece, event_class: EventClass, which: Sequence[int], after: int) -> Piece:
    """Return the same rows as a class of some of the fields, `after` positions later."""
    fields = tuple(piece.event_class.fields[i] for i in which)
    columns = [piece.table.lazy(i) for i in which]
    return piece.rewritten(replace(event_class, fields=fields), columns, after=after)

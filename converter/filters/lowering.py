"""Lowering: what becomes of a kind that a format does not have.

A rule rewrites the class and reuses the columns. It returns pieces of simpler kinds, which may be lowered in turn, or
None where nothing simpler is left: the events are dropped, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from converter.filters.linux_timeline import LINUX_LOWERINGS
from converter.filters.pieces import Piece, Projection
from converter.ir.events import Field
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role

Lowering = Callable[[Piece, Projection], "list[Piece] | None"]

#: Kinds whose events carry a name of their own, which an instant keeps.
NAMED_BY_EVENT = frozenset(
    {
        Kind.SLICE_BEGIN,
        Kind.SLICE_END,
        Kind.SLICE_COMPLETE,
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


def lower_to_instant(piece: Piece, projection: Projection) -> list[Piece] | None:
    """Anything as an instant with all its fields as arguments, named after its class."""
    event_class = piece.event_class
    if event_class.kind is Kind.INSTANT:
        return None
    keep = frozenset({Role.NAME, Role.CATEGORY})
    if event_class.kind in NAMED_BY_EVENT and event_class.index_of(Role.NAME) is not None:
        return [piece.as_kind(Kind.INSTANT, keep=keep)]
    name = event_class.name or event_class.kind.name.lower()
    leading = [
        (Field("name", StringClass(), Role.NAME), projection.constant(name, len(piece))),
        (
            Field("category", StringClass(), Role.CATEGORY),
            projection.constant(event_class.category, len(piece)),
        ),
    ]
    return [piece.as_kind(Kind.INSTANT, leading)]


#: The rule for each kind; others become instants.
LOWERINGS: Mapping[Kind, Lowering] = dict(LINUX_LOWERINGS)

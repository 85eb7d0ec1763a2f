"""The entry of a loss in the table: its kind, the users that it affects, and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final


@unique
class LossKind(StrEnum):
    """The way in which something did not fit."""

    #: Not in the output at all.
    DROPPED = "dropped"
    #: Cut to a limit of the format.
    TRUNCATED = "truncated"
    #: In the output with another value (bytes that are not UTF-8, a time that is not representable).
    CHANGED = "changed"
    #: All values are in the output, as another kind of event or another structure.
    LOWERED = "lowered"
    #: The value is in the output, its declared type (width, labels, unit, style) is not.
    RETYPED = "retyped"
    #: In the output with its value and type, where the format's viewers do not look.
    UNSHOWN = "unshown"


@unique
class LossClass(StrEnum):
    """The users that a loss affects."""

    #: Users who open the output in a viewer: it is missing there, or different.
    SHOWN = "shown"
    #: Other programs that read the output: they find it in another representation, or somewhere that viewers do not
    #: show.
    KEPT = "kept"
    #: Only the tools of the source's format: declared types, native data, names that nothing shows.
    DETAIL = "detail"


@unique
class Extent(StrEnum):
    """The extent of a loss."""

    #: Whole events.
    EVENTS = "events"
    #: The type, the name or fields of events, which are on their threads and CPUs all the same.
    FIELDS = "fields"
    #: Arrows between slices.
    FLOWS = "flows"
    #: Anything else of events, of the tables, or of the trace.
    OTHER = "other"


#: The users that each kind of loss affects, unless the entry or the caller says otherwise.
CLASS_OF_KIND: Final[Mapping[LossKind, LossClass]] = {
    LossKind.DROPPED: LossClass.SHOWN,
    LossKind.TRUNCATED: LossClass.SHOWN,
    LossKind.CHANGED: LossClass.SHOWN,
    LossKind.LOWERED: LossClass.KEPT,
    LossKind.RETYPED: LossClass.DETAIL,
    LossKind.UNSHOWN: LossClass.SHOWN,
}

#: The value of a parameter of a loss: a name or a number from the user's trace.
Value = str | int


@dataclass(frozen=True, slots=True)
class LossCode:
    """The entry of a loss.

    Losses of one code with different parameters are listed in one sentence, each as an `item`.

    Args:
        kind: the way in which it did not fit.
        sentence: about the user's events. ``{count}`` is their number, ``{is|are}`` a word for one or several of
            these, ``{n}`` the number of different items, ``{n:is|are}`` a word for these, ``{items}`` the items. Other
            names are parameters.
        item: one item, with parameters. ``{event}`` is the name of the user's event, which a projection adds itself.
        loss_class: the users that it affects, if not those of its kind.
        extent: the part of the trace.
        keeps: the name of the property by which a format keeps it (see `remedies`), if any.
    """

    kind: LossKind
    sentence: str
    item: str = ""
    loss_class: LossClass | None = None
    extent: Extent = Extent.OTHER
    keeps: str = ""

    @property
    def default_class(self) -> LossClass:
        """The users that it affects, unless the caller says otherwise."""
        return self.loss_class or CLASS_OF_KIND[self.kind]

    @property
    def has_event(self) -> bool:
        """True if the sentence names the user's event."""
        return "{event}" in self.item

"""Loss as a value: what a format can hold, and what did not fit.

`project` (in `project`) computes losses from the `Capabilities` that a format declares; no writer drops
anything on its own. A report without entries means that reading the output back gives the same trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import TYPE_CHECKING

from converter.ir.events import EventClass, Field
from converter.ir.field_classes import Style
from converter.ir.kinds import Kind, Role

if TYPE_CHECKING:
    from converter.projection.pieces import Piece, Projection

#: Rewrites a piece of a kind that the format holds, before its fields are fitted.
Adapter = Callable[["Piece", "Projection"], "Piece"]
#: Makes simpler pieces of one of a kind that the format does not have; None where there is nothing simpler.
Lowering = Callable[["Piece", "Projection"], "list[Piece] | None"]


@unique
class LossKind(StrEnum):
    """What became of the thing that did not fit."""

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


@dataclass(frozen=True, slots=True)
class Loss:
    """One kind of loss: `count` times, first at `first_ts` (ticks of the trace's clock; None for metadata)."""

    kind: LossKind
    what: str
    count: int
    first_ts: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.what} ({self.count:,})"


@dataclass(slots=True)
class LossReport:
    """The losses of one conversion, summed by kind and thing; complete once all batches have passed."""

    _entries: dict[tuple[LossKind, str], tuple[int, int | None]] = field(default_factory=dict)

    def add(self, kind: LossKind, what: str, count: int = 1, first_ts: int | None = None) -> None:
        """Count a loss."""
        if count <= 0:
            return
        known, first = self._entries.get((kind, what), (0, None))
        self._entries[kind, what] = (known + count, first if first is not None else first_ts)

    def forget_events(self) -> None:
        """Forget the losses of events, which are about to be counted again; those of metadata stay."""
        for key, (_, first_ts) in list(self._entries.items()):
            if first_ts is not None:
                del self._entries[key]

    def __iter__(self) -> Iterator[Loss]:
        order = list(LossKind)
        for (kind, what), (count, first) in sorted(
            self._entries.items(), key=lambda entry: (order.index(entry[0][0]), entry[0][1])
        ):
            yield Loss(kind, what, count, first)

    def __len__(self) -> int:
        return len(self._entries)

    def to_json(self) -> str:
        """The report as JSON: {"losses": [{"kind", "what", "count", "first_ts"}]}."""
        import json

        entries = [
            {
                "kind": str(loss.kind),
                "what": loss.what,
                "count": loss.count,
                "first_ts": loss.first_ts,
            }
            for loss in self
        ]
        return json.dumps({"losses": entries}, indent=2) + "\n"


@dataclass(frozen=True, slots=True)
class KindSupport:
    """How a format holds events of one kind.

    `fields` are the parts with a place of their own in the format's record, under the name and of the type in which
    its reader delivers them; each has a role, and a part that the source lacks is written as zero or empty.
    `required` roles among them have no such default: a class without one is lowered further.
    Fields of other roles are arguments, if `arguments`.
    """

    fields: tuple[Field, ...] = ()
    #: Parts that a class may have or lack, in this order after `fields`. They are kept when name, type and role are the
    #: same. One with the role of a field of `fields` stands in its place; of those whose names agree up to the first
    #: dot, a class has at most one.
    optional: tuple[Field, ...] = ()
    required: frozenset[int] = frozenset()
    arguments: bool = True
    #: Like `fields`, but behind the arguments: context that a recorder adds to each event.
    trailing: tuple[Field, ...] = ()
    #: The format's record says which thread / CPU / track the event is on.
    thread: bool = True
    cpu: bool = False
    track: bool = False
    #: The class's own name and category survive (tracepoints).
    named: bool = False
    #: Category and name of all classes of the kind, where the format has an event of its own for it.
    event: tuple[str, str] | None = None
    #: Arguments keep their roles: the format's reader knows them by their names.
    roles: bool = False
    #: The role that the format's reader gives an argument by its name and type.
    argument_role: Callable[[Field], Role] | None = None
    #: Arguments of a numeric type are delivered with the role VALUE (counters).
    numeric_values: bool = False
    timed: bool = True
    #: An event is on a track or on a thread: where it has a track, its thread is dropped.
    one_place: bool = False
    #: What arguments of the kind can be, where that is not what those of other kinds can.
    holds: Capabilities | None = None
    #: How the format holds one class of the kind, None where that is lowered: for kinds some of whose classes the
    #: format declares itself. The rest of this is then true of a class of which the format knows nothing.
    of_class: Callable[[EventClass], KindSupport | None] | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a format can represent. `project` fits a trace to it; the format's tests prove that it is true."""

    kinds: Mapping[Kind, KindSupport]
    #: (bits, signed) of the integers that an argument can have; others are widened to the next that holds them.
    integers: frozenset[tuple[int, bool]] = frozenset(
        (bits, signed) for bits in (8, 16, 32, 64) for signed in (False, True)
    )
    floats: frozenset[int] = frozenset({32, 64})
    booleans: bool = True
    nulls: bool = True
    blobs: bool = True
    #: Media types of blobs that survive.
    media_types: frozenset[str] = frozenset()
    #: Integer styles that survive; any other becomes DECIMAL.
    styles: frozenset[Style] = frozenset()
    #: Those of them whose values are always unsigned 64-bit numbers.
    wide_styles: frozenset[Style] = frozenset()
    labels: bool = False
    units: bool = False
    arrays: bool = False
    structures: bool = False
    variants: bool = False
    optionals: bool = False
    max_arguments: int | None = None
    max_string_bytes: int | None = None
    max_blob_bytes: int | None = None
    #: Strings end at the first NUL; what is behind it is cut.
    nul_ends_strings: bool = False
    #: Makes of any name one that the format allows for fields and named classes.
    identifier: Callable[[str], str] | None = None
    #: Strings must be UTF-8; other bytes are replaced.
    utf8_only: bool = True
    #: Times before zero cannot be written.
    negative_times: bool = False
    #: Ticks of any rate; otherwise times are nanoseconds.
    clock_rates: bool = True
    max_cpu: int | None = None
    #: Bits of a process or thread id.
    id_bits: int = 64
    #: An event may be on no thread at all; otherwise it gets a synthetic one.
    threadless: bool = True
    #: An event may be on no CPU where the record has one; otherwise it is put on CPU 0.
    cpuless: bool = True
    #: Rules for kinds that the format does not have, in place of the usual ones.
    lowerings: Mapping[Kind, Lowering] = field(default_factory=dict)
    #: Last say of the format's mapping on pieces of a kind, for its conventions (weights of idle threads).
    adapters: Mapping[Kind, Adapter] = field(default_factory=dict)
    #: What the format keeps of the trace's tables.
    tracks: bool = False
    clock_names: bool = False
    other_clocks: bool = False
    epoch: bool = False
    environment: bool = False
    command_lines: bool = False
    #: Units of tracks; those of fields are `units`.
    track_units: bool = False

    def support(self, event_class: EventClass) -> KindSupport | None:
        """How the format holds the events of a class; None where they are lowered."""
        support = self.kinds.get(event_class.kind)
        if support is not None and support.of_class is not None:
            return support.of_class(event_class)
        return support

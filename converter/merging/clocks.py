"""Relating clocks: computes the offset between the clocks of several inputs.

Two inputs are related by anything that both have: an event, a clock of their machine, the time of day. One of the
inputs keeps its times; the others are shifted by what relates them to it, or to one that is related already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from typing import Final

from converter.errors.advice import advice
from converter.ir.trace import ClockDomain
from converter.merging.survey import Survey

_SECOND: Final = 1_000_000_000
#: Recorders' names for the clocks of a machine.
_MACHINE_CLOCKS: Final = {
    "mono": "monotonic",
    "monotonic": "monotonic",
    "mono_raw": "monotonic_raw",
    "monotonic_raw": "monotonic_raw",
    "boot": "boottime",
    "boottime": "boottime",
    "local": "local",
    "global": "global",
    "uptime": "uptime",
    "perf": "perf",
    "perf_clock": "perf",
    "tai": "tai",
}
#: Those that are zero, or nearly zero, when the machine boots.
_FROM_BOOT: Final = frozenset(_MACHINE_CLOCKS.values()) - {"tai"}
#: Nanoseconds by which the time of day may differ between two recordings of one boot: some recorders round it to
#: seconds, and it is set while the machine runs. No machine reboots faster.
_SAME_BOOT: Final = 5 * _SECOND


class ClockRelation(IntEnum):
    """The clock relations between two inputs, best first."""

    EVENT = 0
    MOMENT = 1
    HOST = 2
    CLOCK = 3
    EPOCH = 4
    BOOT = 5
    NAME = 6
    #: Nothing relates them, but the caller says how far they are apart.
    OFFSET = 7
    NOTHING = 8


#: Something that several inputs may know: its kind, its machine, and its name.
Reference = tuple[ClockRelation, str, str]


@dataclass(slots=True)
class Clocked:
    """An input as far as its times are concerned: its clock, the other clocks that it knows, and the prescan's
    results.
    """

    name: str
    clock: ClockDomain
    domains: Sequence[ClockDomain]
    survey: Survey
    machine: str = ""
    #: The recording whose clock it uses: its own, or that of its machine's host.
    recording: int | None = None
    #: Nanoseconds by which the caller shifts it, in addition to the shift that relates it.
    offset: Fraction | None = None
    #: What each reference shows when the input's own clock shows zero, in nanoseconds.
    references: dict[Reference, Fraction] = field(init=False)

    def __post_init__(self) -> None:
        self.references = dict(self._references())

    def nanoseconds(self, ticks: int) -> Fraction:
        """Return a time of the input's clock in nanoseconds; ticks of unknown length count as nanoseconds."""
        rate = self.clock.ticks_per_second
        return Fraction(ticks) if rate is None else ticks * _SECOND / rate

    @property
    def first(self) -> Fraction | None:
        """The time of its first event on its own clock, or None without events."""
        first = self.survey.first
        return None if first is None else self.nanoseconds(first)

    def _references(self) -> Iterator[tuple[Reference, Fraction]]:
        own = self.survey
        if own.aligned is not None:
            yield (ClockRelation.EVENT, "", ""), -self.nanoseconds(own.aligned)
        for name, at in own.moments.items():
            yield (ClockRelation.MOMENT, "", name), -self.nanoseconds(at)
        if self.recording is not None:
            yield (ClockRelation.HOST, "", f"{self.recording}"), Fraction(0)
        name = machine_clock(self.clock)
        epoch = self.clock.epoch_ns
        known: dict[str, Fraction] = {}
        if name:
            known[name] = Fraction(0)
        for domain in self.domains:
            other = machine_clock(domain)
            if other and epoch is not None and domain.epoch_ns is not None:
                known.setdefault(other, Fraction(epoch - domain.epoch_ns))
        for other, (at, shown) in own.readings.items():
            if other != "realtime":
                known.setdefault(other, shown - self.nanoseconds(at))
        for other, shown in known.items():
            yield (ClockRelation.CLOCK, self.machine, other), shown
        if epoch is not None:
            yield (ClockRelation.EPOCH, "", ""), Fraction(epoch)
        elif "realtime" in own.readings:
            at, shown = own.readings["realtime"]
            yield (ClockRelation.EPOCH, "", ""), shown - self.nanoseconds(at)
        if name in _FROM_BOOT:
            yield (ClockRelation.BOOT, self.machine, ""), Fraction(0)
        if not name:
            declared = f"{self.clock.name} {self.clock.ticks_per_second} {epoch}"
            yield (ClockRelation.NAME, self.machine, declared), Fraction(0)


@dataclass(frozen=True, slots=True)
class Placement:
    """The position of an input on the common clock: `shift` nanoseconds are added to its times."""

    how: ClockRelation
    #: A description of what relates it.
    words: str
    shift: Fraction
    doubt: str = ""


def machine_clock(clock: ClockDomain) -> str:
    """Return the canonical name of a clock of the machine, or "" for a clock of the recorder itself."""
    return _MACHINE_CLOCKS.get(clock.name.lower().removeprefix("clock_"), "")


def reference_of(inputs: Sequence[Clocked]) -> int:
    """Return the input that keeps its times; the choice does not depend on the order of the inputs."""
    return min(range(len(inputs)), key=lambda number: _rank(inputs[number]))


def _rank(one: Clocked) -> tuple[bool, bool, bool, int, str, str, Fraction, str]:
    """Return a sort key; the lowest keeps its times: its zero is a known time, the earliest, so that no time is before
    it.
    """
    clock = one.clock
    return (
        one.survey.events == 0,
        clock.epoch_ns is None,
        not machine_clock(clock),
        clock.epoch_ns or 0,
        clock.name,
        clock.description,
        -(clock.ticks_per_second or Fraction(0)),
        one.name,
    )


def relate(inputs: Sequence[Clocked], align: str | None = None) -> list[Placement]:
    """Place the inputs on the clock of one of them (`reference_of`).

    Args:
        inputs: at least one.
        align: the name of the event that inputs are aligned by.
    """
    placed: dict[int, Placement] = {}
    waiting = set(range(len(inputs)))
    root = reference_of(inputs)
    origin: Fraction | None = None
    while waiting:
        group = _group(inputs, root, waiting, placed, align)
        starts = [
            first + placed[number].shift
            for number in group
            if (first := inputs[number].first) is not None
        ]
        if origin is None:
            origin = min(starts, default=None)
        else:
            _start_together(inputs, group, placed, root, min(starts, default=origin) - origin)
        if waiting:
            # An input that the caller has placed, if there is one, brings along the others of its group.
            root = min(
                sorted(waiting), key=lambda one: (inputs[one].offset is None, _rank(inputs[one]))
            )
    return [_with_offset(inputs[number], placed[number]) for number in range(len(inputs))]


def _group(
    inputs: Sequence[Clocked],
    root: int,
    waiting: set[int],
    placed: dict[int, Placement],
    align: str | None,
) -> list[int]:
    """Place the root at its own times, and all inputs that are related to it, directly or indirectly."""
    clock = inputs[root].clock
    placed[root] = Placement(
        ClockRelation.CLOCK, f"its clock {clock.name!r} is that of all", Fraction(0)
    )
    waiting.discard(root)
    group = [root]
    # The best relation of each waiting input to a member of the group.
    best = {number: _relation(inputs[root], inputs[number]) for number in sorted(waiting)}
    anchors = dict.fromkeys(best, root)
    while True:
        found = [(link[0][0], number) for number, link in best.items() if link is not None]
        if not found:
            return group
        _, number = min(found)
        link = best.pop(number)
        assert link is not None
        reference, shift = link
        anchor = anchors[number]
        placed[number] = Placement(
            reference[0],
            _description(reference, align),
            placed[anchor].shift + shift,
            _doubt(reference, inputs[anchor], inputs[number]),
        )
        waiting.discard(number)
        group.append(number)
        for other, known in best.items():
            closer = _relation(inputs[number], inputs[other])
            if closer is not None and (known is None or closer[0][0] < known[0][0]):
                best[other], anchors[other] = closer, number


def _relation(one: Clocked, other: Clocked) -> tuple[Reference, Fraction] | None:
    """Return the best reference that both know, and what to add to the other's times to get the first one's."""
    common = sorted(one.references.keys() & other.references.keys())
    apart = _boots_apart(one, other)
    for reference in common:
        if apart and reference[0] in (ClockRelation.CLOCK, ClockRelation.BOOT):
            continue
        return reference, other.references[reference] - one.references[reference]
    return None


def _boots_apart(one: Clocked, other: Clocked) -> bool:
    """Return True if two inputs of one machine are from different boots: by the time of day, a clock was restarted."""
    epoch = (ClockRelation.EPOCH, "", "")
    if epoch not in one.references or epoch not in other.references:
        return False
    apart = other.references[epoch] - one.references[epoch]
    clocks = [
        other.references[reference] - one.references[reference]
        for reference in one.references.keys() & other.references.keys()
        if reference[0] is ClockRelation.CLOCK
    ]
    return any(abs(shift - apart) > _SAME_BOOT for shift in clocks)


def _start_together(
    inputs: Sequence[Clocked],
    group: Sequence[int],
    placed: dict[int, Placement],
    root: int,
    late: Fraction,
) -> None:
    """Place a group that nothing relates to the first: both start at the same time, unless the caller
    gives an offset.
    """
    has_offset = inputs[root].offset is not None
    for number in group:
        known = placed[number]
        if number == root:
            words = "by the offset given" if has_offset else "starts with the others"
            how = ClockRelation.OFFSET if has_offset else ClockRelation.NOTHING
            doubt = "" if has_offset else _unrelated()
            known = Placement(how, words, known.shift, doubt)
        shift = known.shift if has_offset else known.shift - late
        placed[number] = Placement(known.how, known.words, shift, known.doubt)


def _unrelated() -> str:
    return (
        "nothing relates its clock to the others', so that it starts with them; "
        f"{advice('offsets=', '--offset')} says how far they are apart, "
        f"{advice('align=', '--align')} names an event that both have"
    )


def _with_offset(clocked: Clocked, placement: Placement) -> Placement:
    if clocked.offset is None:
        return placement
    words = placement.words
    if placement.how is not ClockRelation.OFFSET:
        words = f"{words} and the offset given"
    return Placement(placement.how, words, placement.shift + clocked.offset, placement.doubt)


def _description(reference: Reference, align: str | None) -> str:
    how, _, name = reference
    match how:
        case ClockRelation.EVENT:
            return f"by event {align!r}"
        case ClockRelation.MOMENT:
            return f"by clock_sync {name!r}"
        case ClockRelation.HOST:
            return "by the clock of the host"
        case ClockRelation.CLOCK:
            return f"by clock {name!r}"
        case ClockRelation.EPOCH:
            return "by epoch"
        case ClockRelation.BOOT:
            return "by the start of the machine"
    return "as its clock says"


def _doubt(reference: Reference, one: Clocked, other: Clocked) -> str:
    if reference[0] is ClockRelation.BOOT:
        return (
            f"clocks {other.clock.name!r} and {one.clock.name!r} start with the machine but drift apart; "
            f"one that both recorders have (mono) would be exact, and so is {advice('align=', '--align')}"
        )
    if reference[0] is ClockRelation.NAME:
        return "its clock does not say when it starts; taken to start with the others' of the same name"
    return ""

"""Relating clocks: how far those of several inputs are apart.

Two inputs are related by anything that both have: an event, a clock of their machine, the time of day. Of all inputs
one keeps its times; the others are moved by what relates them to it, or to one that is related already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from typing import Final

from converter.ir.trace import ClockDomain
from converter.merging.survey import Survey

_SECOND: Final = 1_000_000_000
#: Names that recorders have for clocks of a machine.
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
#: Those of them that are zero when the machine starts, or nearly so.
_FROM_BOOT: Final = frozenset(_MACHINE_CLOCKS.values()) - {"tai"}
#: Nanoseconds that the time of day may be off in one recording of a boot from what it is in another: some recorders
#: round it to seconds, and it is set while the machine runs. No machine starts again sooner.
_SAME_BOOT: Final = 5 * _SECOND


class How(IntEnum):
    """What relates two inputs, the best first."""

    EVENT = 0
    MOMENT = 1
    HOST = 2
    CLOCK = 3
    EPOCH = 4
    BOOT = 5
    NAME = 6
    #: Nothing does, but somebody says how far they are apart.
    OFFSET = 7
    NOTHING = 8


#: Something that several inputs may know, with the machine that it is of, and its name.
Reference = tuple[How, str, str]


@dataclass(slots=True)
class Clocked:
    """An input as far as its times go: its clock, the others that it knows, what a survey found."""

    name: str
    clock: ClockDomain
    domains: Sequence[ClockDomain]
    survey: Survey
    machine: str = ""
    #: The recording whose clock it is: its own, or that of the host of its machine.
    recording: int | None = None
    #: Nanoseconds by which somebody moves it, beyond what relates it.
    offset: Fraction | None = None
    #: What a reference shows when the input's own clock shows zero, in nanoseconds.
    references: dict[Reference, Fraction] = field(init=False)

    def __post_init__(self) -> None:
        self.references = dict(self._references())

    def nanoseconds(self, ticks: int) -> Fraction:
        """A time of the input's clock; ticks of an unknown length are taken for nanoseconds."""
        rate = self.clock.ticks_per_second
        return Fraction(ticks) if rate is None else ticks * _SECOND / rate

    @property
    def first(self) -> Fraction | None:
        """When its first event is, on its own clock; None where it has none."""
        first = self.survey.first
        return None if first is None else self.nanoseconds(first)

    def _references(self) -> Iterator[tuple[Reference, Fraction]]:
        own = self.survey
        if own.aligned is not None:
            yield (How.EVENT, "", ""), -self.nanoseconds(own.aligned)
        for name, at in own.moments.items():
            yield (How.MOMENT, "", name), -self.nanoseconds(at)
        if self.recording is not None:
            yield (How.HOST, "", f"{self.recording}"), Fraction(0)
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
            yield (How.CLOCK, self.machine, other), shown
        if epoch is not None:
            yield (How.EPOCH, "", ""), Fraction(epoch)
        elif "realtime" in own.readings:
            at, shown = own.readings["realtime"]
            yield (How.EPOCH, "", ""), shown - self.nanoseconds(at)
        if name in _FROM_BOOT:
            yield (How.BOOT, self.machine, ""), Fraction(0)
        if not name:
            declared = f"{self.clock.name} {self.clock.ticks_per_second} {epoch}"
            yield (How.NAME, self.machine, declared), Fraction(0)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an input is: `shift` nanoseconds are added to its times."""

    how: How
    #: What it is related by, in words.
    words: str
    shift: Fraction
    doubt: str = ""


def machine_clock(clock: ClockDomain) -> str:
    """The one name of a clock that the machine has, "" of one that is the recorder's own."""
    return _MACHINE_CLOCKS.get(clock.name.lower().removeprefix("clock_"), "")


def reference_of(inputs: Sequence[Clocked]) -> int:
    """The input that keeps its times; which one that is does not depend on their order."""
    return min(range(len(inputs)), key=lambda number: _rank(inputs[number]))


def _rank(one: Clocked) -> tuple[bool, bool, bool, int, str, str, Fraction, str]:
    """The lowest keeps its times: its zero is at a known time, the earliest, so that nothing comes before it."""
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
    """Where the inputs are on the clock of one of them (`reference_of`).

    Args:
        inputs: at least one.
        align: what the event is called that inputs are aligned by.

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
            # One that somebody has placed, if there is one, brings the others of its group along.
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
    """Place the root at its own times, and all that is related to it, directly or not."""
    clock = inputs[root].clock
    placed[root] = Placement(How.CLOCK, f"its clock {clock.name!r} is that of all", Fraction(0))
    waiting.discard(root)
    group = [root]
    # Of those that wait: the best that relates each to one of the group.
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
            _words(reference, align),
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
    """The best that both know, and what is to be added to the other's times for them to be the one's."""
    common = sorted(one.references.keys() & other.references.keys())
    apart = _boots_apart(one, other)
    for reference in common:
        if apart and reference[0] in (How.CLOCK, How.BOOT):
            continue
        return reference, other.references[reference] - one.references[reference]
    return None


def _boots_apart(one: Clocked, other: Clocked) -> bool:
    """Whether two inputs, of one machine, are of several boots: by the time of day, a clock was started anew."""
    epoch = (How.EPOCH, "", "")
    if epoch not in one.references or epoch not in other.references:
        return False
    apart = other.references[epoch] - one.references[epoch]
    clocks = [
        other.references[reference] - one.references[reference]
        for reference in one.references.keys() & other.references.keys()
        if reference[0] is How.CLOCK
    ]
    return any(abs(shift - apart) > _SAME_BOOT for shift in clocks)


def _start_together(
    inputs: Sequence[Clocked],
    group: Sequence[int],
    placed: dict[int, Placement],
    root: int,
    late: Fraction,
) -> None:
    """Place a group that nothing relates to the first: both begin together, unless somebody says how far apart."""
    told = inputs[root].offset is not None
    for number in group:
        known = placed[number]
        if number == root:
            words = "by the offset given" if told else "starts with the others"
            how = How.OFFSET if told else How.NOTHING
            doubt = "" if told else _UNRELATED
            known = Placement(how, words, known.shift, doubt)
        shift = known.shift if told else known.shift - late
        placed[number] = Placement(known.how, known.words, shift, known.doubt)


_UNRELATED: Final = (
    "nothing relates its clock to the others', so that it starts with them; "
    "--offset says how far they are apart, --align names an event that both have"
)


def _with_offset(clocked: Clocked, placement: Placement) -> Placement:
    if clocked.offset is None:
        return placement
    words = placement.words
    if placement.how is not How.OFFSET:
        words = f"{words} and the offset given"
    return Placement(placement.how, words, placement.shift + clocked.offset, placement.doubt)


def _words(reference: Reference, align: str | None) -> str:
    how, _, name = reference
    match how:
        case How.EVENT:
            return f"by event {align!r}"
        case How.MOMENT:
            return f"by clock_sync {name!r}"
        case How.HOST:
            return "by the clock of the host"
        case How.CLOCK:
            return f"by clock {name!r}"
        case How.EPOCH:
            return "by epoch"
        case How.BOOT:
            return "by the start of the machine"
    return "as its clock says"


def _doubt(reference: Reference, one: Clocked, other: Clocked) -> str:
    if reference[0] is How.BOOT:
        return (
            f"clocks {other.clock.name!r} and {one.clock.name!r} start with the machine but drift apart; "
            "one that both recorders have (mono) would be exact, and so is --align"
        )
    if reference[0] is How.NAME:
        return "its clock does not say when it starts; taken to start with the others' of the same name"
    return ""

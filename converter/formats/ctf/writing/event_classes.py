"""The metadata of a trace from another format: LTTng's packets and large event header, and its event classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from converter.errors import UnsupportedError
from converter.formats.ctf.mapping import TRACK_CONTEXT, joined_name
from converter.formats.ctf.metadata.field_classes import (
    Array,
    Blob,
    FieldDeclaration,
    FieldRole,
    FixedInteger,
    Location,
    Member,
    Option,
    Range,
    Scope,
    Structure,
    Variant,
)
from converter.formats.ctf.metadata.field_classes import Mapping as Label
from converter.formats.ctf.metadata.trace_class import (
    ClockClass,
    EventRecordClass,
    StreamClass,
    TraceClass,
)
from converter.ir.events import EventClass
from converter.ir.trace import ClockDomain, Trace, parse_rate

#: The clock, by LTTng's name for it.
CLOCK: Final = "monotonic"
_NANOSECONDS: Final = 1_000_000_000
#: Room for times before those of the first batch: a day, as far as it fits. For clocks that do not count nanoseconds,
#: small values are best: Babeltrace computes with 64-bit floats.
_ROOM_SECONDS: Final = 86_400
_ROOM_TICKS: Final = 1 << 61


def frequency_of(clock: ClockDomain) -> int:
    """Return the ticks per second, rounded to an integer; the side table has the exact rate.

    Raises:
        UnsupportedError: it does not fit 63 bits, or is a fraction of more digits than clocks have.

    """
    rate = clock.ticks_per_second or Fraction(_NANOSECONDS)
    refusal = UnsupportedError(
        "the clock's rate does not fit 63 bits", format="ctf", found=clock.ticks_per_second
    )
    try:
        parse_rate(str(rate))
    except ValueError:
        raise refusal from None
    frequency = max(round(rate), 1)
    if frequency >= 1 << 63:
        raise refusal
    return frequency


def shift_for(clock: ClockDomain, first: int, sources: Iterable[ClockClass]) -> int:
    """Return the offset that makes all ticks positive: whole seconds, none if the first tick is positive.

    `sources`: the clocks of the input, if it is CTF in time order. Values of another rate than nanoseconds, which
    Babeltrace rounds, remain the same.
    """
    frequency = frequency_of(clock)
    known = {(one.frequency, one.offset_ticks) for one in sources}
    if len(known) == 1 and frequency != _NANOSECONDS and clock.epoch_ns is None:
        ((rate, offset),) = known
        if rate == frequency and offset <= first:
            return -offset
    if first >= 0:
        return 0
    room = min(_ROOM_SECONDS * frequency, _ROOM_TICKS)
    seconds = -((first - room) // frequency)
    return min(seconds * frequency, (1 << 63) - 1)


class Metadata:
    """The classes of a trace under construction, for a version of CTF."""

    def __init__(self, version: int, uuid: UUID) -> None:
        self._plain = version == 1
        self.trace = TraceClass(version=(1, 8) if self._plain else (2, 0), uuid=uuid)
        self.trace.packet_header = self._packet_header()

    def add_clock(self, clock: ClockDomain, shift: int) -> None:
        """Add the clock of all streams; its values are ticks plus `shift`."""
        frequency = frequency_of(clock)
        offset = (clock.epoch_ns or 0) * frequency // _NANOSECONDS - shift
        self.trace.clocks[CLOCK] = ClockClass(
            CLOCK,
            frequency,
            offset // frequency,
            offset % frequency,
            unix_epoch=clock.epoch_ns is not None,
            description=clock.description.replace("\0", ""),
            id="" if self._plain else CLOCK,
        )

    def add_stream(
        self, id: int, context: Sequence[Member], *, cpu: bool, tracked: bool
    ) -> StreamClass:
        """Add a stream class. Its events have times if there is a clock."""
        timed = CLOCK in self.trace.clocks
        stream = StreamClass(id, clock=CLOCK if timed else "")
        stream.packet_context = self._packet_context(cpu=cpu, timed=timed)
        if timed:
            stream.event_header = self._event_header()
        else:
            stream.event_header = self._structure([("id", _integer(32, FieldRole.EVENT_CLASS_ID))])
        if tracked:
            track = [(TRACK_CONTEXT, FixedInteger(32, True, alignment=8))]
            context = [*context, *self._structure(track, prefix="_").members]
        if context:
            stream.common_context = Structure(tuple(context))
        self.trace.streams[id] = stream
        return stream

    def add_event(
        self,
        stream: StreamClass,
        id: int,
        name: str,
        context: Sequence[Member],
        members: Sequence[Member],
    ) -> None:
        """Add an event record class to a stream, with its own context."""
        own = Structure(tuple(context)) if context else None
        payload = Structure(tuple(members))
        stream.events[id] = EventRecordClass(id, name, specific_context=own, payload=payload)

    def _structure(
        self,
        members: Iterable[tuple[str, FieldDeclaration]],
        *,
        alignment: int = 1,
        prefix: str = "",
    ) -> Structure:
        return Structure(
            tuple(
                Member(name, declared, prefix + name if self._plain else "")
                for name, declared in members
            ),
            alignment,
        )

    def _packet_header(self) -> Structure:
        uuid: FieldDeclaration
        roles = frozenset({FieldRole.METADATA_UUID})
        if self._plain:
            uuid = Array(FixedInteger(8, alignment=8), 16, roles=roles)
        else:
            uuid = Blob(16, roles=roles)
        return self._structure(
            [
                ("magic", _integer(32, FieldRole.MAGIC)),
                ("uuid", uuid),
                ("stream_id", _integer(32, FieldRole.STREAM_CLASS_ID)),
                ("stream_instance_id", _integer(64, FieldRole.STREAM_ID)),
            ]
        )

    def _packet_context(self, *, cpu: bool, timed: bool) -> Structure:
        times: list[tuple[str, FieldDeclaration]] = [
            ("timestamp_begin", self._time(64, FieldRole.TIMESTAMP)),
            ("timestamp_end", self._time(64, FieldRole.PACKET_END_TIMESTAMP)),
        ]
        members: list[tuple[str, FieldDeclaration]] = [
            *(times if timed else []),
            ("content_size", _integer(64, FieldRole.CONTENT_LENGTH)),
            ("packet_size", _integer(64, FieldRole.PACKET_LENGTH)),
            ("packet_seq_num", _integer(64, FieldRole.SEQUENCE_NUMBER)),
            ("events_discarded", _integer(64, FieldRole.DISCARDED)),
        ]
        if cpu:
            members.append(("cpu_id", FixedInteger(32, alignment=8)))
        return self._structure(members)

    def _event_header(self) -> Structure:
        """Return LTTng's large header: a 16-bit ID with a 32-bit time, or both in full."""
        low, high = (Range(0, 65534),), (Range(65535, 65535),)
        labels = (Label("compact", low), Label("extended", high))
        id = FixedInteger(
            16,
            alignment=8,
            mappings=labels if self._plain else (),
            roles=frozenset({FieldRole.EVENT_CLASS_ID}),
        )
        compact = self._structure([("timestamp", self._time(32, FieldRole.TIMESTAMP))])
        extended = self._structure(
            [
                ("id", _integer(32, FieldRole.EVENT_CLASS_ID)),
                ("timestamp", self._time(64, FieldRole.TIMESTAMP)),
            ]
        )
        options = tuple(
            Option(name, declared, ranges, name if self._plain else "")
            for name, declared, ranges in (
                ("compact", compact, low),
                ("extended", extended, high),
            )
        )
        variant = Variant(Location(Scope.EVENT_HEADER, ("id",)), options)
        return self._structure([("id", id), ("v", variant)], alignment=8)

    def _time(self, bits: int, role: FieldRole) -> FixedInteger:
        clock = CLOCK if self._plain else ""
        return FixedInteger(bits, alignment=8, roles=frozenset({role}), clock=clock)


def _integer(bits: int, role: FieldRole) -> FixedInteger:
    base = 16 if role is FieldRole.MAGIC else 10
    return FixedInteger(bits, alignment=8, base=base, roles=frozenset({role}))


def record_name(event_class: EventClass) -> str:
    """Return the name of a class in the metadata: LTTng's "provider:event"."""
    category = event_class.category.replace("\0", "")
    name = event_class.name.replace("\0", "")
    if not category and not name:
        return f"traceconv:{event_class.kind.name.lower()}"
    return joined_name(category, name)


def usual_environment(trace: Trace, *, kernel: bool) -> Mapping[str, str | int]:
    """Return the entries that identify the recorder to readers.

    Trace Compass recognizes LTTng's kernel traces by `domain`, and chooses the names of events by the tracer's version
    (org.eclipse.tracecompass.lttng2.kernel.core, LttngKernelTrace).
    """
    known: dict[str, Any] = trace.environment
    if not kernel:
        return {} if "tracer_name" in known else {"tracer_name": "traceconv"}
    entries: dict[str, str | int] = {
        "domain": "kernel",
        "sysname": "Linux",
        "tracer_name": "lttng-modules",
        "tracer_major": 2,
        "tracer_minor": 13,
        "tracer_patchlevel": 0,
    }
    for name, sources in (
        ("hostname", ("hostname", "nodename", "host")),
        ("kernel_release", ("kernel_release", "release")),
        ("kernel_version", ("kernel_version", "version")),
    ):
        found = next((known[one] for one in sources if isinstance(known.get(one), str)), None)
        if found and "\0" not in found and name not in known:
            entries[name] = found
    return entries

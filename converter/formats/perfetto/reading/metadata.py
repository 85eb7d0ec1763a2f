"""Packets about the trace: the data that the first pass collects, and the state changes of the second pass."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from converter.formats.perfetto.clocks import Clocks, wrapped
from converter.formats.perfetto.json_sidecar import (
    SIDECAR_PREFIX,
    has_extension,
    parse_sidecar,
)
from converter.formats.perfetto.layout import (
    EMBEDDED,
    SEQUENCE_CLOCKS,
    SEQUENCE_STATES,
    TABLE_PACKETS,
    TRACE_ATTRIBUTE,
    PacketField,
)
from converter.formats.perfetto.protobuf.descriptors import decode
from converter.formats.perfetto.protobuf.event_schemas import (
    EVENTS_ATTRIBUTE,
    Declarations,
    parse_declarations,
)
from converter.formats.perfetto.protobuf.numbers import Numbers
from converter.formats.perfetto.protobuf.scan import (
    DAMAGED,
    DATA,
    DATA_SIZE,
    DATA_START,
    DEFAULTS,
    DEFAULTS_SIZE,
    DEFAULTS_START,
    DROPPED,
    FLAGS,
    MACHINE,
    SEQUENCE,
    SIZE,
    START,
)
from converter.formats.perfetto.reading.kernels.scan_timeline import Timeline
from converter.formats.perfetto.reading.packets import Damage, Window
from converter.formats.perfetto.reading.sequence_state import SequenceStates
from converter.formats.perfetto.reading.shown_metadata import BOOKKEEPING, shown_fields
from converter.formats.perfetto.reading.tracks import TrackTables, is_thread_time, text
from converter.formats.perfetto.system_info import SYSTEM, UTSNAME
from converter.ir.semantics import EndMatching
from converter.ir.trace import ClockDomain, Trace, parse_epoch, parse_rate

#: Attributes with the sidecars of JSON documents, and those with other data.
_DOCUMENT: Final = re.compile(re.escape(SIDECAR_PREFIX).encode() + rb"([a-z][a-z0-9_]{0,99})")
_OWN_ATTRIBUTES: Final = {TRACE_ATTRIBUTE.encode(), EVENTS_ATTRIBUTE.encode()}
#: Packets about the recording, which the sidecar keeps unchanged.
SIDECAR_PACKETS: Final = (
    PacketField.TRACE_CONFIG,
    PacketField.SYNCHRONIZATION_MARKER,
    PacketField.TRACE_UUID,
    PacketField.TRACE_PROVENANCE,
    PacketField.TRACE_ATTRIBUTES,
    PacketField.EXTENSION_DESCRIPTOR,
)
#: Packets that other parts of the reader convert to events.
_EVENT_PACKETS: Final = (
    PacketField.FTRACE_EVENTS,
    PacketField.TRACK_EVENT,
    PacketField.ANDROID_LOG,
    PacketField.PERF_SAMPLE,
    PacketField.GENERIC_KERNEL_TASK_STATE_EVENT,
)
#: Packets that `Metadata` reads, those of them for the sidecar, and those that become events or tables.
_METADATA: Final = Numbers(*TABLE_PACKETS, *SIDECAR_PACKETS)
_SIDECAR: Final = Numbers(*SIDECAR_PACKETS)
_READ: Final = Numbers(0, DAMAGED, EMBEDDED, *TABLE_PACKETS, *_EVENT_PACKETS)
#: Packets that change the meaning of time or position in the packets that follow.
_CHANGING: Final = Numbers(PacketField.CLOCK_SNAPSHOT, PacketField.THREAD_DESCRIPTOR)
#: Packets for which the sequence's state need not be kept: the decoded events contain their texts.
_NOT_NATIVE: Final = Numbers(
    0, DAMAGED, EMBEDDED, *TABLE_PACKETS, *SIDECAR_PACKETS, *_EVENT_PACKETS
)
#: The maximum size of each kind of packets in the sidecar, in bytes.
MAX_SIDECAR_BYTES: Final = 1 << 20
#: Ticks per second of all times.
_NANOSECONDS: Final = 1_000_000_000


class Metadata:
    """The metadata of a trace: tables, clocks, environment, sidecar."""

    def __init__(self, trace: Trace, clocks: Clocks, tables: TrackTables, damage: Damage) -> None:
        self._trace = trace
        self._clocks = clocks
        self._tables = tables
        self._damage = damage
        self._sidecar: dict[str, list[bytes]] = {}
        #: The sequences of the packets so far.
        self._sequences: set[int] = set()
        self._states = SequenceStates(MAX_SIDECAR_BYTES)
        self._shown: Counter[str] = Counter()
        self._held: dict[str, int] = {}
        self._declared_clocks: list[ClockDomain] = []
        #: The environment in an attribute.
        self._declared_environment: dict[str, str | int] = {}
        #: Declarations of kernel events, where messages and descriptors say less.
        self.declarations: Declarations = {}

    # First pass

    def note(self, window: Window) -> None:
        """Read the metadata packets of a window."""
        rows = window.rows
        self._states.note(window, ~_NOT_NATIVE.isin(rows[:, DATA]))
        self._note_marks(rows)
        self._note_defaults(window)
        for row in np.flatnonzero(_METADATA.isin(rows[:, DATA])).tolist():
            kind = PacketField(int(rows[row, DATA]))
            if kind is PacketField.TRACE_ATTRIBUTES and self._is_declarations(window, row):
                self._note_declarations(window, row)
                continue
            start, size = int(rows[row, START]), int(rows[row, SIZE])
            self._keep(kind.name.lower(), bytes(window.data[start : start + size]))
            if kind is PacketField.TRACE_CONFIG:
                # Importers list its text.
                self._shown["trace_config"] += 1
            if kind in TABLE_PACKETS:
                message = self._decoded(window, row)
                if message is not None:
                    self._shown.update(shown_fields(kind, message))
                    if kind is PacketField.CLOCK_SNAPSHOT:
                        sequence = int(rows[row, SEQUENCE])
                        self._clocks.add(sequence, message, window.first + row)
                    else:
                        self._note_packet(kind, message)

    def _note_marks(self, rows: NDArray[np.int64]) -> None:
        """Count facts that packets have besides their data, and events do not: another machine, lost packets."""
        flags = rows[:, FLAGS]
        marks = self._trace.records_shown
        marks["machine_id"] += int(np.count_nonzero(flags & MACHINE))
        # The first packet of a sequence may always follow data that a full buffer has lost.
        sequences, first = np.unique(rows[:, SEQUENCE], return_index=True)
        begins = [
            index
            for index, one in zip(first, sequences.tolist(), strict=True)
            if one not in self._sequences
        ]
        follows = np.ones(len(rows), np.bool_)
        follows[begins] = False
        marks["previous_packet_dropped"] += int(np.count_nonzero((flags & DROPPED != 0) & follows))
        self._sequences.update(sequences.tolist())

    def _note_defaults(self, window: Window) -> None:
        """Count sequences whose samples are of a counter that only its PMU's numbers name."""
        rows = window.rows
        for row in np.flatnonzero(rows[:, FLAGS] & DEFAULTS).tolist():
            start, size = int(rows[row, DEFAULTS_START]), int(rows[row, DEFAULTS_SIZE])
            try:
                defaults = decode("TracePacketDefaults", window.data, start, size)
            except ValueError:
                continue
            timebase = defaults.get("perf_sample_defaults", {}).get("timebase", {})
            if "raw_event" in timebase and not timebase.get("name"):
                self._trace.records_shown["timebase of samples"] += 1

    def _decoded(self, window: Window, position: int) -> dict[str, Any] | None:
        row = window.rows[position]
        kind = PacketField(int(row[DATA]))
        try:
            return decode(
                TABLE_PACKETS[kind], window.data, int(row[DATA_START]), int(row[DATA_SIZE])
            )
        except ValueError:
            self._damage.warn(
                f"a {kind.name.lower()} packet is damaged", window.offset + int(row[START])
            )
            return None

    def _note_packet(self, kind: PacketField, message: dict[str, Any]) -> None:
        match kind:
            case PacketField.PROCESS_TREE:
                renamed = self._tables.add_process_tree(message)
                if renamed:
                    self._shown["process_tree: names that processes had before"] += renamed
            case PacketField.PROCESS_DESCRIPTOR:
                self._tables.add_process_descriptor(message)
            case PacketField.THREAD_DESCRIPTOR:
                self._tables.add_thread_descriptor(message)
            case PacketField.TRACK_DESCRIPTOR:
                self._tables.add_descriptor(message)
                # Thread times are fields of slices, from which importers derive a counter without a unit.
                self._trace.records_shown["unit of thread times"] += is_thread_time(message)
            case PacketField.SYSTEM_INFO:
                self._note_system(message)
            case PacketField.TRACE_ATTRIBUTES:
                self._note_attributes(message)

    def _note_system(self, message: dict[str, Any]) -> None:
        environment = self._trace.environment
        for names, values in (
            (UTSNAME, message.get("utsname", {})),
            ({**SYSTEM, "tracing_service_version": "tracer_version"}, message),
        ):
            for key, name in names.items():
                # The attribute has the exact bytes of texts that are not UTF-8.
                if key in values and name not in self._declared_environment:
                    value = values[key]
                    environment[name] = text(value) if isinstance(value, bytes) else value

    def _note_attributes(self, message: dict[str, Any]) -> None:
        """Read the description of a trace in this package's own attribute."""
        for attribute in message.get("attribute", ()):
            document = _DOCUMENT.fullmatch(attribute.get("key", b""))
            if document and attribute["key"] not in _OWN_ATTRIBUTES:
                self._note_sidecar(document[1].decode(), attribute.get("string_value", b""))
            if attribute.get("key") != TRACE_ATTRIBUTE.encode():
                continue
            try:
                content = json.loads(attribute.get("string_value", b""))
                clocks = [_clock_of(form) for form in (content["clock"], *content["clock_domains"])]
                environment = {
                    _encodable(key): value if isinstance(value, int) else _encodable(value)
                    for key, value in content["environment"].items()
                }
                if clocks[0].ticks_per_second not in (None, _NANOSECONDS):
                    raise ValueError("times are nanoseconds")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
                self._damage.warn(f"the attribute {TRACE_ATTRIBUTE} is damaged")
                continue
            self._declared_clocks = clocks
            self._declared_environment = environment
            self._trace.environment.update(environment)

    def _note_sidecar(self, name: str, text: bytes) -> None:
        """Read the sidecar of a JSON document."""
        try:
            self._trace.sidecar[name] = parse_sidecar(text)
        except ValueError:
            self._damage.warn(f"the attribute {SIDECAR_PREFIX}{name} is damaged")

    def _is_declarations(self, window: Window, row: int) -> bool:
        """Return True if a packet of attributes only declares events."""
        start, size = (int(window.rows[row, column]) for column in (DATA_START, DATA_SIZE))
        # The first attribute in TraceAttributes, and its key.
        head = bytes(window.data[start : start + min(size, 64)])
        if EVENTS_ATTRIBUTE.encode() not in head:
            return False
        try:
            found = decode("TraceAttributes", window.data, start, size)
        except ValueError:
            return False
        attributes = found.get("attribute", ())
        return [one.get("key") for one in attributes] == [EVENTS_ATTRIBUTE.encode()]

    def _note_declarations(self, window: Window, row: int) -> None:
        start, size = (int(window.rows[row, column]) for column in (DATA_START, DATA_SIZE))
        (attribute,) = decode("TraceAttributes", window.data, start, size)["attribute"]
        try:
            found = parse_declarations(attribute.get("string_value", b""))
        except ValueError:
            self._damage.warn(f"the attribute {EVENTS_ATTRIBUTE} is damaged")
            return
        for number, shapes in found.items():
            self.declarations[number] = {**shapes, **self.declarations.get(number, {})}

    def _keep(self, name: str, packet: bytes) -> bool:
        """Add a packet to the sidecar if the size limit of its kind allows it."""
        held = self._held.get(name, 0)
        if held + len(packet) > MAX_SIDECAR_BYTES:
            self._held[name] = MAX_SIDECAR_BYTES
            return False
        self._held[name] = held + len(packet)
        self._sidecar.setdefault(name, []).append(packet)
        return True

    def finish(self) -> None:
        """Fill in the trace once all packets are noted."""
        trace = self._trace
        trace.clock = self._clocks.domain()
        trace.clock_domains = self._clocks.others()
        if self._declared_clocks:
            trace.clock, *trace.clock_domains = self._declared_clocks
        states = self._states.referred_to()
        if states:
            self._sidecar[SEQUENCE_STATES] = states
        if self._sidecar:
            trace.sidecar["perfetto"] = dict(self._sidecar)
            trace.sidecar_shown["perfetto"] = self._shown
        if has_extension(trace):
            # Slices of JSON without a name are shown under one, which ends with other names do not close.
            trace.semantics = dataclasses.replace(trace.semantics, ends=EndMatching.NAME)
        trace.bookkeeping = BOOKKEEPING

    # Second pass

    def start(self, timeline: Timeline) -> None:
        """Prepare a pass: set the counters whose values are not plain ones, and reset the sidecar's state."""
        self._held = {}
        for uuid, descriptor in self._tables.descriptors.items():
            counter = descriptor.get("counter")
            if counter is None:
                continue
            multiplier = counter.get("unit_multiplier", 0) or 1
            incremental = bool(counter.get("is_incremental"))
            is_time = is_thread_time(descriptor)
            if incremental or multiplier != 1 or is_time:
                timeline.set_counter(uuid, multiplier, incremental, is_time)

    def state_changes(self, window: Window) -> list[int]:
        """Return the packets that change the meaning of time or position in the packets that follow."""
        return [int(i) for i in np.flatnonzero(_CHANGING.isin(window.rows[:, DATA]))]

    def apply(self, window: Window, position: int, timeline: Timeline) -> None:
        """Apply the state change of such a packet."""
        row = window.rows[position]
        sequence = int(row[SEQUENCE])
        message = self._decoded(window, position)
        if message is None:
            return
        if row[DATA] == PacketField.THREAD_DESCRIPTOR:
            timeline.set_thread(
                sequence,
                _int32(message.get("pid", 0)),
                _int32(message.get("tid", 0)),
                message.get("reference_timestamp_us", 0),
                message.get("reference_thread_time_us", 0),
            )
            return
        for clock in message.get("clocks", ()):
            multiplier = wrapped(clock.get("unit_multiplier_ns", 0)) or 1
            incremental = bool(clock.get("is_incremental"))
            id = clock.get("clock_id", 0)
            if incremental or multiplier != 1:
                value = wrapped(clock.get("timestamp", 0) * multiplier)
                owner = sequence if incremental or id in SEQUENCE_CLOCKS else 0
                timeline.set_clock(owner, id, value, multiplier, incremental)

    def not_read(self, window: Window) -> NDArray[np.bool_]:
        """Return the packets of a window whose data is used neither for events, tables nor the sidecar."""
        data = window.rows[:, DATA]
        result = ~_READ.isin(data)
        if (data == EMBEDDED).any():
            # At the end of a file they have been removed before.
            self._damage.warn(
                "a trace that travels in this one is not at its end, and left alone",
                is_damage=False,
            )
        for row in np.flatnonzero(_SIDECAR.isin(data)).tolist():
            kind = PacketField(int(data[row]))
            if kind is PacketField.TRACE_ATTRIBUTES and self._is_declarations(window, row):
                continue
            size = int(window.rows[row, SIZE])
            name = kind.name.lower()
            held = self._held.get(name, 0)
            result[row] = held + size > MAX_SIDECAR_BYTES
            self._held[name] = MAX_SIDECAR_BYTES if result[row] else held + size
        return result


def _int32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _clock_of(form: dict[str, Any]) -> ClockDomain:
    rate, epoch = form["ticks_per_second"], form["epoch_ns"]
    return ClockDomain(
        _encodable(form["name"]),
        None if rate is None else parse_rate(rate),
        None if epoch is None else parse_epoch(epoch),
        _encodable(form["description"]),
    )


def _encodable(value: object) -> str:
    # UnicodeEncodeError, a ValueError, for lone surrogates other than those of bytes that are not UTF-8.
    result = str(value)
    result.encode("utf-8", "surrogateescape")
    return result

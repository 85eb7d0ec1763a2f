"""Compare the Perfetto reader with protobuf's own parser: ``python tests/support/perfetto/oracle.py FILE...``.

Every packet is parsed with the `perfetto` package's messages and interpreted here once more, event by event, as the
protos' comments say; what the reader makes of it must be the same: order within each class, times, places, values.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from converter.formats.perfetto import mapping, tracepoints
from converter.formats.perfetto.reading.reader import read
from converter.ir.columns import value
from converter.ir.field_classes import ArrayClass, StructureClass, VariantClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection import timeline_fields
from converter.projection.timeline_fields import CALLSTACK
from converter.storage.opening import open_source
from converter.storage.source import Source

#: (times, places, fields) of the events of a class, by its label.
Events = dict[str, list[tuple[Any, ...]]]


def packets(source: Source) -> Iterator[Any]:
    """All packets, compressed ones inflated."""
    trace = pb.Trace.FromString(source.read(0, source.size))
    for packet in trace.packet:
        if packet.HasField("compressed_packets"):
            yield from pb.Trace.FromString(zlib.decompress(packet.compressed_packets)).packet
        else:
            yield packet


def text(item: Any) -> Any:
    """A value as the reader's tables hold it."""
    return item.encode() if isinstance(item, str) else item


def scalars(message: Any) -> tuple[tuple[str, Any], ...]:
    """All fields of a message by name, absent ones with their default."""
    result = []
    for field in message.DESCRIPTOR.fields:
        found = getattr(message, field.name)
        result.append((field.name, [text(v) for v in found] if field.is_repeated else text(found)))
    return tuple(result)


def present(message: Any, system: str, name: str) -> tuple[tuple[str, Any], ...]:
    """The fields of an event's message that are there: also absent ones if events of the kind always have them."""
    known = tracepoints.known_meaning(system, name)
    roles = {} if known is None else known.roles
    required = tracepoints.always_there(system, name)
    return tuple(
        (field.name, value)
        for field, (_, value) in zip(message.DESCRIPTOR.fields, scalars(message), strict=True)
        if field.is_repeated or message.HasField(field.name) or roles.get(field.name) in required
    )


class GenericMessages:
    """The messages that a trace's own descriptors declare."""

    def __init__(self, all_packets: list[Any]) -> None:
        self.types: dict[int, tuple[str, str, Any]] = {}
        for packet in all_packets:
            for item in packet.ftrace_events.generic_event_descriptors:
                if item.field_id in self.types:
                    continue
                declared = descriptor_pb2.DescriptorProto.FromString(item.event_descriptor)
                name = declared.name
                file = descriptor_pb2.FileDescriptorProto(
                    name=f"g{item.field_id}.proto", package=f"g{item.field_id}", syntax="proto2"
                )
                file.message_type.add().CopyFrom(declared)
                pool = descriptor_pool.DescriptorPool()
                pool.Add(file)
                found = pool.FindMessageTypeByName(f"g{item.field_id}.{name}")
                self.types[item.field_id] = (
                    item.group_name,
                    name,
                    message_factory.GetMessageClass(found),
                )


def kernel_events(
    bundle: Any, generic: GenericMessages, state: dict[int, Any], into: Events
) -> None:
    """The events of one bundle."""
    cpu = bundle.cpu
    if bundle.lost_events:
        state.pop(cpu, None)
    for event in bundle.event:
        place = (event.timestamp, cpu, event.pid)
        which = event.WhichOneof("event")
        if which == "generic":
            fields = []
            for field in event.generic.field:
                kind = field.WhichOneof("value")
                fields.append((field.name, text(getattr(field, kind)) if kind else 0))
            fields = [("common_flags", event.common_flags), *fields]
            into[f":{event.generic.event_name}"].append((*place, tuple(fields)))
        elif which is not None:
            number = event.DESCRIPTOR.fields_by_name[which].number
            tracepoint = tracepoints.tracepoint_of(number)
            assert tracepoint is not None
            label, fields = ":".join(tracepoint), present(getattr(event, which), *tracepoint)
            into[label].append((*place, (("common_flags", event.common_flags), *fields)))
        else:
            for unknown in UnknownFieldSet(event):
                group, name, kind = generic.types[unknown.field_number]
                fields = present(kind.FromString(unknown.data), group, name)
                label = f"{group}:{name}"
                into[label].append((*place, (("common_flags", event.common_flags), *fields)))
    compact_events(bundle, state, into)


def compact_events(bundle: Any, state: dict[int, Any], into: Events) -> None:
    """Switches and wakings of compact_sched, with the task before inferred."""
    compact = bundle.compact_sched
    comms = [comm.encode() for comm in compact.intern_table]
    switches, wakings = [], []
    ts = 0
    for i, delta in enumerate(compact.switch_timestamp):
        ts += delta
        comm = comms[compact.switch_next_comm_index[i]]
        switches.append(
            (
                ts,
                compact.switch_prev_state[i],
                compact.switch_next_pid[i],
                compact.switch_next_prio[i],
                comm,
            )
        )
    ts = 0
    for i, delta in enumerate(compact.waking_timestamp):
        ts += delta
        flags = compact.waking_common_flags[i] if compact.waking_common_flags else 0
        wakings.append(
            (
                ts,
                flags,
                compact.waking_pid[i],
                compact.waking_target_cpu[i],
                compact.waking_prio[i],
                comms[compact.waking_comm_index[i]],
            )
        )
    while switches or wakings:
        running = state.get(bundle.cpu, (-1, 0, b""))
        if wakings and (not switches or wakings[0][0] <= switches[0][0]):
            ts, flags, pid, target, priority, comm = wakings.pop(0)
            names = ("common_flags", "comm", "pid", "prio", "target_cpu")
            fields = tuple(zip(names, (flags, comm, pid, priority, target), strict=True))
            into["compact sched:sched_waking"].append((ts, bundle.cpu, running[0], fields))
            continue
        ts, previous_state, pid, priority, comm = switches.pop(0)
        fields = (
            ("common_flags", 0),
            ("prev_comm", running[2]),
            ("prev_pid", running[0]),
            ("prev_prio", running[1]),
            ("prev_state", previous_state),
            ("next_comm", comm),
            ("next_pid", pid),
            ("next_prio", priority),
        )
        into["compact sched:sched_switch"].append((ts, bundle.cpu, running[0], fields))
        state[bundle.cpu] = (pid, priority, comm)


class Sequences:
    """Incremental state, as TracePacket's comments describe it."""

    def __init__(self) -> None:
        self.interned: dict[tuple[int, str, int], Any] = {}
        self.track: dict[int, int] = {}
        self.valid: set[int] = set()
        self.extra: dict[int, list[int]] = {}
        self.counters: dict[int, Any] = {}
        #: Counters of the time of a thread: values beside events are these events' own.
        self.thread_times: set[int] = set()
        self.sums: dict[int, Any] = {}

    def take(self, packet: Any) -> None:
        """What a packet changes."""
        sequence = packet.trusted_packet_sequence_id
        if packet.sequence_flags & 1 or packet.incremental_state_cleared:
            self.interned = {key: v for key, v in self.interned.items() if key[0] != sequence}
            self.track.pop(sequence, None)
            self.extra.pop(sequence, None)
            self.sums.clear()
            self.valid.add(sequence)
        elif packet.previous_packet_dropped:
            self.valid.discard(sequence)
        if packet.trace_packet_defaults.track_event_defaults.HasField("track_uuid"):
            self.track[sequence] = packet.trace_packet_defaults.track_event_defaults.track_uuid
        defaults = packet.trace_packet_defaults.track_event_defaults
        if defaults.extra_counter_track_uuids:
            self.extra[sequence] = list(defaults.extra_counter_track_uuids)
        for field, items in packet.interned_data.ListFields():
            for item in items:
                self.interned[sequence, field.name, item.iid] = item

    def counted(self, uuid: int, number: Any) -> Any:
        """A counter's value in the unit of its track, increments summed up."""
        counter = self.counters.get(uuid)
        if counter is None:
            return number
        if counter.is_incremental:
            number = self.sums[uuid] = self.sums.get(uuid, 0) + number
        return number * (counter.unit_multiplier or 1)

    def name(self, sequence: int, kind: str, iid: int) -> bytes:
        """An interned name."""
        item = self.interned.get((sequence, kind, iid))
        if item is None:
            return b""
        return bytes(item.str) if kind == "debug_annotation_string_values" else item.name.encode()


def frames(event: Any, sequence: int, state: Sequences) -> tuple[Any, ...] | None:
    """The frames of a track event's call stack, innermost first; None without one."""

    def interned(kind: str, iid: int, message: Any) -> Any:
        return state.interned.get((sequence, kind, iid), message())

    if event.HasField("callstack"):
        return tuple(
            (frame.function_name.encode(), b"", 0, frame.source_file.encode(), frame.line_number)
            for frame in reversed(event.callstack.frames)
        )
    if not event.HasField("callstack_iid"):
        return None
    result = []
    for iid in reversed(interned("callstacks", event.callstack_iid, pb.Callstack).frame_ids):
        frame = interned("frames", iid, pb.Frame)
        found = interned("mappings", frame.mapping_id, pb.Mapping)
        path = b"".join(
            b"/" + interned("mapping_paths", part, pb.InternedString).str
            for part in found.path_string_ids
        )
        function = interned("function_names", frame.function_name_id, pb.InternedString).str
        source = interned("source_paths", frame.source_path_iid, pb.InternedString).str
        result.append((function, path, frame.rel_pc, source, frame.line_number))
    return tuple(result)


def nested(item: Any) -> Any:
    """The value of the older form of nested annotations."""
    if item.nested_type == 1:
        values = [nested(element) for element in item.dict_values]
        return list(zip(item.dict_keys, values, strict=True))
    if item.nested_type == 2:
        return [nested(element) for element in item.array_values]
    set_fields = [text(found) for field, found in item.ListFields() if field.name != "nested_type"]
    return set_fields[0] if set_fields else None


def annotation(item: Any, sequence: int, state: Sequences) -> tuple[bytes, Any]:
    """Name and value of a debug annotation."""
    name = item.name.encode() or state.name(sequence, "debug_annotation_names", item.name_iid)
    if item.dict_entries:
        return name, [
            (n.decode(), v) for n, v in (annotation(e, sequence, state) for e in item.dict_entries)
        ]
    if item.array_values:
        elements = [annotation(e, sequence, state)[1] for e in item.array_values]
        return name, elements
    kind = item.WhichOneof("value")
    if kind is None:
        return name, item.proto_value or None
    if kind == "nested_value":
        return name, nested(item.nested_value)
    if kind == "string_value_iid":
        return name, state.name(sequence, "debug_annotation_string_values", item.string_value_iid)
    return name, text(getattr(item, kind))


def track_event(packet: Any, state: Sequences, into: Events) -> None:
    """One track event: its time is left out where its clock is not the trace's."""
    event = packet.track_event
    sequence = packet.trusted_packet_sequence_id
    if packet.sequence_flags & 2 and sequence not in state.valid:
        return
    name = event.name.encode() or state.name(sequence, "event_names", event.name_iid)
    if not name and event.legacy_event.name_iid:
        name = state.name(sequence, "event_names", event.legacy_event.name_iid)
    categories = [state.name(sequence, "event_categories", iid) for iid in event.category_iids]
    categories += [category.encode() for category in event.categories]
    arguments = [
        (n.decode(), v)
        for n, v in (annotation(item, sequence, state) for item in event.debug_annotations)
    ]
    flows = list(event.flow_ids_old) + list(event.flow_ids)
    ends = list(event.terminating_flow_ids_old) + list(event.terminating_flow_ids)
    kind = {1: "SLICE_BEGIN", 2: "SLICE_END", 3: "INSTANT", 4: "COUNTER", 5: "STATE"}.get(
        event.type
    )
    if kind is None:
        phase = chr(event.legacy_event.phase)
        kind = mapping.PHASE_KINDS.get(phase, Kind.INSTANT).name
    counted: Any = None
    if kind == "COUNTER":
        counted = event.counter_value
        if event.HasField("double_counter_value"):
            counted = event.double_counter_value
        uuid = event.track_uuid if event.HasField("track_uuid") else state.track.get(sequence, 0)
        counted = state.counted(uuid, counted)
        name = b""
    label = f"timeline {kind}"
    into[label].append(
        (
            *(name, b",".join(categories), tuple(flows), tuple(ends), arguments, counted),
            frames(event, sequence, state),
        )
    )
    tracks = list(event.extra_counter_track_uuids) or state.extra.get(sequence, [])
    counts = list(zip(tracks, event.extra_counter_values, strict=False))
    if event.type != event.TYPE_COUNTER:
        own = next((i for i, (uuid, _) in enumerate(counts) if uuid in state.thread_times), None)
        if own is not None:
            state.counted(*counts.pop(own))
    counts += zip(
        event.extra_double_counter_track_uuids, event.extra_double_counter_values, strict=False
    )
    for uuid, number in counts:
        into["timeline COUNTER"].append((b"", b"", (), (), [], state.counted(uuid, number), None))


def expected(source: Source) -> Events:
    """What the file says, by protobuf's parser."""
    found = list(packets(source))
    generic = GenericMessages(found)
    into: Events = defaultdict(list)
    cpus: dict[int, Any] = {}
    state = Sequences()
    for packet in found:
        if packet.track_descriptor.HasField("counter"):
            descriptor = packet.track_descriptor
            state.counters[descriptor.uuid] = descriptor.counter
            names = (descriptor.name, descriptor.static_name, descriptor.atrace_name)
            name = next(filter(None, names), "thread_time" if descriptor.counter.type == 1 else "")
            if name == "thread_time":
                state.thread_times.add(descriptor.uuid)
    for packet in found:
        state.take(packet)
        if packet.HasField("ftrace_events"):
            kernel_events(packet.ftrace_events, generic, cpus, into)
        elif packet.HasField("track_event"):
            track_event(packet, state, into)
    return into


def values_of(trace: Trace, batch: Any, class_id: int) -> list[list[Any]]:
    """The values of each field of a class, a list a field."""
    table = batch.tables[class_id]
    result = []
    cache: dict[int, bytes] = {}
    for i, field in enumerate(trace.event_classes[class_id].fields):
        column = table.column(i)
        if type(field.type).__name__ == "StringClass":
            ids = column.tolist()  # type: ignore[union-attr]
            for id in set(ids) - cache.keys():
                cache[id] = trace.strings[id]
            result.append([cache[id] for id in ids])
        elif hasattr(column, "tolist"):
            result.append(column.tolist())
        else:
            result.append(
                [value(column, field.type, row, trace.strings) for row in range(len(table))]
            )
    return result


def actual(trace: Trace) -> Events:
    """What the reader makes of the file."""
    into: Events = defaultdict(list)
    tids = [thread.tid for thread in trace.threads]
    for batch in trace.batches():
        tids = [thread.tid for thread in trace.threads] + [-1]
        # Those of one name may be of several classes.
        placed: list[tuple[int, str, tuple[Any, ...]]] = []
        for id in batch.tables:
            event_class = trace.event_classes[id]
            places = batch.positions(id)
            columns = values_of(trace, batch, id)
            names = [field.name for field in event_class.fields]
            if event_class.name and event_class.kind is not Kind.NATIVE:
                label = f"{event_class.category}:{event_class.name}"
                if event_class.native == tracepoints.COMPACT_SCHED:
                    label = f"compact {label}"
                rows = zip(*columns, strict=True) if columns else ((),) * len(places)
                ts, cpu = batch.ts[places].tolist(), batch.cpu[places].tolist()
                thread = batch.thread[places].tolist()
                for place, t, c, n, row in zip(places.tolist(), ts, cpu, thread, rows, strict=True):
                    fields = tuple(zip(names, row, strict=True))
                    placed.append((place, label, (t, c, tids[n], fields)))
            elif event_class.kind.name in _TIMELINE:
                for place, row in zip(places.tolist(), zip(*columns, strict=True), strict=True):
                    placed.append((place, *_timeline_row(event_class, names, row)))
        for _, label, row in sorted(placed, key=lambda item: item[0]):
            into[label].append(row)
    return into


_TIMELINE = {
    "SLICE_BEGIN", "SLICE_END", "SLICE_COMPLETE", "INSTANT", "COUNTER", "STATE", "ASYNC_BEGIN", "ASYNC_INSTANT",
    "ASYNC_END", "FLOW_BEGIN", "FLOW_STEP", "FLOW_END", "OBJECT_NEW", "OBJECT_SNAPSHOT", "OBJECT_DELETE",
}  # fmt: skip


def plain(field_class: Any, item: Any) -> Any:
    """A value without the options of its variants."""
    if isinstance(field_class, VariantClass):
        chosen = {option.name: option.type for option in field_class.options}
        return plain(chosen[item[0]], item[1])
    if isinstance(field_class, ArrayClass):
        return [plain(field_class.element, element) for element in item]
    if isinstance(field_class, StructureClass):
        return [
            (name, plain(member.type, v))
            for member, (name, v) in zip(field_class.members, item, strict=True)
        ]
    return item


def _timeline_row(
    event_class: Any, names: list[str], row: tuple[Any, ...]
) -> tuple[str, tuple[Any, ...]]:
    flows: tuple[Any, ...] = ()
    ends: tuple[Any, ...] = ()
    arguments = []
    counted = stack = None
    for name, field, item in zip(names[2:], event_class.fields[2:], row[2:], strict=True):
        if field == timeline_fields.FLOW_IDS:
            flows = tuple(item)
        elif field == timeline_fields.TERMINATING_FLOW_IDS:
            ends = tuple(item)
        elif field == CALLSTACK:
            stack = tuple(tuple(member for _, member in frame) for frame in item)
        elif event_class.kind is Kind.COUNTER and name == "value":
            counted = item
        elif field.role is Role.NONE:
            arguments.append((name, plain(field.type, item)))
    name = b"" if event_class.kind is Kind.COUNTER else row[0]
    return f"timeline {event_class.kind.name}", (
        *(name, row[1], flows, ends, arguments, counted),
        stack,
    )


def differences(source: Source) -> list[str]:
    """What the reader and protobuf's parser do not agree on."""
    want, have = expected(source), actual(read(source))
    result = []
    for label in sorted(want.keys() | have.keys()):
        one, other = want.get(label, []), have.get(label, [])
        if len(one) != len(other):
            result.append(f"{label}: {len(one)} events, the reader has {len(other)}")
        different = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
        first = next(different, None)
        if first is not None:
            result.append(f"{label}[{first}]: {one[first]!r}, the reader has {other[first]!r}")
    return result


def main(paths: list[str]) -> int:
    """Check files; 1 when something differs."""
    failed = 0
    for path in paths:
        started = time.perf_counter()
        source = open_source(path)
        want = expected(source)
        found = differences(source)
        count = sum(len(events) for events in want.values())
        sys.stdout.write(
            f"{path}: {count:,} events of {len(want)} kinds, {len(found)} differences"
            f" ({time.perf_counter() - started:.1f} s)\n"
        )
        for line in found:
            sys.stdout.write(f"  {line[:2000]}\n")
        failed |= bool(found)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

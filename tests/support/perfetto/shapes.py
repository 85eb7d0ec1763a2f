"""The Perfetto traces that `tests.draw_perfetto` draws: what sequences of packets have, kind by kind."""

from __future__ import annotations

import random
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
BOOTTIME, INCREMENTAL = 6, 64
#: Of packets that begin a sequence, and of those that need its state.
CLEARED, NEEDED = 1, 2
NAMES = ["a", "b", "c c", "näme", "x.y", "[z]"]
CATEGORIES = ["cat", "x"]
PROCESSES = (10, 20)
#: Threads by their process.
THREADS = {10: (10, 11, 12), 20: (20, 21)}


class Draw(random.Random):
    """A trace that grows, and a time that goes on."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.trace = pb.Trace()
        self.now = self.choice([1000, 5_000_000_000])
        self.uuids = iter(range(100, 1000))
        # Of flows as recorders make them: the importer numbers legacy ones from 0, and would take them for the same.
        self.ids = iter(range(1 << 20, 1 << 30))
        self.sequences: list[Sequence] = []

    def chance(self, share: float) -> bool:
        return self.random() < share

    def next(self, most: int = 5000) -> int:
        """The next time, which may be the same."""
        self.now += self.choice([0, self.randrange(most), 1000 * self.randrange(1, 9)])
        return self.now

    def packet(self, **fields: Any) -> Any:
        packet = self.trace.packet.add()
        for name, value in fields.items():
            setattr(packet, name, value)
        return packet


class Sequence:
    """A packet sequence of one thread, with texts and times of its own."""

    def __init__(self, draw: Draw, number: int, pid: int, tid: int) -> None:
        self.draw, self.number, self.pid, self.tid = draw, number, pid, tid
        self.is_incremental = draw.chance(0.4)
        self.uuid = next(draw.uuids)
        self.open: list[str] = []
        self.begin()
        descriptor = draw.packet(trusted_packet_sequence_id=number).track_descriptor
        descriptor.uuid = self.uuid
        descriptor.thread.pid, descriptor.thread.tid = pid, tid
        descriptor.thread.thread_name = draw.choice([f"t{tid}", f"t{tid}", "worker"])
        if draw.chance(0.2):
            descriptor.thread.legacy_sort_index = draw.randrange(-3, 5)

    def begin(self) -> None:
        """Clear the state: texts, and what times are counted from."""
        draw = self.draw
        self.texts: dict[tuple[str, str], int] = {}
        packet = draw.packet(
            trusted_packet_sequence_id=self.number, sequence_flags=CLEARED, timestamp=draw.now
        )
        if draw.chance(0.1):
            packet.previous_packet_dropped = 1
        self.last = draw.now
        if self.is_incremental:
            for clock, time, incremental in (
                (BOOTTIME, draw.now, False),
                (INCREMENTAL, draw.now, True),
            ):
                one = packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=time)
                if incremental:
                    one.is_incremental = True
            packet.trace_packet_defaults.timestamp_clock_id = INCREMENTAL
            packet.timestamp_clock_id = BOOTTIME

    def packet(self, ts: int) -> Any:
        packet = self.draw.packet(
            trusted_packet_sequence_id=self.number, sequence_flags=NEEDED, timestamp=ts
        )
        if self.is_incremental:
            packet.timestamp = ts - self.last
            self.last = ts
        return packet

    def interned(self, packet: Any, table: str, text: str) -> int:
        """The number of a text, which the packet brings if it is new."""
        known = self.texts.get((table, text))
        if known is None:
            known = self.texts[table, text] = len(self.texts) + 1
            value = text.encode() if table == "debug_annotation_string_values" else text
            member = "str" if table == "debug_annotation_string_values" else "name"
            getattr(packet.interned_data, table).add(iid=known, **{member: value})
        return known

    def event(
        self, kind: int, name: str | None = None, uuid: int = 0, ts: int | None = None
    ) -> Any:
        """A track event with its name and category, interned or not; its packet is `self.made`."""
        draw = self.draw
        packet = self.made = self.packet(draw.next() if ts is None else ts)
        event = packet.track_event
        event.type = kind
        event.track_uuid = uuid or self.uuid
        if name is not None:
            if draw.chance(0.5):
                event.name = name
            else:
                event.name_iid = self.interned(packet, "event_names", name)
            category = draw.choice(CATEGORIES)
            if draw.chance(0.3):
                event.categories.append(category)
            elif draw.chance(0.7):
                event.category_iids.append(self.interned(packet, "event_categories", category))
        return event

    def annotate(self, event: Any) -> None:
        for name in self.draw.sample(["k", "n.m", "[e]", "v"], self.draw.randint(0, 2)):
            one = event.debug_annotations.add()
            if self.draw.chance(0.5):
                one.name = name
            else:
                one.name_iid = self.interned(self.made, "debug_annotation_names", name)
            self.value(one)

    def value(self, one: Any, depth: int = 0) -> None:
        draw = self.draw
        match draw.randrange(9 if depth < 2 else 7):
            case 0:
                one.int_value = draw.choice([0, -5, 1 << 40, -(1 << 63)])
            case 1:
                one.uint_value = draw.choice([0, 7, 1 << 40])
            case 2:
                one.double_value = draw.choice([0.5, -2.25, 1e100])
            case 3:
                one.bool_value = draw.chance(0.5)
            case 4:
                one.string_value = draw.choice(["x", "", "é", "12"])
            case 5:
                one.pointer_value = draw.choice([0, 31, 1 << 45])
            case 6:
                text = draw.choice(["in", "terned"])
                one.string_value_iid = self.interned(
                    self.made, "debug_annotation_string_values", text
                )
            case 7:
                for name in draw.sample("pqr", draw.randint(1, 2)):
                    entry = one.dict_entries.add(name=name)
                    self.value(entry, depth + 1)
            case _:
                for _ in range(draw.randint(1, 3)):
                    one.array_values.add().int_value = draw.randrange(5)


def slices(d: Draw, s: Sequence) -> None:
    """Begins and ends on the thread's own track."""
    s.annotate(s.event(BEGIN, d.choice(NAMES)))
    if d.chance(0.5):
        s.annotate(s.event(INSTANT, d.choice(NAMES)))
    if d.chance(0.3):
        s.event(BEGIN, "inner")
        s.event(END)
    end = s.event(END)
    if d.chance(0.2):
        s.annotate(end)


def thread_times(d: Draw, s: Sequence) -> None:
    """Slices with the time that the thread ran."""
    s.event(BEGIN, "timed").thread_time_absolute_us = 40
    s.event(END).thread_time_absolute_us = 40 + d.randrange(5)


def asynchronous(d: Draw, s: Sequence) -> None:
    """Slices on a track of the process, or of nothing."""
    uuid = next(d.uuids)
    descriptor = d.packet(trusted_packet_sequence_id=s.number).track_descriptor
    descriptor.uuid, descriptor.name = uuid, f"track {uuid}"
    if d.chance(0.5):
        descriptor.parent_uuid = s.uuid
    s.annotate(s.event(BEGIN, d.choice(NAMES), uuid))
    s.event(END, None, uuid)
    if d.chance(0.3):
        s.event(INSTANT, "mark", uuid)


def counters(d: Draw, s: Sequence) -> None:
    """A counter, of a process or of all, with a unit, a multiplier, increments."""
    uuid = next(d.uuids)
    descriptor = d.packet(trusted_packet_sequence_id=s.number).track_descriptor
    descriptor.uuid, descriptor.name = uuid, f"counter {uuid}"
    descriptor.counter.SetInParent()
    if d.chance(0.5):
        descriptor.counter.unit = d.choice([1, 2, 3])
    if d.chance(0.2):
        descriptor.counter.unit_multiplier = 1000
    descriptor.counter.is_incremental = d.chance(0.3)
    for _ in range(d.randint(1, 3)):
        event = s.event(COUNTER, None, uuid)
        if d.chance(0.6) or descriptor.counter.is_incremental:
            event.counter_value = d.choice([0, 5, 1 << 33])
        else:
            event.double_counter_value = d.choice([0.5, 2.25])


def flows(d: Draw, s: Sequence) -> None:
    """Slices on two threads that a flow connects, in three steps or two."""
    id = next(d.ids)
    others = [d.choice(d.sequences) for _ in range(d.randint(1, 2))]
    for step, one in enumerate([s, *others]):
        event = one.event(BEGIN, f"flow {step}")
        if step == len(others) and d.chance(0.7):
            event.terminating_flow_ids.append(id)
        else:
            event.flow_ids.append(id)
        one.event(END, None, ts=d.now + 700)
        d.now += 1000


def legacy(d: Draw, s: Sequence) -> None:
    """Events as Chrome's JSON has them."""
    match d.randrange(4):
        case 0:
            event = s.event(0, "complete")
            event.legacy_event.phase = ord("X")
            event.legacy_event.duration_us = d.randrange(1, 4)
            d.now += 5000
        case 1:
            id = next(d.ids)
            place = d.choice(["unscoped_id", "local_id", "global_id"])
            for phase in d.choice(["be", "bne"]):
                event = s.event(0, "legacy async")
                event.legacy_event.phase = ord(phase)
                setattr(event.legacy_event, place, id)
        case 2:
            event = s.event(0, "legacy instant")
            event.legacy_event.phase = ord(d.choice("iI"))
            event.legacy_event.instant_event_scope = d.choice([1, 2, 3])
        case _:
            id = next(d.ids)
            for phase, other in (("s", s), ("f", d.choice(d.sequences))):
                other.event(BEGIN, f"legacy {phase}")
                event = other.event(0, "legacy flow", ts=d.now + 100)
                event.legacy_event.phase = ord(phase)
                event.legacy_event.unscoped_id = id
                event.legacy_event.bind_to_enclosing = phase == "f"
                other.event(END, None, ts=d.now + 200)
                d.now += 1000


def typed(d: Draw, s: Sequence) -> None:
    """Arguments with messages of their own."""
    event = s.event(INSTANT, "typed")
    match d.randrange(3):
        case 0:
            event.source_location.file_name = "a.cc"
            event.source_location.line_number = 7
        case 1:
            event.chrome_user_event.action = "click"
        case _:
            event.task_execution.posted_from_iid = next(d.ids)
            self = s.made.interned_data.source_locations.add(
                iid=event.task_execution.posted_from_iid
            )
            self.file_name, self.function_name, self.line_number = "b.cc", "f", 3


def log(d: Draw, s: Sequence) -> None:
    event = d.packet(timestamp=d.next(), timestamp_clock_id=BOOTTIME).android_log.events.add()
    event.timestamp, event.pid, event.tid = d.now, s.pid, s.tid
    event.prio, event.tag, event.message = d.choice([3, 4, 6]), "tag", d.choice(["m", "é"])


def kernel(d: Draw, s: Sequence) -> None:
    """Switches of the threads, one after another on a CPU, with their wakings."""
    bundle = d.packet(trusted_packet_sequence_id=1).ftrace_events
    bundle.cpu = d.randrange(2)
    last = 0
    for sequence in d.sample(d.sequences, min(2, len(d.sequences))):
        waking = bundle.event.add(timestamp=d.next() + 1, pid=last)
        waking.sched_waking.comm, waking.sched_waking.pid = f"t{sequence.tid}", sequence.tid
        waking.sched_waking.prio = 120
        event = bundle.event.add(timestamp=d.now + 10, pid=last)
        d.now += 20
        switch = event.sched_switch
        switch.prev_comm, switch.prev_pid, switch.prev_prio = (
            (f"t{last}" if last else "swapper"),
            last,
            120,
        )
        switch.prev_state = d.choice([0, 1, 2]) if last else 0
        switch.next_comm, switch.next_pid, switch.next_prio = f"t{sequence.tid}", sequence.tid, 120
        last = sequence.tid


def tracks(d: Draw, s: Sequence) -> None:
    """Tracks within tracks, described before their events, after them, twice, or never."""
    parent, child = next(d.uuids), next(d.uuids)
    when = d.choice(["before", "before", "after", "twice", "never"])

    def describe(suffix: str = "") -> None:
        for uuid, above in ((parent, d.choice([0, s.uuid, s.pid])), (child, parent)):
            track = d.packet(trusted_packet_sequence_id=s.number).track_descriptor
            track.uuid, track.name = uuid, f"track {uuid}{suffix}"
            if above:
                track.parent_uuid = above

    if when in ("before", "twice"):
        describe()
    for uuid in (parent, child):
        s.annotate(s.event(BEGIN, d.choice(NAMES), uuid))
        s.event(END, None, uuid)
    if when in ("after", "twice"):
        describe(" again" if when == "twice" else "")


def defaults(d: Draw, s: Sequence) -> None:
    """Events without a track are on the one of the defaults, or on that of the last thread of the sequence."""
    s.begin()
    packet = s.packet(d.next())
    packet.sequence_flags = CLEARED
    if s.is_incremental:
        packet.trace_packet_defaults.timestamp_clock_id = INCREMENTAL
    packet.trace_packet_defaults.track_event_defaults.track_uuid = s.uuid
    s.texts = {}
    s.event(BEGIN, d.choice(NAMES)).ClearField("track_uuid")
    s.event(END).ClearField("track_uuid")


def without_state(d: Draw, s: Sequence) -> None:
    """Events whose texts are lost with a packet: they are left out until the state is cleared."""
    dropped = s.event(INSTANT, "lost")
    s.made.previous_packet_dropped = 1
    if d.chance(0.5):
        dropped.ClearField("name")
        dropped.name_iid = 999
    s.begin()


def clocks(d: Draw, s: Sequence) -> None:
    """Times of other clocks, which a snapshot relates to the trace's: the machine's, and one of the sequence."""
    monotonic, own = 3, 70
    snapshot = d.packet(trusted_packet_sequence_id=s.number, timestamp=d.next()).clock_snapshot
    for clock, time in ((BOOTTIME, d.now), (monotonic, d.now - 500), (own, d.now - 300)):
        snapshot.clocks.add(clock_id=clock, timestamp=time)
    begin = d.now
    for _ in range(d.randint(1, 3)):
        clock, origin = d.choice([(monotonic, begin - 500), (own, begin - 300), (BOOTTIME, begin)])
        packet = d.packet(trusted_packet_sequence_id=s.number, sequence_flags=NEEDED)
        packet.timestamp, packet.timestamp_clock_id = origin + d.next() - begin, clock
        event = packet.track_event
        event.type, event.track_uuid, event.name = INSTANT, s.uuid, f"clock {clock}"


def extra_counters(d: Draw, s: Sequence) -> None:
    """Counters whose values are in the events of slices."""
    uuids = [next(d.uuids) for _ in range(d.randint(1, 2))]
    for uuid in uuids:
        track = d.packet(trusted_packet_sequence_id=s.number).track_descriptor
        track.uuid, track.name, track.parent_uuid = uuid, f"extra {uuid}", s.uuid
        track.counter.SetInParent()
    for kind, name in ((BEGIN, "counted"), (END, None)):
        event = s.event(kind, name)
        event.extra_counter_track_uuids.extend(uuids)
        event.extra_counter_values.extend(d.randrange(100) for _ in uuids)


def old_flows(d: Draw, s: Sequence) -> None:
    """Flows with ids as older recorders write them."""
    id, other = next(d.ids), d.choice(d.sequences)
    s.event(BEGIN, "old flow 0").flow_ids_old.append(id)
    s.event(END, None, ts=d.now + 700)
    d.now += 1000
    other.event(BEGIN, "old flow 1").terminating_flow_ids_old.append(id)
    other.event(END, None, ts=d.now + 700)
    d.now += 1000


def messages(d: Draw, s: Sequence) -> None:
    """Log messages in track events."""
    event = s.event(INSTANT, "message")
    text = d.choice(["said", "é"])
    event.log_message.body_iid = 1 + len(s.texts)
    s.texts["log_message_body", text] = event.log_message.body_iid
    s.made.interned_data.log_message_body.add(iid=event.log_message.body_iid, body=text)


def compact(d: Draw, s: Sequence) -> None:
    """Switches in the columns that traced_probes writes, and wakings of the same kind."""
    bundle = d.packet(trusted_packet_sequence_id=1).ftrace_events
    bundle.cpu = 2 + d.randrange(2)
    sched = bundle.compact_sched
    ready = d.sample(d.sequences, min(2, len(d.sequences)))
    sched.intern_table.extend(["swapper", *(f"t{one.tid}" for one in ready)])
    last = woken = 0
    for index, one in enumerate(ready, 1):
        at = d.next() + 1
        if d.chance(0.5):
            sched.waking_timestamp.append(at - woken)
            woken = at
            sched.waking_pid.append(one.tid)
            sched.waking_target_cpu.append(bundle.cpu)
            sched.waking_prio.append(120)
            sched.waking_comm_index.append(index)
            sched.waking_common_flags.append(1)
        sched.switch_timestamp.append(at + 10 - last)
        last = at + 10
        d.now += 20
        sched.switch_prev_state.append(d.choice([1, 2]) if index > 1 else 0)
        sched.switch_next_pid.append(one.tid)
        sched.switch_next_prio.append(120)
        sched.switch_next_comm_index.append(index)


def kernel_records(d: Draw, s: Sequence) -> None:
    """Other events of the kernel: marks, frequencies, interrupts, new and renamed tasks."""
    bundle = d.packet(trusted_packet_sequence_id=1).ftrace_events
    bundle.cpu = d.randrange(2)

    def event() -> Any:
        return bundle.event.add(timestamp=d.next() + 1, pid=s.tid)

    match d.randrange(6):
        case 0:
            event().print.buf = f"B|{s.pid}|mark\n"
            event().print.buf = d.choice([f"E|{s.pid}\n", "E\n"])
        case 1:
            event().print.buf = f"C|{s.pid}|count|{d.randrange(9)}\n"
        case 2:
            frequency = event().cpu_frequency
            frequency.cpu_id, frequency.state = bundle.cpu, d.choice([300000, 0])
        case 3:
            idle = event().cpu_idle
            idle.cpu_id, idle.state = bundle.cpu, d.choice([1, (1 << 32) - 1])
        case 4:
            entry = event().irq_handler_entry
            entry.irq, entry.name = 7, "timer"
            leave = event().irq_handler_exit
            leave.irq, leave.ret = 7, d.randrange(2)
        case _:
            event().softirq_entry.vec = 1
            event().softirq_exit.vec = 1


def process_tree(d: Draw, s: Sequence) -> None:
    """Processes and threads as traced_probes lists them, with counters of their memory."""
    tree = d.packet(trusted_packet_sequence_id=1, timestamp=d.next()).process_tree
    tree.processes.add(pid=s.pid, ppid=1).cmdline.extend(["/bin/app", "-v"])
    tree.threads.add(tid=s.tid, tgid=s.pid, name=f"t{s.tid}")
    if d.chance(0.5):
        stats = d.packet(trusted_packet_sequence_id=1, timestamp=d.next()).process_stats
        stats.processes.add(pid=s.pid, vm_rss_kb=d.randrange(99), oom_score_adj=-5)


KINDS = (
    *(slices, slices, thread_times, asynchronous, counters, flows, legacy, typed, log, kernel),
    *(tracks, defaults, without_state, clocks, extra_counters, old_flows, messages, compact),
    *(kernel_records, process_tree),
)


def document(number: int) -> bytes:
    """A document by its number."""
    d = Draw(number)
    for pid in PROCESSES:
        descriptor = d.packet(trusted_packet_sequence_id=1).track_descriptor
        descriptor.uuid, descriptor.process.pid = pid, pid
        descriptor.process.process_name = f"p{pid}"
        if d.chance(0.2):
            descriptor.process.legacy_sort_index = d.randrange(5)
    places = [(pid, tid) for pid, tids in THREADS.items() for tid in tids]
    for index, (pid, tid) in enumerate(d.sample(places, d.randint(1, 3))):
        d.sequences.append(Sequence(d, 2 + index, pid, tid))
    for _ in range(d.randint(1, 5)):
        sequence = d.choice(d.sequences)
        d.choice(KINDS)(d, sequence)
        if d.chance(0.15):
            sequence.begin()
    return bytes(d.trace.SerializeToString())

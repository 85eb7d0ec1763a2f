"""Makes legacy LTTng traces byte by byte, as the tracer of each version did, for tests of what is read.

Nothing here is shared with the converter: headers are packed by hand, after ltt-tracer.h and ltt-relay.c.
"""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass, field
from pathlib import Path

from converter.ir.canonical import canonical
from converter.storage.opening import open_source
from converter.storage.outputs import open_sink

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "lttng_legacy"

RATE = 1_000_000_000
START = 1000


#: Every version and header.
VARIANTS_1 = [
    {
        "version": (1, 0), "big_endian": big, "arch_size": size, "heartbeat": heartbeat,
        "alignment": size * aligned, "literal": literal,
    }
    for big, size, heartbeat, aligned, literal in itertools.product(
        (False, True), (4, 8), (False, True), (0, 1), (False, True)
    )
]  # fmt: skip
VARIANTS_2 = [
    {"version": (2, minor), "big_endian": big, "arch_size": size, "alignment": size * aligned}
    for minor, big, size, aligned in itertools.product(range(1, 7), (False, True), (4, 8), (0, 1))
]


def spelled(options):
    """The name of a variant."""
    return "-".join(str(value) for value in options.values())


def events(trace, *, declarations=False):
    """(ts, kind, name, cpu, tid, values) of each event."""
    form = canonical(trace)
    result = []
    for ts, number, cpu, thread, _, values in form["events"]:
        held = form["classes"][number]
        if not declarations and held.get("category", "").endswith(("metadata", "facilities")):
            continue
        tid = None if thread is None else form["threads"][thread][1]
        result.append((ts, held["kind"], held.get("name", ""), cpu, tid, values))
    return result


def pad(at, size, alignment):
    """The tracer's ltt_align."""
    size = min(size, alignment)
    return -at % size if size else 0


@dataclass
class Channel:
    """The blocks of one file: (begin, [record], counts of lost events or None)."""

    compact: bool = False
    blocks: list = field(default_factory=list)


@dataclass
class Trace:
    """A trace under construction. `version` is (major, minor).

    `literal` is version 1.0 by its document, `byte_ids` its ids where they are not as its headers.
    """

    version: tuple = (1, 0)
    big_endian: bool = False
    arch_size: int = 4
    alignment: int = 0
    heartbeat: bool = True
    literal: bool = False
    byte_ids: bool | None = None
    tscbits: int = 20
    data_shift: int = 26
    truncate: int = 4
    freq: int = RATE
    nanoseconds: int = 250_000_000
    block_size: int = 4096
    files: dict = field(default_factory=dict)
    names: dict = field(default_factory=dict)

    def pack(self, form, *values):
        return struct.pack((">" if self.big_endian else "<") + form, *values)

    @property
    def metadata(self):
        if self.version == (1, 0):
            return "control/facilities"
        return "metadata" if self.version >= (2, 3) else "control/metadata"

    @property
    def natural(self):
        """The limit of alignments."""
        if self.alignment and self.version in ((2, 4), (2, 5)):
            return 8
        return self.alignment

    # Content

    def declare(self, channel, name, id, format, cpu=0):
        """Declare a marker; the time is that of the declarations so far."""
        sizes = bytes((4, self.arch_size, self.arch_size, self.arch_size, self.alignment))
        head = channel.encode() + b"\0" if self.version >= (2, 3) else b""
        payload = head + name.encode() + b"\0"
        payload += bytes(pad(len(payload), 2, self.alignment))
        self.event(self.metadata, cpu, START, 0, payload + self.pack("H", id) + sizes)
        payload = head + name.encode() + b"\0" + format.encode() + b"\0"
        self.event(self.metadata, cpu, START, 1, payload)
        self.names[channel, name] = id

    def payload(self, *values):
        """Fields one behind the other: text, or (struct letter, value), aligned as the tracer does.

        A letter with ">" in front of it is in network byte order.
        """
        data = b""
        for value in values:
            if isinstance(value, str | bytes):
                data += (value.encode() if isinstance(value, str) else value) + b"\0"
            else:
                size = struct.calcsize(value[0])
                data += bytes(pad(len(data), size, self.natural))
                data += struct.pack(*value) if value[0][0] == ">" else self.pack(*value)
        return data

    def event(self, channel, cpu, ts, id, payload=b"", *, largest=1, data=0, full=False):
        """Append an event. `largest` is the size of its largest field, `data` what a compact header holds.

        With `full` its header has all bits of the time and the size, with "size" only the size.
        """
        compact = channel.removeprefix("flight-") == "compact"
        file = self.files.setdefault((channel, cpu), Channel(compact))
        if not file.blocks:
            file.blocks.append((START, [], None))
        file.blocks[-1][1].append((ts, id, payload, largest, data, full))

    def new_block(self, channel, cpu, begin, lost=None):
        """Start a block; `lost` are the counts in its header."""
        file = self.files.setdefault((channel, cpu), Channel())
        file.blocks.append((begin, [], lost))

    # Bytes

    def build(self):
        """The files by name."""
        return {
            f"{channel}_{cpu}": b"".join(self._block(file, *block) for block in file.blocks)
            for (channel, cpu), file in self.files.items()
        }

    def _block(self, file, begin, records, lost):
        size = {True: 101 if self.literal else 109, False: 60 if self.version < (2, 2) else 68}
        data = bytearray(size[self.version == (1, 0)])
        end = begin
        for record in records:
            data = self._record(file, data, *record)
            end = record[0]
        used, whole = len(data), self.block_size
        assert used <= whole
        if self.version >= (2, 5):
            whole = -(-used // 64) * 64
        data += bytes(whole - used)
        data[: len(self._header(begin, end, used, whole, lost))] = self._header(
            begin, end, used, whole, lost
        )
        return bytes(data)

    def _header(self, begin, end, used, whole, lost):
        if self.version == (1, 0):
            start = (
                self.pack("II", 1500, self.nanoseconds)
                if self.literal
                else self.pack("QQ", 1500, self.nanoseconds // 1000)
            )
            return (
                self.pack("QQQQII", begin, 0, end, 0, whole - used, whole)
                + self.pack("IIII", 0x00D6B7ED, 1 if self.arch_size == 4 else 8, 0, 0)
                + bytes((self.arch_size, 1, 0, 0, self.heartbeat, self.alignment))
                + bytes((self.truncate, self.tscbits, self.data_shift))
                + self.pack("IQQQ", 1, self.freq, START, 0)
                + start
            )
        sizes = (used, whole) if self.version >= (2, 5) else (whole - used, whole)
        counts = () if self.version < (2, 2) else lost or (0, 0)
        return (
            self.pack("QQI", begin, end, 0x00D6B7ED)
            + bytes((*self.version, self.arch_size, self.alignment))
            + self.pack("QQQI", 1500, 250_000, self.freq, 1)
            + self.pack("I" * (2 + len(counts)), *sizes, *counts)
        )

    def _record(self, file, data, ts, id, payload, largest, inside, full):
        if self.version != (1, 0):
            return self._record_2(data, ts, id, payload, largest, full)
        if file.compact:
            data += bytes(pad(len(data), 4, self.alignment))
            low = (ts >> self.truncate) & ((1 << self.tscbits) - 1)
            return (
                data
                + self.pack("I", low | id << self.tscbits | inside << self.data_shift)
                + payload
            )
        data += bytes(pad(len(data), self.arch_size, self.alignment))
        data += self.pack("I", ts & 0xFFFFFFFF) if self.heartbeat else self.pack("Q", ts)
        in_bytes = self.literal if self.byte_ids is None else self.byte_ids
        data += id.to_bytes(2, "big") if in_bytes else self.pack("H", id)
        data += self.pack("H", 0xFFFF if full else len(payload))
        return data + bytes(pad(len(data), self.arch_size, self.alignment)) + payload

    def _record_2(self, data, ts, id, payload, largest, full):
        data += bytes(pad(len(data), 4, self.natural))
        low = ts & 0x7FFFFFF
        if full:
            data += self.pack(
                "IHH", (30 if full == "size" else 29) << 27 | low, id, min(len(payload), 0xFFFF)
            )
            data += self.pack("I", len(payload)) if len(payload) >= 0xFFFF else b""
            if full != "size":
                data += bytes(pad(len(data), 8, self.natural)) + self.pack("Q", ts)
        elif id < 29:
            data += self.pack("I", id << 27 | low)
        else:
            data += self.pack("IH", 31 << 27 | low, id)
        return data + bytes(pad(len(data), largest, self.natural)) + payload


def save(files, folder):
    """Write files into a new folder."""
    for name, data in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def with_heartbeats(**options):
    """A trace whose times are kept by heartbeats, one of them of 64 bits, and the times of its three events."""
    trace = Trace(**options)
    trace.declare("cpu", "plain", 128, " ")
    wrap = 1 << 32
    trace.event("cpu", 0, START, 128)
    for ts in (wrap - 5, 2 * wrap - 10, 3 * wrap - 20):
        trace.event("cpu", 0, ts, 2)
    trace.event("cpu", 0, 4 * wrap - 30, 128)
    far = 77 * wrap + 5
    trace.event("cpu", 0, 4 * wrap - 20, 3, trace.payload(("Q", far)))
    trace.event("cpu", 0, far + 9, 128)
    return trace, START, 4 * wrap - 30, far + 9


def sample(**options):
    """A trace with a switch, a system call and a rich event on CPU 0, and one event on CPU 1."""
    trace = Trace(**options)
    old = trace.version < (2, 3)
    kernel = "cpu" if trace.version == (1, 0) else "kernel"
    switch = "kernel_sched_schedule" if old else "sched_schedule"
    entry = "kernel_arch_syscall_entry" if old else "syscall_entry"
    leave = "kernel_arch_syscall_exit" if old else "syscall_exit"
    first = 128 if trace.version == (1, 0) else 0
    long = "i" if trace.arch_size == 4 else "q"
    unsigned = "I" if trace.arch_size == 4 else "Q"
    trace.declare("kernel", switch, first, "prev_pid %d next_pid %d prev_state #2d%ld")
    trace.declare("kernel", entry, first + 1, "ip #p%ld syscall_id #2u%u")
    trace.declare("kernel", leave, first + 2, "ret %ld")
    trace.declare(
        "kernel",
        "rich",
        first + 40,
        "a #1u%u b %s c %hd word d %llu e #n2u%hu f 0x%lX g %s h #4d%d",
    )
    word = min(trace.arch_size, trace.natural) or 1
    trace.event(
        kernel, 0, START + 10, first, trace.payload(("i", 7), ("i", 9), ("h", 1)),
        largest=min(4, trace.natural) or 1,
    )  # fmt: skip
    call = trace.payload((unsigned, 0x1000), ("H", 3))
    trace.event(kernel, 0, START + 20, first + 1, call, largest=word)
    rich = trace.payload(
        ("B", 200), "text", ("h", -5), ("Q", 1 << 63), (">H", 0x1234), (unsigned, 0xABCD), "", ("i", -1)
    )  # fmt: skip
    trace.event(kernel, 0, START + 30, first + 40, rich, largest=min(8, trace.natural) or 1)
    trace.event(kernel, 0, START + 40, first + 2, trace.payload((long, -2)), largest=word)
    trace.event(kernel, 1, START + 25, first + 1, call, largest=word)
    return trace


def opened(folder):
    """The trace in a folder; the source stays open."""
    from converter.formats.lttng_legacy.reading.reader import read

    return read(open_source(str(folder)))


def written(trace, folder, variant=""):
    """Write a trace to a folder."""
    from converter.formats.lttng_legacy.writing.writer import write

    with open_sink(str(folder), directory=True, force=True) as sink:
        write(trace, sink, variant)
    return folder


def contents(folder):
    """All files of a folder by name."""
    folder = Path(folder)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

"""The state dump: it is recorded after the first events that need it, so it is read before all events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from converter.formats.lttng_legacy.mapping import NumberNames
from converter.formats.lttng_legacy.marker_declarations import Marker
from converter.formats.lttng_legacy.reading.batches import Decoder
from converter.formats.lttng_legacy.reading.classes import Classes, ClassSource, rows_of
from converter.formats.lttng_legacy.recording import ChannelFile, Recording
from converter.ir.events import Batch
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.projection.domain.syscalls import syscall_names

#: The most numbers of system calls, interrupts and their vectors: larger ones are damage.
_MOST_NUMBERS = 4096
#: Channels with the state dump; in version 1.0, and before 2.3, files of their own in a folder.
_CHANNELS = frozenset(
    {
        *("task_state", "syscall_state", "irq_state", "softirq_state"),
        *("control/processes", "processes", "control/interrupts", "interrupts"),
    }
)
#: Handlers of vectors without an owner: of interrupts of all lines, of none, and of no address.
_NOBODYS = frozenset({"irq_entries_start", "ignore_int", "0x0"})
#: Vectors of exceptions are below; those from here on are interrupts (x86).
_FIRST_INTERRUPT = 32


@dataclass(frozen=True, slots=True)
class DumpedTask:
    """A task that existed."""

    tid: int
    pid: int
    parent: int
    name: str


@dataclass(slots=True)
class StateDump:
    """The contents of the state dump's markers, by the numbers in events."""

    tasks: list[DumpedTask] = field(default_factory=list)
    syscalls: dict[int, str] = field(default_factory=dict)
    softirqs: dict[int, str] = field(default_factory=dict)
    #: The devices of interrupt lines.
    interrupts: dict[int, list[str]] = field(default_factory=dict)
    #: Handlers in the interrupt descriptor table.
    vectors: dict[int, str] = field(default_factory=dict)

    def names(self) -> NumberNames:
        """Return names of the numbers in events."""
        # Numbers from the end of the lines on are vectors without a line, such as that of the local timer.
        named = {
            number: symbol for number, symbol in self.vectors.items() if symbol not in _NOBODYS
        }
        irqs = {number: one for number, one in named.items() if number >= _FIRST_INTERRUPT}
        irqs |= {number: ", ".join(devices) for number, devices in self.interrupts.items()}
        traps = {number: one for number, one in named.items() if number < _FIRST_INTERRUPT}
        return NumberNames.from_names(self.syscalls, self.softirqs, irqs, traps)

    def machine(self) -> str:
        """Return the uname -m architecture with these system call numbers, "" if none is similar."""
        named = {number: text.removeprefix("sys_") for number, text in self.syscalls.items()}
        best, machine = 0, ""
        for candidate in ("i686", "x86_64", "armv7l", "aarch64", "ppc", "ppc64", "mips", "s390x"):
            known = syscall_names(candidate)
            count = sum(known.get(number) == text for number, text in named.items())
            if count > best:
                best, machine = count, candidate
        return machine if 2 * best > len(named) else ""

    def add(self, marker: str, row: dict[str, object]) -> None:
        """Add an event of the state dump, given by the names of its fields."""
        match marker.removeprefix("list_"):
            case "process_state":
                tid, name = row.get("pid"), row.get("name")
                pid, parent = row.get("tgid", tid), row.get("parent_pid")
                if isinstance(tid, int) and isinstance(pid, int) and isinstance(name, bytes):
                    text = name.decode("utf-8", "surrogateescape")
                    known = parent if isinstance(parent, int) else -1
                    self.tasks.append(DumpedTask(tid, pid, known, text))
            case "sys_call_table":
                _name(self.syscalls, row.get("id"), row.get("symbol"))
            case "softirq_vec":
                _name(self.softirqs, row.get("id"), row.get("symbol"))
            case "idt_table":
                _name(self.vectors, row.get("irq"), row.get("symbol"))
            case "interrupt":
                number, device = row.get("irq_id"), row.get("action")
                if isinstance(number, int) and isinstance(device, bytes) and device:
                    text = device.decode("utf-8", "replace")
                    devices = self.interrupts.setdefault(number, [])
                    if 0 <= number < _MOST_NUMBERS and text not in devices:
                        devices.append(text)


def _name(names: dict[int, str], number: object, symbol: object) -> None:
    """Name a number after the function in a symbol like sys_read+0x0/0x70."""
    if isinstance(number, int) and isinstance(symbol, bytes) and 0 <= number < _MOST_NUMBERS:
        names[number] = symbol.decode("utf-8", "replace").partition("+")[0]


def read_state_dump(recording: Recording, markers: Sequence[Marker]) -> StateDump:
    """Return the state dump of a trace, empty if there is none."""
    files = [file for file in recording.files if file.marker_channel in _CHANNELS]
    scratch = Trace("lttng_legacy")
    classes = Classes(scratch, files, markers, own=False)
    dump = StateDump()
    for batch in Decoder(scratch, recording, classes, files, None).batches():
        for id in batch.tables:
            source = classes.sources[id]
            if isinstance(source, ClassSource):
                for row in rows_of(scratch, batch, id):
                    dump.add(source.marker.name, row)
    return dump


def first_threads(
    trace: Trace, recording: Recording, classes: Classes, files: Sequence[ChannelFile]
) -> dict[int, int]:
    """Return the thread that runs on each CPU when the trace starts: the one that its first switch replaces."""
    found: dict[int, tuple[int, int]] = {}
    for file in files:
        if not _has_switches(trace, classes, file):
            continue
        decoder = Decoder(trace, recording, classes, [file], None)
        first = next((one for batch in decoder.batches() for one in _first(trace, batch)), None)
        if first is not None:
            found[file.cpu] = min(found.get(file.cpu, first), first)
    return {cpu: tid for cpu, (_, tid) in found.items()}


def _has_switches(trace: Trace, classes: Classes, file: ChannelFile) -> bool:
    return any(
        source.channel == file.marker_channel and trace.event_classes[id].kind is Kind.SCHED_SWITCH
        for id, source in enumerate(classes.sources)
    )


def _first(trace: Trace, batch: Batch) -> Iterator[tuple[int, int]]:
    """Yield the time of a batch's first switch, and the thread that it replaces."""
    firsts = []
    for id, table in batch.tables.items():
        event_class = trace.event_classes[id]
        index = event_class.index_of(Role.PREV_TID)
        if event_class.kind is Kind.SCHED_SWITCH and index is not None:
            tids = table.column(index)
            assert isinstance(tids, np.ndarray)
            firsts.append((int(batch.ts[batch.positions(id)[0]]), int(tids[0])))
    return iter(sorted(firsts)[:1])

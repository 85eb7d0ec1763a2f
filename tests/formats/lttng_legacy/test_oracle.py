"""What LTTV itself printed of a recording (its text dump), against what is read of it."""

from __future__ import annotations

import gzip
import re

import pytest
from support.ctf.lttng_legacy_files import FIXTURES

import converter
from converter.ir.columns import value
from converter.ir.kinds import Kind
from converter.projection.project import project
from converter.registry import FORMATS

_LINE = re.compile(
    r"(?P<name>\S+): (?P<s>\d+)\.(?P<ns>\d{9}), (?P<tid>\d+), (?P<pid>\d+), (?P<comm>.*?), "
    r"(?P<brand>.*?), (?P<parent>\d+), 0x0, (?P<mode>\w+)(?: \{ (?P<fields>.*) \})?"
)
_FIELD = re.compile(r'(?:^|, )([^=]+?) = ("[^"]*"|\S+?)(?: \[[^\]]*\])?(?=,|$)')
#: What other fields say follows from events before, or from the state dump.
_OWN_FIELDS = {("kernel.irq_entry", "name"), ("kernel.irq_exit", "irq_id")} | {
    ("kernel.syscall_exit", "syscall_id")
}

_ENTERS = {
    Kind.IRQ_ENTRY: "IRQ",
    Kind.SOFTIRQ_ENTRY: "SOFTIRQ",
    Kind.SYSCALL_ENTRY: "SYSCALL",
    Kind.SLICE_BEGIN: "TRAP",
}
_LEAVES = {
    Kind.IRQ_EXIT: "IRQ",
    Kind.SOFTIRQ_EXIT: "SOFTIRQ",
    Kind.SYSCALL_EXIT: "SYSCALL",
    Kind.SLICE_END: "TRAP",
}


@pytest.fixture(scope="module")
def lines():
    text = gzip.decompress((FIXTURES / "kernel-2.5.lttv.txt.gz").read_bytes())
    found = [_LINE.fullmatch(line) for line in text.decode("utf-8").splitlines()]
    assert all(found)
    return found


@pytest.fixture(scope="module")
def events():
    """(fields, thread, process, kind) by name and ns."""
    result = {}
    with converter.open_trace(FIXTURES / "kernel-2.5.tar.gz") as trace:
        rate = trace.clock.ticks_per_second
        for batch in trace.batches():
            for i in range(len(batch)):
                event_class = trace.event_classes[batch.class_id[i]]
                table, row = batch.tables[int(batch.class_id[i])], int(batch.row[i])
                fields = {
                    field.name: value(table.column(k), field.type, row, trace.strings)
                    for k, field in enumerate(event_class.fields)
                }
                name = f"{event_class.category}.{event_class.name}"
                if event_class.kind in (Kind.SLICE_BEGIN, Kind.SLICE_END):
                    edge = "entry" if event_class.kind is Kind.SLICE_BEGIN else "exit"
                    name = f"{fields.pop('category').decode()}.{fields.pop('name').decode()}_{edge}"
                thread = trace.threads[int(batch.thread[i])]
                ns = int(batch.ts[i]) * 1_000_000_000 // rate
                process = trace.processes[thread.process]
                result[name, ns] = (fields, thread, process, event_class.kind)
    return result


def found(events, line):
    """The event of a line; LTTV's floating point can be a nanosecond off."""
    ns = int(line["s"]) * 1_000_000_000 + int(line["ns"])
    return events.get((line["name"], ns)) or events[line["name"], ns + 1]


def test_names_times_and_values_are_those_of_lttv(lines, events):
    assert len(events) == 15_316
    assert len(lines) > 3000
    for line in lines:
        ours = dict(found(events, line)[0])
        printed = dict(_FIELD.findall(line["fields"] or ""))
        for name in ours.keys() - printed.keys():
            assert (line["name"], name) in _OWN_FIELDS
            del ours[name]
        assert printed.keys() == ours.keys()
        for name, text in printed.items():
            if isinstance(ours[name], bytes):
                assert ours[name].decode() == text.strip('"')
            else:
                # LTTV prints hexadecimal as C does, of any sign.
                assert (int(text, 0) - ours[name]) % (1 << 32) == 0, (line[0], name)


def test_threads_processes_and_parents_are_those_of_lttv(lines, events):
    """LTTV knows none before the first switch, and puts a switch on the thread that comes."""
    before_first = 0
    executed = {line["tid"] for line in lines if line["name"] == "fs.exec"}
    for line in lines:
        _, thread, process, _ = found(events, line)
        if line["tid"] == "0":
            before_first += 1
            # The first switch takes the CPU from this one.
            assert thread.tid == 16887
        elif line["name"] != "kernel.sched_schedule":
            assert (thread.tid, process.pid) == (int(line["tid"]), int(line["pid"])), line[0]
            if line["tid"] not in executed:
                assert thread.name == line["comm"]
            if thread.tid == process.pid:
                assert process.parent_pid == int(line["parent"])
    assert before_first > 100


def test_modes_that_lttv_shows_follow_from_kinds_and_threads(lines, events):
    """System calls, faults, interrupts and softirqs nest on the thread as LTTV's execution modes do.

    What a thread is in when the trace begins shows in its first system call; until then nothing is compared.
    """
    stacks = {}
    modes = {}
    for (name, ns), (fields, thread, _, kind) in events.items():
        tid = fields["next_pid"] if kind is Kind.SCHED_SWITCH else thread.tid
        stack = stacks.setdefault(tid, ["MODE_UNKNOWN"])
        if kind in (Kind.SYSCALL_ENTRY, Kind.SYSCALL_EXIT) and len(stack) == 1:
            stack[0] = "USER_MODE"
        # LTTV does not know the faults of get_user.
        if name.startswith("kernel.page_fault_get_user"):
            pass
        elif kind in _ENTERS:
            stack.append(_ENTERS[kind])
        elif kind in _LEAVES and stack[-1] == _LEAVES[kind]:
            stack.pop()
        elif kind is Kind.PROCESS_FORK:
            stacks[fields["child_pid"]] = stack[:]
        modes[name, ns] = stack[-1]
    compared = 0
    for line in lines:
        if "MODE_UNKNOWN" not in (line["mode"], mode := found(modes, line)):
            assert mode == line["mode"], line[0]
            compared += 1
    assert compared > 1500


#: LTTV's names of the states in which a state dump finds processes.
_STATES = ("", "wait fork", "wait cpu", "exit", "zombie", "wait", "run", "dead")


def test_processes_are_in_the_states_of_lttv_until_they_are_scheduled(lines):
    """Slices on a track of each thread, in formats whose viewers know its states from switches alone."""
    perfetto = next(one for one in FORMATS if one.name == "perfetto")
    with converter.open_trace(FIXTURES / "kernel-2.5.tar.gz") as trace:
        target, _ = project(trace, perfetto.capabilities(""), "perfetto")
        found = {}
        for batch in target.batches():
            for at, track in enumerate(batch.track.tolist()):
                event_class = target.event_classes[batch.class_id[at]]
                if track < 0 or target.tracks[track].name != "State":
                    continue
                if event_class.kind is Kind.SLICE_BEGIN:
                    column = batch.tables[int(batch.class_id[at])].column(0)
                    name = target.strings[column[batch.row[at]]].decode()
                    tid = target.threads[target.tracks[track].owner].tid
                    found[tid] = int(batch.ts[at]), name
    compared = 0
    for line in lines:
        if line["name"] == "task_state.process_state":
            fields = dict(_FIELD.findall(line["fields"]))
            tid, ns = int(fields["pid"]), int(line["s"]) * 1_000_000_000 + int(line["ns"])
            if tid in found:
                ts, name = found[tid]
                assert 0 <= ts - ns <= 1
                assert name == _STATES[int(fields["status"])]
                compared += 1
    assert compared > 50

"""What other formats make of the tasks of an AIX trace."""

import pytest
from support.aix.files import opened, stream, words_64

import converter
from converter.formats.aix.reading.report_text import read_report
from converter.ir.collect import collect
from converter.ir.kinds import Role
from converter.projection.project import project
from converter.registry import FORMATS
from converter.storage.opening import open_source

CAPABILITIES = {
    format.name: format.capabilities("")
    for format in FORMATS
    if format.name in ("perfetto", "trace_cmd")
}
CLONE_THREAD = 0x10000


def column(trace, role):
    """All values of the integer fields with a role."""
    found = []
    for batch in trace.batches():
        for id, table in batch.tables.items():
            index = trace.event_classes[id].index_of(role)
            if index is not None:
                found += table.column(index).tolist()
    return found


@pytest.mark.parametrize("target", ["perfetto", "trace_cmd"])
def test_a_created_thread_is_one_of_its_process(target):
    made = stream("64", words_64(0x4650, 4660, 103, 60, 0, tid=101, ts=5))
    trace = collect(opened(made))
    assert [(t.tid, trace.processes[t.process].pid) for t in trace.threads] == [
        (101, 0),
        (103, 4660),
    ]
    projected, _ = project(trace, CAPABILITIES[target], target)
    assert column(projected, Role.CLONE_FLAGS) == [CLONE_THREAD]


def test_processes_of_dispatches_are_not_called_by_their_numbers(tmp_path):
    text = (
        b"ID   PROCESS NAME    CPU PID        TID             ELAPSED_SEC      DELTA_MSEC  "
        b"APPL    SYSCALL KERNEL  INTERRUPT\n\n"
        b"106  ksh             0   4660       101             0.001001000        0.000990                  "
        b"dispatch: pid=4660 tid=101 priority=60 old_tid=102 old_priority=61 CPUID=0\n"
        b"10C  wait            0   516        517             0.001002000        0.000990                  "
        b"dispatch: idle process pid=516 tid=517 priority=127 old_tid=101 old_priority=60 CPUID=0\n"
    )
    trace = collect(read_report(open_source(text)))
    strings = {
        trace.event_classes[id].fields[index].name: [
            trace.strings[value] for value in table.column(index).tolist()
        ]
        for batch in trace.batches()
        for id, table in batch.tables.items()
        for index in [trace.event_classes[id].index_of(Role.NEXT_COMM)]
        if index is not None
    }
    assert b"pid=4660" not in [name for names in strings.values() for name in names]
    converter.write(trace, tmp_path / "a.pftrace")
    names = {thread.name for thread in converter.read(tmp_path / "a.pftrace").threads}
    assert not {name for name in names if name.startswith("pid=")}

"""Events of ftrace's own tracers, by way of other formats: what is not as it was is named by a loss."""

import re
import struct

import pytest
from support.trace_cmd.files import File, Kernel
from support.trace_cmd.print_format_events import all_formats
from support.traces.losses import line_of
from support.traces.small_traces import fields_at

import converter

#: What ftrace records without a tracepoint: marks, stacks, functions, and what its latency tracers find.
NAMES = (
    *("bprint", "bputs", "branch", "context_switch", "func_repeats", "funcgraph_entry"),
    *("funcgraph_exit", "function", "hwlat", "kernel_stack", "mmiotrace_map", "mmiotrace_rw"),
    *("osnoise", "print", "raw_data", "timerlat", "user_stack", "wakeup"),
)
#: What stands behind the common fields, where not any bytes do.
CONTENTS = {
    "bprint": struct.pack("<QQII", 0x1010, 0x9100, 7, 8),
    "bputs": struct.pack("<QQ", 0x1010, 0x9000),
    "kernel_stack": struct.pack("<i4x3Q", 3, 0x1010, 0x2010, 0x1011),
    "print": struct.pack("<Q", 0x1010) + b"a mark\n\0",
    "raw_data": struct.pack("<i", 5) + b"\xff\x00\x01\x02payload\x80",
}
SYMBOLS = b"1000 T outer\n2000 T middle\n3000 T end\n"
PRINTK = b'0x9000 : "text\\n"\n0x9100 : "a %d b %x\\n"\n'


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A record of each of these events, in the formats of a kernel."""
    k = Kernel()
    formats = {re.search(rb"name: (\S+)", text)[1].decode(): text for text in all_formats()}
    records = []
    for name in NAMES:
        text = formats[name]
        places = re.findall(rb"offset:(\d+);\s*size:(\d+)", text)
        end = max(int(offset) + int(size) for offset, size in places)
        content = CONTENTS.get(name, bytes(range(1, max(end - 7, 1))))
        number = int(re.search(rb"ID: (\d+)", text)[1])
        records.append(k.record(10, k.common(number, 42) + content + bytes(-len(content) % 4)))
    own = {"ftrace": [formats[name] for name in NAMES]}
    file = File(k, {0: k.page(1000, *records)}, formats=own, kallsyms=SYMBOLS, printk=PRINTK)
    path = tmp_path_factory.mktemp("internal") / "a.dat"
    path.write_bytes(file.version_7())
    return path


def events_by_name(path):
    trace = converter.read(path)
    return {
        trace.event_classes[int(batch.class_id[i])].name: fields_at(trace, batch, i)
        for batch in trace.batches()
        for i in range(len(batch))
    }


@pytest.mark.parametrize("name", ["a.pftrace", "a.fxt", "a.json", "a.ctf"])
def test_what_is_not_as_it_was_is_named(recording, tmp_path, name):
    losses = [line_of(loss) for loss in converter.convert(recording, tmp_path / name)]
    before, after = events_by_name(recording), events_by_name(tmp_path / name)
    assert set(NAMES) == set(before)
    changed = {
        event
        for event, fields in before.items()
        if event not in after or any(after[event].get(f) != value for f, value in fields.items())
    }
    assert not {
        event
        for event in changed
        if not any(re.search(rf"\bftrace:{event}\b", what) for what in losses)
    }
    if name == "a.pftrace":
        # Texts with bytes that are no UTF-8 there.
        assert changed <= {"branch"}
    if name == "a.ctf":
        assert not changed

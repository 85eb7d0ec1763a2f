"""What is this converter's own in a file, no program of others complains of, and older files keep theirs."""

import ctypes.util
import subprocess
import sys

import pytest
from support.trace_cmd.writing import read_back, written
from support.traces.small_traces import event_class, events_of, trace_of

import converter
from converter.formats.ftrace.capabilities import capabilities
from converter.formats.trace_cmd.layout import OptionId
from converter.formats.trace_cmd.side_table import is_side_table, read_side_table
from converter.ir.collect import collect
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind
from converter.projection.project import project

TICK = event_class(Kind.TYPED, "tick", "sched", n=IntegerClass(64, signed=True))


def trace():
    return trace_of([TICK], [(0, 1, 0, 1, [1])], tids=(7, 8))


def options(path):
    return converter.read(path).sidecar["trace_cmd"]["options"]


@pytest.mark.parametrize("variant", ["v6", "v7"])
def test_the_number_is_one_that_libtracecmd_knows_and_leaves_aside(variant):
    back = read_back(written(collect(project(trace(), capabilities(""), "trace_cmd")[0]), variant))
    ((id, data),) = (one for one in back.sidecar["trace_cmd"]["options"] if is_side_table(*one))
    assert id == OptionId.PROCMAPS
    assert not data.endswith(b"\0")
    assert all(id in set(OptionId) for id, _ in back.sidecar["trace_cmd"]["options"])


def test_maps_of_processes_are_no_tables_and_the_former_number_is():
    back = read_back(written(collect(project(trace(), capabilities(""), "trace_cmd")[0])))
    data = next(
        data for id, data in back.sidecar["trace_cmd"]["options"] if is_side_table(id, data)
    )
    maps = b"2a 3 /bin/sh\n400000 500000 /bin/sh\n\0"
    assert read_side_table([(OptionId.PROCMAPS, maps)]) is None
    assert read_side_table([(OptionId.PROCMAPS, data + b"\0")]) is None
    for id in (OptionId.PROCMAPS, 0x5443):
        tables = read_side_table([(OptionId.PROCMAPS, maps), (id, data)])
        assert [one.tid for one in tables.threads] == [7, 8]


_OPEN = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.tracecmd_open.restype = ctypes.c_void_p
sys.exit(not library.tracecmd_open(sys.argv[2].encode(), 0))
"""


@pytest.mark.parametrize("variant", ["v6", "v7"])
@pytest.mark.parametrize("lossless", [False, True])
def test_libtracecmd_says_nothing(tmp_path, variant, lossless):
    library = ctypes.util.find_library("tracecmd")
    if library is None:
        pytest.skip("libtracecmd is not installed")
    path = tmp_path / "a.dat"
    converter.write(trace(), path, f"trace_cmd+{variant}", lossless=lossless)
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, library, str(path)],
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert len(events_of(converter.read(path))) == 1

"""trace-cmd reads whatever is written: no drawn trace makes it fail or crash."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import traces
from support.trace_cmd_writing import projected, written

from converter.ir.collect import collect
from converter.ir.kinds import Kind
from converter.ir.trace import Trace

PROGRAMS = ("trace-cmd", "trace-cmd-3.4")


def reported(program, data):
    """What the program reports of a file, and how it ends."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.dat"
        path.write_bytes(data)
        return subprocess.run(
            [program, "report", "-t", path], capture_output=True, check=False, timeout=60
        )


@pytest.mark.parametrize("program", PROGRAMS)
@settings(max_examples=15, deadline=None)
@given(trace=traces(), variant=st.sampled_from(["v7", "v7_none", "v6"]))
def test_no_drawn_trace_makes_trace_cmd_fail(program, trace, variant):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    target = collect(projected(trace))
    done = reported(program, written(target, variant))
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(b"cpus=")
    # Texts may have several lines, and lost events behind which nothing comes are not shown.
    assert len(lines) > sum(
        len(table)
        for batch in target.batches()
        for number, table in batch.tables.items()
        if target.event_classes[number].kind is not Kind.DISCARDED
    )


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("variant", ["v7", "v7_none", "v6"])
def test_all_commands_take_a_trace_without_events(program, variant, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    path = tmp_path / "a.dat"
    path.write_bytes(written(projected(Trace("none")), variant))
    for command in (["report"], ["report", "-R"], ["report", "--stat"], ["dump", "--all"]):
        done = subprocess.run([program, *command, path], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")

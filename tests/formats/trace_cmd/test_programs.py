"""trace-cmd reads whatever is written: no drawn trace makes it fail or crash."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.trace_cmd.writing import projected, written
from support.traces.small_traces import trace_of
from support.traces.strategies import traces

from converter.formats.trace_cmd.capabilities import capabilities
from converter.ir.collect import collect
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace
from converter.projection.losses import LossClass
from converter.projection.project import project

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


def _signed(bits: int) -> list[int]:
    return [-(1 << bits - 1), -1, 0, 1, (1 << bits - 1) - 1]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("arguments", [["-N"], ["-R"]])
def test_negative_numbers_of_every_width_have_their_sign(program, arguments, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    widths = [3, 8, 12, 16, 17, 32, 64]
    fields = [Field(f"s{bits}", IntegerClass(bits, True)) for bits in widths]
    fields += [Field(f"u{bits}", IntegerClass(bits)) for bits in (8, 16)]
    event = EventClass(Kind.TYPED, "e", "c", tuple(fields))
    rows = list(zip(*map(_signed, widths), [255] * 5, [65535] * 5, strict=True))
    trace = trace_of(
        [event], [(0, number, 0, 0, row) for number, row in enumerate(rows)], tids=(7,)
    )
    path = tmp_path / "a.dat"
    path.write_bytes(written(projected(trace), "v6"))
    done = subprocess.run([program, "report", *arguments, path], capture_output=True, check=True)
    names = [field.name for field in fields]
    for line, row in zip(done.stdout.decode().splitlines()[1:], rows, strict=True):
        said = dict(one.split("=") for one in line.split() if "=" in one)
        assert [int(said[name], 0) for name in names] == list(row)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("texts", "numbers", "whole"),
    [
        (24, 0, True),
        (24, 226, True),
        (0, 250, True),
        (24, 227, False),
        (25, 0, False),
        (0, 251, False),
    ],
)
def test_fields_of_large_classes_are_in_one_line(program, texts, numbers, whole, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    fields = [Field(f"n{number}", IntegerClass(64)) for number in range(numbers)]
    fields += [Field(f"t{number}", StringClass()) for number in range(texts)]
    event = EventClass(Kind.TYPED, "e", "c", tuple(fields))
    row = (*range(numbers), *(b"x" * 2559 for _ in range(texts)))
    trace, report = project(
        trace_of([event], [(0, 1, 0, 0, row)], tids=(7,)), capabilities("v6"), "x"
    )
    path = tmp_path / "a.dat"
    path.write_bytes(written(trace, "v6"))
    shown = [loss.code for loss in report if loss.loss_class is LossClass.SHOWN]
    assert bool(shown) is not whole and all(what == "arguments-in-instants" for what in shown)
    done = subprocess.run([program, "report", "-N", path], capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()[1:]
    assert len(lines) == 1 if whole else len(lines) > 1
    said = dict(one.split("=") for line in lines for one in line.split() if "=" in one)
    if whole:
        assert [said[field.name] for field in fields] == [
            str(value) if isinstance(value, int) else value.decode() for value in row
        ]

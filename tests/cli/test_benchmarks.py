"""The benchmarks run; what they measure is for people."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.trace_cmd.files import File, Kernel

from converter import read

ROOT = Path(__file__).parents[2]


@pytest.fixture
def instructions(monkeypatch):
    """The module, which is not installed."""
    monkeypatch.syspath_prepend(ROOT)
    return import_module("benchmarks.instructions")


def test_a_benchmark_prints_its_line():
    seed = ROOT / "roundtrip_fixtures/trace_cmd/scratch_v6_min.dat"
    command = [
        sys.executable,
        "-m",
        "benchmarks.convert",
        "--runs",
        "1",
        "--case",
        "trace_cmd to fxt, lossless",
    ]
    result = subprocess.run(
        [*command, "--input", seed],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    head, line = result.stdout.splitlines()
    assert head.split()[:3] == ["case", "events", "ours"]
    assert line.startswith("trace_cmd to fxt, lossless ")
    assert line.split()[4] == "4", "events"
    assert line.split()[9].endswith("x"), "beside the plain conversion"


def test_a_tool_is_given_the_same_trace(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT)
    cases = import_module("benchmarks.cases")
    by_name = {case.name: case for case in cases.CASES}
    assert len(by_name) == len(cases.CASES)
    monkeypatch.setattr(cases.shutil, "which", lambda name: name)
    case = by_name["trace_cmd to trace_cmd"]
    theirs = case.theirs(Path("in.dat"), tmp_path)
    assert theirs == ["trace-cmd", "convert", "-i", "in.dat", "-o", str(tmp_path / "theirs")]
    assert case.ours(Path("in.dat"), tmp_path / case.output)[-5:-4] == ["in.dat"]
    monkeypatch.setattr(cases.shutil, "which", lambda name: None)
    assert case.theirs(Path("in.dat"), tmp_path) is None


def test_what_measures_is_small():
    # What the process that starts a command has had in memory counts as that of the command.
    code = "import sys, benchmarks.__main__; assert not {'numpy', 'converter'} & sys.modules.keys()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, timeout=60, check=True)


@pytest.fixture
def figures(monkeypatch, tmp_path):
    """The module, whose page is another."""
    monkeypatch.syspath_prepend(ROOT)
    module = import_module("benchmarks.figures")
    monkeypatch.setattr(module, "_PAGE", tmp_path / "page.md")
    monkeypatch.setattr(module, "_PLOT", tmp_path / "page.svg")
    return module


def test_figures_stand_in_the_page_and_beside_it(figures, tmp_path):
    run, tool = (
        import_module("benchmarks.processes").Run(seconds, 2 * seconds, 64 << 20)
        for seconds in (1.0, 6.0)
    )
    small = figures.Figures("a to b", 1000, run, tool, (0.001, 0.002, 0.003), 700)
    large = figures.Figures("a to b", 4000, tool, None, (0.001, 0.002, 0.003), None)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n")
    for _ in range(2):
        figures.keep([[small, large]], "Two processors.\n")
        text = page.read_text()
        assert text.startswith("before\n<!-- figures -->\nTwo processors.\n\n| case |")
        assert text.endswith("the memory\n<!-- end of figures -->\nafter\n")
        assert "| a to b | 1,000 | 1.00 s | 6.00 s | 6.0x | 1000000 |" in text
        assert "4.0x the events take 6.0x the processor time and 1.00x the memory" in text
    bars = ET.parse(page.with_suffix(".svg")).findall("{*}rect")
    assert len(bars) == 1 + 2 + 1, "the ground, a bar each size, a mark for the tool"


def test_a_generated_input_repeats_every_event(tmp_path):
    code = """
import sys
from pathlib import Path
from benchmarks.inputs import repeat_trace_dat
from converter import open_trace
seed, target = Path(sys.argv[1]), Path(sys.argv[2])
repeat_trace_dat(seed, target, 1)
counts = []
for path in (seed, target):
    with open_trace(path) as trace:
        times = [ts for batch in trace.batches() for ts in batch.ts.tolist()]
        assert trace.warnings == [] and times == sorted(times)
        counts.append(len(times))
print(*counts, target.stat().st_size)
"""
    seed = ROOT / "roundtrip_fixtures/trace_cmd/scratch_v6_min.dat"
    output = subprocess.run(
        [sys.executable, "-c", code, seed, tmp_path / "big.dat"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    few, many, size = map(int, output.split())
    assert many % few == 0
    assert many > 100 * few
    assert 1 << 20 <= size < 2 << 20


@pytest.mark.parametrize("kernel", [Kernel(), Kernel(big_endian=True, long_size=4)], ids=str)
def test_absolute_times_are_later_in_each_copy(kernel, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    event = kernel.slice(42, 5)
    start = (5 << 27) + 7
    page = kernel.page(
        start,
        kernel.record(3, event),
        kernel.stamp(start + (1 << 27)),
        kernel.record(1, event + bytes(120)),
        kernel.discarded(2, 8),
        kernel.extend(1 << 27),
        kernel.record(0, event),
        kernel.stamp(start + (4 << 27)),
        kernel.record(0, event),
    )
    seed, target = tmp_path / "seed.dat", tmp_path / "target.dat"
    seed.write_bytes(File(kernel, {0: page}).version_6())
    import_module("benchmarks.inputs").repeat_trace_dat(seed, target, 1)
    own, times = (
        [ts for batch in read(path).batches() for ts in batch.ts.tolist()]
        for path in (seed, target)
    )
    assert len(own) == 4 and len(times) == 4 * (1 << 20) // len(page)
    firsts = times[::4]
    assert firsts == sorted(firsts) and firsts[0] == own[0]
    assert times == [first + ts - own[0] for first in firsts for ts in own]


@pytest.mark.parametrize(
    ("now", "versions", "good"),
    [(104, "same", True), (106, "same", False), (106, "other", True), (90, "same", True)],
)
def test_what_takes_more_instructions_than_before_fails(
    instructions, tmp_path, monkeypatch, capsys, now, versions, good
):
    case = instructions.PAIRS[0]
    kept = tmp_path / "instructions.json"
    of = instructions.machine() if versions == "same" else {"machine": "another"}
    kept.write_text(json.dumps({"machine": of, "cases": {case.name: 100}}))
    monkeypatch.setattr(instructions, "KEPT", kept)
    monkeypatch.setattr(instructions, "_an_event", lambda *_: now)
    monkeypatch.setattr(instructions.shutil, "which", lambda name: name)
    assert instructions.run([case.name], write=False) is good
    assert f"{now / 100 - 1:+.1%}" in capsys.readouterr().out
    assert instructions.run([case.name], write=True)
    assert json.loads(kept.read_text()) == {
        "machine": instructions.machine(),
        "cases": {case.name: now},
    }


def test_the_figures_kept_are_of_cases_that_there_are(instructions):
    kept = json.loads(instructions.KEPT.read_text())
    assert kept["cases"].keys() <= {case.name for case in instructions.PAIRS}


@pytest.mark.parametrize(("processors", "seconds"), [(1, 7), (2, 4), (3, 3), (16, 3)])
def test_a_recording_is_distributed_over_processors(processors, seconds, monkeypatch):
    """A task that may block waits for leaf tasks; the thread that waits for a task runs it, or another one."""
    monkeypatch.syspath_prepend(ROOT)
    tasks = import_module("benchmarks.pool_recording")
    model = import_module("benchmarks.pool_model")
    recording = tasks.Recording(
        [
            tasks.Task(
                True, [("submit", 1), ("submit", 2), ("compute", 1), ("wait", 1), ("wait", 2)]
            ),
            tasks.Task(True, [("submit", 3), ("compute", 2), ("wait", 3), ("compute", 1)]),
            tasks.Task(False, [("compute", 2)]),
            tasks.Task(False, [("compute", 1)]),
        ]
    )
    assert recording.seconds == 7
    assert model.simulate(recording, processors) == (seconds, 7 / seconds)


def test_a_command_is_recorded(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    tasks = import_module("benchmarks.pool_recording")
    monkeypatch.setitem(tasks.ENVIRONMENT, "PYTHONPATH", str(ROOT))
    seed = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"
    output = tmp_path / "out.fxt"
    recording = tasks.record([str(seed), "-o", str(output), "-q", "--jobs", "16"])
    assert output.stat().st_size
    numbers = [value for task in recording.tasks for what, value in task.steps if what == "submit"]
    assert sorted(numbers) == [*range(1, len(recording.tasks))]
    assert recording.seconds > 0

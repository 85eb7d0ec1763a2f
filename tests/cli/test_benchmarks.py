"""The benchmarks run; what they measure is for people."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

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
        "trace_cmd to fxt",
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
    head, line, lossless = result.stdout.splitlines()
    assert head.split()[:3] == ["case", "events", "ours"]
    assert line.startswith("trace_cmd to fxt ")
    assert line.split()[3] == "4", "events"
    assert lossless.startswith("trace_cmd to fxt, lossless ")
    assert lossless.split()[4] == "4", "events"


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


@pytest.mark.parametrize(
    ("now", "versions", "good"),
    [(104, "same", True), (106, "same", False), (106, "other", True), (90, "same", True)],
)
def test_what_takes_more_instructions_than_before_fails(
    instructions, tmp_path, monkeypatch, capsys, now, versions, good
):
    case = instructions.CASES[0]
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
    assert kept["cases"].keys() <= {case.name for case in instructions.CASES}

"""How fast traceconv converts, beside each format's own tool reading the same file.

python -m benchmarks.convert [--runs 5] [--megabytes 64] [--input FILE] [--case NAME]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inputs import repeat_trace_dat
from benchmarks.processes import interleaved

FIXTURES = Path(__file__).parent.parent / "roundtrip_fixtures"


@dataclass(frozen=True, slots=True)
class Case:
    """One input and one target.

    `make(seed, target, megabytes)` writes the input from the bundled `seed`; `tool` is the command that reads it to
    the end, without the path, which comes last.
    """

    name: str
    seed: str
    make: Callable[[Path, Path, int], None]
    output: str
    tool: tuple[str, ...] | None


CASES = (
    Case(
        "trace_cmd to fxt",
        "trace_cmd/small.dat",
        repeat_trace_dat,
        "out.fxt",
        ("trace-cmd", "report", "-i"),
    ),
    Case(
        "trace_cmd to chrome",
        "trace_cmd/small.dat",
        repeat_trace_dat,
        "out.json",
        ("trace-cmd", "report", "-i"),
    ),
)


def main() -> None:
    """Measure the cases and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.convert", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each command")
    parser.add_argument("--megabytes", type=int, default=64, help="size of generated inputs")
    parser.add_argument("--input", type=Path, help="a file to use in place of a generated one")
    parser.add_argument("--case", action="append", help="only cases with this in their name")
    options = parser.parse_args()
    cases = [
        case
        for case in CASES
        if options.case is None or any(text in case.name for text in options.case)
    ]
    heads = ("ours", "tool", "ratio", "ns/event", "cpu", "tool", "ratio", "memory", "tool")
    print(f"{'case':<24}{'events':>12}" + "".join(f"{head:>9}" for head in heads))
    with tempfile.TemporaryDirectory(prefix="traceconv-benchmark-") as folder:
        for case in cases:
            source = options.input or _made(case, Path(folder), options.megabytes)
            _measure(case, source, Path(folder) / case.output, options.runs)


def _made(case: Case, folder: Path, megabytes: int) -> Path:
    """The case's input; cases with the same seed share it."""
    path = folder / f"{megabytes}-{Path(case.seed).name}"
    if not path.exists():
        case.make(FIXTURES / case.seed, path, megabytes)
    return path


def _measure(case: Case, source: Path, output: Path, runs: int) -> None:
    ours = [sys.executable, "-m", "converter", str(source), "-o", str(output), "--force", "-q"]
    commands = [ours]
    if case.tool is not None and shutil.which(case.tool[0]) is not None:
        commands.append([*case.tool, str(source)])
    events = _events(source)
    run, *tools = interleaved(commands, runs)
    tool = tools[0] if tools else None
    cells = [
        f"{run.seconds:.2f} s",
        f"{tool.seconds:.2f} s" if tool else "-",
        f"{tool.seconds / run.seconds:.1f}x" if tool else "-",
        f"{run.seconds / max(1, events) * 1e9:.0f}",
        f"{run.processor:.2f} s",
        f"{tool.processor:.2f} s" if tool else "-",
        f"{tool.processor / run.processor:.1f}x" if tool else "-",
        f"{run.memory >> 20:,} MB",
        f"{tool.memory >> 20:,} MB" if tool else "-",
    ]
    print(f"{case.name:<24}{events:>12,}" + "".join(f"{cell:>9}" for cell in cells), flush=True)


def _events(source: Path) -> int:
    command = [sys.executable, "-m", "converter", "info", "--json", str(source)]
    result = subprocess.run(command, capture_output=True, check=True)
    return int(json.loads(result.stdout)["events"])


if __name__ == "__main__":
    main()

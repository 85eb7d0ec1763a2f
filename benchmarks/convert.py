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

from benchmarks.inputs import repeat_trace, repeat_trace_dat
from benchmarks.processes import interleaved

FIXTURES = Path(__file__).parent.parent / "roundtrip_fixtures"


@dataclass(frozen=True, slots=True)
class Case:
    """One input and one target.

    `make(seed, target, megabytes)` writes the input from the bundled `seed`; `tool` is the command that reads it to
    the end, without the path, which comes last. A lossless conversion stands beside the plain one.
    """

    name: str
    seed: str
    make: Callable[[Path, Path, int], None]
    output: str
    tool: tuple[str, ...] | None
    lossless: bool = False


_TRACE_CMD = ("trace-cmd", "report", "-i")
_UFTRACE = ("uftrace", "dump", "--chrome", "-d")
_BABELTRACE = ("babeltrace2",)
_DECODING = ("babeltrace2", "-o", "dummy")
_PROTOBUF = (sys.executable, "-m", "benchmarks.parsers", "perfetto")
_ORJSON = (sys.executable, "-m", "benchmarks.parsers", "json")

_KERNEL = ("trace_cmd/small.dat", repeat_trace_dat)
_UFTRACE_DATA = ("uftrace/rich", repeat_trace)
_LTTNG = ("ctf/ctf_small", repeat_trace)
_LEGACY = ("lttng_legacy/net-2.6.tar.gz", repeat_trace)
_AIX = ("aix/kernel-trace-64.aix", repeat_trace)
_PERFETTO = ("perfetto/kernel_compact.pftrace", repeat_trace)
_CHROME = ("chrome/features.json", repeat_trace)

CASES = (
    Case("trace_cmd to fxt", *_KERNEL, "out.fxt", _TRACE_CMD),
    Case("trace_cmd to chrome", *_KERNEL, "out.json", _TRACE_CMD),
    Case("trace_cmd to perfetto", *_KERNEL, "out.pftrace", _TRACE_CMD),
    Case("trace_cmd to fxt, lossless", *_KERNEL, "out.fxt", None, lossless=True),
    Case("trace_cmd to perfetto, lossless", *_KERNEL, "out.pftrace", None, lossless=True),
    Case("uftrace to chrome", *_UFTRACE_DATA, "out.json", _UFTRACE),
    Case("uftrace to fxt", *_UFTRACE_DATA, "out.fxt", _UFTRACE),
    Case("ctf to perfetto", *_LTTNG, "out.pftrace", _BABELTRACE),
    Case("ctf to perfetto, decoding", *_LTTNG, "out.pftrace", _DECODING),
    Case("perfetto to chrome", *_PERFETTO, "out.json", _PROTOBUF),
    Case("chrome to perfetto", *_CHROME, "out.pftrace", _ORJSON),
    Case("lttng_legacy to fxt", *_LEGACY, "out.fxt", None),
    Case("aix to fxt", *_AIX, "out.fxt", None),
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
    print(f"{'case':<32}{'events':>12}" + "".join(f"{head:>9}" for head in heads))
    with tempfile.TemporaryDirectory(prefix="traceconv-benchmark-") as folder:
        for case in cases:
            source = options.input or made(case, Path(folder), options.megabytes)
            _measure(case, source, Path(folder) / case.output, options.runs)


def made(case: Case, folder: Path, megabytes: int) -> Path:
    """The case's input; cases with the same seed share it."""
    path = folder / f"{megabytes}-{Path(case.seed).name}"
    if not path.exists():
        case.make(FIXTURES / case.seed, path, megabytes)
    return path


def _measure(case: Case, source: Path, output: Path, runs: int) -> None:
    ours = [sys.executable, "-m", "converter", str(source), "-o", str(output), "--force", "-q"]
    commands = [ours]
    if case.lossless:
        commands = [[*ours, "--lossless"], ours]
    elif case.tool is not None and shutil.which(case.tool[0]) is not None:
        commands.append([*case.tool, str(source)])
    events = events_in(source)
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
    print(f"{case.name:<32}{events:>12,}" + "".join(f"{cell:>9}" for cell in cells), flush=True)


def events_in(source: Path) -> int:
    """How many events `traceconv info` counts."""
    command = [sys.executable, "-m", "converter", "info", "--json", str(source)]
    result = subprocess.run(command, capture_output=True, check=True)
    return int(json.loads(result.stdout)["events"])


if __name__ == "__main__":
    main()

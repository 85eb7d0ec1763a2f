"""One event class of a large trace as a data frame: ours, from the trace and from Parquet, beside what others offer.

python -m benchmarks.data_frames TRACE [--runs N] [--event NAME]

TRACE is a trace.dat. It is converted to a Parquet dataset and to Perfetto first, of which the first lines tell. Then
each way takes its turn, as often as there are runs: a process of its own, from its start to the frame. Needs pandas,
Polars and DuckDB; Perfetto's Python API is asked where `trace_processor_shell` is on the path, trace-cmd likewise.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processes import Run, measure

_PARSING = """
import re, subprocess, pandas
line = re.compile(r"\\s*(.+)-(\\d+)\\s+\\[(\\d+)\\] \\S* *([\\d.]+): (\\w+): +(.*)")
pair = re.compile(r"(\\w+)=(\\S+)")
command = ["trace-cmd", "report", "-i", {trace!r}, "-R", "-F", {event!r}]
rows, names = [], []
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as report:
    for text in report.stdout:
        found = line.match(text)
        if found and found[5] == {event!r}:
            comm, tid, cpu, ts, name, fields = found.groups()
            pairs = pair.findall(fields)
            names = names or [name for name, _ in pairs]
            rows.append((comm, int(tid), int(cpu), float(ts), *(value for _, value in pairs)))
frame = pandas.DataFrame(rows, columns=["comm", "tid", "cpu", "ts", *names])
"""
_PERFETTO = """
from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
processor = TraceProcessor(
    trace={pftrace!r}, config=TraceProcessorConfig(bin_path={shell!r}, load_timeout=600)
)
frame = processor.query(
    "select ts, dur, cpu, end_state, priority, tid, name from sched join thread using (utid)"
).as_pandas_dataframe()
processor.close()
"""
#: By what it is, the line that makes the frame.
_OURS = {
    "pandas, from the trace": (
        "import converter\nwith converter.open_trace({trace!r}) as trace:\n"
        "    frame = trace.to_arrow({event!r}).to_pandas()"
    ),
    "Polars, from the trace": (
        "import converter, polars\nwith converter.open_trace({trace!r}) as trace:\n"
        "    frame = polars.from_arrow(trace.to_arrow({event!r}))"
    ),
    "DuckDB, from the trace": (
        "import converter, duckdb\nwith converter.open_trace({trace!r}) as trace:\n"
        "    switches = trace.to_arrow({event!r})\n"
        "frame = duckdb.sql('select cpu, count(*) from switches group by cpu').fetchall()"
    ),
    "NumPy, from the trace": (
        "import converter\nwith converter.open_trace({trace!r}) as trace:\n"
        "    frame = trace.events({event!r})"
    ),
    "pandas, from Parquet": "import pandas\nframe = pandas.read_parquet({folder!r})",
    "Polars, from Parquet": "import polars\nframe = polars.read_parquet({folder!r} + '/*.parquet')",
    "DuckDB, from Parquet": (
        "import duckdb"
        "\n"
        "frame = duckdb.sql(\"select cpu, count(*) from '{folder}/*.parquet' group by cpu\").fetchall()"
    ),
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data_frames")
    parser.add_argument("trace", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--event", default="sched_switch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="traceconv-frames-") as folder:
        _run(options.trace, options.event, options.runs, Path(folder))


def _run(trace: Path, event: str, runs: int, folder: Path) -> None:
    dataset, pftrace = folder / "dataset", folder / "trace.pftrace"
    convert = [sys.executable, "-m", "converter", str(trace), "-q", "-o"]
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {runs} runs each")
    _print("to a Parquet dataset", measure([*convert, str(dataset), "-t", "parquet+dataset"]))
    size = sum(file.stat().st_size for file in dataset.rglob("*") if file.is_file())
    print(f"    {size:,} bytes of {trace.stat().st_size:,}")
    ways = dict(_OURS)
    shell = shutil.which("trace_processor_shell")
    if shell is not None:
        _print("to Perfetto", measure([*convert, str(pftrace)]))
        ways["Perfetto's Python API"] = _PERFETTO
    if shutil.which("trace-cmd") is not None:
        ways["trace-cmd report, parsed"] = _PARSING
    places = {
        "trace": str(trace),
        "event": event,
        "folder": str(dataset / f"event={event}"),
        "pftrace": str(pftrace),
        "shell": shell,
    }
    commands: Sequence[Sequence[str]] = [
        (sys.executable, "-c", code.format(**places)) for code in ways.values()
    ]
    for _ in range(runs):
        for name, command in zip(ways, commands, strict=True):
            _print(name, measure(command))
    print(f"load {os.getloadavg()[0]:.1f}")


def _print(name: str, run: Run) -> None:
    print(
        f"| {name} | {run.seconds:.1f} s | {run.processor:.1f} s | {run.memory >> 20:,} MB |",
        flush=True,
    )


if __name__ == "__main__":
    main()

"""What is measured: commands of ours, the traces that they are given, and the tools that are given the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import ENVIRONMENT

FIXTURES = Path(__file__).parent.parent / "roundtrip_fixtures"
_CONVERTER = (sys.executable, "-m", "converter")


@dataclass(frozen=True, slots=True)
class Case:
    """A command of ours, and that of a format's own tool that is given the same trace, in which {} is its path.

    `make` is how `inputs` makes the input of the bundled `seed`, whose name then ends in `input`. `output` is the name
    of ours, none is a report. The tool may write, too: {out}. A lossless conversion stands beside the plain one. Of
    cases that only differ by their tools, instructions are counted of one.
    """

    name: str
    seed: str
    make: tuple[str, ...]
    output: str
    tool: tuple[str, ...] | None = None
    input: str = ""
    format: str | None = None
    lossless: bool = False
    counted: bool = True

    def ours(self, source: Path, target: Path) -> list[str]:
        """Our command."""
        if not self.output:
            return [*_CONVERTER, "report", str(source), "-o", str(target), "--force", "-q"]
        command = [*_CONVERTER, str(source), "-o", str(target), "--force", "-q"]
        if self.format is not None:
            command += ["-t", self.format]
        return [*command, "--lossless"] if self.lossless else command

    def theirs(self, source: Path, folder: Path) -> list[str] | None:
        """The tool's command, if it is installed; for lossless conversions our plain one."""
        if self.lossless:
            return self.ours(source, folder / f"plain-{self.output}")[:-1]
        if self.tool is None or shutil.which(self.tool[0]) is None:
            return None
        places = {"{}": str(source), "{out}": str(folder / "theirs")}
        return [places.get(word, word) for word in self.tool]


def made(case: Case, folder: Path, megabytes: int) -> Path:
    """The case's input, which cases share. It is made under another name, so that one that is there is whole.

    A process of its own makes it: what this one has had in memory would count as that of commands that it starts.
    """
    path = folder / f"{megabytes}-{Path(case.seed).name}{case.input}"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder) as half:
            target = Path(half) / path.name
            given = [str(FIXTURES / case.seed), str(target), str(megabytes), *case.make]
            command = [sys.executable, "-m", "benchmarks.inputs", *given]
            subprocess.run(command, check=True, env=ENVIRONMENT)
            target.rename(path)
    return path


def events_in(source: Path) -> int:
    """How many events `traceconv info` counts."""
    command = [*_CONVERTER, "info", "--json", str(source)]
    result = subprocess.run(command, capture_output=True, check=True)
    return int(json.loads(result.stdout)["events"])


_TRACE_CMD = ("trace-cmd", "report", "-t", "-i", "{}")
_CONVERT = ("trace-cmd", "convert", "-i", "{}", "-o", "{out}")
_UFTRACE = ("uftrace", "dump", "--chrome", "-d", "{}")
_BABELTRACE = ("babeltrace2", "{}")
_DECODING = ("babeltrace2", "-o", "dummy", "{}")
_PROCESSOR = ("trace_processor_shell", "convert", "json", "{}", "{out}")
_ORJSON = (sys.executable, "-m", "benchmarks.parsers", "json", "{}")

_KERNEL = ("trace_cmd/small.dat", ("pages",))
_CALLS = ("uftrace/rich", ("events",))
_LTTNG = ("ctf/ctf_small", ("events",))
_COMPACT = ("perfetto/kernel_compact.pftrace", ("events",))
_EVENTS = ("chrome/features.json", ("events",))

#: By format, the name of an output; its own tool's reading of what is made of a trace.dat.
_OUTPUTS = {
    "aix": "out.aix",
    "ctf": "out.ctf",
    "ir": "out.ir",
    "lttng_legacy": "out.lttng",
    "uftrace": "out.uftrace",
}
_READERS = {
    "aix": None,
    "chrome": _ORJSON,
    "ctf": _DECODING,
    "fxt": None,
    "ir": None,
    "lttng_legacy": None,
    "perfetto": _PROCESSOR,
    "uftrace": _UFTRACE,
}

#: The main pairs.
PAIRS = (
    Case("trace_cmd to fxt", *_KERNEL, "out.fxt", _TRACE_CMD),
    Case("trace_cmd to perfetto", *_KERNEL, "out.pftrace", _TRACE_CMD),
    Case("trace_cmd to chrome", *_KERNEL, "out.json", _TRACE_CMD),
    Case("trace_cmd to trace_cmd", *_KERNEL, "out.dat", _CONVERT),
    Case("trace_cmd report", *_KERNEL, "", _TRACE_CMD),
    Case("ctf report", *_LTTNG, "", _BABELTRACE),
    Case("uftrace to chrome", *_CALLS, "out.json", _UFTRACE),
    Case("ctf to perfetto", *_LTTNG, "out.pftrace", _BABELTRACE),
    Case("ctf to perfetto, decoding", *_LTTNG, "out.pftrace", _DECODING, counted=False),
    Case("perfetto to chrome", *_COMPACT, "out.json", _PROCESSOR),
    Case("chrome to perfetto", *_EVENTS, "out.pftrace", _ORJSON),
)
CASES = (
    *PAIRS,
    Case("trace_cmd to fxt, lossless", *_KERNEL, "out.fxt", lossless=True, counted=False),
    *(
        Case(f"write {name}", *_KERNEL, output, format=name, counted=False)
        for name, output in _OUTPUTS.items()
    ),
    *(
        Case(
            f"read {name}",
            _KERNEL[0],
            ("pages", name),
            "out.ir" if name == "fxt" else "out.fxt",
            tool,
            f".{name}",
            "ir" if name == "fxt" else None,
            counted=False,
        )
        for name, tool in _READERS.items()
    ),
)

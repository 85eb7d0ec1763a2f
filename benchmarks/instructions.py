"""What an event of each case costs in instructions, beside what it cost when that was last written down.

python -m benchmarks --quick [--case NAME] [--write]

Instructions are those that valgrind counts: the same on a busy machine as on an idle one. Each case is run at two
sizes, and the difference divided by that of their events, so that start-up costs nothing.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.convert import CASES, Case, events_in, made

#: The figures as last written, and what they are of.
KEPT = Path(__file__).with_name("instructions.json")
#: What is worse by more than this is a regression.
TOLERANCE = 0.05
#: Megabytes of the two inputs.
SIZES = (1, 4)

_TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def run(names: Sequence[str] | None, *, write: bool) -> bool:
    """Measure the cases with one of these in their names, and print a line for each; whether none got worse.

    With `write` the figures become those to compare with.
    """
    if shutil.which("valgrind") is None:
        raise SystemExit("counting instructions takes valgrind")
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"machine": {}, "cases": {}}
    comparable = write or kept["machine"] == machine()
    if not comparable:
        print("figures of another machine or of other versions: told, and not judged", flush=True)
    good = True
    print(f"{'case':<32}{'instructions an event':>24}{'before':>10}{'change':>10}")
    with tempfile.TemporaryDirectory(prefix="traceconv-benchmark-") as folder:
        for case in CASES:
            if case.tool is None or (names and not any(name in case.name for name in names)):
                continue
            now = _an_event(case, Path(folder))
            before = kept["cases"].get(case.name)
            change = None if before is None else now / before - 1
            told = "" if change is None else f"{before:>10,}{change:>+10.1%}"
            print(f"{case.name:<32}{now:>24,}{told}", flush=True)
            good = good and (change is None or change <= TOLERANCE)
            if write:
                kept = {"machine": machine(), "cases": {**kept["cases"], case.name: now}}
                KEPT.write_text(json.dumps(kept, indent=2) + "\n")
    return write or good or not comparable


def machine() -> dict[str, str]:
    """What figures depend on besides the project: kernels of libraries choose by the processor, too."""
    return {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "zstandard": version("zstandard"),
    }


def _an_event(case: Case, folder: Path) -> int:
    counted = []
    for megabytes in SIZES:
        source = made(case, folder, megabytes)
        counted.append((_instructions(source, folder / case.output), events_in(source)))
    (less, few), (more, many) = counted
    return round((more - less) / (many - few))


def _instructions(source: Path, output: Path) -> int:
    """Of a conversion, all threads together."""
    counts = output.with_name("callgrind.out")
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}"]
    ours = [sys.executable, "-m", "converter", str(source), "-o", str(output), "--force", "-q"]
    # One thread a step, and always the same hashes: then the figure is the same, too, but for a thousandth.
    result = subprocess.run(
        [*valgrind, *ours, "--jobs", "1"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    found = _TOTAL.search(counts.read_text()) if result.returncode == 0 else None
    if found is None:
        raise SystemExit(f"{' '.join(ours)}:\n{result.stderr.decode()}")
    return int(found[1])

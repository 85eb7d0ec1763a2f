"""What an event of each case costs in instructions, beside what it cost when that was last written down.

python -m benchmarks --quick [--case NAME] [--write]

Instructions are those that valgrind counts: the same on a busy machine as on an idle one. Each case is run at two
sizes, and the difference divided by that of their events, so that start-up costs nothing.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.cases import PAIRS, Case, events_in, made
from benchmarks.processes import ENVIRONMENT

#: The figures as last written, and what they are of.
KEPT = Path(__file__).with_name("instructions.json")
#: What is worse by more than this is a regression.
TOLERANCE = 0.05
#: Megabytes of the two inputs.
SIZES = (1, 4)

_TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def run(names: Sequence[str] | None, *, write: bool, cache: Path | None = None) -> bool:
    """Measure the pairs with one of these in their names, and print a line for each; whether none got worse.

    With `write` the figures become those to compare with. In `cache` inputs are kept.
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
        if cache is not None:
            cache.mkdir(parents=True, exist_ok=True)
        for case in PAIRS:
            if not case.counted or (names and not any(name in case.name for name in names)):
                continue
            now = _an_event(case, cache or Path(folder), Path(folder))
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


def _an_event(case: Case, cache: Path, folder: Path) -> int:
    counted = []
    for megabytes in SIZES:
        source = made(case, cache, megabytes)
        ours = case.ours(source, folder / (case.output or "report.txt"))
        if megabytes == SIZES[0]:
            # Then there is byte code of all that it imports.
            subprocess.run(ours, check=True, capture_output=True, env=ENVIRONMENT)
        counted.append((_instructions(ours, folder), events_in(source)))
    (less, few), (more, many) = counted
    return round((more - less) / (many - few))


def _instructions(ours: list[str], folder: Path) -> int:
    """Of a command, all threads together."""
    counts = folder / "callgrind.out"
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}"]
    # One thread a step, and always the same hashes: then the figure is the same, too, but for a thousandth.
    result = subprocess.run(
        [*valgrind, *ours, *([] if "report" in ours else ["--jobs", "1"])],
        capture_output=True,
        check=False,
        env={**ENVIRONMENT, "PYTHONHASHSEED": "0"},
    )
    found = _TOTAL.search(counts.read_text()) if result.returncode == 0 else None
    if found is None:
        raise SystemExit(f"{' '.join(ours)}:\n{result.stderr.decode()}")
    return int(found[1])

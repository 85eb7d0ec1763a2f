"""Converts all traces of folders and opens them in a viewer: ``python -m tests.opening VIEWER[,VIEWER...] PATH...``.

VIEWER is `catapult` (chrome://tracing) or `speedscope`, which open Chrome JSON and are installed by `.ci/viewers`, or
`kernelshark`, which opens trace.dat. Prints what is not converted, what is not opened, and what is not shown as it
should be, and sums up, warnings included: those are also about what a trace itself has, such as ends without begins.
The exit status is 1 where something is wrong, other than in a file of the viewer's format that is shown so as it is.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.viewers import catapult, kernelshark, speedscope  # noqa: E402 - the path is set above
from support.viewers.catapult import is_step  # noqa: E402
from viewers.kernelshark_model import report_like, report_of  # noqa: E402

import converter  # noqa: E402

#: Seconds that a conversion may take.
TIMEOUT = 300
#: Files that a folder of CTF, of LTTng before 2.0 or of uftrace has.
_SIGNS = ("metadata", "metadata_*", "*_0", "info")
#: The exit status of a child that found no trace.
_NO_TRACE = 3


@dataclass
class Findings:
    """What is wrong with files, and what was counted in them."""

    #: By path, in words.
    faults: dict[Path, list[str]] = field(default_factory=dict)
    #: Those that are not opened at all, in one way or another.
    refused: set[Path] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, path: Path, fault: str) -> None:
        """Note something that is wrong with a file."""
        self.faults.setdefault(path, []).append(fault)

    def refuse(self, path: Path, why: str) -> None:
        """Note that a file is not opened."""
        self.refused.add(path)
        self.add(path, f"not opened: {why}")


@dataclass(frozen=True, slots=True)
class Viewer:
    """What a viewer opens, how, and whether it is not installed."""

    target: str
    suffix: str
    is_absent: Callable[[], bool]
    opens: Callable[[Sequence[Path], Findings], None]


def open_in_catapult(paths: Sequence[Path], findings: Findings) -> None:
    """Count rows and warnings; scheduling and other events must not be dropped."""
    for path, found in zip(paths, catapult.imported_all(paths, counts=True), strict=True):
        if found.error is not None:
            findings.refuse(path, found.error)
            continue
        findings.counts.update(found.rows)
        for warning, count in found.warnings.items():
            findings.counts[f"warning {warning.partition(':')[0]}"] += count
            if is_step(warning):
                findings.add(path, f"{count} switches or states of threads are not shown")


def open_in_speedscope(paths: Sequence[Path], findings: Findings) -> None:
    """Count call trees; each end must be matched."""
    for path, found in zip(paths, speedscope.imported_all(paths), strict=True):
        if found.error == speedscope.UNKNOWN and is_empty(path):
            findings.counts["files without events"] += 1
            continue
        if found.error is not None:
            findings.refuse(path, found.error)
            continue
        findings.counts["call trees"] += len(found.profiles)
        findings.counts["calls"] += sum(one.calls for one in found.profiles)
        for warning, count in found.warnings.items():
            findings.counts[f"warning {warning}"] += count
        if ignored := found.warnings.get("ignored end"):
            deepest = max(one.depth for one in found.profiles)
            findings.add(path, f"{ignored} ends are ignored, call trees are up to {deepest} deep")


def is_empty(path: Path) -> bool:
    """Whether a file has no events: such a one is nothing that speedscope knows."""
    try:
        whole = json.loads(path.read_bytes())
    except ValueError:
        return False
    return not (whole.get("traceEvents") if isinstance(whole, dict) else whole)


def open_in_kernelshark(paths: Sequence[Path], findings: Findings) -> None:
    """List entries, and compare them with trace-cmd's report."""
    for path, found in zip(paths, kernelshark.listings_of(paths), strict=True):
        if isinstance(found, str):
            findings.refuse(path, found)
            continue
        findings.counts["entries"] += len(found.entries)
        findings.counts["lost events"] += sum(entry.missed for entry in found.entries)
        if before := sum(entry.ts < 0 for entry in found.entries):
            findings.add(path, f"{before} entries have negative times")
        if nameless := {entry.pid for entry in found.entries if not entry.task}:
            findings.add(path, f"tasks without a name: {sorted(nameless)[:5]}")
        wrong = [
            f"{what}: {shown} entries for {count}"
            for what, counts in found.filters.items()
            for shown, count in counts
            if shown != count
        ]
        if wrong:
            findings.add(path, f"filters by {', '.join(wrong)}")
        compare_with_report(path, found.entries, findings)


def compare_with_report(path: Path, entries: list[kernelshark.Entry], findings: Findings) -> None:
    """Every line in its order, where trace-cmd is installed."""
    if shutil.which("trace-cmd") is None:
        return
    expected, found = report_of("trace-cmd", path), report_like(entries)
    differ = [pair for pair in zip(expected, found, strict=False) if pair[0] != pair[1]]
    if len(expected) != len(found):
        findings.add(path, f"{len(found)} lines for {len(expected)} of trace-cmd")
    elif differ:
        findings.add(path, f"{len(differ)} lines are not trace-cmd's: {differ[0]}")


VIEWERS = {
    "catapult": Viewer("chrome", ".json", catapult.is_absent, open_in_catapult),
    "speedscope": Viewer("chrome", ".json", speedscope.is_absent, open_in_speedscope),
    "kernelshark": Viewer("trace_cmd", ".dat", kernelshark.is_absent, open_in_kernelshark),
}


def traces(paths: Sequence[Path]) -> Iterator[Path]:
    """Files and folders that may be traces; those inside a folder that is one are not asked for."""
    for path in paths:
        if not path.is_dir() or is_trace(path):
            yield path
        else:
            yield from traces(sorted(path.iterdir()))


def is_trace(path: Path) -> bool:
    """Whether a folder is one trace: those that only have traces in them are known as well."""
    if not any(one.is_file() for name in _SIGNS for one in path.glob(name)):
        return False
    try:
        converter.detect(path)
    except (OSError, converter.TraceError):
        return False
    return True


def convert(source: Path, output: Path, target: str) -> str | None:
    """Convert in a process of its own; None if that went well, "" of what is no trace, else why not."""
    forked = multiprocessing.get_context("fork")
    receiver, sender = forked.Pipe(duplex=False)
    child = forked.Process(target=_convert, args=(source, output, target, sender))
    child.start()
    child.join(TIMEOUT)
    if child.is_alive():
        child.kill()
        child.join()
        return f"takes more than {TIMEOUT} seconds"
    if child.exitcode == _NO_TRACE:
        return ""
    if receiver.poll():
        return str(receiver.recv())
    return None if child.exitcode == 0 else f"ended with {child.exitcode}"


def _convert(source: Path, output: Path, target: str, sender: object) -> None:
    warnings.simplefilter("ignore")
    try:
        try:
            converter.detect(source)
        except (OSError, converter.TraceError):
            sys.exit(_NO_TRACE)
        converter.convert(source, output, target_format=target)
    except Exception as error:  # noqa: BLE001 - it is told, whatever it is
        sender.send(f"{type(error).__name__}: {error}")  # type: ignore[attr-defined]


def findings_of_originals(viewer: Viewer, sources: Sequence[Path]) -> Findings:
    """Of files of the target's format, what is wrong with them as they are."""
    findings = Findings()
    same = [path for path in sources if path.is_file() and is_of(path, viewer.target)]
    if same:
        viewer.opens(same, findings)
    return findings


def is_of(path: Path, target: str) -> bool:
    """Whether a file is of a format."""
    try:
        return converter.detect(path).name == target
    except (OSError, converter.TraceError):
        return False


def converted(
    paths: Sequence[Path], folder: Path, viewer: Viewer, largest: int
) -> dict[Path, Path]:
    """Convert all traces, and say which are not; outputs with what they were made from."""
    found: dict[Path, Path] = {}
    counts: Counter[str] = Counter()
    for source in traces(paths):
        output = folder / f"{len(found) + counts.total()}{viewer.suffix}"
        fault = convert(source, output, viewer.target)
        if fault == "":
            counts["no traces"] += 1
        elif fault is not None:
            counts["not converted"] += 1
            tell(f"{source}: not converted: {fault}")
        elif output.stat().st_size > largest << 20:
            counts["larger than asked for"] += 1
            output.unlink()
        else:
            found[output] = source
    for what, count in sorted(counts.items()):
        tell(f"{what}: {count:,}")
    return found


def opened(name: str, outputs: dict[Path, Path]) -> int:
    """Open outputs, and say what is wrong; the number of those."""
    viewer, findings, wrong = VIEWERS[name], Findings(), 0
    viewer.opens(list(outputs), findings)
    before = findings_of_originals(viewer, [outputs[output] for output in findings.faults])
    for output, faults in findings.faults.items():
        source = outputs[output]
        is_own = before.faults.get(source) == faults
        is_own |= output in findings.refused and source in before.refused
        wrong += not is_own
        for fault in faults:
            tell(f"{source}: {fault}{' (as the original)' if is_own else ''}")
    for what, count in sorted(findings.counts.items()):
        tell(f"{what}: {count:,}")
    own = len(findings.faults) - wrong
    refused = len(findings.refused)
    total = len(outputs)
    tell(f"{name}: {total - refused} of {total} opened, {wrong} wrong, {own} as the original")
    return wrong


def tell(line: str) -> None:
    """Print a line at once: a child of this process would print what waits again."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(names: Sequence[str], paths: Sequence[Path], keep: Path | None, largest: int) -> int:
    """Convert to what viewers open, and open it; 1 where something is wrong."""
    wrong = 0
    for target in dict.fromkeys(VIEWERS[name].target for name in names):
        same = [name for name in names if VIEWERS[name].target == target]
        with tempfile.TemporaryDirectory() as temporary:
            folder = keep or Path(temporary)
            folder.mkdir(exist_ok=True, parents=True)
            outputs = converted(paths, folder, VIEWERS[same[0]], largest)
            wrong += sum(opened(name, outputs) for name in same)
    return int(wrong > 0)


def viewers(text: str) -> list[str]:
    """Names of viewers, with commas between them."""
    names = text.split(",")
    if unknown := [name for name in names if name not in VIEWERS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(VIEWERS)}")
    if absent := [name for name in names if VIEWERS[name].is_absent()]:
        raise argparse.ArgumentTypeError(f"{absent[0]} is not installed (see docs/viewers.md)")
    return names


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("viewers", type=viewers, metavar="VIEWER[,VIEWER...]")
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    parser.add_argument("--keep", type=Path, help="a directory for what is written")
    parser.add_argument("--largest", type=int, default=64, help="MiB of a file that is opened")
    options = parser.parse_args()
    sys.exit(run(options.viewers, options.paths, options.keep, options.largest))

"""Asks trace_processor of Perfetto traces and of what comes back of them by way of another format.

    python -m tests.asked CASES --by trace.dat

CASES is a folder with ``cases.json``, a list of ``{"name", "trace", "query"}``, and the traces in ``traces/``. An
answer that differs has to have a line in the loss reports of the two conversions that names what the query asks for, by
the rules of a table; queries without such a line are printed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.traces.losses import line_of  # noqa: E402 - the path is set above
from support.viewers.trace_processor import printed  # noqa: E402 - the path is set above

import converter  # noqa: E402

_TIMELINE = (
    "slice|args|track|flow|counter|chrome|cuj|jank|thread(?!_state)|process|event|actual|expected"
)
#: What is in a query, and in a line that names what the query asks for.
RULES = (
    # The timeline travels as marks, which are text: what is beside names and values is lost, or arguments of marks.
    (_TIMELINE, r"^event-as .*shown=(marker|tracepoint)"),
    (_TIMELINE, r"field=category|field=\w*flow_ids|^arrow|^track-as-thread|^slice-end-"),
    (
        r"track|process|thread|chrome|order",
        r"name=(track|process|thread)_descriptor\.\w+",
    ),
    (r"process|thread", r"name=process_tree"),
    (r"process|thread|sched|comm", r"^text-cut .*field=(next_|prev_|)comm"),
    # Tables of packets that no kind of event stands for.
    (r"\bfrom\b|\bjoin\b|\bselect\b", r"^native-(dropped|unshown) "),
    (r"sample|callstack|profil|stack|frame", r"^event-as event=sample|frames"),
    # A track event with a message is a log entry as well.
    (r"log", r"^event-as event=log|field=track_event"),
    (r"ftrace|thread_state|blocked|symbol", r"^function-names "),
    (r"sched|thread_state|ftrace", r"^hidden-event-unhidden "),
    # What is said of the recording and of the computer.
    (r"stats|metadata|traced|clone|trigger", r"^recording-record-dropped "),
    (r"metadata|diagnostic|trace_config", r"^native-data .*name=trace_\w+"),
    (r"metadata|cpu|system|machine", r"system_info|machine_id|^environment "),
    (r"clock|abs_time|to_monotonic|to_realtime", r"clock_snapshot|^wall-clock-"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """How a query is answered of what came back: as before, or otherwise, and which lines say so."""

    name: str
    same: bool
    lines: tuple[str, ...] = ()

    @property
    def named(self) -> bool:
        return self.same or bool(self.lines)


def lines_for(query: str, lines: Iterable[str]) -> tuple[str, ...]:
    """The lines of loss reports that name what a query asks for."""
    patterns = [told for asked, told in RULES if re.search(asked, query, re.IGNORECASE)]
    return tuple(line for line in lines if any(re.search(one, line) for one in patterns))


def answers(folder: Path, suffix: str) -> Iterator[Answer]:
    """What is answered of each case of a folder by way of a format, whose files end so."""
    cases = json.loads((folder / "cases.json").read_text())
    cases = [case for case in cases if case["trace"].endswith(".pftrace")]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        made: dict[str, tuple[Path, list[str]]] = {}
        for trace in sorted({case["trace"] for case in cases}):
            there, back = (Path(scratch, trace).with_suffix(end) for end in (suffix, ".pftrace"))
            losses = [*converter.convert(folder / "traces" / trace, there, force=True)]
            losses += converter.convert(there, back, force=True)
            made[trace] = (back, list(map(line_of, losses)))

        def judged(case: dict[str, str]) -> Answer:
            back, lines = made[case["trace"]]
            before, after = (
                _asked(path, case["query"]) for path in (folder / "traces" / case["trace"], back)
            )
            if before is not None and before == after:
                return Answer(case["name"], same=True)
            return Answer(case["name"], same=False, lines=lines_for(case["query"], lines))

        yield from pool.map(judged, cases)


def _asked(path: Path, query: str) -> list[list[str]] | None:
    """The rows of a query, None where the importer has no such table or refuses the file."""
    try:
        # A comment at its beginning is no option.
        return printed(path, f"\n{query}", "--analyze-trace-proto-content", "--crop-track-events")
    except AssertionError:
        return None


def main() -> int:
    """Ask all queries; whether an answer differs that no line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", type=Path)
    parser.add_argument("--by", default="dat", help="how the files of the format end")
    parser.add_argument("--show", action="store_true", help="print the lines of each difference")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for answer in answers(options.cases, f".{options.by.removeprefix('.')}"):
        kind = "same" if answer.same else "named" if answer.named else "unnamed"
        counts[kind] += 1
        if kind == "unnamed" or (options.show and kind == "named"):
            sys.stdout.write("\n    ".join((f"{kind}: {answer.name}", *answer.lines)) + "\n")
            sys.stdout.flush()
    sys.stdout.write(
        ", ".join(f"{counts[kind]} {kind}" for kind in ("same", "named", "unnamed")) + "\n"
    )
    return min(counts["unnamed"], 1)


if __name__ == "__main__":
    sys.exit(main())

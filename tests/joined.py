"""Compares what several workers write together with what one process writes: ``python -m tests.joined fxt``.

Each source is read in small batches, so that its tables grow meanwhile, and converted to each target by three workers,
one after the other in this process, in so many runs. What they write is then the same, byte for byte or in canonical
form, with the same losses.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402 - the path is set above
from viewers.conversions import (  # noqa: E402
    RECORDINGS,
    SOURCES,
    format_of,
    reader_format,
    source_trace,
)

import converter  # noqa: E402
from converter import scheduling  # noqa: E402
from converter.errors import TraceError  # noqa: E402
from converter.ir.canonical import difference  # noqa: E402
from converter.ir.events import Batch  # noqa: E402
from converter.ir.trace import Trace  # noqa: E402
from converter.jobs import joining_by_workers as joining  # noqa: E402
from converter.jobs.reading import open_trace  # noqa: E402
from converter.storage.outputs import open_sink  # noqa: E402

TARGETS = ("perfetto", "fxt", "chrome", "parquet+dataset")
WORKERS = 3
#: Of one worker.
RUNS = 2
_WINDOW = 1 << 12
_EVENTS = 100


@contextmanager
def opened(source: str, most: int = _EVENTS) -> Iterator[Trace]:
    """A source in batches of at most so many events."""
    if source.startswith("synthetic/"):
        yield _in_pieces(source_trace(source), most)
        return
    path = str(RECORDINGS / source)
    with (
        mock.patch.object(Trace, "events_of_a_batch", lambda _, usual: min(most, usual)),
        mock.patch.object(Trace, "bytes_of_a_window", lambda _, usual: min(_WINDOW, usual)),
        open_trace(path, reader_format(source)) as trace,
    ):
        yield _in_pieces(trace, most)


def _in_pieces(trace: Trace, most: int) -> Trace:
    make = trace.make_batches

    def batches() -> Iterator[Batch]:
        for batch in make():
            if len(batch) <= most:
                yield batch
                continue
            for start in range(0, len(batch), most):
                yield _piece(batch, slice(start, start + most))

    return replace(trace, make_batches=batches)


def _piece(batch: Batch, events: slice) -> Batch:
    class_id, row = batch.class_id[events], batch.row[events].copy()
    tables = {}
    for number in np.unique(class_id).tolist():
        places = np.flatnonzero(class_id == number)
        tables[number] = batch.tables[number].select(row[places])
        row[places] = np.arange(len(places))
    return Batch(
        ts=batch.ts[events],
        class_id=class_id,
        row=row,
        tables=tables,
        thread=batch.thread[events],
        cpu=batch.cpu[events],
        track=batch.track[events],
    )


def compared(source: str, target: str, folder: Path) -> str:
    """How the outputs of three workers and of one process compare: "same", "equal", or where they differ."""
    one, several = folder / "one", folder / "several"
    with opened(source) as trace:
        count = sum(len(batch) for batch in trace.batches())
    most = max(1, min(_EVENTS, count // (WORKERS * RUNS)))
    with opened(source, most) as trace:
        report = converter.write(trace, one, target)
    whole = joining.Runs(
        source=source,
        path=str(several),
        target_format=target,
        run_events=max(1, count // (WORKERS * RUNS)),
    )
    format, variant = joining.shared_format(whole)
    shares = [
        replace(share, source=source) for share in joining.shares_of(whole, WORKERS, str(folder))
    ]
    with mock.patch.object(scheduling, "open_trace", lambda source, *_: opened(source, most)):
        parts = [joining.written(share) for share in shares]
    with open_sink(several, directory=format.is_directory(variant)) as sink:
        made = joining.joined(parts, sink)
    if list(made.report) != list(report):
        theirs, ours = set(map(str, report)), set(map(str, made.report))
        return f"losses: {sorted(theirs - ours)} of one process, {sorted(ours - theirs)} of several"
    if one.is_file() and one.read_bytes() == several.read_bytes():
        return "same"
    with converter.open_trace(one) as first, converter.open_trace(several) as second:
        return difference(first, second) or "equal"


def main() -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=TARGETS, metavar="FORMAT")
    parser.add_argument("--sources", default="", metavar="TEXT", help="those that have it")
    given = parser.parse_args()
    failed = False
    for target in given.targets:
        found: Counter[str] = Counter()
        for source in SOURCES:
            if given.sources not in source or format_of(source) == target:
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    result = compared(source, target, Path(folder))
                except TraceError as error:
                    result = f"refused: {error}"
            found[result.partition(":")[0] if result in ("same", "equal") else "other"] += 1
            if result not in ("same", "equal"):
                failed = True
                sys.stdout.write(f"{source} to {target}: {result}\n")
        same, equal, other = (found[name] for name in ("same", "equal", "other"))
        sys.stdout.write(f"{target}: {same} the same, {equal} equal, {other} not\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

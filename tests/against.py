"""Has programs of others read what ``tests.fuzz`` makes, and compares what both read: ``python -m tests.against``.

Rows are the events of a file: their times, and their names. For each input and program the outcome is one of

    same        both read the same rows
    more        we read all that the program reads, and more
    less        the program reads all that we read, and more; a warning says that something is missing
    silent      the same, but nothing says so
    other       each reads rows that the other does not
    refused     the program reads it, and we do not
    only ours   we read it, and the program does not
    neither     nobody reads it
    crashed     the program ended by a signal, or did not end

An input depends on its format and number alone. ``--show OUTCOME`` prints the rows that differ, ``--keep DIR`` leaves
the inputs there.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz import changed, opened, originals, packed  # noqa: E402 - the path is set above
from support.fuzzing.corpus import Corpus, Files  # noqa: E402
from support.viewers.trace_processor_engines import engine  # noqa: E402
from support.viewers.trace_processor_rpc import CrashedError  # noqa: E402
from viewers import programs_model  # noqa: E402
from viewers.conversions import Conversion  # noqa: E402
from viewers.projected import Event, events_of  # noqa: E402

from converter.errors import TraceError  # noqa: E402
from converter.ir.collect import collect  # noqa: E402
from converter.ir.kinds import Kind, Role  # noqa: E402
from converter.ir.trace import Trace  # noqa: E402
from converter.projection.losses import LossReport  # noqa: E402
from converter.projection.project import project  # noqa: E402
from converter.registry import format_named  # noqa: E402

#: Whichever program or engine there is of it.
TRACE_PROCESSOR = "trace_processor"
Rows = Counter[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Program:
    """Programs that read a format: their rows, ours, and the suffix by which they know a file."""

    names: tuple[str, ...]
    theirs: Callable[[str, Path], Iterator[tuple[Any, ...]]]
    ours: Callable[[Conversion], Iterator[tuple[Any, ...]]]
    suffix: str = ""


_SLICES = {
    Kind.SLICE_BEGIN: Role.NAME,
    Kind.SLICE_COMPLETE: Role.NAME,
    Kind.INSTANT: Role.NAME,
    Kind.ASYNC_BEGIN: Role.NAME,
    Kind.ASYNC_INSTANT: Role.NAME,
}


def slices_shown(program: str, path: Path) -> Iterator[tuple[Any, ...]]:
    """Time and name of each slice of trace_processor, in hexadecimal, because it escapes nothing."""
    asked = engine()
    assert asked is not None, f"{program} is not installed"
    # Each file is another one: nothing is kept.
    rows = asked.printed(path, "select ts, hex(coalesce(name, '')) from slice", ())
    for ts, name in rows[1:]:
        yield int(ts), bytes.fromhex(name).decode(errors="replace")


def slices_read(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """The same of a trace."""
    for event in conversion.events:
        if event.kind in _SLICES:
            name = event.of(_SLICES[event.kind]) or ""
            yield _nanoseconds(conversion, event), _text(name)


def _nanoseconds(conversion: Conversion, event: Event) -> int:
    """Rounded as it is told in JSON, to the nearest; other formats have ticks, which the importer rounds down."""
    exact = event.ts * 10**9 / (conversion.trace.clock.ticks_per_second or Fraction(10**9))
    return floor(exact + Fraction(1, 2)) if conversion.target == "chrome" else floor(exact)


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def functions_read(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """Begins and ends of functions; those without a name are shown by their addresses."""
    for ts, kind, name in programs_model.function_rows(conversion):
        yield ts, kind, "" if str(name).startswith("<") else name


def ctf_shown(program: str, path: Path) -> Iterator[tuple[Any, ...]]:
    """Time and CPU of each event."""
    return (row[:2] for row in programs_model.babeltrace_rows(program, path))


def ctf_read(conversion: Conversion) -> Iterator[tuple[Any, ...]]:
    """The same of a trace."""
    return (row[:2] for row in programs_model.ctf_rows(conversion))


PROGRAMS = {
    "trace_cmd": Program(
        ("trace-cmd-3.4", "trace-cmd"),
        programs_model.trace_cmd_rows,
        programs_model.trace_dat_rows,
        ".dat",
    ),
    "ctf": Program(("babeltrace2-2.1",), ctf_shown, ctf_read),
    "uftrace": Program(("uftrace-0.19",), programs_model.uftrace_rows, functions_read),
    "perfetto": Program((TRACE_PROCESSOR,), slices_shown, slices_read, ".pftrace"),
    "fxt": Program((TRACE_PROCESSOR,), slices_shown, slices_read, ".fxt"),
    "chrome": Program((TRACE_PROCESSOR,), slices_shown, slices_read, ".json"),
}


def is_installed(program: str) -> bool:
    """Tell whether a program is there."""
    return engine() is not None if program == TRACE_PROCESSOR else shutil.which(program) is not None


def stored(files: Files, path: Path) -> None:
    """Write an input as a program wants it."""
    for name, data in files.items():
        target = path / name if name else path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def shown(program: str, target: Program, path: Path) -> Rows | str:
    """What a program reads, or how it failed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Counter(target.theirs(program, path))
    except (subprocess.TimeoutExpired, CrashedError):
        return "crashed"
    except AssertionError as error:
        return "crashed" if "ended with -" in str(error) else "unread"


def without_kernel(rows: Rows, conversion: Conversion) -> Rows:
    """The slices that trace_processor shows but for those that it makes of the kernel's events."""
    others = (each for each in conversion.events if each.kind not in _SLICES)
    kernel = {_nanoseconds(conversion, each) for each in others}
    ours = set(slices_read(conversion))
    return Counter({row: n for row, n in rows.items() if row in ours or row[0] not in kernel})


def trace_read(format: str, files: Files) -> tuple[Trace | None, list[Event]]:
    """What we read, in the words of the format."""
    target, variant = format_named(format)
    try:
        trace = opened(format, packed(files))
        trace = collect(project(trace, target.capabilities(variant), target.name)[0])
    except TraceError:
        return None, []
    return trace, events_of(trace)


def outcome(ours: Rows | None, theirs: Rows | str, is_warned: bool) -> str:
    """Which of the outcomes it is."""
    if theirs == "crashed":
        return "crashed"
    if ours is None:
        return "neither" if isinstance(theirs, str) or not theirs else "refused"
    if isinstance(theirs, str):
        return "only ours"
    missing, more = theirs - ours, ours - theirs
    if not missing:
        return "more" if more else "same"
    if more:
        return "other"
    return "less" if is_warned else "silent"


def run(format: str, first: int, count: int, show: str, keep: Path | None) -> Counter[str]:
    """Try inputs; how often each outcome was."""
    corpus = Corpus(originals(format))
    target = PROGRAMS[format]
    programs = [name for name in target.names if is_installed(name)]
    found: Counter[str] = Counter()
    for number in range(first, first + count):
        rng = random.Random(f"{format} against {number}")
        files = changed(corpus.chosen(rng).files, corpus, rng, [])
        with tempfile.TemporaryDirectory() as folder:
            path = (keep or Path(folder)) / f"{format}-{number}{target.suffix}"
            stored(files, path)
            trace, events = trace_read(format, files)
            conversion = trace and Conversion("", format, path, trace, events, LossReport())
            ours = conversion and Counter(target.ours(conversion))
            for program in programs:
                theirs = shown(program, target, path)
                if conversion and not isinstance(theirs, str) and target.ours is slices_read:
                    theirs = without_kernel(theirs, conversion)
                what = outcome(ours, theirs, trace is not None and bool(trace.warnings))
                found[f"{program}: {what}"] += 1
                if what == show:
                    read = Counter[tuple[Any, ...]]() if isinstance(theirs, str) else theirs
                    mine = ours or Counter()
                    sys.stdout.write(
                        f"{format} {number} {program}: theirs {list(read - mine)[:4]}, "
                        f"ours {list(mine - read)[:4]}, "
                        f"{[str(each) for each in trace.warnings][:3] if trace else 'refused'}\n"
                    )
    return found


def main() -> None:
    """Compare, and print how often each outcome was."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--format", choices=PROGRAMS, action="append")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--count", type=int, default=1000, help="inputs of each format")
    parser.add_argument("--show", default="", help="print the rows of one outcome")
    parser.add_argument("--keep", type=Path, help="a directory for the inputs")
    options = parser.parse_args()
    for format in options.format or PROGRAMS:
        found = run(format, options.first, options.count, options.show, options.keep)
        for what, count in sorted(found.items()):
            sys.stdout.write(f"{format}: {what}: {count}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

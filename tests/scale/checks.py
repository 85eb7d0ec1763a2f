"""What must hold of a trace of any size: the law of the format that it is written in, and what other programs read."""

from __future__ import annotations

import contextlib
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import against
from scale.drawn import Dimension, Drawn, names_in, tokens_in
from support.traces.losses import line_of
from viewers.conversions import Conversion
from viewers.projected import events_of

import converter
from converter.errors import TraceError
from converter.fixtures.generation import variants
from converter.ir.canonical import canonical, difference
from converter.ir.collect import collect
from converter.ir.trace import Trace
from converter.limits import LIMITS
from converter.projection.losses import LossReport
from converter.registry import detect, format_named
from converter.storage.opening import open_source
from converter.testing import is_replayed, projected, read

#: Formats and variants in which traces are written; of those that differ in compression alone there is one.
TARGETS = [
    name
    for name in (f"{one.name}+{variant}" if variant else one.name for one, variant in variants())
    if name not in ("trace_cmd+v7_zlib", "trace_cmd+v7_none", "ir+json")
]
#: One variant of each.
USUAL = [
    next(name for name in TARGETS if name.partition("+")[0] == format)
    for format in dict.fromkeys(name.partition("+")[0] for name in TARGETS)
]
#: Dimensions whose names are of types, or in bytes, and what a line of the loss report says of formats without such.
LEFT_OUT = {
    "enumerators": ("field-type",),
    "options of a variant": ("optional-fields",),
    # As text, or as fields whose names have a length.
    "objects in each other": ("field-as-text", "field=a."),
    # The declaration of a marker that has too many is a text.
    "fields of a marker": ("field=format",),
}


@dataclass
class Case:
    """Something drawn at a size, opened where it is a file."""

    dimension: Dimension
    size: int
    drawn: Drawn
    trace: Trace
    folder: Path
    forms: dict[str, dict[str, object]] = field(default_factory=dict)

    @cached_property
    def form(self) -> dict[str, object]:
        """The canonical form of the trace itself."""
        return canonical(self.trace)


class CheckError(AssertionError):
    """Something that must hold does not."""


@contextlib.contextmanager
def drawn_case(dimension: Dimension, size: int, folder: Path) -> Iterator[Case]:
    """Draw a trace, and check what is read of it, if it is a file.

    Raises:
        CheckError: it is not read as it was drawn.

    """
    drawn = dimension.draw(size)
    if isinstance(drawn.source, Trace):
        yield Case(dimension, size, drawn, drawn.source, folder)
        return
    path = drawn.stored(folder)
    with open_source(path) as source:
        found = detect(source).name
    if found != dimension.format:
        raise CheckError(f"recognised as {found}")
    above = dimension.limit is not None and size > dimension.limit
    if above and dimension.above == "refusal":
        try:
            read(path, dimension.format)
        except TraceError:
            return
        raise CheckError(f"{size} are read, beyond {dimension.limit}")
    trace = read(path, dimension.format)
    case = Case(dimension, size, drawn, trace, folder)
    if bool(trace.warnings) != (drawn.is_damaged or above):
        raise CheckError(f"{len(trace.warnings)} warnings: {[*map(str, trace.warnings[:2])]}")
    if len(trace.warnings) > LIMITS["warnings"].default + 1:
        raise CheckError(f"{len(trace.warnings)} warnings")
    if not above:
        check_drawn(case)
    yield case


def check_drawn(case: Case) -> None:
    """Everything that was drawn is read, and nothing else."""
    events = len(case.form["events"]) + len(case.form["untimed"])
    if case.drawn.events not in (None, events):
        raise CheckError(f"{events} events instead of {case.drawn.events}")
    if missing := case.drawn.tokens - tokens_in(case.form):
        raise CheckError(f"{len(missing)} names are missing, as {min(missing)}")


#: Formats of call stacks alone, and one of markers: what they have no place for is counted by its kind.
BY_KIND = {"cpuprofile", "folded", "ftrace_text", "pprof", "simpleperf", "speedscope"}


def check_law(case: Case, target: str) -> Path:
    """What is read of what was written is what fits: ``read(write(project(trace))) == project(trace)``.

    A name that was drawn is there, or a line of the loss report has it.

    Returns:
        Where it was written.

    Raises:
        CheckError: it is not.

    """
    format, _ = format_named(target)
    path = case.folder / f"{target}{format.suffixes[0]}"
    losses = converter.write(case.trace, path, target)
    again = read(path, target)
    found = canonical(again)
    if again.warnings and not case.trace.warnings:
        raise CheckError(f"reading back gives warnings: {again.warnings[0]}")
    if is_replayed(case.trace, target):
        held, form = case.trace, case.form
    else:
        held = collect(projected(case.trace, target))
        form = canonical(held)
    if found != form:
        raise CheckError(difference(held, again) or "canonical forms differ")
    told = "\n".join(map(line_of, losses))
    missing = case.drawn.tokens - tokens_in(found) - names_in(told)
    missing = set() if target in BY_KIND else missing
    if missing and not any(text in told for text in LEFT_OUT.get(case.dimension.name, ())):
        raise CheckError(f"{len(missing)} names are missing, as {min(missing)}")
    return path


def programs_for(target: str) -> list[str]:
    """The programs that are installed and read a format; none where the variant is one that not all of them read."""
    found = against.PROGRAMS.get(target.partition("+")[0])
    if found is None or target in ("ctf+2", "fxt+be"):
        return []
    names = (*found.names, "babeltrace2") if target == "ctf+1.8" else found.names
    return [name for name in names if shutil.which(name)]


def check_program(case: Case, target: str, path: Path, program: str) -> None:
    """A program of others reads the same rows as this package.

    Raises:
        CheckError: it does not.

    """
    format, _ = format_named(target)
    trace = collect(projected(read(path, target), target))
    conversion = Conversion("", format.name, path, trace, events_of(trace), LossReport())
    rules = against.PROGRAMS[format.name]
    ours = Counter(rules.ours(conversion))
    theirs = against.shown(program, rules, path)
    if not isinstance(theirs, str) and rules.ours is against.slices_read:
        theirs = against.without_kernel(theirs, conversion)
    what = against.outcome(ours, theirs, is_warned=False)
    if what != "same":
        more = [] if isinstance(theirs, str) else [*(theirs - ours)][:2]
        less = [] if isinstance(theirs, str) else [*(ours - theirs)][:2]
        raise CheckError(f"{program}: {what}, theirs {more}, ours {less}")

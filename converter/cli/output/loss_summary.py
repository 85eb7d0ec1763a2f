"""The losses of a conversion for people: how many events arrive, then what is different, the worst first."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from converter.errors.terminal import printable
from converter.projection.loss_groups import LossGroup, best_format, grouped
from converter.projection.losses import LossClass, LossReport
from converter.storage.locations import name_of

#: The number of lines of a summary.
MOST_LINES: Final = 8
#: The width of lines that no terminal shows, and the least that is used.
_WIDTH: Final = 100
_NARROWEST: Final = 40
#: The number of items named in a sentence of the list of all.
_NAMED: Final = 12
#: The lines of one sentence in a summary.
_MOST_WRAPPED: Final = 2


@dataclass(frozen=True, slots=True)
class Converted:
    """The names of input and output, and of their formats, and the number of events, None if they were not counted."""

    source: str
    output: str
    source_format: str
    target_format: str
    events: int | None


def summary(report: LossReport, done: Converted, width: int | None = None) -> list[str]:
    """Return the headline and sentences about what viewers and other programs do not find: at most 8 lines."""
    groups = grouped(report)
    shown, kept, details = (_of(groups, one) for one in LossClass)
    if not shown:
        return [f"{headline(report, done)}{_aside(kept, details)}"] if groups else []
    width = width or line_width()
    room = MOST_LINES - 2
    # Of those for programs one line, or what is left.
    needed = sum(len(_shortened(group, width)) for group in shown)
    others = max(room - 1 - needed, 2) if kept else 0
    return [
        headline(report, done),
        *_section(shown, done, width, room - others),
        *_section(kept, done, width, others),
        _last(shown, details, done),
    ]


def headline(report: LossReport, done: Converted) -> str:
    """Return in one line how many events arrive."""
    return f"{done.source} -> {done.output}: {_arrived(report, done.events)}"


def verdict(report: LossReport, events: int | None) -> str:
    """Return a few words about a conversion of `events` events, None if nobody has counted them."""
    count = len(grouped(report.of_class(LossClass.SHOWN)))
    arrived = _arrived(report, events)
    if not count:
        return f"{arrived}; viewers show all of them"
    return f"{arrived}; {count} {'difference' if count == 1 else 'differences'} in viewers"


def _arrived(report: LossReport, events: int | None) -> str:
    if events is None:
        missing = report.events_not_shown
        return f"all but {missing:,} events" if missing else "all events"
    events = max(events, report.events_not_shown)
    return f"{events - report.events_not_shown:,} of {events:,} events"


def listing(report: LossReport, done: Converted, width: int | None = None) -> Iterator[str]:
    """Yield the headline and every loss with its first event, by who is affected."""
    width = width or line_width()
    groups = grouped(report)
    if groups:
        yield headline(report, done)
    for loss_class in LossClass:
        of_class = _of(groups, loss_class)
        if of_class:
            yield f"{_heading(loss_class, done)}:"
        for group in of_class:
            yield from _wrapped(group.sentence(_NAMED), width)
            if group.example is not None:
                yield from _wrapped(f"first: {group.example}", width, "      ")


def line_width() -> int:
    """Return the width of lines on standard error."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return max(int(columns), _NARROWEST)
    if sys.stderr is None or not sys.stderr.isatty():
        return _WIDTH
    try:
        return max(os.get_terminal_size(sys.stderr.fileno()).columns, _NARROWEST)
    except (OSError, ValueError):
        return _WIDTH


def _of(groups: list[LossGroup], loss_class: LossClass) -> list[LossGroup]:
    return [group for group in groups if group.loss_class is loss_class]


def _aside(kept: list[LossGroup], details: list[LossGroup]) -> str:
    """Return the end of a headline if nothing that viewers show is lost."""
    parts = []
    if kept:
        parts.append(f"{len(kept)} {'loss' if len(kept) == 1 else 'losses'} for other programs")
    if details:
        parts.append(f"{len(details)} {'detail' if len(details) == 1 else 'details'}")
    verb = "is" if len(kept) + len(details) == 1 else "are"
    return f"; viewers show all of them ({' and '.join(parts)} {verb} lost: -v)"


def _heading(loss_class: LossClass, done: Converted) -> str:
    return {
        LossClass.SHOWN: "  In a viewer you will not see, or see differently",
        LossClass.KEPT: f"  Programs that read {printable(name_of(done.output))} find in another form",
        LossClass.DETAIL: f"  Details that only tools of {done.source_format} use",
    }[loss_class]


def _section(groups: list[LossGroup], done: Converted, width: int, room: int) -> list[str]:
    """Return a heading, and below it sentences, in at most `room` lines, of which there are two."""
    lines: list[str] = []
    named = 0
    for group in groups:
        sentence = _shortened(group, width)
        if 1 + len(lines) + len(sentence) > room:
            sentence = _wrapped(group.sentence(1), width)
        if 1 + len(lines) + len(sentence) > room:
            if lines:
                break
            sentence = [_cut(" ".join(map(str.strip, sentence)), width)]
        lines += sentence
        named += 1
    if not groups:
        return []
    of_all = "" if named == len(groups) else f" ({named} of {len(groups)}; -v lists all)"
    return [f"{_heading(groups[0].loss_class, done)}{of_all}:", *lines]


def _shortened(group: LossGroup, width: int) -> list[str]:
    """Return a sentence in one line, with fewer of its items if need be, or in a few."""
    for most in (3, 2, 1):
        lines = _wrapped(group.sentence(most), width)
        if len(lines) == 1:
            return lines
    lines = _wrapped(group.sentence(), width)
    if len(lines) <= _MOST_WRAPPED:
        return lines
    return [
        *lines[: _MOST_WRAPPED - 1],
        _cut(" ".join(map(str.strip, lines[_MOST_WRAPPED - 1 :])), width),
    ]


def _last(shown: list[LossGroup], details: list[LossGroup], done: Converted) -> str:
    """Return the line with remedies."""
    best = best_format(shown, done.source_format, done.target_format)
    remedy = ""
    if best is not None:
        all_of = "this" if len(shown) == 1 else f"{best[1]} of these"
        remedy = f"-t {best[0]} keeps {all_of}; "
    more = f" with {len(details)} {'detail' if len(details) == 1 else 'details'}" if details else ""
    return f"  {remedy}--lossless carries all; -v lists all{more}"


def _wrapped(text: str, width: int, indent: str = "    ") -> list[str]:
    return wrap(
        printable(text),
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
    )


def _cut(sentence: str, width: int) -> str:
    line = f"    {sentence}"
    return line if len(line) <= width else f"{line[: width - 2]} …"

"""``traceconv diff A B`` and ``traceconv roundtrip IN --via FORMAT``: differences as text or JSON."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from converter.cli.output.progress import Progress
from converter.cli.output.selected_part import part_of
from converter.errors.terminal import printable
from converter.jobs.comparing.differences import TraceDifference
from converter.jobs.comparison import diff
from converter.jobs.reading import open_trace
from converter.jobs.round_trips import RoundTrip, roundtrip
from converter.selection.selection import Selection

#: The most lines about tables and classes that are printed; JSON has all.
_MOST_LINES = 40


def run_diff(
    first: str,
    second: str,
    formats: tuple[str | None, str | None],
    ignore: Sequence[str],
    *,
    as_json: bool,
    quiet: bool,
    selection: Selection | None,
) -> bool:
    """Compare two inputs, or the same parts of them, and print the differences; return True if there are any.

    Raises:
        TraceError: one of them cannot be read.

    """
    with (
        open_trace(first, formats[0]) as one,
        open_trace(second, formats[1]) as other,
        Progress(shown=not quiet) as progress,
    ):
        one_part, say_one = part_of(one, selection)
        other_part, say_other = part_of(other, selection)
        progress.watch(one_part)
        difference = diff(one_part, other_part, ignore)
    if not quiet:
        say_one(first)
        say_other(second)
    _print(difference, as_json=as_json, quiet=quiet)
    return bool(difference)


def run_roundtrip(
    source: str,
    source_format: str | None,
    reader_options: dict[str, str],
    via: Sequence[str],
    ignore: Sequence[str],
    *,
    lossless: bool,
    as_json: bool,
    quiet: bool,
) -> bool:
    """Convert an input to other formats and back, and print what changed; return True if anything did.

    Raises:
        TraceError: it cannot be read, or one of the formats cannot be written.

    """
    result = roundtrip(
        source,
        via,
        source_format=source_format,
        options=reader_options,
        lossless=lossless,
        ignore=ignore,
    )
    if not quiet and not as_json:
        print(" -> ".join(result.formats))
        _print_losses(result)
    _print(result.difference, as_json=as_json, quiet=quiet)
    return bool(result.difference)


def _print_losses(result: RoundTrip) -> None:
    for name, report in zip(result.formats[1:], result.reports, strict=True):
        for loss in report:
            print(printable(f"  to {name}: {loss}"))


def _print(difference: TraceDifference, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        json.dump(_form(difference), sys.stdout, indent=2)
        print()
    elif not quiet:
        for line in _lines(difference):
            print(line)


def _lines(difference: TraceDifference) -> list[str]:
    first, second = difference.events
    if not difference:
        return [f"equal: {first:,} events"]
    lines = [f"different: {first:,} events in the first, {second:,} in the second"]
    lines += [printable(f"  {line}") for line in difference.tables[:_MOST_LINES]]
    if len(difference.tables) > _MOST_LINES:
        lines.append(f"  ... and {len(difference.tables) - _MOST_LINES:,} more (--json has all)")
    for label, entry in sorted(difference.classes.items()):
        parts = []
        if entry.only_first:
            parts.append(f"{entry.only_first:,} only in the first")
        if entry.only_second:
            parts.append(f"{entry.only_second:,} only in the second")
        if entry.changed:
            parts.append(f"{entry.changed:,} changed")
        named = ", ".join(f"{name} ({count:,})" for name, count in _by_count(entry.fields))
        name = _shown(label)
        lines.append(printable(f"  {name}: {', '.join(parts)}{': ' if named else ''}{named}"))
    if difference.first:
        lines.append("first differences (time, place, event):")
        lines += [f"  {printable(part)}" for text in difference.first for part in text.split("\n")]
    return lines


def _by_count(fields: Counter[str]) -> list[tuple[str, int]]:
    return sorted(fields.items(), key=lambda item: (-item[1], item[0]))


def _shown(label: str) -> str:
    """Return the name in a label, "KIND NAME": kinds are names of the representation."""
    return label.partition(" ")[2] or label


def _form(difference: TraceDifference) -> dict[str, Any]:
    return {
        "equal": not difference,
        "events": list(difference.events),
        "tables": difference.tables,
        "classes": {
            label: {
                "only_first": entry.only_first,
                "only_second": entry.only_second,
                "changed": entry.changed,
                "fields": dict(entry.fields),
            }
            for label, entry in sorted(difference.classes.items())
        },
        "first": difference.first,
    }

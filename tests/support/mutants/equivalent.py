"""Mutations that change nothing that a test could see, each with the reason."""

from __future__ import annotations

from typing import Final

#: By module, the text of the line (with the next one, where it occurs twice) and the change.
_EQUIVALENT: Final[dict[tuple[str, str, str], str]] = {}


def why_equivalent(path: str, lines: list[str], number: int, what: str) -> str | None:
    """Return the reason why nobody notices a change of a line (from 1) of a module."""
    one, both = lines[number - 1].strip(), " ".join(map(str.strip, lines[number - 1 : number + 1]))
    return _EQUIVALENT.get((path, one, what)) or _EQUIVALENT.get((path, both, what))


_SIZE = "the size of a batch or block, which only costs depend on"
_TALLY = (
    "if repeated is None: self._repeated[id(losses), event] = LossTally(named, event_kinds), losses"
)
_LONGER = "a table that is longer than what indexes it"


def _note(path: str, reason: str, *changes: tuple[str, str]) -> None:
    _EQUIVALENT.update({(path, line, what): reason for line, what in changes})


_note(
    "converter/ir/canonical.py",
    _SIZE,
    ("_BATCH = 1 << 16", "'1' -> '2'"),
    ("_BATCH = 1 << 16", "'16' -> '17'"),
)
_note(
    "converter/ir/canonical.py",
    _LONGER,
    ("mapping = np.full(max(forms, default=-1) + 2, -1, np.int64)", "'-1' -> '(1)'"),
    ("mapping = np.full(max(forms, default=-1) + 2, -1, np.int64)", "'2' -> '3'"),
)
_note(
    "converter/ir/canonical.py",
    "the numbers of events are not equal here, as equal events come before",
    (
        'longer, which = (one, "first") if len(one[key]) > len(other[key]) else (other, "second")',
        "'>' -> '>='",
    ),
)
_note(
    "converter/projection/losses.py",
    "the same is counted, without the tally that makes it fast",
    (
        "if repeated is not None and repeated[0].event_kinds == event_kinds:",
        "'repeated is not None and repeated[0].event_kinds == event_kinds' -> 'False'",
    ),
    (_TALLY, "'repeated is None' -> 'False'"),
    (_TALLY, "'is' -> 'is not'"),
)
_note(
    "converter/projection/losses.py",
    "no example is made for the time of the first one",
    (
        "if first is None or (first_ts is not None and first_ts < first):",
        "'<' -> '<='",
    ),
)
_note(
    "converter/selection/evaluation.py",
    "exactly the columns of structures are columns of members",
    (
        "if not (isinstance(column, StructColumn) and isinstance(field_class, StructureClass)):",
        "'and' -> 'or'",
    ),
)
_note(
    "converter/selection/clipping.py",
    "a shortcut: a column that is equal is not made again",
    ("if np.array_equal(cut, known):", "'np.array_equal(cut, known)' -> 'False'"),
)
_note(
    "converter/selection/consecutive.py",
    _SIZE,
    ("_FIRST_EVENTS: Final = 1 << 12", "'1' -> '2'"),
    ("_FIRST_EVENTS: Final = 1 << 12", "'12' -> '13'"),
)
_note(
    "converter/selection/evaluation.py",
    "all numbers of CPUs are less than either",
    ("return Values(cpu, IntegerClass(32, True), strings, cpu >= 0)", "'32' -> '33'"),
)
_note(
    "converter/selection/unmatched.py",
    "the nearest of several comes first",
    ("close = get_close_matches(word, known, 1, _CLOSE)", "'1' -> '2'"),
)
_note(
    "converter/formats/chrome/reading/reader.py",
    "the duration of a state is in front of its arguments, so that none is the first",
    ("switches = np.flatnonzero(self._cpu_slot[key] >= 0)", "'0' -> '1'"),
)
_note(
    "converter/formats/ctf/writing/event_classes.py",
    "the minor version is only looked at in what is read",
    (
        "self.trace = TraceClass(version=(1, 8) if self._plain else (2, 0), uuid=uuid)",
        "'8' -> '9'",
    ),
)
_note(
    "converter/formats/fxt/reading/reader.py",
    _LONGER,
    ("values = np.empty(2 * room + 32, np.uint64)", "'2' -> '3'"),
)
_note(
    "converter/formats/perfetto/writing/instructions.py",
    "what only instructions read that are added with it",
    ("inline: int = 0,", "'0' -> '1'"),
)
_note(
    "converter/merging/batches.py",
    "a shortcut: any columns are joined as columns that are no arrays",
    ("if len(arrays) == len(held):", "'len(arrays) == len(held)' -> 'False'"),
)
_note(
    "converter/storage/compression/sinks.py",
    "the same bytes, by way of a temporary file",
    (
        "self._archive = compressed_sink(base, compression, seekable=False)",
        "'False' -> 'True'",
    ),
)
_note(
    "converter/streaming/block_emission.py",
    _SIZE,
    ("_EVENTS_AT_ONCE = 1 << 13", "'1' -> '2'"),
    ("_EVENTS_AT_ONCE = 1 << 13", "'13' -> '14'"),
    ("MOST_HELD = 1 << 22", "'1' -> '2'"),
    ("MOST_HELD = 1 << 22", "'22' -> '23'"),
)
_note(
    "converter/streaming/ordered_work.py",
    "the number of items that are asked for before any is worked on, if several are worked on at once",
    ("first = list(islice(items, 2))", "'2' -> '3'"),
)
_note(
    "converter/streaming/pipeline.py",
    _SIZE,
    ("_WORTHWHILE = 1 << 14", "'1' -> '2'"),
    ("_WORTHWHILE = 1 << 14", "'14' -> '15'"),
    ("_LARGE_TABLE = 1 << 12", "'1' -> '2'"),
    ("_LARGE_TABLE = 1 << 12", "'12' -> '13'"),
    ("if self._workers is None or len(table) < _LARGE_TABLE:", "'<' -> '<='"),
)

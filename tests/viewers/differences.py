"""Differences between what trace_processor shows of a file and of an output: rows that are missing, and columns."""

from __future__ import annotations

import contextlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from viewers.trace_processor import Row, arguments

#: Numbers of rows, and what only importers say: types of tracks, names of kernel tracks, what they count as wrong.
OWN_COLUMNS = ("id", "arg_set", "source", "target", "type", "track")
OWN_TABLES = ("stats", "nameless")
#: The whole row, in place of a column.
ROW = "*"
#: The columns by which a row is found again; those of other tables have their time.
KEYS = {
    "threads": ("tid",),
    "processes": ("pid",),
    "flows": ("from_ts",),
    "facts": ("name",),
    "dates": (),
}
#: Where rows of a table may be that are none there.
ELSEWHERE = {"ftrace": "slices", "logs": "slices", "states": "slices", "samples": "slices"}
#: What is compared of rows that are elsewhere.
_COMMON = ("ts", "name", "tid", "cpu")
#: Keys of arguments begin with what each importer calls them.
_PREFIX = re.compile(r"^(debug|args)\.")
Shown = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that is missing, or has other values in some columns.

    Args:
        table: where it is shown of the input.
        columns: those that differ, or `ROW`.
        row: the values.
        moved: a row of another table has its values.
    """

    table: str
    columns: frozenset[str]
    row: tuple[tuple[str, Any], ...]
    moved: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The columns with their table."""
        return frozenset(f"{self.table}.{column}" for column in self.columns)


def differences(before: dict[str, list[Row]], after: dict[str, list[Row]]) -> list[Difference]:
    """What of a file is not shown of an output, or shown otherwise."""
    found = []
    left: dict[str, list[Shown]] = {}
    missing: dict[str, list[Shown]] = {}
    for table, rows in before.items():
        if table not in OWN_TABLES:
            missing[table], left[table] = _unlike(rows, after[table])
    for table, rows in missing.items():
        keys = KEYS.get(table, ("ts",))
        near = _by_key(left[table], keys)
        elsewhere = _by_key(left.get(ELSEWHERE.get(table, ""), []), keys)
        for row in rows:
            key = tuple(row[each] for each in keys)
            moved = not near.get(key)
            columns = _nearest(row, elsewhere[key] if moved else near[key])
            is_found = ROW not in columns
            found.append(Difference(table, columns, _frozen(row), moved and is_found))
    return found


def _unlike(before: list[Row], after: list[Row]) -> tuple[list[Shown], list[Shown]]:
    """The rows that no row of the output says all of, and the rows of the output that are left."""
    were, are = Counter(map(_key, seen(before))), Counter(map(_key, seen(after)))
    others = list((are - were).elements())
    missing = []
    for row in (were - are).elements():
        match = next((other for other in others if not _differing(dict(row), dict(other))), None)
        if match is None:
            missing.append(dict(row))
        else:
            others.remove(match)
    return missing, [dict(other) for other in others]


def _by_key(rows: list[Shown], keys: tuple[str, ...]) -> dict[tuple[Any, ...], list[Shown]]:
    found: dict[tuple[Any, ...], list[Shown]] = defaultdict(list)
    for row in rows:
        found[tuple(row.get(key) for key in keys)].append(row)
    return found


def _nearest(row: Shown, others: list[Shown]) -> frozenset[str]:
    """The columns that differ in the row that is most like another, which is used up."""
    if not others:
        return frozenset({ROW})
    best = min(others, key=lambda other: _distance(_differing(row, other)))
    others.remove(best)
    return _differing(row, best)


def _distance(columns: frozenset[str]) -> tuple[bool, int]:
    """Rows of another name are further away than others."""
    return "name" in columns, len(columns)


def _differing(row: Shown, other: Shown) -> frozenset[str]:
    """The columns of which another row does not say what a row says: a value where it has one, and all arguments."""
    columns = row.keys() if row.keys() == other.keys() else {*_COMMON, "args"} & row.keys()
    return frozenset(
        column
        for column in columns
        if (
            not row[column] <= other[column]
            if column == "args"
            else row[column] not in ("", other.get(column))
        )
    )


def seen(rows: list[Row]) -> list[Row]:
    """Rows but those of the idle thread, which some tables have whether it runs or not."""
    return [row for row in rows if row.get("tid", row.get("pid")) != 0]


def shown(row: Row) -> Shown:
    """A row as it can be compared between importers."""
    return {
        key: frozenset(
            f"{_PREFIX.sub('', name)}={plain(each)}" for name, each in arguments(value).items()
        )
        if key == "args"
        else plain(value)
        for key, value in row.items()
        if key not in OWN_COLUMNS
    }


def _key(row: Row) -> tuple[tuple[str, Any], ...]:
    return _frozen(shown(row))


def _frozen(row: Shown) -> tuple[tuple[str, Any], ...]:
    return tuple(row.items())


def plain(value: Any) -> str:
    """No text is empty text; a number is one however it is written, without a sign."""
    text = "" if value is None else str(value)
    with contextlib.suppress(ValueError):
        return str(int(text, 0) % (1 << 64))
    return "" if text == "[No name]" else text

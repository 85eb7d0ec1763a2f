"""Documents that are drawn by their numbers, converted, and read by trace_processor: what it shows must be the same.

`draw_json` and `draw_fxt` say how documents are drawn and what of them is compared.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.trace_processor import printed  # noqa: E402 - the path is set above
from support.trace_processor_versions import Feature, shows  # noqa: E402

import converter  # noqa: E402
from converter.projection.losses import Loss, LossReport  # noqa: E402

#: Slices that cross the end of another are on tracks beside it, where nothing is around them, and some come in another
#: order at one time.
DEPTH_LOSSES = {"slice-depth-changed", "depth-at-shared-time"}
#: What importers say that leave them out.
CROSSING = "slice_drop_overlapping_complete_event"


def rewritten(source: Path, target: Path) -> LossReport:
    """Convert a file by its name."""
    return converter.convert(source, target, force=True)


@dataclass(frozen=True, slots=True)
class Grammar:
    """How documents are drawn and compared."""

    suffix: str
    document: Callable[[int], bytes]
    #: What is compared, as columns and where from; the third column of slices is their depth.
    queries: Mapping[str, tuple[str, str]]
    #: What a document becomes, by the ends of names.
    targets: tuple[str, ...]
    #: Which queries a loss says that they may have other rows.
    excused: Callable[[Loss], frozenset[str]] = lambda _: frozenset()
    #: A row as it can be compared between formats, None if it is of none; by query.
    comparable: Callable[[str, list[Any]], list[Any] | None] = lambda _, row: row
    #: What writes a document again in its own format.
    again: Callable[[Path, Path], LossReport] = rewritten
    #: Events that the importer left out are rows of this that begin so; others may be shown of what is made.
    faults: str | tuple[str, ...] = "none"
    fatal: str = ""
    #: Queries that only versions of trace_processor with a feature can answer.
    needed: Mapping[str, Feature] = field(default_factory=dict)
    #: Queries of which more may be shown of what is made.
    beside: frozenset[str] = frozenset()

    def asked(self) -> dict[str, tuple[str, str]]:
        """The queries that the engine can answer."""
        features = self.needed
        return {
            name: query
            for name, query in self.queries.items()
            if name not in features or shows(features[name])
        }


def shown(path: Path, grammar: Grammar) -> dict[str, Counter[str]]:
    """The rows of all queries, and what the importer found fault with."""
    prefixes = (grammar.faults,) if isinstance(grammar.faults, str) else grammar.faults
    named = " or ".join(f"name like '{prefix}%'" for prefix in prefixes)
    faults = f"stats where value > 0 and severity = 'error' and ({named})"
    queries = {**grammar.asked(), "faults": ("name, value", faults)}
    query = "; ".join(
        f"select hex('{name}' || json_array({columns})) from {origin}"
        for name, (columns, origin) in queries.items()
    )
    found: dict[str, Counter[str]] = {name: Counter() for name in queries}
    for row in printed(path, query):
        if row and re.fullmatch("[0-9A-F]+", row[0]):
            name, bracket, rest = bytes.fromhex(row[0]).decode().partition("[")
            values = json.loads(bracket + rest)
            kept = values if name == "faults" else grammar.comparable(name, values)
            if kept is not None:
                found[name][json.dumps(kept, ensure_ascii=False)] += 1
    return found


def differences(
    grammar: Grammar, number: int, folder: Path
) -> dict[str, tuple[list[str], list[str]]] | None:
    """What of a document is shown otherwise, by what it was made into and the query: rows missing, and others.

    None of a document that the importer refuses.
    """
    source = folder / f"{number}{grammar.suffix}"
    source.write_bytes(grammar.document(number))
    try:
        before = shown(source, grammar)
    except AssertionError:
        return None
    faults = dict(map(json.loads, before["faults"]))
    allowed = sys.maxsize if grammar.fatal in faults else sum(faults.values())
    found = {}
    for target in grammar.targets:
        path = folder / f"{number}.{target}"
        losses = (grammar.again if target.startswith("again") else rewritten)(source, path)
        excused = frozenset[str]().union(*map(grammar.excused, losses))
        deep = CROSSING in faults or any(loss.code in DEPTH_LOSSES for loss in losses)
        try:
            after = shown(path, grammar)
        except AssertionError as error:
            found[f"{target} refused"] = ([], [str(error).strip()[-80:]])
            continue
        for name in grammar.asked().keys() - excused:
            one, other = before[name], after[name]
            if deep and name == "slices":
                one, other = _without_depth(one), _without_depth(other)
            missing, more = one - other, other - one
            # Which of several slices that cross is left out depends on their order.
            crossing = faults.get(CROSSING, 0) if name == "slices" else 0
            if missing.total() > crossing or (
                name not in grammar.beside and more.total() > allowed
            ):
                found[f"{target} {name}"] = (list(missing.elements()), list(more.elements()))
    return found


def _without_depth(rows: Counter[str]) -> Counter[str]:
    result: Counter[str] = Counter()
    for row, count in rows.items():
        values = json.loads(row)
        result[json.dumps([*values[:2], *values[3:]])] += count
    return result


def main(grammar: Grammar, about: str | None) -> int:
    """Compare documents; whether any differs."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    done = different = refused = 0
    until = time.monotonic() + 60 * options.minutes
    folder = options.keep or Path(tempfile.mkdtemp(prefix="drawn"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for number in range(options.first, options.first + options.documents):
            if time.monotonic() > until:
                break
            done += 1
            found = differences(grammar, number, folder)
            refused += found is None
            different += bool(found)
            for what, (missing, more) in (found or {}).items():
                rows = [*(f"  - {row}" for row in missing[:3]), *(f"  + {row}" for row in more[:3])]
                sys.stdout.write("\n".join([f"{number} {what}", *rows, ""]))
                sys.stdout.flush()
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    sys.stdout.write(
        f"{done} documents, {different} shown otherwise, {refused} refused by the importer\n"
    )
    return min(different, 1)

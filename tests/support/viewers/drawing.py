"""Documents that are drawn by their numbers, converted, and read by trace_processor: what it shows must be the same.

`draw_json` and `draw_fxt` say how documents are drawn and what of them is compared.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.viewers.trace_processor import rows_once  # noqa: E402 - the path is set above
from support.viewers.trace_processor_versions import Feature, shows  # noqa: E402

import converter  # noqa: E402
from converter.projection.losses import Loss, LossReport  # noqa: E402

#: Slices that cross the end of another are on tracks beside it, where nothing is around them, and some come in another
#: order at one time.
DEPTH_LOSSES = {"slice-depth-changed", "depth-at-shared-time"}
#: What importers say that leave them out.
CROSSING = "slice_drop_overlapping_complete_event"


#: Slices with the thread or process of their track, and counters of processes. What the engine makes tables of besides
#: views is not there.
SLICES = """slice s join track k on k.id = s.track_id
    left join thread t on t.utid = extract_arg(k.dimension_arg_set_id, 'utid')
    left join process p using (upid)
    left join process q on q.upid = extract_arg(k.dimension_arg_set_id, 'upid')"""
COUNTERS = """counter c join track k on k.id = c.track_id
    join process p on p.upid = extract_arg(k.dimension_arg_set_id, 'upid')"""

#: What is shown otherwise, by what a document became and the query: rows missing, and others.
Differences = dict[str, tuple[list[str], list[str]]]


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


#: Rows by query, as JSON.
Shown = dict[str, Counter[str]]


def shown(path: Path, grammar: Grammar) -> Shown:
    """The rows of all queries, and what the importer found fault with."""
    prefixes = (grammar.faults,) if isinstance(grammar.faults, str) else grammar.faults
    named = " or ".join(f"name like '{prefix}%'" for prefix in prefixes)
    faults = f"stats where value > 0 and severity = 'error' and ({named})"
    queries = {**grammar.asked(), "faults": ("name, value", faults)}
    query = " union all ".join(
        f"select hex('{name}' || json_array({columns})) from {origin}"
        for name, (columns, origin) in queries.items()
    )
    found: dict[str, Counter[str]] = {name: Counter() for name in queries}
    for (row,) in rows_once(path, query):
        # A null of JSON's functions is none.
        if re.fullmatch("[0-9A-F]+", row):
            name, bracket, rest = bytes.fromhex(row).decode().partition("[")
            values = json.loads(bracket + rest)
            kept = values if name == "faults" else grammar.comparable(name, values)
            if kept is not None:
                found[name][json.dumps(kept, ensure_ascii=False)] += 1
    return found


def differences(grammar: Grammar, number: int, folder: Path) -> Differences | None:
    """What of a document is shown otherwise; None of one that the importer refuses."""
    source = folder / f"{number}{grammar.suffix}"
    source.write_bytes(grammar.document(number))
    # The engine reads what is there while the next is made.
    with ThreadPoolExecutor(1) as pool:
        shown_before = pool.submit(shown, source, grammar)
        made = {}
        for target in grammar.targets:
            path = folder / f"{number}.{target}"
            convert = grammar.again if target.startswith("again") else rewritten
            made[target] = (convert(source, path), pool.submit(shown, path, grammar))
    before = _result(shown_before)
    if isinstance(before, str):
        return None
    faults = dict(map(json.loads, before["faults"]))
    allowed = sys.maxsize if grammar.fatal in faults else sum(faults.values())
    found = {}
    for target, (losses, shown_after) in made.items():
        excused = frozenset[str]().union(*map(grammar.excused, losses))
        deep = CROSSING in faults or any(loss.code in DEPTH_LOSSES for loss in losses)
        after = _result(shown_after)
        if isinstance(after, str):
            found[f"{target} refused"] = ([], [after])
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


def _result(future: Future[Shown]) -> Shown | str:
    """What is shown, or why a file is refused."""
    try:
        return future.result()
    except AssertionError as error:
        if "no such" in str(error):
            raise
        return str(error).strip()[-80:]


def _without_depth(rows: Counter[str]) -> Counter[str]:
    result: Counter[str] = Counter()
    for row, count in rows.items():
        values = json.loads(row)
        result[json.dumps([*values[:2], *values[3:]])] += count
    return result


def parser(about: str | None) -> argparse.ArgumentParser:
    """The options of a search."""
    made = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--first", type=int, default=0)
    made.add_argument("--documents", type=int, default=1000)
    made.add_argument("--minutes", type=float, default=60)
    made.add_argument("--keep", type=Path)
    return made


Compared = Iterator[tuple[str, Differences | None]]


def drawn(
    options: argparse.Namespace,
    compared: Callable[[int, Path], Differences | None],
    name_of: Callable[[int], str] = lambda _: "",
) -> Callable[[Path], Compared]:
    """Compare documents by their numbers, in a folder."""

    def each(folder: Path) -> Compared:
        until = time.monotonic() + 60 * options.minutes
        for number in range(options.first, options.first + options.documents):
            if time.monotonic() > until:
                break
            yield f"{number} {name_of(number)}".strip(), compared(number, folder)

    return each


def reported(options: argparse.Namespace, each: Callable[[Path], Compared]) -> int:
    """Print what is shown otherwise; whether anything is."""
    done = different = refused = 0
    begin = time.monotonic()
    # In memory, where there is a place: outputs are synced.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, found in each(folder):
            done += 1
            refused += found is None
            different += bool(found)
            for what, (missing, more) in (found or {}).items():
                rows = [*(f"  - {row}" for row in missing[:4]), *(f"  + {row}" for row in more[:4])]
                sys.stdout.write("\n".join([f"{name} {what}", *rows, ""]))
                sys.stdout.flush()
            if not options.keep:
                for path in folder.iterdir():
                    path.unlink()
    seconds = time.monotonic() - begin
    sys.stdout.write(
        f"{done} documents in {seconds:.0f} s, {different} shown otherwise, {refused} refused\n"
    )
    return min(different, 1)


def main(grammar: Grammar, about: str | None, name_of: Callable[[int], str] = lambda _: "") -> int:
    """Compare documents; whether any differs."""
    options = parser(about).parse_args()
    return reported(options, drawn(options, partial(differences, grammar), name_of))

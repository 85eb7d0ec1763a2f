"""FXT as its writers make it, and what trace_processor shows of it and of outputs: ``python -m tests.fxt_producers``.

`support.fxt.documents` has a file for each thing that writers do, `support.fxt.shapes` draws files in the shapes of
writers. What the importer shows of a file it shows of the FXT (encoded anew), the Perfetto trace, the JSON and the
trace.dat that are made of it, but for what the loss report names. Of what it finds fault with, a warning or a loss
tells.

Without ``--documents`` all files of the first kind are compared, ``--only NAME`` is one of them. ``--first N
--documents K`` compares K drawn files, ``--minutes M`` ends earlier; ``--keep DIR`` leaves there what was written.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import draw_fxt
from support.fxt import shapes as fxt_shapes
from support.fxt.documents import DOCUMENTS
from support.viewers.drawing import (
    Compared,
    Differences,
    Grammar,
    differences,
    drawn,
    parser,
    reported,
    shown,
)

import converter

#: Ids as far as all formats show them: numbers of ids that do not fit have the same low bits. Processes and threads
#: that stand for what a format has no place for have the last ones.
_ID = "iif({0} & 1073741823 < 1073676288, {0} & 1073741823, 0)"
#: Some importers show an idle thread like any other, and the CPU of a thread that does not run.
QUERIES = {
    **draw_fxt.queries(_ID),
    "sched": (
        f"s.ts, s.dur, s.cpu, s.end_state, s.priority, {_ID.format('t.tid')}",
        "sched_slice s left join thread t using (utid) where t.tid",
    ),
    "states": (
        f"s.ts, s.dur, iif(s.state = 'Running', s.cpu, null), s.state, {_ID.format('t.tid')}",
        "thread_state s left join thread t using (utid) where t.tid",
    ),
}


def _comparable(name: str, row: list[Any]) -> list[Any] | None:
    if name == "states" and not row[1]:
        # A state of no duration is not drawn.
        return None
    if name == "states" and row[3] == "W":
        # Reported by `weighted_tasks`.
        row[3] = "R"
    if name == "slices" and row[3] == "":
        row[3] = None
    return draw_fxt._comparable(name, row)


GRAMMAR = replace(
    draw_fxt.GRAMMAR,
    document=fxt_shapes.document,
    queries=QUERIES,
    comparable=_comparable,
    # A thread that loses its name keeps it elsewhere.
    beside=frozenset({"threads"}),
)


#: Documents that are shown otherwise, by what they become and the query, and why.
EXPECTED = {
    **dict.fromkeys(
        [("names_without_process", f"made.{one} threads") for one in ("pftrace", "json", "dat")],
        "a thread of no process, on which nothing is",
    ),
    ("ocaml_system_thread", ""): "the importer takes several threads for one, which are apart here",
    ("unregistered_threads", ""): "the importer takes all for thread 0, which are apart here",
    ("rust_blobs", "made.json slices"): "blobs are shown, which importers of FXT do not",
    ("cpus_of_many", "made.dat"): "CPUs over 1,023 are not in Perfetto, and reported",
    ("system_wakeups", "made.dat states"): "two wakeups without a switch between them are one wait",
    ("system_states", "made"): "an unknown state is shown as runnable, and reported",
}


def compared(name: str, folder: Path, grammar: Grammar = GRAMMAR) -> Differences | None:
    """What is shown otherwise of the outputs of a document: rows missing, and others; None if it is refused."""
    found = differences(replace(grammar, document=lambda _: DOCUMENTS[name]()), 0, folder)
    if found is not None:
        found |= by_way_of_ftrace(DOCUMENTS[name](), folder)
    expected = [what for document, what in EXPECTED if document == name]
    return found and {
        what: rows for what, rows in found.items() if not any(map(what.startswith, expected))
    }


def compared_drawn(seed: int, folder: Path, grammar: Grammar = GRAMMAR) -> Differences | None:
    """The same of a drawn document."""
    found = differences(grammar, seed, folder)
    if found is None:
        return None
    return found | by_way_of_ftrace(grammar.document(seed), folder)


def by_way_of_ftrace(data: bytes, folder: Path) -> Differences:
    """What is shown otherwise of a Perfetto trace that is made of a trace.dat: scheduling, and names of threads.

    No importer reads trace.dat.
    """
    source, between, end = (folder / f"way.{suffix}" for suffix in ("fxt", "dat", "dat.pftrace"))
    source.write_bytes(data)
    before = shown(source, GRAMMAR)
    if not before["sched"] and not before["states"]:
        return {}
    losses = [*converter.convert(source, between, force=True)]
    losses += converter.convert(between, end, force=True)
    excused = frozenset[str]().union(*map(draw_fxt._excused, losses))
    after = shown(end, GRAMMAR)
    found: Differences = {}
    for query in {"sched", "states", "threads"} - excused:
        missing, more = before[query] - after[query], after[query] - before[query]
        others = [row for row in more.elements() if '"<...>"' not in row]
        if missing or others:
            found[f"made.dat {query}"] = (list(missing.elements()), others)
    return found


def main() -> int:
    """Compare documents; whether any differs."""
    made = parser(__doc__)
    made.set_defaults(documents=0)
    made.add_argument("--only", choices=DOCUMENTS)
    made.add_argument("--all", action="store_true", help="also what the loss report names")
    options = made.parse_args()
    grammar = replace(GRAMMAR, excused=lambda _: frozenset()) if options.all else GRAMMAR

    def named(folder: Path) -> Compared:
        for name in [options.only] if options.only else DOCUMENTS:
            yield name, compared(name, folder, grammar)

    by_number = drawn(options, partial(compared_drawn, grammar=grammar), fxt_shapes.name_of)
    return reported(options, by_number if options.documents else named)


if __name__ == "__main__":
    sys.exit(main())

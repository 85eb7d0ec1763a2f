"""Draws Perfetto traces, converts them, and has trace_processor read both.

    python -m tests.draw_perfetto --first 0 --documents 1000 --minutes 10

A document has track events of all kinds (slices, instants, asynchronous and legacy events, counters with units and
increments, in events of slices, flows of both generations, log messages, nested annotations), descriptors in an order,
tracks within tracks that are described late, twice or never, log entries, process trees, scheduling in events and in
columns, marks and other kernel events, several sequences of which some lose packets or clear their state, and absolute
and incremental times of several clocks. What the importer shows of it, it shows of
the JSON and the FXT that are made of it, but for what the loss report names. A document depends on its number alone:
``--first N --documents 1`` makes number N again, ``--keep DIR`` leaves there what was written, ``--minutes M`` ends
earlier.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from producers import excused
from support.perfetto.shapes import document
from support.viewers.drawing import SLICES, Grammar, main
from support.viewers.trace_processor_versions import Feature

from converter.ir.kinds import Kind
from converter.projection.losses import Loss

_NAME = "nullif(nullif(s.name, '[No name]'), '')"
#: Other formats show log entries and wakeups as instants, which may be around others of their time.
_OWN = "s.name not in ('log', 'sched_waking')"
QUERIES = {
    "slices": (
        f"s.ts, s.dur, iif(s.dur, s.depth, null), {_NAME}, nullif(s.category, '')",
        f"slice s where {_OWN}",
    ),
    "threads of slices": (
        f"s.ts, {_NAME}, t.tid, p.pid",
        f"{SLICES} where t.tid < 999 and {_OWN}",
    ),
    # Perfetto's importer has no dots and brackets in names.
    "arguments": (
        f"""s.ts, {_NAME}, replace(replace(replace(iif(
        a.key glob 'args.*' or a.key glob 'debug.*', substr(a.key, instr(a.key, '.') + 1), a.key),
        '.', '_'), '[', '_'), ']', '_'), a.display_value""",
        """slice s join args a using (arg_set_id) where a.key not glob 'legacy*'
        and a.key not in ('cookie', 'utid', 'end_utid') and a.key not glob '*thread_time'""",
    ),
    "thread times": (
        "s.ts, s.thread_ts, nullif(s.thread_dur, 0)",
        "slice s where s.thread_ts is not null",
    ),
    "flows": (
        "a.ts, a.name, b.ts, b.name",
        "flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in",
    ),
    "counters": (
        "c.ts, c.value",
        "counter c join track k on k.id = c.track_id where k.name <> 'thread_time'",
    ),
    "sched": (
        "s.ts, s.dur, s.cpu, t.tid, s.end_state",
        "sched_slice s join thread t using (utid) where t.tid",
    ),
    "states": (
        "s.ts, s.dur, s.state, t.tid, w.tid",
        """thread_state s join thread t using (utid) left join thread w on w.utid = s.waker_utid
        where t.tid""",
    ),
    "logs": ("l.ts, l.prio, l.tag, l.msg, t.tid", "android_logs l left join thread t using (utid)"),
    "threads": (
        "t.tid, t.name, p.pid",
        "thread t left join process p using (upid) where t.tid and t.tid < 999 and t.name <> ''",
    ),
    "thread order": (
        "t.tid, extract_arg(t.arg_set_id, 'thread_sort_index_hint')",
        "thread t where extract_arg(t.arg_set_id, 'thread_sort_index_hint') is not null",
    ),
    "processes": ("p.pid, p.name", "process p where p.pid and p.pid < 999 and p.name <> ''"),
    "process order": (
        "p.pid, extract_arg(p.arg_set_id, 'process_sort_index_hint')",
        "process p where extract_arg(p.arg_set_id, 'process_sort_index_hint') is not null",
    ),
}


#: The queries whose rows losses name, by code; types and nesting of arguments leave their values.
_BY_CODE = {
    "track-as-thread": {"threads of slices"},
    "thread-time-unshown": {"thread times"},
    "depth-at-shared-time": {"slices", "thread times", "flows", "arguments"},
    "waker-as-argument": {"states"},
    "field-type": set(),
    "nested-fields": set(),
    "optional-fields": set(),
}


def _excused(loss: Loss) -> frozenset[str]:
    """The queries whose rows a loss names."""
    if loss.code in _BY_CODE:
        return frozenset(_BY_CODE[loss.code])
    found = excused(loss, QUERIES)
    # A waking is a wakeup in FXT.
    is_waking = loss.code == "event-as" and Kind.SCHED_WAKING in loss.event_kinds
    return found & {"states"} if is_waking else found


GRAMMAR = Grammar(
    suffix=".pftrace",
    document=document,
    queries=QUERIES,
    targets=("made.json", "made.fxt"),
    excused=_excused,
    beside=frozenset(QUERIES) - {"slices", "flows", "counters"},
    needed=dict.fromkeys(("thread order", "process order"), Feature.JSON_SORT_INDEXES),
)

if __name__ == "__main__":
    sys.exit(main(GRAMMAR, __doc__))

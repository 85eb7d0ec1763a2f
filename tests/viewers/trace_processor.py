"""What trace_processor makes of a file: its tables, fetched with one query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.viewers.trace_processor import printed

#: A number with all of its digits, as text: how many `json_array` writes depends on the version of SQLite.
_REAL = "printf('%!.20g', {})"
#: Arguments of a set as [key, type, value] lists.
_ARGUMENTS = f"""(select json_group_array(json_array(a.key, a.value_type, coalesce(
        iif(a.string_value like 'NaN:%', 'NaN', a.string_value), a.int_value,
        iif(a.real_value is null, null, {_REAL.format("a.real_value")}))))
    from args a where a.arg_set_id = {{}}.arg_set_id)"""

#: Tracks with what they belong to.
_TRACKS = """select k.id, k.name, k.type, t.tid, coalesce(p.pid, q.pid) as pid,
        extract_arg(k.dimension_arg_set_id, 'cpu') as cpu from track k
        left join thread t on t.utid = extract_arg(k.dimension_arg_set_id, 'utid')
        left join process p on p.upid = t.upid
        left join process q on q.upid = extract_arg(k.dimension_arg_set_id, 'upid')"""

#: Columns of each table, and the query that fills them.
TABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "slices": (
        (
            *("id", "ts", "dur", "depth", "name", "category", "args"),
            *("type", "track", "tid", "pid", "cpu", "thread_ts", "thread_dur"),
        ),
        f"""select s.id, s.ts, s.dur, s.depth, s.name, s.category, {_ARGUMENTS.format("s")},
            k.type, k.name, k.tid, k.pid, k.cpu, s.thread_ts, s.thread_dur
        from slice s join ({_TRACKS}) k on k.id = s.track_id""",
    ),
    "counters": (
        ("ts", "value", "track", "type", "tid", "pid", "cpu", "unit"),
        f"""select c.ts, {_REAL.format("c.value")}, k.name, k.type, k.tid, k.pid, k.cpu, u.unit
        from counter c join ({_TRACKS}) k on k.id = c.track_id left join counter_track u on u.id = k.id""",
    ),
    "sched": (
        ("ts", "dur", "cpu", "end_state", "priority", "tid"),
        "select ts, dur, cpu, end_state, priority, t.tid from sched_slice s left join thread t using (utid)",
    ),
    "states": (
        ("ts", "dur", "cpu", "state", "tid", "waker"),
        """select s.ts, s.dur, s.cpu, s.state, t.tid, w.tid from thread_state s
        left join thread t using (utid) left join thread w on w.utid = s.waker_utid""",
    ),
    "flows": (
        ("source", "target", "from_ts", "from_name", "to_ts", "to_name"),
        """select slice_out, slice_in, a.ts, a.name, b.ts, b.name
        from flow join slice a on a.id = slice_out join slice b on b.id = slice_in""",
    ),
    "ftrace": (
        ("ts", "name", "cpu", "tid", "arg_set", "args"),
        f"""select f.ts, f.name, f.cpu, t.tid, f.arg_set_id, {_ARGUMENTS.format("f")}
        from ftrace_event f left join thread t using (utid)""",
    ),
    "threads": (
        ("tid", "name", "pid"),
        "select t.tid, t.name, p.pid from thread t left join process p using (upid)",
    ),
    # Threads that something shows to run, without a name.
    "nameless": (
        ("tid", "pid"),
        """select t.tid, p.pid from thread t left join process p using (upid) where coalesce(t.name, '') = ''
        and utid in (select utid from sched_slice union select utid from thread_state
            union select utid from thread_track where id in (select track_id from slice))""",
    ),
    "processes": (
        ("pid", "name", "parent", "cmdline"),
        """select p.pid, p.name, q.pid, p.cmdline from process p left join process q on q.upid = p.parent_upid""",
    ),
    "logs": (
        ("ts", "prio", "tag", "msg", "tid"),
        "select l.ts, l.prio, l.tag, l.msg, t.tid from android_logs l left join thread t using (utid)",
    ),
    "samples": (
        # The innermost frame, and the address of its caller.
        ("ts", "cpu", "tid", "is_stack", "mapping", "pc", "caller"),
        """select s.ts, s.cpu, t.tid, s.callsite_id is not null, m.name, f.rel_pc, g.rel_pc from perf_sample s
        left join thread t using (utid)
        left join stack_profile_callsite c on c.id = s.callsite_id
        left join stack_profile_frame f on f.id = c.frame_id
        left join stack_profile_mapping m on m.id = f.mapping
        left join stack_profile_callsite d on d.id = c.parent_id
        left join stack_profile_frame g on g.id = d.frame_id""",
    ),
    # What people read about the recording.
    "facts": (
        ("name", "value"),
        """select name, coalesce(str_value, int_value) from metadata
        where name not in ('trace_uuid', 'trace_type', 'trace_size_bytes', 'trace_time_clock_id')
            and coalesce(str_value, int_value) is not null""",
    ),
    # The date of the beginning.
    "dates": (
        ("first",),
        "select to_realtime(trace_start()) where to_realtime(trace_start()) is not null",
    ),
    "stats": (
        ("name", "value", "severity"),
        """select name, sum(value), severity from stats
        where value > 0 and severity in ('error', 'data_loss') group by 1, 3""",
    ),
}

Row = dict[str, Any]


def tables_if_opened(path: Path) -> dict[str, list[Row]]:
    """The same of a recording; where trace_processor does not open that, there is nothing to compare with."""
    try:
        return tables_of(path)
    except AssertionError as error:
        if "ERR:tp-" not in str(error):
            raise
    pytest.skip("trace_processor does not open the recording")


def tables_of(path: Path) -> dict[str, list[Row]]:
    """All of `TABLES`, for a file.

    Raises:
        AssertionError: trace_processor does not take the file.

    """
    statements = []
    for name, (columns, query) in TABLES.items():
        listed = ", ".join(columns)
        # In hexadecimal: the program does not escape quotes in its output.
        row = f"select hex(json_array({listed})) as row from ({_renamed(columns, query)})"
        statements.append(f"select '{name}' as row; {row}")
    tables: dict[str, list[Row]] = {}
    columns: tuple[str, ...] = ()
    for line in printed(path, "; ".join(statements)):
        if line == ["row"]:
            continue
        if line[0] in TABLES:
            current = tables[line[0]] = []
            columns = TABLES[line[0]][0]
            continue
        values = json.loads(bytes.fromhex(line[0]).decode(errors="surrogateescape"))
        current.append(dict(zip(columns, values, strict=True)))
    for row in tables["counters"]:
        row["value"] = float(row["value"])
    return tables


def _renamed(columns: tuple[str, ...], query: str) -> str:
    """The query, with these names for its columns."""
    return f"with named({', '.join(columns)}) as ({query}) select * from named"


#: Arguments of slices that the importer keeps for itself.
_OWN = (
    *("legacy_event.", "legacy_trace_source_id", "legacy_unnestable_", "cookie"),
    # Numbers of threads in the importer's own table.
    *("utid", "end_utid"),
)


def arguments(text: str | None) -> dict[str, Any]:
    """A set of arguments: values by key."""
    listed = [] if text is None else json.loads(text)
    return {
        key: float(value) if kind == "real" and value is not None else value
        for key, kind, value in listed
        if not key.startswith(_OWN)
    }

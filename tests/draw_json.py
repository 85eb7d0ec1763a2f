"""Draws Chrome JSON, converts it, and has trace_processor read both: ``python -m tests.draw_json --documents 1000``.

Documents have all members of the format's document, in forms that recorders write. What the importer shows of a
document it shows of the JSON and the Perfetto trace that are made of it. A document depends on its number alone:
``--first N --documents 1`` makes number N again, ``--keep DIR`` leaves there what was written.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.viewers.drawing import COUNTERS, CROSSING, SLICES, Grammar, main
from support.viewers.trace_processor_versions import Feature, shows

#: What is compared, as columns and where from; numbers of rows are the importer's own, and threads and processes that
#: nothing is on nor named are those of other formats. Ids that are text have numbers of the importer's own; slices
#: without a name are called so of JSON; an arrow with an id that is no hexadecimal text is shown of Perfetto alone.
QUERIES = {
    "slices": (
        """s.ts, s.dur, s.depth, nullif(s.name, '[No name]'), s.category, iif(t.tid < 999, t.tid, 0),
        iif(t.tid < 999, t.name, null),
        iif(coalesce(p.pid, q.pid) < 999, coalesce(p.pid, q.pid), 0),
        iif(coalesce(p.pid, q.pid) < 999, coalesce(p.name, q.name), null), s.thread_ts, s.thread_dur,
        (select group_concat(one, ';') from (select a.key || '=' || coalesce(a.display_value, '') as one
            from args a where a.arg_set_id = s.arg_set_id and a.key like 'args.%' order by 1))""",
        SLICES,
    ),
    "flows": (
        "nullif(a.name, '[No name]'), a.ts, nullif(b.name, '[No name]'), b.ts",
        "flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in",
    ),
    "counters": (
        "c.ts, c.value, k.name, iif(p.pid < 999, p.pid, 0)",
        COUNTERS,
    ),
    "threads": (
        "tid, t.name, iif(pid < 999, pid, 0)",
        "thread t left join process p using (upid) where utid and t.name is not null and tid < 999",
    ),
    "thread order": (
        "tid, iif(pid < 999, pid, 0), extract_arg(t.arg_set_id, 'thread_sort_index_hint')",
        "thread t left join process p using (upid) where utid and t.name is not null and tid < 999",
    ),
    "processes": (
        "pid, name, extract_arg(arg_set_id, 'process_sort_index_hint')",
        "process where upid and name is not null and pid < 999",
    ),
    # Of profiles of V8; in Perfetto's traces they are samples.
    "samples": (
        """s.ts, iif(t.tid < 999, t.tid, 0), (with recursive up(id, height) as (
            select s.callsite_id, 0 union all select c.parent_id, height + 1
                from up join stack_profile_callsite c on c.id = up.id where c.parent_id is not null)
            select group_concat(name, '<') from (select f.name from up
                join stack_profile_callsite c on c.id = up.id
                join stack_profile_frame f on f.id = c.frame_id order by height))""",
        """(select ts, utid, callsite_id from cpu_profile_stack_sample
            union all select ts, utid, callsite_id from perf_sample) s join thread t using (utid)""",
    ),
}
NAMES = ["a", "b", "c c", "", "é", "näme"]
PIDS = [1, 2, 0, "main"]
TIDS = [1, 2, 3, "worker"]


def chance(rng: random.Random, share: float) -> bool:
    return rng.random() < share


def value(rng: random.Random, depth: int = 0) -> Any:
    """An argument."""
    simple = [0, 1, -5, 1 << 40, 2.5, True, False, "x", "", "0x1f", "12", "é", -(1 << 53)]
    which = rng.randrange(12)
    if which == 0 and depth < 3:
        return {rng.choice("pqr"): value(rng, depth + 1) for _ in range(rng.randint(0, 2))}
    if which == 1 and depth < 3:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return rng.choice(simple)


def time(rng: random.Random, most: int = 200) -> Any:
    """A time in one of its forms."""
    at = rng.randrange(most)
    return rng.choice([at, at, at, at + 0.5, f"{at}", at + rng.randrange(1000) / 1000])


def identity(rng: random.Random) -> dict[str, Any]:
    """An id of some type and place."""
    one = rng.choice([1, 2, "0x1", "2", "text", 77])
    return rng.choice([{"id": one}, {"id": one}, {"id2": {"local": one}}, {"id2": {"global": one}}])


def metadata(rng: random.Random, place: dict[str, Any]) -> dict[str, Any]:
    """A metadata event."""
    name, args = rng.choice(
        [
            ("process_name", {"name": rng.choice(["p", "q", "é"])}),
            ("thread_name", {"name": rng.choice(["t", "u", "main"])}),
            ("process_sort_index", {"sort_index": rng.choice([3, -1, 0, "5"])}),
            ("thread_sort_index", {"sort_index": rng.choice([3, -1, 0])}),
            ("process_labels", {"labels": "x,y"}),
            ("num_cpus", {"number": 4}),
        ]
    )
    event = {"ph": "M", "name": name, **place, "args": args}
    if chance(rng, 0.1):
        event["dur"] = rng.choice([1, "x", None])
    if chance(rng, 0.2):
        event["ts"] = time(rng)
    return event


def profile(rng: random.Random, last: list[int], place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A profile of V8: when it begins, and what it brings in one or two chunks."""
    known = {**place, "ph": "P", "id": rng.choice(["0x1", "0x2"]), "cat": "v8"}
    data: dict[str, Any] = {"startTime": last[0]}
    yield {**known, "name": "Profile", "ts": last[0], "args": {"data": data}}
    nodes = rng.randrange(100, 1000000)
    made = 0
    for _ in range(rng.randint(1, 2)):
        last[0] += 5
        tree = []
        for _ in range(rng.randint(1, 3)):
            frame = {"functionName": rng.choice("fgh"), "scriptId": 1, "url": "u"}
            node: dict[str, Any] = {"id": nodes + made, "callFrame": frame}
            if made:
                node["parent"] = nodes + rng.randrange(made)
            tree.append(node)
            made += 1
        samples = [nodes + rng.randrange(made) for _ in range(rng.randint(1, 3))]
        data = {
            "cpuProfile": {"nodes": tree, "samples": samples},
            "timeDeltas": [rng.randrange(3) for _ in samples],
        }
        yield {**known, "name": "ProfileChunk", "ts": last[0], "args": {"data": data}}


def event(rng: random.Random, last: list[int]) -> Iterator[dict[str, Any]]:
    """An event, or the two of a pair."""
    place = {"pid": rng.choice(PIDS), "tid": rng.choice(TIDS)}
    if chance(rng, 0.05):
        del place["tid"]
    common: dict[str, Any] = {**place, "name": rng.choice(NAMES)}
    if chance(rng, 0.5):
        common["cat"] = rng.choice(["x", "x,y", ""])
    args = {rng.choice("abcd"): value(rng) for _ in range(rng.randint(0, 2))}
    last[0] += rng.randrange(5)
    ts = rng.choice([last[0], last[0], f"{last[0]}", last[0] + 0.25])
    match rng.choice("XXXBiCbsMNkPTv"):
        case "X":
            one = {**common, "ph": "X", "ts": ts, "dur": rng.choice([0, 1, 3, 2.5, "2"])}
            if chance(rng, 0.2):
                one |= {"tts": last[0], "tdur": 1}
            if chance(rng, 0.2):
                one["bind_id"] = rng.choice([1, "0x2", "3"])
                one |= rng.choice(
                    [{"flow_in": True}, {"flow_out": True}, {"flow_in": True, "flow_out": True}]
                )
            if chance(rng, 0.1):
                one["cname"] = "good"
            yield one | ({"args": args} if args else {})
        case "B":
            yield {**common, "ph": "B", "ts": last[0], "args": args}
            last[0] += rng.randrange(1, 5)
            end = {**common, "ph": "E", "ts": last[0]}
            if chance(rng, 0.3):
                del end["name"]
            yield end | ({"args": {"e": value(rng)}} if chance(rng, 0.3) else {})
        case "i":
            scope = rng.choice([{}, {"s": "t"}, {"s": "p"}, {"s": "g"}])
            yield {**common, "ph": rng.choice("iIR"), "ts": ts, **scope, "args": args}
        case "C":
            series = rng.choice([{"v": 1}, {"v": 2.5, "w": -3}, {"v": "4"}, {"v": "0.5"}])
            named = {"id": rng.choice([1, "0x1", "x"])} if chance(rng, 0.3) else {}
            yield {**common, "ph": "C", "ts": ts, **named, "args": series}
        case "b":
            known = identity(rng) | {"cat": "async"} | ({"scope": "s"} if chance(rng, 0.2) else {})
            yield {**common, **known, "ph": "b", "ts": last[0], "args": args}
            if chance(rng, 0.3):
                yield {**common, **known, "ph": "n", "ts": last[0] + 1}
            last[0] += 2
            yield {**common, **known, "ph": "e", "ts": last[0]}
        case "s":
            known = {
                "id": rng.choice([1, "0x2", "3"]),
                "cat": "f",
                "name": rng.choice("fg"),
            }
            for i, ph in enumerate(rng.choice(["sf", "stf", "sf"])):
                here = {"pid": rng.choice(PIDS), "tid": rng.choice(TIDS)}
                last[0] += 4
                yield {**here, "ph": "X", "name": f"flow{i}", "ts": last[0], "dur": 3}
                bound = {"bp": "e"} if ph == "f" and chance(rng, 0.7) else {}
                yield {**here, **known, **bound, "ph": ph, "ts": last[0] + 1}
            last[0] += 4
        case "M":
            yield metadata(rng, place)
        case "P":
            yield from profile(rng, last, place)
        case "N":
            yield {
                **common,
                "ph": rng.choice("NOD"),
                "id": "0x5",
                "ts": ts,
                "args": {"snapshot": args},
            }
        case "k":
            yield {**common, "ph": "c", "ts": ts, "args": {"sync_id": "s"}}
        case _:
            yield {**common, "ph": "v", "id": "0x9", "ts": ts, "args": {"dumps": {}}}


def document(number: int) -> bytes:
    """A document by its number."""
    rng = random.Random(number)
    last = [rng.randrange(10)]
    events = [one for _ in range(rng.randint(1, 8)) for one in event(rng, last)]
    # Viewers want an E behind its B; all else may stand anywhere.
    # Older importers show escapes as they are in the file.
    escaped = chance(rng, 0.5) and shows(Feature.JSON_ESCAPES)
    text = json.dumps(events, ensure_ascii=escaped and all("é" not in str(one) for one in events))
    if chance(rng, 0.5):
        others = {"displayTimeUnit": "ns", "otherData": {"v": 1}, "metadata": {"m": [1]}}
        parts = [f'"{key}": {json.dumps(one)}' for key, one in others.items() if chance(rng, 0.3)]
        parts.insert(rng.randint(0, len(parts)), f'"traceEvents": {text}')
        text = "{" + ",".join(parts) + "}"
    elif chance(rng, 0.3):
        text = text[:-1] + rng.choice(["", ",", ",]"])
    return text.encode()


GRAMMAR = Grammar(
    suffix=".json",
    document=document,
    queries=QUERIES,
    targets=("again.json", "made.pftrace"),
    # Which slice is cut where slices cross is reported.
    excused=lambda loss: frozenset({"slices"} if loss.code == "slice-outlasting" else ()),
    faults=("json_", CROSSING),
    fatal="json_tokenizer_failure",
    needed={"thread order": Feature.JSON_SORT_INDEXES},
)

if __name__ == "__main__":
    sys.exit(main(GRAMMAR, __doc__))

"""Draws FXT, converts it, and has trace_processor read both: ``python -m tests.draw_fxt --documents 500``.

Files have all records of the format's document, in the order of time. What the importer shows of a file it shows of the
FXT (encoded anew), the Perfetto trace and the JSON that are made of it, but for what the loss report names. A file
depends on its number alone: ``--first N --documents 1`` makes number N again, ``--keep DIR`` leaves there what was
written.
"""

from __future__ import annotations

import contextlib
import random
import re
import struct
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.fxt import files as fxt
from support.viewers.drawing import COUNTERS, CROSSING, SLICES, Grammar, main
from support.viewers.trace_processor_versions import Feature, shows
from viewers.loss_tables import tables_of

import converter
from converter.formats.fxt.record_types import (
    ArgumentType,
    EventType,
    ProfilerType,
    RecordType,
    SchedulingType,
)
from converter.projection.losses import Loss, LossReport

_ARGUMENTS = """(select json_group_array(json_array(a.key, coalesce(a.string_value, a.int_value, a.real_value)))
    from args a where a.arg_set_id = s.arg_set_id)"""


def queries(known: str) -> dict[str, tuple[str, str]]:
    """What is compared, as columns and where from. Processes and threads that stand for what a format has no place for
    are those of other formats.

    Args:
        known: the expression of an id {0} that is compared, 0 for another one.
    """
    tid, pid = known.format("t.tid"), known.format("p.pid")
    return {
        "slices": (
            f"""s.ts, s.dur, s.depth, nullif(s.name, '[No name]'), nullif(s.category, ''), {tid},
            {known.format("coalesce(p.pid, q.pid)")}, {_ARGUMENTS}""",
            SLICES,
        ),
        "flows": (
            "nullif(nullif(a.name, '[No name]'), ''), a.ts, nullif(nullif(b.name, '[No name]'), ''), b.ts",
            "flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in",
        ),
        "counters": (
            f"c.ts, c.value, {pid}",
            COUNTERS,
        ),
        "sched": (
            f"s.ts, s.dur, s.cpu, s.end_state, s.priority, {tid}",
            "sched_slice s left join thread t using (utid)",
        ),
        "states": (
            # Some importers say on which CPU a thread waits.
            f"""s.ts, s.dur, iif(s.state = 'Running', s.cpu, null), s.state, {tid},
            {known.format("w.tid")}""",
            """thread_state s left join thread t using (utid)
            left join thread w on w.utid = s.waker_utid""",
        ),
        "threads": (
            f"{tid}, t.name, {pid}",
            f"thread t left join process p using (upid) where {tid} and t.name <> ''",
        ),
        "processes": (f"{pid}, name", f"process p where {pid} and name <> ''"),
    }


QUERIES = queries("iif({0} < 999, {0}, 0)")
#: Arguments that importers add.
_OWN = re.compile(r"(debug\.|args\.)?(legacy_|utid$|end_utid$|upid$|cookie$|source|track_)")
_PREFIX = re.compile(r"^(debug|args)\.")
#: Text that begins with an escape in JSON, which older importers show.
_LIKE_A_NUMBER = b"0x1f" if shows(Feature.JSON_ESCAPES) else b"f1x0"
_THREADS = [(1, 11), (1, 12), (2, 21), (2, 2)]
_NAMES = [b"a", b"b", b"c c", "é".encode(), 1, 2]


def _comparable(name: str, row: list[Any]) -> list[Any] | None:
    """A row whose arguments are sorted, without what importers call them by, their types and those that are nothing."""
    if name == "slices":
        if row[3] == "sched_waking":
            # JSON has no other place for the event.
            return None
        listed = row[-1] or []
        row[-1] = sorted(
            f"{_PREFIX.sub('', key)}={_plain(value)}"
            for key, value in listed
            if not _OWN.match(key) and value not in (None, "null")
        )
    # A process that is in a tree has a main thread, which is called as it is.
    return None if name == "threads" and row[0] == row[2] and "process" in row[1] else row


def _plain(value: Any) -> str:
    """A number is one however it is written, without a sign."""
    with contextlib.suppress(ValueError):
        return str(int(str(value), 0) % (1 << 64))
    return str(value)


def _bits(value: float) -> int:
    """A number as the bits of a double."""
    return int.from_bytes(struct.pack("<d", value), "little")


def _argument(rng: random.Random) -> dict[str, Any]:
    kind, value = rng.choice(
        [
            (ArgumentType.NULL, None),
            (ArgumentType.INT32, rng.choice([0, -5, 7])),
            (ArgumentType.UINT32, rng.choice([0, 7, (1 << 32) - 1])),
            (ArgumentType.INT64, rng.choice([(1 << 64) - (1 << 40), 9])),
            (ArgumentType.UINT64, rng.choice([1 << 40, (1 << 64) - 1])),
            (ArgumentType.DOUBLE, _bits(rng.choice([0.5, -1.25]))),
            (ArgumentType.STRING, rng.choice([b"text", b"", _LIKE_A_NUMBER, 1])),
            (ArgumentType.POINTER, 0xFFFF800000001000),
            (ArgumentType.KOID, 11),
            (ArgumentType.BOOLEAN, rng.random() < 0.5),
        ]
    )
    return fxt.argument(kind, rng.choice([b"p", b"q", b"r", 2]), value)


def _arguments(rng: random.Random) -> list[dict[str, Any]]:
    found: dict[Any, dict[str, Any]] = {}
    for _ in range(rng.choice([0, 0, 1, 2, 4])):
        one = _argument(rng)
        found[one["name"] or one["header"]["name"]] = one
    return list(found.values())


def _events(rng: random.Random, now: list[int]) -> list[bytes]:
    """An event, or those that belong together."""
    now[0] += rng.randrange(1, 5)
    at = now[0]
    place = rng.choice([1, 2, *_THREADS])
    common: dict[str, Any] = {
        "thread": place,
        "name": rng.choice(_NAMES),
        "category": rng.choice([b"x", b"", 1]),
    }

    def event(kind: EventType, ts: int, **more: Any) -> bytes:
        return fxt.event("little", kind, ts, **{**common, **more})

    def counted(value: int) -> list[dict[str, Any]]:
        kind = rng.choice([ArgumentType.INT64, ArgumentType.UINT64, ArgumentType.DOUBLE])
        return [fxt.argument(kind, b"v", _bits(value) if kind == ArgumentType.DOUBLE else value)]

    match rng.choice("iXXBBcasskwLoPb"):
        case "i":
            return [event(EventType.INSTANT, at, arguments=_arguments(rng))]
        case "X":
            end = at + rng.choice([0, 1, 3, 1000])
            return [event(EventType.DURATION_COMPLETE, at, tail=end, arguments=_arguments(rng))]
        case "B":
            inner = _events(rng, now) if rng.random() < 0.3 else []
            now[0] += rng.randrange(2, 9)
            begin = event(EventType.DURATION_BEGIN, at, arguments=_arguments(rng))
            end_args = _arguments(rng) if rng.random() < 0.3 else []
            return [begin, *inner, event(EventType.DURATION_END, now[0], arguments=end_args)]
        case "c":
            id = rng.choice([1, 77])
            return [event(EventType.COUNTER, at, tail=id, arguments=counted(rng.randrange(9)))]
        case "a":
            id = rng.choice([1, 2, 1 << 40])
            parts = [event(EventType.ASYNC_BEGIN, at, tail=id, arguments=_arguments(rng))]
            if rng.random() < 0.3:
                parts.append(event(EventType.ASYNC_INSTANT, at + 1, tail=id))
            now[0] += 3
            return [*parts, event(EventType.ASYNC_END, now[0], tail=id)]
        case "s":
            id, parts = rng.randrange(1 << 16), []
            kinds = [EventType.FLOW_BEGIN, EventType.FLOW_END]
            if rng.random() < 0.4:
                kinds.insert(1, EventType.FLOW_STEP)
            for kind in kinds:
                now[0] += 4
                common["thread"] = rng.choice([1, 2, *_THREADS])
                parts.append(event(EventType.DURATION_BEGIN, now[0]))
                parts.append(event(kind, now[0] + 1, tail=id, name=b"flow", category=b"f"))
                parts.append(event(EventType.DURATION_END, now[0] + 2))
            return parts
        case "k":
            return [_switch(rng, at)]
        case "w":
            header = {"scheduling_type": int(SchedulingType.THREAD_WAKEUP), "cpu": 1}
            weight = [fxt.argument(ArgumentType.INT32, b"weight", 3)]
            tid = rng.choice(_THREADS)[1]
            one = fxt.record(
                "little",
                RecordType.SCHEDULING,
                header,
                timestamp=at,
                waking_thread=tid,
                arguments=weight,
            )
            return [one]
        case "L":
            header = {"length": 5, "thread": 1}
            return [fxt.record("little", RecordType.LOG, header, timestamp=at, message=b"hello")]
        case "o":
            return [fxt.kernel_object("little", rng.choice([3, 17]), 99, b"object")]
        case "P":
            header = {"profiler_type": int(ProfilerType.BACKTRACE), "thread": 1, "frames": 2}
            return [fxt.record("little", RecordType.PROFILER, header, timestamp=at, frames=[5, 6])]
        case _:
            return [fxt.unknown("little", rng.choice([11, 12]), b"unknown!")]


def _switch(rng: random.Random, at: int) -> bytes:
    outgoing, incoming = (rng.choice(_THREADS)[1] for _ in range(2))
    header = {
        "scheduling_type": int(SchedulingType.CONTEXT_SWITCH),
        "cpu": rng.choice([0, 1]),
        "outgoing_state": rng.randrange(6),
    }
    weights = [
        fxt.argument(ArgumentType.INT32, name, rng.choice([3, 20]))
        for name in (b"outgoing_weight", b"incoming_weight")
    ]
    return fxt.record(
        "little",
        RecordType.SCHEDULING,
        header,
        timestamp=at,
        outgoing_thread=outgoing,
        incoming_thread=incoming,
        arguments=weights,
    )


def document(number: int) -> bytes:
    """A file by its number."""
    rng = random.Random(number)
    order = "little"
    parts = [fxt.magic(order), fxt.provider(order, 1, b"test"), fxt.provider(order, 1, None)]
    parts.append(fxt.initialization(order, 10**9))
    parts += [fxt.string(order, 1, b"one"), fxt.string(order, 2, b"two")]
    parts += [fxt.thread(order, 1, 1, 11), fxt.thread(order, 2, 2, 21)]
    for pid in (1, 2):
        if rng.random() < 0.8:
            parts.append(fxt.kernel_object(order, 1, pid, b"process %d" % pid))
    for pid, tid in _THREADS:
        process = [fxt.argument(ArgumentType.KOID, b"process", pid)]
        parts.append(fxt.kernel_object(order, 2, tid, b"thread %d" % tid, process))
    now = [rng.randrange(10)]
    for _ in range(rng.randint(1, 10)):
        parts += _events(rng, now)
    return b"".join(parts)


def _again(source: Path, target: Path) -> LossReport:
    """Encode a file anew, which is copied where nothing has changed."""
    return converter.write(fxt.without_records(converter.read(source)), target, force=True)


def _excused(loss: Loss) -> frozenset[str]:
    # What is shown of another kind of event is there as well.
    beside = {"slices"} if loss.code == "event-as" else set()
    return (tables_of(loss) | beside) & QUERIES.keys()


GRAMMAR = Grammar(
    suffix=".fxt",
    document=document,
    queries=QUERIES,
    targets=("again.fxt", "made.pftrace", "made.json"),
    excused=_excused,
    comparable=_comparable,
    again=_again,
    faults=("fuchsia_", CROSSING),
)

if __name__ == "__main__":
    sys.exit(main(GRAMMAR, __doc__))

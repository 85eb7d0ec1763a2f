"""Draws Chrome JSON as its producers write it, mistakes included: ``python -m tests.producers --documents 60``.

A document is small and in the shape of one producer: PyTorch, TensorFlow, Bazel, clang, ninja, Node.js, DevTools,
viztracer, tracing-chrome, OpenTelemetry, game engines, Nsight. Some of its members are null, of another type or said
twice, some values are no JSON, ids are text, times tie, names are empty, commas trail, brackets are missing. What
trace_processor shows of a document it shows of the Perfetto trace, the FXT and the JSON that are made of it, but for
what the loss report names. A document depends on its number alone: ``--first N --documents 1`` makes number N again,
``--keep DIR`` leaves there what was written, ``--minutes M`` ends earlier.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.viewers.drawing import COUNTERS, CROSSING, SLICES, Grammar, main
from support.viewers.trace_processor_versions import Feature, shows
from viewers.loss_tables import changed_by

from converter.projection.losses import Loss, LossClass

Events = Iterator[dict[str, Any]]
Producer = Callable[["Draw"], Events]
#: By name: how events are drawn, and how the document begins and ends around them.
PRODUCERS: dict[str, tuple[Producer, str, str]] = {}


class Draw(random.Random):
    """Chances, and a time that goes on."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.ts = self.choice([0, 5, 1000, 1_700_000_000_000_000])

    def chance(self, share: float) -> bool:
        return self.random() < share

    def next(self, most: int = 20) -> Any:
        """The next time, which may be the same; with decimals at times."""
        self.ts += self.randrange(most)
        if self.ts > 1 << 40:
            # The importer has doubles, which hold no nanoseconds there.
            return self.ts
        return self.choice([self.ts, self.ts, self.ts + 0.5, self.ts + 0.001])


#: Texts with escapes, which older importers show as they are in the file.
_ESCAPED = ["C:\\game\\x.cpp", "Render\t"] if shows(Feature.JSON_ESCAPES) else []
_BACKSLASH = [r'"args":{"win":"C:\data\q"}'] if _ESCAPED else []


def producer(begin: str, end: str) -> Callable[[Producer], Producer]:
    """Add a producer by the name of its function."""

    def added(draw: Producer) -> Producer:
        PRODUCERS[draw.__name__] = draw, begin, end
        return draw

    return added


def named(what: str, pid: Any, name: str, tid: Any = None) -> dict[str, Any]:
    """A metadata event with a name."""
    place = {"pid": pid} if tid is None else {"pid": pid, "tid": tid}
    return {"ph": "M", "name": what, **place, "args": {"name": name}}


@producer(
    '{"schemaVersion":1,"deviceProperties":[],"displayTimeUnit":"ms","traceEvents":[',
    '],"traceName":"t.json"}',
)
def pytorch(d: Draw) -> Events:
    yield named("process_name", 100, "python")
    yield {"ph": "M", "name": "process_labels", "pid": 100, "tid": 0, "args": {"labels": "CPU"}}
    yield named("thread_name", 100, "thread 100 (python)", 100)
    for number in range(d.randint(1, 3)):
        at = d.next()
        kernel = {"External id": 512 + number, "est. achieved occupancy %": 50, "grid": [1, 2, 1]}
        dims = {
            "Input Dims": d.choice([[[32, 8], []], [], [[1]]]),
            "Input type": ["float", "Scalar"],
        }
        yield {
            "ph": "X",
            "cat": "cpu_op",
            "name": "aten::add",
            "pid": 100,
            "tid": 100,
            "ts": at,
            "dur": 9,
            "args": dims,
        }
        flow = {"id": number, "cat": "ac2g", "name": "ac2g"}
        yield {"ph": "s", **flow, "pid": 100, "tid": 100, "ts": at}
        after = d.next() + 10
        d.ts += 12
        yield {
            "ph": "X",
            "cat": "kernel",
            "name": "void k<>(int)",
            "pid": 0,
            "tid": 7,
            "ts": after,
            "dur": 3,
            "args": kernel,
        }
        yield {"ph": "f", **flow, "pid": 0, "tid": 7, "ts": after, "bp": "e"}
    yield {
        "ph": "i",
        "s": "g",
        "name": "Iteration Start: PyTorch",
        "pid": "Traces",
        "tid": "Trace",
        "ts": d.next(),
    }


@producer('{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[', ",{}]}")
def tensorflow(d: Draw) -> Events:
    yield named("process_name", 3, "/device:TPU:0")
    yield {"ph": "M", "pid": 3, "name": "process_sort_index", "args": {"sort_index": 3}}
    yield named("thread_name", 3, "XLA Ops", 1)
    for _ in range(d.randint(1, 4)):
        args = {"hlo_category": d.choice(["fusion", ""]), "model_flops": "0", "group_id": 1}
        yield {
            "ph": "X",
            "pid": 3,
            "tid": 1,
            "ts": d.next(),
            "dur": d.choice([1, 0.25, 0]),
            "name": "fusion.1",
            "args": args,
        }
        d.ts += 2


@producer('{"otherData":{"build_id":"b"},"traceEvents":[', "]}")
def bazel(d: Draw) -> Events:
    yield named("thread_name", 1, "Main Thread", 20)
    yield {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 20, "args": {"sort_index": "1"}}
    for _ in range(d.randint(1, 3)):
        at = d.next()
        yield {
            "cat": "build phase marker",
            "name": "Build",
            "ph": d.choice("Xi"),
            "ts": at,
            "dur": 5,
            "pid": 1,
            "tid": 20,
        }
        yield {
            "name": "CPU usage (Bazel)",
            "ph": "C",
            "ts": at,
            "pid": 1,
            "tid": 20,
            "args": {"cpu": d.choice(["0.5", "1e1", 2])},
        }
        yield {
            "cat": "action",
            "name": "",
            "ph": "X",
            "ts": at + 1,
            "dur": 2,
            "pid": 1,
            "tid": 20,
            "args": {"mnemonic": "J", "target": "//a:b"},
        }
        d.ts += 8


@producer('{"traceEvents":[', '],"beginningOfTime":1700000000000000}')
def clang(d: Draw) -> Events:
    for number in range(d.randint(1, 3)):
        at = d.next()
        yield {
            "pid": 9,
            "tid": 9,
            "ph": "X",
            "ts": at,
            "dur": 8,
            "name": "Source",
            "args": {"detail": "/a/b.h"},
        }
        yield {
            "pid": 9,
            "tid": 9,
            "ph": "X",
            "ts": at,
            "dur": d.choice([8, 4]),
            "name": "ParseClass",
            "args": {"detail": "c"},
        }
        total = {"count": 1, "avg ms": 0}
        yield {
            "pid": 9,
            "tid": 10 + number,
            "ph": "X",
            "ts": 0,
            "dur": 8,
            "name": "Total Source",
            "args": total,
        }
        d.ts += 9
    yield {
        "cat": "",
        "pid": 9,
        "tid": 9,
        "ts": 0,
        "ph": "M",
        "name": "process_name",
        "args": {"name": "clang-18"},
    }


@producer("[\n", "]\n")
def ninja(d: Draw) -> Events:
    for tid in range(d.randint(1, 4)):
        for _ in range(d.randint(1, 2)):
            yield {
                "name": "a.o",
                "cat": "targets",
                "ph": "X",
                "ts": str(d.next()),
                "dur": 3,
                "pid": 0,
                "tid": tid,
                "args": {},
            }
            d.ts += 4


@producer('{"traceEvents":[', "]}")
def node(d: Draw) -> Events:
    yield {
        **named("process_name", 5, "node"),
        "tid": 5,
        "ts": 1,
        "tts": 0,
        "cat": "__metadata",
        "dur": 0,
        "tdur": 0,
    }
    cat = "node,node.async_hooks"
    for _ in range(d.randint(1, 3)):
        one = {
            "pid": 5,
            "tid": 5,
            "cat": cat,
            "name": "Timeout",
            "id": d.choice(["0x6", "0x7"]),
            "tts": 3,
        }
        yield {**one, "ph": "b", "ts": d.next(), "args": {"data": {"executionAsyncId": 1}}}
        yield {**one, "ph": "n", "ts": d.next(), "args": {}}
        yield {**one, "ph": "e", "ts": d.next() + 1, "args": {}}
        d.ts += 2


@producer('{"metadata":{"source":"DevTools"},"traceEvents":[', "]}")
def devtools(d: Draw) -> Events:
    yield {**named("thread_name", 7, "CrRendererMain", 1), "cat": "__metadata", "ts": 0}
    for _ in range(d.randint(1, 3)):
        one = {"pid": 7, "tid": 1, "cat": "devtools.timeline"}
        args = {"data": {"frame": "F", "stackTrace": [{"url": "u", "line": 1}], "a.b": None}}
        yield {
            **one,
            "name": "RunTask",
            "ph": "X",
            "ts": d.next(),
            "dur": 5,
            "tts": 4,
            "tdur": 2,
            "args": args,
        }
        yield {
            **one,
            "name": "firstPaint",
            "ph": d.choice("IRi"),
            "s": d.choice("tpg"),
            "ts": d.next(),
            "args": {},
        }
        same = {
            **one,
            "name": "Latency",
            "id2": {d.choice(["local", "global"]): d.choice(["0x1", "0xA"])},
            "scope": "s",
        }
        yield {**same, "ph": "b", "ts": d.next(), "args": {}}
        yield {**same, "ph": "e", "ts": d.next() + 1, "args": {"layer.size()": 2}}
        d.ts += 6


@producer('{"traceEvents":[', '],"viztracer_metadata":{"version":"1"},"file_info":{"files":{}}}')
def viztracer(d: Draw) -> Events:
    yield named("process_name", 8, "MainProcess")
    for _ in range(d.randint(1, 3)):
        at = d.next()
        args = {"func_args": {"n": "1", "": "x"}, "return_value": d.choice(["None", 1.5, True])}
        yield {
            "pid": 8,
            "tid": 8,
            "ts": at,
            "ph": "X",
            "cat": "fee",
            "dur": 6.25,
            "name": "f (a.py:1)",
            "args": args,
        }
        yield {
            "pid": 8,
            "tid": 8,
            "ts": at + 1,
            "ph": "X",
            "cat": "fee",
            "dur": 5.25,
            "name": "g (a.py:2)",
        }
        yield {
            "ph": "C",
            "name": "gc",
            "ts": at,
            "pid": 8,
            "tid": 8,
            "args": {"collected": 1, "uncollectable": 0.5},
        }
        d.ts += 7


@producer("[\n", "")
def tracing_chrome(d: Draw) -> Events:
    yield named("thread_name", 1, "main", 0)
    for _ in range(d.randint(1, 3)):
        where = {"file.path": "src/main.rs", "line": 4, "": "message"}
        one = {"pid": 1, "tid": 0, "name": "request", "cat": "app::server"}
        yield {**one, "ph": "B", "ts": d.next(), "args": where}
        yield {**one, "ph": "i", "s": "t", "ts": d.next(), "args": {"message": 'got {"a"}'}}
        yield {**one, "ph": "E", "ts": d.next() + 1, "args": {"http.status": 200}}
        same = {**one, "id": d.choice([1, 2]), "name": "task"}
        yield {**same, "ph": "b", "ts": d.next() + 2}
        yield {**same, "ph": "e", "ts": d.next() + 3}
        d.ts += 5


@producer('{"traceEvents":[', "]}")
def opentelemetry(d: Draw) -> Events:
    for tid in range(1, d.randint(2, 4)):
        yield named("thread_name", 2, d.choice(["svc", ""]), tid)
        args = {
            "http.method": "GET",
            "http.status_code": "200",
            "span.kind": None,
            "net.peer": {"ip.v4": "1.2.3.4"},
        }
        one = {"pid": 2, "cat": "", "name": "GET /", "args": args}
        yield {**one, "tid": tid, "ph": "X", "ts": d.next(), "dur": 4}
        uuid = d.choice(["9f86d081", "9F86D081", "5feceb66-ffc8", "07"])
        yield {**one, "tid": tid, "ph": "b", "id": uuid, "ts": d.next()}
        yield {**one, "tid": tid, "ph": "e", "id": uuid, "ts": d.next() + 4}
        d.ts += 6


@producer("[", ",]")
def engine(d: Draw) -> Events:
    for _ in range(d.randint(1, 3)):
        one = {
            "pid": 0,
            "tid": d.choice([1, 2]),
            "name": d.choice(["Tick", "C:/game/x.cpp", "é", *_ESCAPED]),
        }
        yield {**one, "ph": "B", "ts": d.next()}
        yield {
            **one,
            "ph": "X",
            "ts": d.next(),
            "dur": 0,
            "name": "zero",
            "args": {"fps": 1.5, "n": -0.0},
        }
        yield {"pid": 0, "ph": "E", "ts": d.next() + 1, "tid": one["tid"]}
        yield {
            "pid": 0,
            "ph": "C",
            "ts": d.next(),
            "name": "Memory",
            "args": {"used": d.choice(["12", 3, 4.5])},
        }
        d.ts += 3


@producer('{"traceEvents":[', "]}")
def nsight(d: Draw) -> Events:
    for number in range(d.randint(1, 4)):
        at = d.next()
        yield {
            "ph": "X",
            "ts": f"{at}",
            "dur": "2.5",
            "pid": 4,
            "tid": f"stream {number % 2}",
            "name": "cudaLaunch",
            "cat": None,
            "args": None,
        }
        yield {
            "ph": "X",
            "ts": at + 3,
            "dur": 1,
            "pid": 4,
            "tid": 9,
            "name": "kernel",
            "args": {"BeginNs": "12", "ratio": 1e300, "id": 1 << 62},
        }
        d.ts += 5


#: Mistakes, as they are made in the text of an event.
def _mistake(d: Draw, event: dict[str, Any]) -> str:
    text = json.dumps(event, ensure_ascii=False)
    extra = d.choice(
        [
            *(f'"{name}":null' for name in ("cname", "id", "s", "bind_id", "sf")),
            *(
                '"cat":"d","cat":"e"',
                '"cat":7',
                '"cat":null',
                '"tid":3,"tid":1',
                '"name":"x","name":"y"',
            ),
            *('"pid":null', '"args":null', '"cname":"good","extra":{"a":[1,null]}', ""),
            *(
                '"name":5',
                '"name":null',
                f'"args":{{"bad":{d.choice(["inf", "-nan", "1.#INF", "None"])}}}',
            ),
            *_BACKSLASH,
            *('"args":{"":1,"a.b":{"c.d":2}}', '"args":{"[x]":1}'),
        ]
    )
    bad = event["ph"] in "CM" or "id" in event or "id2" in event
    if '"tid"' in extra and (isinstance(event.get("tid"), str) or not event.get("tid")):
        # The importer takes the number for the place of the text, and shows what happens to be there. Thread 0 is the
        # one that is called like its process there.
        return text
    if not extra or (bad and not extra.startswith(('"cname"', '"sf"', '"args":null'))):
        return text
    return f"{text[:-1]}, {extra}}}"


def document(number: int) -> bytes:
    """A document by its number."""
    d = Draw(number)
    draw, begin, end = list(PRODUCERS.values())[number % len(PRODUCERS)]
    events = [
        _mistake(d, one) if d.chance(0.25) else json.dumps(one, ensure_ascii=False)
        for one in draw(d)
    ]
    text = d.choice([",", ",\n", " , "]).join(events)
    return f"{begin}{text}{end}".encode()


#: Thread 0 is one called like its process to the importer of JSON.
_PLACE = """iif(coalesce(t.tid, 0) < 999, coalesce(nullif(t.tid, 0), p.pid, 0), 0),
    iif(coalesce(p.pid, q.pid) < 999, coalesce(p.pid, q.pid), 0)"""
_NAME = "nullif(nullif(s.name, '[No name]'), '')"
QUERIES = {
    "slices": (f"s.ts, s.dur, s.depth, {_NAME}, nullif(s.category, ''), {_PLACE}", SLICES),
    "arguments": (
        f"""s.ts, {_NAME}, iif(a.key glob 'args.*' or a.key glob 'debug.*', substr(a.key, instr(a.key, '.') + 1),
        a.key), cast(coalesce(a.string_value, a.int_value, a.real_value) as text)""",
        "slice s join args a using (arg_set_id) where a.key not glob 'legacy*'",
    ),
    "flows": (
        "a.ts, nullif(nullif(a.name, '[No name]'), ''), b.ts, nullif(nullif(b.name, '[No name]'), '')",
        "flow f join slice a on a.id = f.slice_out join slice b on b.id = f.slice_in",
    ),
    "counters": ("c.ts, c.value", COUNTERS),
    "threads": (
        "coalesce(nullif(t.tid, 0), p.pid), t.name, iif(p.pid < 999, p.pid, 0)",
        "thread t left join process p using (upid) where t.tid < 999 and t.name <> ''",
    ),
    "processes": ("pid, name", "process where pid < 999 and pid and name <> ''"),
}
#: Losses that touch the arguments of slices alone.
_OF_ARGUMENTS = {
    "argument-name-shown-as",
    "field-as-text",
    "field-renamed",
    "field-type",
    "nested-fields",
    "optional-fields",
}


def excused(loss: Loss, queries: Collection[str]) -> frozenset[str]:
    """The queries whose rows a loss names."""
    if loss.code in _OF_ARGUMENTS:
        return frozenset({"arguments"})
    if loss.code in ("counter-arguments-in-instants", "slice-end-added"):
        # Older importers leave open what ends with the slice around.
        return frozenset({"slices"})
    columns = changed_by(loss)
    found = {column.partition(".")[0] for column in columns - {"slices.args"}}
    if loss.loss_class is not LossClass.SHOWN:
        found -= {"slices"}
    if columns & {"slices.args", "slices.*"}:
        found.add("arguments")
    return frozenset(found & set(queries))


GRAMMAR = Grammar(
    suffix=".json",
    document=document,
    queries=QUERIES,
    targets=("made.pftrace", "made.fxt", "again.json"),
    excused=lambda loss: excused(loss, QUERIES),
    faults=("json_", CROSSING),
    fatal="json_tokenizer_failure",
    beside=frozenset({"arguments", "threads", "processes"}),
)


if __name__ == "__main__":
    sys.exit(main(GRAMMAR, __doc__, lambda number: list(PRODUCERS)[number % len(PRODUCERS)]))

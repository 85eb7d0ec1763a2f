"""What a program adds is in the trace, and what cannot be is an error where it is added."""

import numpy as np
import pytest
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter import ArgumentError, TraceBuilder
from converter.fixtures.generation import file_name, variants
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.projection.project import project

NAMES = [f"{format.name}+{variant}" if variant else format.name for format, variant in variants()]


def built():
    """A builder with something of everything."""
    builder = TraceBuilder(epoch_ns=1_700_000_000_000_000_000, environment={"hostname": "here"})
    main = builder.thread(1, "main", pid=1)
    worker = builder.thread(2, "worker", pid=1)
    builder.process(1, "app", parent=0, command=("app", "-v"))
    memory = builder.track("memory", pid=1, unit="bytes")
    builder.begin("frame", 1000, main, category="render", args={"size": 3, "ratio": 0.5})
    builder.slice("load", 1100, 50, main, args={"url": "https://[::1]/"})
    builder.end(2000, main)
    builder.slice(["a", "b"], [1200, 1300], [20, 30], worker, args={"n": [1, 2]})
    builder.counter("memory", [1000, 1500], [10, 20], memory)
    builder.instant("tick", 1250, worker)
    builder.flow(7, [1110, 1210], [main, worker])
    builder.log("hello", 1900, main)
    builder.event(
        *("sched_switch", [1000, 1400], 1),
        cpu=0,
        fields={
            "prev_comm": "main",
            "prev_pid": [1, 2],
            "prev_prio": 120,
            "prev_state": 0,
            "next_comm": ["worker", "main"],
            "next_pid": [2, 1],
            "next_prio": 120,
        },
    )
    return builder


def test_what_was_added_is_there_in_the_order_of_time():
    trace = built().trace()
    check(collect(trace))
    events = trace.events()
    assert events["ts"].tolist() == sorted(events["ts"])
    assert events["kind"].tolist()[:4] == [
        *("slice_begin", "counter", "sched_switch", "slice_complete"),
    ]
    assert events["name"].tolist()[3] == "load"
    slices = trace.events("slice_complete")
    assert slices["name"].tolist() == ["load", "a", "b"]
    assert slices["duration"].tolist() == [50, 20, 30]
    assert slices["thread"].tolist() == ["main", "worker", "worker"]
    assert slices["n"].tolist() == [None, 1, 2]
    switches = trace.events("sched:sched_switch")
    assert switches["next_pid"].tolist() == [2, 1]
    assert switches["next_pid"].dtype == np.int32
    assert switches["prev_comm"].tolist() == ["main", "main"]
    assert trace.thread(2).process == 0
    assert trace.processes[0].command_line == ("app", "-v")


def test_rows_and_columns_make_the_same():
    rows, columns = TraceBuilder(), TraceBuilder()
    for builder in (rows, columns):
        builder.thread(5, "x")
        builder.thread(6, "y")
    for i in range(10):
        rows.slice(f"s{i % 3}", 100 * i, 10, 5 + i % 2, args={"i": i, "text": str(i), "f": i / 2})
        rows.counter("c", 100 * i, i, 5)
        rows.event("irq_handler_entry", 100 * i, cpu=1, fields={"irq": i, "name": "eth"})
    i = np.arange(10)
    texts = [str(n) for n in i]
    columns.slice(
        *([f"s{n % 3}" for n in i], 100 * i, 10, 5 + i % 2),
        args={"i": i, "text": texts, "f": i / 2},
    )
    columns.counter("c", 100 * i, i, 5)
    columns.event("irq_handler_entry", 100 * i, cpu=1, fields={"irq": i, "name": "eth"})
    first, second = collect(rows.trace()), collect(columns.trace())
    assert sorted(map(repr, first.event_classes)) == sorted(map(repr, second.event_classes))
    for name in ("slice_complete", "counter", "irq_handler_entry"):
        one, other = first.events(name), second.events(name)
        assert list(one) == list(other)
        assert all(one[key].tolist() == other[key].tolist() for key in one)


@pytest.mark.parametrize("name", NAMES)
def test_any_format_is_written_of_it(name, tmp_path):
    format, variant = converter.registry.format_named(name)
    path = tmp_path / file_name(format, variant)
    trace = built().trace()
    converter.write(trace, path, name)
    if not format.holds_all:
        trace = project(trace, format.capabilities(variant), format.name)[0]
    assert difference(collect(trace), converter.read(path)) is None


def test_more_events_than_a_batch_has():
    builder = TraceBuilder()
    main = builder.thread(1)
    ts = np.arange(200_000)
    builder.instant("x", ts[::-1].copy(), main, args={"n": ts})
    trace = builder.trace()
    sizes = [len(batch) for batch in trace.batches()]
    assert len(sizes) == 4
    assert trace.events()["n"].tolist() == ts[::-1].tolist()


def test_a_trace_is_as_it_was_when_it_was_asked_for():
    builder = TraceBuilder()
    main = builder.thread(1)
    builder.instant("x", 1, main)
    before = builder.trace()
    builder.instant("y", 2, main)
    builder.thread(2)
    assert before.events()["name"].tolist() == ["x"]
    assert len(before.threads) == 1
    assert builder.trace().events()["name"].tolist() == ["x", "y"]
    assert repr(builder) == "<TraceBuilder: 2 events of 1 classes, 2 threads, 0 tracks>"


def test_nothing_is_a_trace():
    trace = TraceBuilder().trace()
    assert trace.events().count == 0


def test_values_of_every_type():
    builder = TraceBuilder()
    values = {
        "int": -1,
        "big": (1 << 64) - 1,
        "float": 1.5,
        "text": "größer",
        "bytes": b"\0\1",
        "bool": True,
        "none": None,
        "list": [1, 2],
        "texts": ["a", "b"],
        "array": np.array([1, 2], np.uint16),
        "narrow": np.int8(4),
    }
    builder.event("made_up", 1, fields=values)
    trace = collect(builder.trace())
    check(trace)
    events = trace.events()
    held = {name: events[name][0] for name in values}
    assert [held.pop(name).tolist() for name in ("list", "texts", "array")] == [
        *([1, 2], ["a", "b"], [1, 2]),
    ]
    assert held == {name: values[name] for name in held}
    assert events["narrow"].dtype == np.int8


def test_a_value_of_many_events_is_that_of_all():
    builder = TraceBuilder()
    values = {"int": -1, "big": (1 << 64) - 1, "text": "x", "bytes": b"\0\1", "none": None}
    builder.event("made_up", 1, fields=values)
    builder.event("made_up", [2, 3], fields=values)
    builder.event("made_up", [4, 5], fields={**values, "bytes": [b"a\0", b""], "int": [7, 8]})
    trace = collect(builder.trace())
    check(trace)
    assert len(trace.event_classes) == 1
    events = trace.events()
    assert events["bytes"].tolist() == [b"\0\1", b"\0\1", b"\0\1", b"a\0", b""]
    assert events["big"].tolist() == [(1 << 64) - 1] * 5
    assert events["int"].tolist() == [-1, -1, -1, 7, 8]


WRONG = {
    "a time": (lambda b: b.instant("x", 1.5), "ts is an integer, not 1.5; round it first"),
    "times": (lambda b: b.instant("x", [1.0]), "ts are integers, not float64"),
    "a large time": (lambda b: b.instant("x", 1 << 63), "ts is from"),
    "large times": (lambda b: b.instant("x", np.array([1 << 63], np.uint64)), "not 9223372036854775808"),
    "no time": (lambda b: b.instant("x", np.array(3)), "neither an integer nor a column"),
    "a truth value as time": (lambda b: b.instant("x", True), "ts is an integer"),
    "a name": (lambda b: b.instant(3, 1), "the name is a text, not 3"),
    "names": (lambda b: b.instant([1, 2], [1, 2]), "the name is a text"),
    "no name": (lambda b: b.instant(None, 1), "the name is a text, not None"),
    "a duration": (lambda b: b.slice("x", 1, -1, 1), "duration is from 0"),
    "durations": (lambda b: b.slice("x", [1, 2], [1], 1), "duration has 1 values for 2 events"),
    "an end": (lambda b: b.end(1, 1), r"no slice is open on thread 1: call begin\(\) first"),
    "an early end": (lambda b: (b.begin("x", 5, 1), b.end(4, 1)), "began at 5 on thread 1 ends at 4"),
    "no end": (lambda b: (b.begin("x", 5, 1), b.trace()), r"still open: call end\(\)"),
    "a thread": (lambda b: b.instant("x", 1, 9), r"no thread 9: declare it with thread\(9, name\)"),
    "threads": (lambda b: b.instant("x", [1, 2], [1, 9]), "no thread 9"),
    "a thread of two": (lambda b: (b.thread(1, pid=7), b.instant("x", 1, 1)), "of several processes"),
    "a place": (lambda b: b.instant("x", 1, 1.5), "not 1.5"),
    "another's place": (
        lambda b: b.instant("x", 1, converter.Place(5, -1, "thread 5")),
        "thread 5 is of another builder",
    ),
    "a process": (lambda b: b.track("t", pid=9), r"no process 9: declare it with process\(9, name\)"),
    "two owners": (lambda b: b.track("t", pid=1, cpu=1), "give one of them"),
    "a cpu": (lambda b: b.event("e", 1, cpu=1 << 40), "cpu is from"),
    "cpus": (lambda b: b.event("e", [1], cpu=[-2]), "cpu are from -1"),
    "a pid": (lambda b: b.process(-4), "pid is from 0"),
    "a counter": (lambda b: b.counter("c", 1, "much"), "the value of a counter is a number"),
    "a flow of one": (lambda b: b.flow(1, [1], [1]), "through two places and more"),
    "a flow back": (lambda b: b.flow(1, [2, 1], [1, 1]), "a flow goes on in time"),
    "an argument": (lambda b: b.instant("x", 1, args={"a": {1}}), "field 'a' is an int, float"),
    "a mixed list": (lambda b: b.instant("x", 1, args={"a": [1, "b"]}), "of several types"),
    "a mixed column": (
        lambda b: b.instant("x", [1, 2], args={"a": ["b", None]}),
        "field 'a' are of NoneType, str; a column has values of one type",
    ),
    "a large number": (lambda b: b.instant("x", 1, args={"a": 1 << 64}), "an integer of 64 bits"),
    "dates": (
        lambda b: b.instant("x", [1], args={"a": np.array(["2024-01-01"], "M8[ns]")}),
        "datetime64",
    ),
    "a table": (lambda b: b.instant("x", [1], args={"a": np.zeros((1, 2))}), "2 dimensions"),
    "a name of a field": (lambda b: b.instant("x", 1, args={3: 1}), "name of a field is a text"),
    "a kernel event": (
        lambda b: b.event("sched_switch", 1, fields={"prev_pid": 1}),
        "sched:sched_switch needs fields next_pid",
    ),
    "a kernel number": (
        lambda b: b.event("sched_switch", 1, fields={"prev_pid": 1 << 40, "next_pid": 1}),
        "field 'prev_pid' is from -2147483648",
    ),
    "a clock": (lambda b: TraceBuilder(ticks_per_second=0), "a rate above 0"),
    "an epoch": (lambda b: TraceBuilder(epoch_ns=1 << 70), "epoch_ns is from"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_is_an_error_of_the_call(what):
    builder = TraceBuilder()
    builder.thread(1, "main")
    call, message = WRONG[what]
    with pytest.raises(ArgumentError, match=message) as raised:
        call(builder)
    assert isinstance(raised.value, ValueError)
    assert isinstance(raised.value, converter.TraceError)


def test_kernel_events_mean_what_they_mean_in_linux():
    builder = TraceBuilder()
    builder.event("sched_waking", 1, cpu=0, fields={"pid": 4, "comm": "x"})
    builder.event("hello", 1, system="lttng_ust_app", fields={"pid": 4})
    waking, hello = builder.trace().event_classes
    assert (waking.kind, waking.category, waking.index_of(Role.TID)) == (
        Kind.SCHED_WAKING,
        "sched",
        0,
    )
    assert (hello.kind, hello.category, hello.index_of(Role.TID)) == (
        Kind.TYPED,
        "lttng_ust_app",
        None,
    )


@needs_trace_processor
def test_a_viewer_shows_it(tmp_path):
    path = tmp_path / "built.pftrace"
    converter.write(built().trace(), path)
    slices = answer(
        path,
        "select s.name, s.dur, t.name from slice s join thread_track r on s.track_id = r.id "
        "join thread t using (utid) where s.dur > 0 order by s.ts",
    )
    assert slices == [
        ["frame", "1000", "main"],
        ["load", "50", "main"],
        ["a", "20", "worker"],
        ["b", "30", "worker"],
    ]
    counters = answer(
        path,
        "select t.name, t.unit, c.value from counter c join process_counter_track t on c.track_id = t.id",
    )
    assert counters == [["memory", "bytes", "10.000000"], ["memory", "bytes", "20.000000"]]
    assert answer(path, "select count(*) from flow") == [["1"]]
    assert answer(
        path, "select dur from sched where utid in (select utid from thread where tid = 2)"
    ) == [["400"]]


def test_dicts_are_nested_arguments():
    builder = TraceBuilder()
    builder.thread(1, "main")
    where = {"path": "/etc/hosts", "line": 3, "tags": ["a", "b"], "none": None}
    builder.slice("one", 10, 5, "main", args={"where": where})
    builder.slice("many", [20, 30], 5, "main", args={"where": where})
    builder.slice("each", [40, 50], 5, 1, args={"at": [{"x": 1}, {"x": 2}]})
    events = [*builder.trace().iter_events()]
    assert [event.get("where") for event in events[:3]] == [where] * 3
    assert [event["at"] for event in events[3:]] == [{"x": 1}, {"x": 2}]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({1: 2}, "a name in field 'a' is a text, not 1"),
        ({"b": [1, "c"]}, r"field 'a'\['b'\] is a list of values of several types"),
        ({"b": object()}, r"field 'a'\['b'\] is an int, float"),
    ],
)
def test_dicts_that_no_argument_can_be(value, told):
    builder = TraceBuilder()
    with pytest.raises(ArgumentError, match=told):
        builder.instant("x", 1, args={"a": value})
    deep = {}
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(ArgumentError, match="to a depth over 64"):
        builder.instant("x", 1, args={"a": deep})
    with pytest.raises(ArgumentError, match="dicts with different names or types"):
        builder.instant("x", [1, 2], args={"a": [{"x": 1}, {"y": 1}]})
    assert builder.trace().events().count == 0


def test_a_thread_is_known_by_its_name():
    builder = TraceBuilder()
    builder.thread(1, "main")
    builder.thread(2, "worker")
    builder.thread(3, "worker")
    builder.instant("x", 1, "main")
    builder.instant("y", [2, 3], "main")
    assert builder.trace().events()["tid"].tolist() == [1, 1, 1]
    with pytest.raises(ArgumentError, match="no thread is called 'io': declare it"):
        builder.instant("x", 1, "io")
    with pytest.raises(ArgumentError, match="threads 2, 3 are called 'worker'"):
        builder.instant("x", 1, "worker")


def test_asynchronous_slices_need_not_nest():
    builder = TraceBuilder()
    builder.thread(1, "main")
    builder.async_slice("request", 10, 20, 1, category="net", args={"url": "/a"})
    builder.async_slice("request", 15, 30, 1)
    slices = builder.trace().slices()
    assert slices["ts"].tolist() == [10, 15]
    assert slices["dur"].tolist() == [20, 30]
    assert slices["category"].tolist() == ["net", None]
    with pytest.raises(ArgumentError, match="duration is from 0"):
        builder.async_slice("request", 1, -1)
    with pytest.raises(ArgumentError, match=r"start \+ duration"):
        builder.async_slice("request", (1 << 63) - 1, 1)
    assert builder.trace().events().count == 4


def test_arrows_connect_slices(tmp_path):
    builder = TraceBuilder()
    builder.thread(1, "main")
    builder.thread(2, "io")
    builder.slice("ask", 10, 20, 1)
    builder.slice("answer", 40, 20, 2)
    builder.connect((15, 1), (45, "io"))
    builder.connect((16, 1), (46, 2), name="second")
    flows = builder.trace().events()
    ids = flows["id"][flows["kind"] == "flow_begin"].tolist()
    assert len(set(ids)) == 2
    for points in ((), ((1, 1),), (1, 2), ((1, 2, 3), (4, 5, 6))):
        with pytest.raises(ArgumentError, match=r"two places and more|a time and a place"):
            builder.connect(*points)

"""The work of a conversion grows as the trace does, in whatever it has more of: counted in calls of functions."""

import itertools
import sys

import pytest
from support.samples import sampled

import converter
from converter.analysis.building.builder import TraceBuilder
from converter.storage.pool import workers

#: A size, its double and that one's. Growth between them leaves out what is done once.
SIZES = (60, 120, 240)
TARGETS = ("dat", "fxt", "uftrace", "lttng", "pftrace", "json", "aix", "ctf", "parquet")
NAMED = {"ctf": "ctf", "parquet": "parquet"}
#: Twice as many calls are added by twice as much, and some more where threads take turns; four times as many where each
#: looks at all others.
MOST = 2.4
#: Fewer calls than that are of no weight: a block is full once in a while.
_FEW = 2000


def arguments(builder, count):
    thread = builder.thread(7, "thread", pid=7)
    for number in range(count):
        builder.slice("work", 1000 * number, 500, thread, args={f"argument{number}": number})


def classes(builder, count):
    thread = builder.thread(7, "thread", pid=7)
    for number in range(count):
        fields = {"value": number}
        builder.event(f"event{number}", 1000 * number, thread, cpu=0, system="own", fields=fields)


def threads(builder, count):
    builder.process(7, "process")
    for number in range(count):
        thread = builder.thread(100 + number, f"thread{number}", pid=7)
        builder.slice("work", 1000 * number, 500, thread)


def processes(builder, count):
    for number in range(count):
        builder.process(100 + number, f"process{number}")
        thread = builder.thread(100 + number, f"process{number}", pid=100 + number)
        builder.slice("work", 1000 * number, 500, thread)


def tracks(builder, count):
    builder.thread(7, "thread", pid=7)
    for number in range(count):
        builder.slice("work", 1000 * number, 500, builder.track(f"track{number}", pid=7))


def cpus(builder, count):
    thread = builder.thread(7, "thread", pid=7)
    for number in range(count):
        fields = {"value": number}
        builder.event("event", 1000 * number, thread, cpu=number, system="own", fields=fields)


def texts(builder, count):
    thread = builder.thread(7, "thread", pid=7)
    for number in range(count):
        builder.slice(f"work{number}", 1000 * number, 500, thread, category=f"category{number}")


def fields(builder, count):
    thread = builder.thread(7, "thread", pid=7)
    builder.slice(
        "work", 0, 500, thread, args={f"argument{each}": each for each in range(4 * count)}
    )


DIMENSIONS = {
    made.__name__: made
    for made in (arguments, classes, threads, processes, tracks, cpus, texts, fields)
}


@pytest.fixture
def one_thread():
    before = workers.workers()
    workers.use_workers(1)
    yield
    workers.use_workers(before)


def calls(work):
    """How many functions are called."""
    count = 0

    def follow(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


#: What makes classes of events is read from JSON, which declares nothing; the rest as it is.
OF_JSON = ("arguments", "classes", "tracks")


@pytest.mark.parametrize(
    ("dimension", "target"), sampled(itertools.product(DIMENSIONS, TARGETS), 8)
)
def test_twice_as_much_takes_twice_as_long(dimension, target, tmp_path, one_thread):
    inputs = []
    for size in SIZES:
        builder = TraceBuilder()
        DIMENSIONS[dimension](builder, size)
        inputs.append(tmp_path / f"{size}.{'json' if dimension in OF_JSON else 'tcir'}")
        converter.write(builder.trace(), inputs[-1])
    output, format = tmp_path / f"out.{target}", NAMED.get(target)

    def convert(path):
        converter.convert(path, output, target_format=format, force=True)

    def read():
        with converter.open_trace(output) as trace:
            for batch in trace.batches():
                len(batch)

    convert(inputs[0])  # what is imported and made once
    read()
    written, got = [], []
    for path in inputs:
        written.append(calls(lambda path=path: convert(path)))
        got.append(calls(read))
    for small, middle, large in (written, got):
        assert (large - middle) / max(middle - small, _FEW) <= MOST

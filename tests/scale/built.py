"""Dimensions of any trace, drawn with `TraceBuilder`."""

from __future__ import annotations

import numpy as np
from scale.drawn import Dimension, Drawn, token, tokens

from converter.analysis.building.builder import TraceBuilder
from converter.ir.collect import with_batches

#: Ticks between events.
STEP = 1000


def times(count: int, start: int = STEP) -> list[int]:
    """A time for each event."""
    return [start + STEP * number for number in range(count)]


def names(kind: str, count: int) -> list[str]:
    """A name for each event."""
    return [token(kind, number) for number in range(count)]


def on_one_thread() -> TraceBuilder:
    """A trace of one thread, whose number is 7."""
    builder = TraceBuilder()
    builder.thread(7, "thread", pid=7)
    return builder


def texts(count: int) -> Drawn:
    """Names and arguments, each another text."""
    builder = on_one_thread()
    if count:
        args = {"text": names("a", count)}
        builder.instant(names("n", count), times(count), 7, args=args)
    return Drawn(builder.trace(), tokens("n", count) | tokens("a", count))


def categories(count: int) -> Drawn:
    """Slices of as many categories."""
    builder = on_one_thread()
    for number, ts in enumerate(times(count)):
        builder.slice("same", ts, 500, 7, category=token("c", number))
    return Drawn(builder.trace(), tokens("c", count))


def threads(count: int) -> Drawn:
    """Threads of one process, with a slice each."""
    builder = TraceBuilder()
    builder.process(7, "process")
    for number in range(count):
        builder.thread(100 + number, token("t", number), pid=7)
    if count:
        builder.slice("slice", times(count), [500] * count, list(range(100, 100 + count)))
    return Drawn(builder.trace(), tokens("t", count))


def processes(count: int) -> Drawn:
    """Processes, each with a parent, a command line and a slice."""
    builder = TraceBuilder()
    for number in range(count):
        parent = 100 + number // 2
        builder.process(100 + number, token("p", number), parent=parent, command=["run", "it"])
        builder.thread(100 + number, token("p", number))
    if count:
        builder.slice("slice", times(count), [500] * count, list(range(100, 100 + count)))
    return Drawn(builder.trace(), tokens("p", count))


def tasks(count: int) -> Drawn:
    """Tasks that run in turn on four CPUs, each woken by the one before."""
    builder = TraceBuilder()
    builder.process(0)
    for number in range(count):
        builder.thread(100 + number, token("t", number))
    ids = np.arange(count)
    following = (ids + 1) % max(count, 1)
    comms = np.array(names("t", count), object)
    if count:
        ts = np.array(times(count))
        switch = {
            "prev_comm": comms,
            "prev_pid": 100 + ids,
            "prev_prio": np.full(count, 120),
            "prev_state": np.zeros(count, np.int64),
            "next_comm": comms[following],
            "next_pid": 100 + following,
            "next_prio": np.full(count, 120),
        }
        wake = {
            "comm": comms[following],
            "pid": 100 + following,
            "prio": np.full(count, 120),
            "target_cpu": ids % 4,
        }
        builder.event("sched_waking", ts - 500, 100 + ids, cpu=ids % 4, fields=wake)
        builder.event("sched_switch", ts, 100 + ids, cpu=ids % 4, fields=switch)
    return Drawn(builder.trace(), tokens("t", count))


def forks(count: int) -> Drawn:
    """Tasks that are forked off each other, named and exit."""
    builder = TraceBuilder()
    for number, ts in enumerate(times(count)):
        parent, child = 100 + number, 101 + number
        forked = {
            "parent_comm": token("t", number),
            "parent_pid": parent,
            "child_comm": token("t", number),
            "child_pid": child,
        }
        builder.thread(parent, token("t", number))
        builder.event("sched_process_fork", ts, parent, cpu=number % 4, fields=forked)
        left = {"comm": token("t", number), "pid": parent, "prio": 120}
        builder.event("sched_process_exit", ts + 10, parent, cpu=number % 4, fields=left)
    return Drawn(builder.trace(), tokens("t", count))


def cpus(count: int) -> Drawn:
    """CPUs with an event each."""
    builder = on_one_thread()
    if count:
        fields = {"name": names("v", count)}
        builder.event(
            "event", times(count), 7, cpu=list(range(count)), system="mine", fields=fields
        )
    return Drawn(builder.trace(), tokens("v", count))


def tracks(count: int) -> Drawn:
    """Tracks of a process with a slice each."""
    builder = on_one_thread()
    for number, ts in enumerate(times(count)):
        builder.slice("slice", ts, 500, builder.track(token("k", number), pid=7))
    return Drawn(builder.trace(), tokens("k", count))


def counters(count: int) -> Drawn:
    """Tracks of counters with a value each."""
    builder = on_one_thread()
    for number, ts in enumerate(times(count)):
        track = builder.track(token("k", number), pid=7)
        builder.counter(token("k", number), ts, number + 5_000_000, track)
    return Drawn(builder.trace(), tokens("k", count))


def classes(count: int) -> Drawn:
    """Tracepoints with an event each."""
    builder = on_one_thread()
    for number, ts in enumerate(times(count)):
        fields = {"value": number}
        builder.event(token("e", number), ts, 7, cpu=0, system="mine", fields=fields)
    return Drawn(builder.trace(), tokens("e", count))


def systems(count: int) -> Drawn:
    """Groups of tracepoints."""
    builder = on_one_thread()
    for number, ts in enumerate(times(count)):
        builder.event("e", ts, 7, cpu=0, system=token("s", number), fields={"value": number})
    return Drawn(builder.trace(), tokens("s", count))


def argument_names(count: int) -> Drawn:
    """Slices with one argument, each of another name: as many shapes."""
    builder = on_one_thread()
    for number, ts in enumerate(times(count)):
        builder.slice("slice", ts, 500, 7, args={token("f", number): number})
    return Drawn(builder.trace(), tokens("f", count))


def fields(count: int) -> Drawn:
    """Fields of a tracepoint."""
    builder = on_one_thread()
    for ts in times(2):
        values = {name: ts + number for number, name in enumerate(names("f", count))}
        builder.event("wide", ts, 7, cpu=0, system="mine", fields=values)
    return Drawn(builder.trace(), tokens("f", count))


def arguments(count: int) -> Drawn:
    """Arguments of a slice."""
    builder = on_one_thread()
    for ts in times(2):
        values = {name: ts + number for number, name in enumerate(names("f", count))}
        builder.slice("slice", ts, 500, 7, args=values)
    return Drawn(builder.trace(), tokens("f", count))


def lists(count: int) -> Drawn:
    """Numbers of a list."""
    builder = on_one_thread()
    for ts in times(3):
        values = np.arange(count, dtype=np.uint32) + np.uint32(ts)
        builder.event("list", ts, 7, cpu=0, system="mine", fields={"values": values})
    return Drawn(builder.trace())


def long_texts(count: int) -> Drawn:
    """Letters of an argument."""
    builder = on_one_thread()
    for ts in times(3):
        builder.instant("instant", ts, 7, args={"text": f"{ts}".ljust(count, "x")[:count]})
    return Drawn(builder.trace())


def long_names(count: int) -> Drawn:
    """Letters of a slice's name."""
    builder = on_one_thread()
    for ts in times(3):
        builder.slice(f"{ts}".ljust(count, "x")[:count], ts, 500, 7)
    return Drawn(builder.trace())


def nested(count: int) -> Drawn:
    """Slices in each other, with a begin and an end each."""
    builder = on_one_thread()
    for number, ts in enumerate(times(count)):
        builder.begin(token("d", number), ts, 7)
    for ts in times(count, STEP * (count + 1)):
        builder.end(ts, 7)
    return Drawn(builder.trace(), tokens("d", count))


def complete(count: int) -> Drawn:
    """Slices in each other whose lengths are known."""
    builder = on_one_thread()
    if count:
        lengths = [2 * STEP * (count - number) - 500 for number in range(count)]
        builder.slice(names("d", count), times(count), lengths, 7)
    return Drawn(builder.trace(), tokens("d", count))


def open_slices(count: int) -> Drawn:
    """Slices that are open at the same time, on a thread each."""
    builder = TraceBuilder()
    for number, ts in enumerate(times(count)):
        builder.thread(100 + number, token("t", number), pid=7)
        builder.begin(token("d", number), ts, 100 + number)
    for number, ts in enumerate(times(count, STEP * (count + 1))):
        builder.end(ts, 100 + number)
    return Drawn(builder.trace(), tokens("d", count) | tokens("t", count))


def flows(count: int) -> Drawn:
    """Arrows between two threads, all under way at the same time."""
    builder = on_one_thread()
    builder.thread(8, "other", pid=7)
    if count:
        sent, received = times(count), times(count, STEP * (count + 1))
        builder.slice(names("s", count), sent, [400] * count, 7)
        builder.slice(names("r", count), received, [400] * count, 8)
        for number, (start, end) in enumerate(zip(sent, received, strict=True)):
            builder.flow(70_000_000 + number, [start + 1, end + 1], [7, 8], name="arrow")
    return Drawn(builder.trace(), tokens("s", count) | tokens("r", count))


def logs(count: int) -> Drawn:
    """Lines of text."""
    builder = on_one_thread()
    if count:
        builder.log(names("m", count), times(count), 7, cpu=0)
    return Drawn(builder.trace(), tokens("m", count))


def losses(count: int) -> Drawn:
    """Classes of which each format but the exact one has to leave something out."""
    builder = on_one_thread()
    for number, ts in enumerate(times(count)):
        held = {f"x {number}": b"\xff\0bytes", f"y {number}": [1.5, float("nan")]}
        builder.event(token("e", number), ts, 7, system="mine", fields=held)
    return Drawn(builder.trace(), tokens("e", count))


def batches(count: int) -> Drawn:
    """Batches of an event, of two classes in turn."""
    builder = on_one_thread()
    for number, ts in enumerate(times(count)):
        if number % 2:
            builder.instant(token("n", number), ts, 7)
        else:
            builder.slice(token("n", number), ts, 500, 7)
    trace = builder.trace()
    single = [batch.select([place]) for batch in trace.batches() for place in range(len(batch))]
    return Drawn(with_batches(trace, single), tokens("n", count))


DIMENSIONS = [
    Dimension("tasks", tasks),
    Dimension("forks", forks),
    Dimension("threads", threads),
    Dimension("processes", processes),
    # CTF traces have a file for each, of which one may be read up to 65,536.
    Dimension("CPUs", cpus, most=(1 << 16) - 1),
    Dimension("tracks", tracks),
    Dimension("counters", counters),
    Dimension("texts", texts),
    Dimension("categories", categories),
    Dimension("long texts", long_texts),
    Dimension("long names", long_names),
    Dimension("classes", classes),
    Dimension("systems", systems),
    Dimension("argument names", argument_names),
    Dimension("fields", fields),
    Dimension("arguments", arguments),
    Dimension("list lengths", lists),
    Dimension("nesting depth", nested),
    Dimension("nesting depth, complete", complete),
    Dimension("open slices", open_slices),
    Dimension("flows", flows),
    Dimension("logs", logs),
    Dimension("losses", losses),
    Dimension("batches", batches),
]

"""Depths and times of calls, as a stack for each thread has them."""

import random
import shutil
import subprocess

import pytest
from support.trace_cmd.writing import projected, written
from support.traces.small_traces import trace_of

from converter.ir.collect import collect
from converter.ir.columns import value
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.projection.domain.function_calls import with_depths

ADDRESS = Field("addr", IntegerClass(64), Role.FUNCTION)
ENTRY = EventClass(Kind.FUNCTION_ENTRY, "in", "p", (ADDRESS,))
EXIT = EventClass(Kind.FUNCTION_EXIT, "out", "p", (ADDRESS,))
#: As of lttng_ust_cyg_profile_fast.
BARE_EXIT = EventClass(Kind.FUNCTION_EXIT, "out", "fast")
DEPTH = Field("depth", IntegerClass(32), Role.DEPTH)
KNOWN = EventClass(Kind.FUNCTION_ENTRY, "graph", "p", (ADDRESS, DEPTH))
OTHER = EventClass(Kind.TYPED, "x")


def fields_of(trace):
    found = []
    result = collect(with_depths(trace))
    for batch in result.batches():
        for i, number in enumerate(batch.class_id.tolist()):
            declared = result.event_classes[number]
            table = batch.tables[number]
            fields = {
                field.name: value(table.column(k), field.type, int(batch.row[i]), result.strings)
                for k, field in enumerate(declared.fields)
            }
            found.append((int(batch.ts[i]), declared.name, fields))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_calls_are_as_a_stack_has_them(seed):
    chance = random.Random(seed)
    batches, expected, now = [], [], 0
    stacks = {thread: [] for thread in (-1, 0, 1, 2)}
    for _ in range(chance.randint(1, 4)):
        batch = []
        for _ in range(chance.randint(1, 60)):
            now += chance.randint(0, 3)
            thread = chance.choice(list(stacks))
            stack = stacks[thread]
            number = chance.choice([0, 0, 1, 2, 4])
            function = chance.randint(1, 5)
            row = (function,) if number in (0, 1) else ()
            batch.append((number, now, 0, thread, row))
            if number == 0:
                expected.append((now, "in", {"addr": function, "depth": len(stack)}))
                stack.append((now, function))
            elif number == 4:
                expected.append((now, "x", {}))
            else:
                begin, of_entry = stack.pop() if stack else (now, function if number == 1 else 0)
                own = {"addr": function} if number == 1 else {"func": of_entry}
                times = {"depth": len(stack), "calltime": begin, "rettime": now}
                expected.append((now, "out", {**own, **times}))
        batches.append(batch)
    trace = trace_of([ENTRY, EXIT, BARE_EXIT, KNOWN, OTHER], *batches)
    assert fields_of(trace) == expected


def test_depths_that_are_said_stay():
    trace = trace_of([KNOWN, OTHER], [(0, 1, 0, 1, (7, 3)), (1, 2, 0, 1, ())])
    assert fields_of(trace) == [(1, "graph", {"addr": 7, "depth": 3}), (2, "x", {})]


@pytest.mark.parametrize("program", ["trace-cmd", "trace-cmd-3.4"])
def test_trace_cmd_shows_durations_and_nesting(program, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    rows = [(0, 1000), (0, 2000), (1, 5000), (0, 6000), (0, 6100), (1, 6900), (1, 7000), (1, 9000)]
    events = [(number * 2, ts, 0, 1, (0x1111,) if number == 0 else ()) for number, ts in rows]
    trace = trace_of([ENTRY, EXIT, BARE_EXIT], events)
    path = tmp_path / "a.dat"
    path.write_bytes(written(projected(trace), "v6"))
    done = subprocess.run([program, "report", path], capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()[1:]
    found = [line.partition("funcgraph_")[2].partition(":")[2].split("|") for line in lines]
    assert [duration.strip() for duration, _ in found] == [
        "", "3.000 us", "", "0.800 us", "1.000 us", "8.000 us",
    ]  # fmt: skip
    assert [len(text) - len(text.lstrip()) for _, text in found] == [2, 4, 4, 6, 4, 2]

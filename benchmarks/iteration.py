"""Events one by one in Python: `Trace.iter_events` beside Babeltrace's and Perfetto's own modules, on the same files.

python -m benchmarks.iteration CTF PFTRACE [--python PYTHON] [--events N] [--runs N]

Each way takes its turn, as often as there are runs; the best counts. Measured is processor time, from the opening to
the last event, after a first pass over 100 events that imports and compiles.
`bt2` is asked with the Python that has it (Debian's: /usr/bin/python3). Perfetto's own module needs its native engine,
so that the protobuf classes of its package are asked instead: they parse the whole file first.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from textwrap import indent

_LOOP = """
import sys, time
{before}
for most in (100, {events}):
    count, start = 0, time.process_time()
{loop}
print(count, time.process_time() - start)
"""
_END = "count += 1\n{indent}if count == most: break"
_OURS = "import converter"
_BT2 = "import bt2"
_PERFETTO = "from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace"

#: By what is asked for: the loop, whose last line follows.
_OF_OURS = """with converter.open_trace({path!r}) as trace:
    for event in trace.iter_events():
        event.name, event.ts{fields}
        {end}"""
_OF_BT2 = """for message in bt2.TraceCollectionMessageIterator({path!r}):
    if type(message) is bt2._EventMessageConst:
        event = message.event
        event.name, message.default_clock_snapshot.ns_from_origin{fields}
        {end}"""
_OF_PERFETTO = """with open({path!r}, "rb") as file:
    trace = Trace.FromString(file.read())
for packet in trace.packet:
    for event in packet.ftrace_events.event:
        event.WhichOneof("event"), event.timestamp{fields}
        {end}"""
_FIELDS = (
    ", event.fields",
    ", {name: value for name, value in event.payload_field.items()}",
    ", {one.name: value for one, value in getattr(event, event.WhichOneof('event')).ListFields()}",
)


def rate(python: str, before: str, loop: str, *, events: int) -> float:
    """Return the events a second of one run."""
    text = _LOOP.format(before=before, loop=indent(loop, " " * 4), events=events)
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True)
    count, seconds = done.stdout.split()
    return int(count) / float(seconds)


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.iteration")
    parser.add_argument("ctf")
    parser.add_argument("pftrace")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    ways = [
        ("CTF, iter_events", sys.executable, _OURS, _OF_OURS, given.ctf, _FIELDS[0]),
        ("CTF, bt2", given.python, _BT2, _OF_BT2, given.ctf, _FIELDS[1]),
        ("Perfetto, iter_events", sys.executable, _OURS, _OF_OURS, given.pftrace, _FIELDS[0]),
        ("Perfetto, protobuf", sys.executable, _PERFETTO, _OF_PERFETTO, given.pftrace, _FIELDS[2]),
    ]
    best: dict[tuple[str, bool], float] = {}
    for _ in range(given.runs):
        for name, python, before, loop, path, fields in ways:
            for has_fields in (False, True):
                end = _END.format(indent=" " * 8)
                text = loop.format(path=path, fields=fields if has_fields else "", end=end)
                found = rate(python, before, text, events=given.events)
                best[name, has_fields] = max(best.get((name, has_fields), 0), found)
    print(f"{'events a second':24}{'name and time':>16}{'all fields':>14}")
    for name, *_ in ways:
        print(f"{name:24}{best[name, False]:16,.0f}{best[name, True]:14,.0f}")


if __name__ == "__main__":
    main()

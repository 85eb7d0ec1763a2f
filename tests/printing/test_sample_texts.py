"""Samples in reports are what perf script prints of them."""

from __future__ import annotations

import re

import numpy as np
from support.command.reports import reported
from support.traces.strategies import batch_of

from converter.ir.collect import with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import ArrayClass, IntegerClass, Style
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import Process, Thread, Trace
from converter.printing.event_lines import print_lines
from converter.projection.timeline_fields import ADDRESSES, FRAMES, FUNCTIONS, weight

FRAME = ("function", "mapping", "rel_pc", "source", "line")


def frame(*values):
    return list(zip(FRAME, values, strict=True))


def report(event_class, *rows, thread=0, cpu=1):
    trace = Trace(
        format="other",
        processes=[Process(10, "app")],
        threads=[Thread(11, 0, "a task")],
        event_classes=[event_class],
    )
    table = (np.array([0x1000, 0x2000], np.uint64), [b"leaf", b"\x1b[end"])
    trace.symbols = SymbolTable(lambda: table)
    events = [(0, 1_000_000_100 + i, cpu, thread, -1, row) for i, row in enumerate(rows)]
    trace = with_batches(trace, [batch_of(trace, events)])
    return reported(lambda one, write: print_lines(one, write) or True, trace).decode()


def test_frames_have_address_function_and_file():
    fields = (FRAMES, weight("ns"), Field("addr", IntegerClass(64, style=Style.HEXADECIMAL)))
    stack = [
        frame(b"operator new(unsigned long)", b"/bin/a b", 0x1198, b"", 0),
        frame(b"", b"[kernel.kallsyms]", 0xFFFFFFFF81000000, b"", 0),
        frame(b"main", b"", 0, b"main.py", 12),
        frame(b"main", b"", 0, b"main.py", 0),
        frame(b"", b"", 7, b"", 0),
    ]
    event_class = EventClass(Kind.SAMPLE, "cpu-clock", fields=fields)
    assert report(event_class, (stack, 1003009, 0x10), ([], 0, 0)).split("\n") == [
        "a task    11 [001]      1.000000100:    1003009 cpu-clock: addr=0x10",
        "\t            1198 operator new(unsigned long) (/bin/a b)",
        "\tffffffff81000000 [unknown] ([kernel.kallsyms])",
        "\t               0 main (main.py:12)",
        "\t               0 main (main.py)",
        "\t               7 [unknown] ([unknown])",
        "",
        "a task    11 [001]      1.000000101:          0 cpu-clock: addr=0x0",
        "",
        "",
    ]


def test_addresses_are_named_by_the_symbols():
    event_class = EventClass(Kind.SAMPLE, fields=(ADDRESSES,))
    assert report(event_class, ([0x1010, 0x2000, 5],), thread=-1, cpu=-1).split("\n") == [
        ":-1     0      1.000000100: sample: ",
        "\t            1010 leaf+0x10 ([unknown])",
        "\t            2000 \\x1b[end+0x0 ([unknown])",
        "\t               5 [unknown] ([unknown])",
        "",
        "",
    ]


def test_functions_have_no_address():
    event_class = EventClass(Kind.SAMPLE, "wall", fields=(FUNCTIONS, weight("")))
    assert report(event_class, ([b"inner\n", b""], 3)).split("\n") == [
        "a task    11 [001]      1.000000100:          3 wall: ",
        "\t               0 inner\\n ([unknown])",
        "\t               0 [unknown] ([unknown])",
        "",
        "",
    ]


def test_programs_that_read_perf_script_find_the_parts():
    event_class = EventClass(Kind.SAMPLE, "cycles", fields=(FUNCTIONS, weight("")))
    header, *frames = report(event_class, ([b"inner", b"outer"], 3)).rstrip("\n").split("\n")
    # The expressions of stackcollapse-perf.pl.
    assert re.match(r"^(\S.+?)\s+(\d+)/*(\d+)*\s+", header).groups() == ("a task", "11", None)
    assert re.search(r":\s*(\d+)*\s+(\S+):\s*$", header).groups() == ("3", "cycles")
    found = [re.match(r"^\s*(\w+)\s*(.+) \((.*)\)", line).groups() for line in frames]
    assert [name for _, name, _ in found] == ["inner", "outer"]


def test_other_lists_are_fields():
    odd = Field("frames", ArrayClass(ArrayClass(IntegerClass(8))), Role.FRAMES)
    text = report(EventClass(Kind.SAMPLE, "odd", fields=(odd,)), ([[1], []],))
    assert text.endswith("1.000000100: odd: frames=[[1], []]\n")

"""``traceconv info IN --events N``: texts of trace.dat against those of trace-cmd, all others against their values."""

import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from support.trace_cmd.files import BPRINT, BPUTS, FORMATS, File, Kernel
from support.traces.strategies import batch_of, traces

import converter
from converter.cli import main
from converter.cli.output.first_events import first_events
from converter.errors.terminal import printable
from converter.formats.trace_cmd.reading.reader import read
from converter.ir.collect import collect, with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BooleanClass,
    BytesClass,
    FloatClass,
    IntegerClass,
    Label,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.symbols import SymbolTable
from converter.ir.trace import ClockDomain, Process, Thread, Trace, Track
from converter.storage.opening import open_source

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "roundtrip_fixtures"
TITLE = "first events: seconds, CPU, thread, class, text"
#: Where trace-cmd 3.1 does not print what the kernel does: it takes ``a & (b | c)`` of timer_start's flags for
#: ``(a & b) | c``, and elements of arrays that a probe made for 0.
NOT_AS_THE_KERNEL = ("timer_start", "upmain")
#: What trace-cmd prints of an event: task, CPU, time, name, text.
REPORTED = re.compile(r"(?:.*: )?\s*(.+)-(\d+) +\[(\d+)\] +(\d+\.\d{9}): (\w+): +(.*)")


def info(capfd, *arguments):
    code = main(["info", *map(str, arguments)])
    captured = capfd.readouterr()
    assert code == 0, captured.err
    return captured.out


def listed(out):
    """The lines below the title."""
    return [line[2:] for line in out[out.index(TITLE) :].splitlines()[1:]]


def events_of(trace, count=1 << 30):
    return [event.as_json() for event in first_events(trace, count)]


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("small.dat", 338),
        ("markers.dat", 2193),
        ("uprobes.dat", 4),
        ("instances.dat", 1197),
        ("scratch_v6_min.dat", 4),
        ("scratch_v7_be32.dat", 2),
        ("scratch_v7_be64.dat", 2),
    ],
)
def test_events_read_as_trace_cmd_prints_them(capfd, name, count):
    path = FIXTURES / "trace_cmd" / name
    report = subprocess.run(
        ["trace-cmd", "report", "-t", "-N", path], capture_output=True, check=True
    ).stdout.decode(errors="surrogateescape")
    expected = [found.groups() for found in map(REPORTED.fullmatch, report.split("\n")) if found]
    assert len(expected) == count
    out = info(capfd, path, "--events", count)
    line = re.compile(r" *(\d+\.\d{9}) \[(\d+)\] (\S.*)-(\d+) +\w+:(\w+): (.*)")
    shown = [found.groups() for found in map(line.fullmatch, listed(out)) if found]
    assert len(shown) == count
    # A thread has one name, its last; trace-cmd may know an earlier one.
    for (time, cpu, _, tid, event, text), reported in zip(shown, expected, strict=True):
        assert (tid, cpu, time, event) == reported[1:5]
        if event not in NOT_AS_THE_KERNEL:
            assert text.rstrip() == printable(reported[5]).rstrip()
    report = json.loads(info(capfd, path, "--events", count, "--json"))
    assert [event["text"] for event in report["first_events"]] == [row[5] for row in shown]
    assert report["events"] == count
    for event in report["first_events"]:
        if event["class"] == "timer:timer_start":
            flags = event["fields"]["flags"]
            names = [letter for bit, letter in enumerate("MDPI", 18) if flags >> bit & 1]
            assert event["text"].endswith(f" flags={'|'.join(names)}")
        if event["class"].endswith(":upmain"):
            first, second = event["fields"]["arr"]
            assert event["text"].endswith(f" arr={{0x{first:x},0x{second:x}}}")


def test_messages_of_trace_printk_and_events_that_have_no_text():
    k = Kernel()
    number = k.pack("QQQ", 0xFFFFFFFF81000010, 0xFFFFFFFF82000000, 0)
    bprint = k.common(BPRINT, 42) + number[:16] + k.pack("i4s", 7, b"tea\0")
    bputs = k.common(BPUTS, 42) + k.pack("QQ", 0xFFFFFFFF81001004, 0xFFFFFFFF82000040)
    pages = k.page(
        10**9,
        *[k.record(3, r) for r in (bprint, bputs, k.common(999, 42), k.marker(42, b"a\x1bb\nc"))],
    ) + k.page(2 * 10**9, k.record(0, k.slice(42, 5, -1)), missed=77)
    trace = read(open_source(File(k, {0: pages}).version_7()))
    events = events_of(trace)
    assert [event["text"] for event in events] == [
        "first: value 7 of tea",
        "second: only text",
        f"payload={k.common(999, 42).hex()}",
        "first: a\\x1bb\\nc",
        "count=77",
        "dur=5 change=-1",
    ]
    assert events[0]["class"] == "ftrace:bprint"
    assert events[5]["fields"]["change"] == -1
    # In memory there are no records any more, only fields.
    again = [event["text"] for event in events_of(collect(trace))]
    assert again[5] == "dur=5 change=-1 small=7 common_flags=0 common_preempt_count=0"


def test_records_are_not_kept_with_the_columns():
    trace = collect(
        read(open_source(File(Kernel(), {0: Kernel().page(5, Kernel().record(0, Kernel().slice(1, 1)))}).version_7()))
    )  # fmt: skip
    (batch,) = trace.batches()
    assert [table.records for table in batch.tables.values()] == [None]


NESTED = StructureClass(
    (
        Member("x", IntegerClass(64)),
        Member("x", BytesClass()),
        Member("list", ArrayClass(OptionalClass(FloatClass()))),
    )
)
EITHER = VariantClass((Member("a", NullClass()), Member("b", StringClass())))
FIELDS = (
    (Field("big", IntegerClass(64)), 2**64 - 1, 2**64 - 1, "18446744073709551615"),
    (Field("low", IntegerClass(64, signed=True)), -(2**63), -(2**63), "-9223372036854775808"),
    (Field("hex", IntegerClass(16, signed=True, style=Style.HEXADECIMAL)), -1, -1, "0xffff"),
    (Field("octal", IntegerClass(16, style=Style.OCTAL)), 0o755, 0o755, "0o755"),
    (Field("binary", IntegerClass(8, style=Style.BINARY)), 5, 5, "0b101"),
    (Field("pointer", IntegerClass(64, style=Style.POINTER)), 0, 0, "0x0"),
    (Field("char", IntegerClass(8, style=Style.CHARACTER)), 65, 65, "'A'"),
    (Field("bell", IntegerClass(8, style=Style.CHARACTER)), 7, 7, "7"),
    (Field("function", IntegerClass(64, style=Style.SYMBOL)), 0x1004, 0x1004, "main+0x4"),
    (Field("entry", IntegerClass(64, style=Style.SYMBOL)), 0x1000, 0x1000, "main"),
    (Field("nowhere", IntegerClass(64, style=Style.SYMBOL)), 0xFFF, 0xFFF, "0xfff"),
    (Field("state", IntegerClass(8, labels=(Label(1, 3, "low"), Label(2, 2, "two")))), 2, 2, "low"),
    (Field("bits", IntegerClass(8, labels=(Label(1, 1, "A"), Label(4, 4, "B")), flags=True)), 13, 13, "A|B|0x8"),
    (Field("none", IntegerClass(8, labels=(Label(0, 0, "R"), Label(4, 4, "B")), flags=True)), 0, 0, "R"),
    (Field("unnamed", IntegerClass(8, labels=(Label(4, 4, "B"),), flags=True)), 3, 3, "3"),
    (Field("ratio", FloatClass()), 0.1, 0.1, "0.1"),
    (Field("nan", FloatClass()), math.nan, "NaN", "NaN"),
    (Field("down", FloatClass(32)), -math.inf, "-Infinity", "-Infinity"),
    (Field("yes", BooleanClass()), True, True, "true"),
    (Field("nothing", NullClass()), None, None, "null"),
    (Field("bare", StringClass()), b"kworker/u2:1", "kworker/u2:1", "kworker/u2:1"),
    (Field("quoted", StringClass()), b'a "b"\n', 'a "b"\n', '"a \\"b\\"\\n"'),
    (Field("control", StringClass()), b"\x1b[2J\xff", "\x1b[2J\udcff", '"\\u001b[2J\\udcff"'),
    (Field("empty", StringClass()), b"", "", '""'),
    (Field("bytes", BytesClass()), b"\0\xff", "00ff", "00ff"),
    (Field("absent", OptionalClass(IntegerClass(8))), None, None, "null"),
    (Field("present", OptionalClass(IntegerClass(8, style=Style.HEXADECIMAL))), 17, 17, "0x11"),
    (Field("either", EITHER), ("b", b"z"), {"b": "z"}, '{"b": "z"}'),
    (Field("array", ArrayClass(IntegerClass(64))), [2**64 - 1, 0], [2**64 - 1, 0], "[18446744073709551615, 0]"),
    (
        Field("nested", NESTED),
        [("x", 2**63), ("x", b"\1"), ("list", [None, math.inf])],
        {"x": 2**63, "x#2": "01", "list": [None, "Infinity"]},
        '{"x": 9223372036854775808, "x#2": "01", "list": [null, "Infinity"]}',
    ),
)  # fmt: skip


def sample(rate=Fraction(3)):
    symbols = SymbolTable(lambda: (np.array([0x1000, 0x2000], np.uint64), [b"main", b"last"]))
    trace = Trace(
        format="none",
        clock=ClockDomain("odd", rate),
        processes=[Process(2**40, "parent")],
        threads=[Thread(5, 0, "wor\x1bker"), Thread(6, 0)],
        tracks=[Track("line")],
        event_classes=[
            EventClass(Kind.TYPED, "every", "test", tuple(field for field, *_ in FIELDS)),
            EventClass(Kind.INSTANT, fields=(Field("name", StringClass(), Role.NAME),)),
            EventClass(Kind.OBJECT_INFO, "info", timed=False),
        ],
        symbols=symbols,
    )
    events = [
        (0, 2**62, 3, 0, -1, tuple(held for _, held, *_ in FIELDS)),
        (1, -1, -1, -1, 0, (b"n",)),
        (2, -1, 12345, 1, -1, ()),
    ]
    return with_batches(trace, [batch_of(trace, events[:2]), batch_of(trace, events[2:])])


def test_fields_as_json_and_as_text():
    trace = sample()
    event, *others = events_of(trace)
    assert json.loads(json.dumps(event, allow_nan=False)) == event
    assert event["fields"] == {field.name: wanted for field, _, wanted, _ in FIELDS}
    assert event["text"] == " ".join(f"{field.name}={text}" for field, *_, text in FIELDS)
    assert event["text"].isprintable()
    del event["fields"], event["text"]
    assert event == {
        "ts": 2**62, "cpu": 3, "pid": 2**40, "tid": 5, "comm": "wor\x1bker", "track": None, "class": "test:every",
        "kind": "typed",
    }  # fmt: skip
    assert [(e["ts"], e["cpu"], e["tid"], e["track"]) for e in others] == [
        (-1, None, None, "line"),
        (None, 12345, 6, None),
    ]


def test_lines_say_when_where_and_what():
    lines = [event.line() for event in first_events(sample(), 3)]
    assert lines[0].startswith(
        "1537228672809129301.333333333 [003] wor\\x1bker-5         test:every: big=1844"
    )
    assert lines[1] == "    -0.333333333 [---] line                 instant: name=n"
    assert lines[2] == "               - [12345] parent-6             info: "
    ticks = [event.line().split()[0] for event in first_events(sample(rate=None), 2)]
    assert ticks == [str(2**62), "-1"]


def test_no_more_is_read_than_asked_for():
    trace = sample()
    batches = trace.make_batches
    read_so_far = []

    def counted():
        for batch in batches():
            read_so_far.append(batch)
            yield batch

    trace.make_batches = counted
    for count, batches_read in ((0, 0), (1, 1), (2, 1), (3, 2), (9, 2)):
        read_so_far.clear()
        assert len(events_of(trace, count)) == min(count, 3)
        assert len(read_so_far) == batches_read


@given(traces())
def test_any_trace_has_valid_json_and_printable_lines(trace):
    events = list(first_events(trace, 1000))
    assert len(events) == sum(map(len, trace.batches()))
    for event in events:
        shown = event.as_json()
        assert json.loads(json.dumps(shown, allow_nan=False)) == shown
        assert len(shown["fields"]) == len(
            trace.event_classes[event.batch.class_id[event.position]].fields
        )
        assert event.line().isprintable()


def test_none_asked_for(capfd):
    path = FIXTURES / "trace_cmd" / "uprobes.dat"
    plain = info(capfd, path)
    assert info(capfd, path, "--events", 0) == plain
    report = json.loads(info(capfd, path, "--json"))
    assert "first_events" not in report
    assert json.loads(info(capfd, path, "--json", "--events", 0)) == {**report, "first_events": []}


@pytest.mark.parametrize("arguments", [["--events", "-1"], ["--events", "x"], ["--events"]])
def test_a_number_is_needed(capfd, arguments):
    assert main(["info", "in.dat", *arguments]) == 2
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for folder in ("chrome", "fxt", "perfetto")
        for path in (FIXTURES / folder).iterdir()
        if path.suffix in (".fxt", ".pftrace", ".json")
    ),
)
def test_other_formats(capfd, path):
    report = json.loads(info(capfd, path, "--events", 1000, "--json"))
    events = report["first_events"]
    assert len(events) == min(report["events"], 1000)
    with converter.open_trace(path) as trace:
        lines = [event.line() for event in first_events(trace, 1000)]
    assert all(
        line.endswith(f"{event['class']}: {event['text']}")
        for line, event in zip(lines, events, strict=True)
    )


def test_a_text_buffer_shows_its_fields():
    text = b"          bash-9     [001] d..1.  1.000002: sched_stat: a=1\nnot an event\n"
    trace = read(open_source(File(text=text).version_6()))
    assert [event["text"] for event in events_of(trace)] == [
        'message="a=1" flags=d..1.',
        'message="not an event"',
    ]  # fmt: skip


@pytest.mark.parametrize("big_endian", [False, True])
def test_damaged_formats_and_records(big_endian):
    k = Kernel(big_endian=big_endian)
    records = [
        k.slice(42, 1),
        k.switch(43, b"one", 44, b"two"),
        k.marker(4, b"x"),
        k.common(700, 4),
    ]
    pages = k.page(10**9, *(k.record(1, record) for record in records))
    intact = FORMATS["test"][0] + FORMATS["sched"][0]
    rng = random.Random(5)
    damaged = 0
    for _ in range(150):
        formats = {}
        for system, found in FORMATS.items():
            texts = [bytearray(text) for text in found]
            for text in texts:
                for _ in range(rng.randrange(4)):
                    at = rng.randrange(20, len(text))
                    text[at] = rng.choice(b'"%\\(){}[],;:*-+<>?&|~!=0 9\n\xff\0')
            formats[system] = [bytes(text) for text in texts]
        damaged += formats["test"][0] + formats["sched"][0] != intact
        trace = read(open_source(File(k, {0: pages}, formats=formats).version_7()))
        for event in events_of(trace):
            assert event["text"].isprintable()
    assert damaged > 50


def test_what_evaluates_formats_is_imported_only_when_asked_for():
    code = (
        "import sys; from converter.cli import main; main(sys.argv[1:]); "
        "print('converter.formats.ftrace.print_format.print_format' in sys.modules, "
        "'converter.cli.output.first_events' in sys.modules)"
    )
    path = FIXTURES / "trace_cmd" / "uprobes.dat"
    for arguments, wanted in (([], "False False"), (["--events", "1"], "True True")):
        result = subprocess.run(
            [sys.executable, "-c", code, "info", path, *arguments],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert result.stdout.decode().splitlines()[-1] == wanted

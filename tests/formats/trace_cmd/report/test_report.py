"""The report of a trace.dat file is that of `trace-cmd report -t`."""

import re
import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from support.trace_cmd.files import SWITCH, File, Kernel, format_text
from support.trace_cmd.reports import KALLSYMS, ours, texts, theirs
from support.trace_cmd.writing import written
from support.traces.small_traces import event_class, trace_of

from converter.cli import main
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures" / "trace_cmd"
PROGRAMS = ("trace-cmd", "trace-cmd-3.4")
CLOCK = (4, b"[local] global\0")
#: Lines that trace-cmd prints otherwise, by what is wrong there (docs/formats/trace_cmd.md, "The report").
OTHERWISE = re.compile(
    # Alternatives in parentheses behind an & are taken for ones of the whole.
    rb": timer_start: |"
    # Elements of an array whose length the kernel does not state in brackets are 0.
    rb": upmain: |"
    # Control characters.
    rb"[\x00-\x08\x0b-\x1f\x7f]"
)
_STATES = re.compile(rb"\] \S+ ==>")
_FLAGS = re.compile(rb"^((?:\S+: )? *.{16,}-\d+ +\[\d{3}\]) \S{5} ", re.MULTILINE)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.dat")), ids=lambda path: path.name)
def test_recordings_are_reported_line_by_line_as_trace_cmd_does(path, program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    expected, found = theirs(program, path), ours(path)
    if not _FLAGS.search(expected):
        # Before trace-cmd 3.3 there were no flags, and the letters of states were those of old kernels.
        found, expected = (
            _STATES.sub(b"] ? ==>", _FLAGS.sub(rb"\1 ", text)) for text in (found, expected)
        )
    assert len(expected) > 100
    for line, other in zip(found.splitlines(), expected.splitlines(), strict=True):
        assert line == other or OTHERWISE.search(other)


SWITCH_FIELDS = (
    "char prev_comm[16] 8 16 0\npid_t prev_pid 24 4 1\nint prev_prio 28 4 1\nlong prev_state 32 8 1\n"
    "char next_comm[16] 40 16 0\npid_t next_pid 56 4 1\nint next_prio 60 4 1"
)


@pytest.mark.parametrize(
    ("print_fmt", "states"),
    [
        ('""', {0: "R", 1: "S", 3: "S|D", 0x80: "I", 0x100: "R"}),
        (
            '"%s", __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 0x40, "x" }) : "R"',
            {0: "R", 1: "S", 2: "R", 0x40: "x"},
        ),
    ],
)
def test_a_switch_has_the_letters_of_its_kernel(print_fmt, states):
    k = Kernel()
    records = [
        k.pack("16siiq", b"a b", 5, 120, state) + k.pack("16sii", b"next", 7, -3)
        for state in states
    ]
    found = texts(SWITCH, "sched_switch", SWITCH_FIELDS, records, "sched", print_fmt)
    assert found == [f"a b:5 [120] {letters} ==> next:7 [-3]" for letters in states.values()]


def test_a_task_is_called_as_the_recording_or_an_event_before_called_it_first():
    k = Kernel()
    switch = k.switch(42, b"new", 43, b"other")
    records = [
        k.record(1, record) for record in (k.slice(43, 1), switch, k.slice(43, 1), k.slice(0, 1))
    ]
    lines = ours(File(k, {0: k.page(10**9, *records)}).version_7()).decode().splitlines()
    names = [line.split("-")[0].strip() for line in lines[1:]]
    assert names == ["<...>", "saved name", "other", "<idle>"]
    assert "new:42 [120] R ==> other:43 [120]" in lines[2]


GRAPH = (
    format_text("function", 1, "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0", '""'),
    format_text(
        "funcgraph_exit",
        10,
        "unsigned long func 8 8 0\nunsigned int depth 16 4 0\nu64 calltime 24 8 0\nu64 rettime 32 8 0",
        '""',
    ),
    format_text("funcgraph_entry", 11, "unsigned long func 8 8 0\nunsigned int depth 16 4 0", '""'),
)


def drawn(*events):
    k = Kernel()
    records = [
        k.common(number, pid)
        + (k.pack("QIxxxxQQ", function, depth, 100, 100 + took) if number == 10 else b"")
        + (k.pack("QIxxxx", function, depth) if number == 11 else b"")
        + (k.pack("QQ", function, 0x1000) if number == 1 else b"")
        for number, function, depth, took, pid in events
    ]
    pages = k.page(10**9, *(k.record(1000, record) for record in records))
    data = File(k, {0: pages}, formats={"ftrace": GRAPH}, kallsyms=KALLSYMS).version_7()
    lines = ours(data).decode().splitlines()[1:]
    return [line.split(": ", 2)[2].removeprefix(" " * 4) for line in lines]


def test_a_call_in_which_nothing_happens_is_on_one_line():
    found = drawn(
        (11, 0x1000, 0, 0, 42), (11, 0x2000, 1, 0, 42), (10, 0x2000, 1, 12_345, 42),
        (11, 0x3000, 1, 0, 42), (1, 0x3000, 0, 0, 42), (10, 0x3000, 1, 1_000_000_001, 42),
        (10, 0x1000, 0, 500, 42), (11, 0x1000, 0, 0, 42), (10, 0x1000, 0, 0, 43), (11, 0x9999, 0, 0, 42),
    )  # fmt: skip
    assert [line.strip() for line in found] == [
        "|  outer() {",
        "+ 12.345 us  |    middle();",
        "|    inner() {",
        "inner",
        "$ 1000000 us |    }",
        "0.500 us   |  }",
        "|  outer() {",
        "0.000 us   |  }",
        "|  9999() {",
    ]


@pytest.mark.parametrize(
    ("took", "text"),
    [
        (10_000, "  10.000 us  |  }"),
        (10_001, "+ 10.001 us  |  }"),
        (100_001, "! 100.001 us |  }"),
        (100_000_001, "# 100000.001 us |  }"),
        (1_234_567_890_123, "$ 1234567890 us |  }"),
    ],
)
def test_long_calls_are_marked(took, text):
    assert drawn((10, 0x1000, 0, took, 42))[0].endswith(text)


def test_functions_are_indented_below_their_callers():
    k = Kernel()
    calls = [
        (0x2010, 0x1010),
        (0x3000, 0x2020),
        (0x1000, 0x3000),
        (0x3000, 0x1020),
        (0x3000, 0x9999),
    ]
    records = [k.record(1, k.common(1, 42) + k.pack("QQ", *call)) for call in calls]
    data = File(k, {0: k.page(10**9, *records)}, formats={"ftrace": GRAPH}, kallsyms=KALLSYMS)
    lines = ours(data.version_7()).decode().splitlines()[1:]
    shown = [line.split("function:             ")[1] for line in lines]
    assert shown == ["middle", "   inner", "      outer", "inner", "inner"]


def test_lines_of_instances_and_lost_events():
    k = Kernel()
    pages = k.page(10**9, k.record(5, k.slice(42, 5)), missed=17)
    unknown = k.page(2 * 10**9, k.record(5, k.slice(42, 5)), missed=-1)
    file = File(k, {1: pages}, {"a": {0: pages}, "long": {2: unknown}}, [CLOCK])
    assert ours(file.version_7()).decode().splitlines() == [
        "cpus=3",
        "      CPU:1 [17 EVENTS DROPPED]",
        "   a: CPU:0 [17 EVENTS DROPPED]",
        "            saved name-42    [001] .....     1.000000005: my_slice:             dur=5 change=0",
        "   a:       saved name-42    [000] .....     1.000000005: my_slice:             dur=5 change=0",
        "long: CPU:2 [EVENTS DROPPED]",
        "long:       saved name-42    [002] .....     2.000000005: my_slice:             dur=5 change=0",
    ]


@pytest.mark.parametrize(
    ("options", "time"),
    [
        ([CLOCK], "     1.000000005"),
        ([CLOCK, (1, b"0x5a2f5b7e0\0")], " 24209.848864005"),
        ([CLOCK, (7, b"-6\0")], "     0.999999999"),
        ([(4, b"[x86-tsc]\0")], "  1000000005"),
        ([(4, b"[x86-tsc]\0"), (14, Kernel().pack("IIQ", 3, 1, 5))], "     1.500000007"),
        ([(4, b"[boot]\0")], "     1.000000005"),
    ],
)
def test_times_are_those_of_the_options(options, time):
    k = Kernel()
    pages = k.page(10**9, k.record(5, k.slice(42, 5)))
    for data in (
        File(k, {0: pages}, options=options).version_6(),
        File(k, {0: pages}, options=options).version_7(),
    ):
        (line,) = ours(data).decode().splitlines()[1:]
        assert f"[000] ..... {time.removeprefix(' ')}: my_slice:" in line


@pytest.mark.parametrize(
    ("flags", "count", "letters"),
    [
        (0, 0, "....."), (0x01, 2, "d..2."), (0x02, 0, ".L..."), (0x04, 0, ".N..."), (0x06, 0, ".N..."),
        (0x08, 0, "..h.."), (0x10, 0x21, "..s12"), (0x18, 0xFF, "..Hff"), (0xE0, 0, "....."),
    ],
)  # fmt: skip
def test_flags_have_the_letters_of_trace_cmd(flags, count, letters):
    k = Kernel()
    record = k.pack("HBBi", 700, flags, count, 42) + k.pack("QiB", 5, 0, 7)
    (line,) = (
        ours(File(k, {0: k.page(1, k.record(1, record))}).version_7()).decode().splitlines()[1:]
    )
    assert f"[000] {letters} " in line


def test_what_a_program_wrote_is_as_it_is_but_for_control_characters():
    k = Kernel()
    records = [
        k.record(1, k.marker(42, text)) for text in (b"a\nb\tc", b"\xff \xc3\xa4", b"\x1b[31m\r")
    ]
    lines = ours(File(k, {0: k.page(10**9, *records)}).version_7()).split(b"\n")[1:]
    assert lines[0].endswith(b"first: a")
    assert lines[1] == b"b\tc"
    assert lines[2].endswith(b"first: \xff \xc3\xa4")
    assert lines[3].endswith(rb"first: \x1b[31m\r")


def test_records_without_a_format_and_lines_of_text():
    k = Kernel()
    pages = k.page(10**9, k.record(1, k.common(999, 42) + b"abcd"))
    assert (
        ours(File(k, {0: pages}).version_7())
        .decode()
        .endswith("[UNKNOWN EVENT] unknown:999: e70300002a00000061626364\n")
    )
    text = b"  bash-42    [000] d..1.   123.456789: sched_wakeup: comm=x\n"
    assert (
        ours(File(k, {}, text=text).version_7()).decode().endswith("sched_wakeup:         comm=x\n")
    )


def test_a_file_that_was_converted_is_reported_by_what_its_records_say():
    """And not by what the option of this converter's own adds: that is what trace-cmd shows."""
    lonely = event_class(Kind.TYPED, "lonely", "own", size=IntegerClass(64))
    lost = event_class(
        Kind.DISCARDED, "lost", "", count=(IntegerClass(64, signed=True), Role.COUNT)
    )
    events = [(0, 5, 0, -1, [7]), (1, 6, 1, -1, [0]), (0, 6, 1, 0, [8])]
    events += [(0, 7, 1, 1, [8]), (0, 8, 1, 2, [8])]
    clock = ClockDomain("utc", Fraction(10**9), epoch_ns=1_000_000_451)
    trace = trace_of([lonely, lost], events, tids=(0, 0, 9), clock=clock)
    found = ours(written(trace))
    assert [line.split(": lonely")[0] for line in found.decode().splitlines()] == [
        "cpus=2",
        "           <...>--1    [000] .....     1.000000005",
        "          <idle>-0     [001] .....     1.000000006",
        "              t0-1073741824 [001] .....     1.000000007",
        "              t9-9     [001] .....     1.000000008",
    ]


def test_the_task_of_a_switch_without_one_has_its_name():
    k = Kernel()
    records = [k.record(1, k.switch(-1, b"", 43, b"other")), k.record(1, k.slice(-1, 1))]
    lines = ours(File(k, {0: k.page(10**9, *records)}).version_7()).decode().splitlines()
    assert lines[1].startswith("           <...>--1 ")
    assert lines[1].endswith(" :4294967295 [120] R ==> other:43 [120]")
    assert lines[2].startswith("                --1 ")


def test_the_command_prints_it(tmp_path, capfd):
    k = Kernel()
    path = tmp_path / "a.dat"
    path.write_bytes(File(k, {0: k.page(10**9, k.record(5, k.slice(42, 5)))}).version_7())
    assert main(["report", str(path)]) == 0
    assert capfd.readouterr().out.encode() == ours(path)

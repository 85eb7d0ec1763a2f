"""The report of a trace.dat file is that of `trace-cmd report -t`."""

import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from support.reports import reported
from support.small_traces import event_class, trace_of
from support.trace_cmd_files import SWITCH, File, Kernel, format_text
from support.trace_cmd_writing import written

from converter.cli import main
from converter.formats.trace_cmd.reader import read
from converter.formats.trace_cmd.report_lines import print_report
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain
from converter.storage.opening import open_source

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "trace_cmd"
PROGRAMS = ("trace-cmd", "trace-cmd-3.4")
KALLSYMS = b"1000 T outer\n2000 T middle\n3000 t inner\n4000 T last\n5000 T end\n"
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


def ours(data):
    trace = read(open_source(data))
    return reported(print_report, trace)


def theirs(program, path):
    done = subprocess.run([program, "report", "-t", path], capture_output=True, check=True)
    return done.stdout


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


def texts(number, name, fields, records, system="ftrace", print_fmt='"plain"', **file):
    """The texts that the report has for events of one class."""
    k = Kernel()
    text = format_text(name, number, fields, print_fmt)
    pages = k.page(10**9, *(k.record(1000, k.common(number, 42) + record) for record in records))
    data = File(k, {0: pages}, formats={system: [text]}, kallsyms=KALLSYMS, **file).version_7()
    lines = ours(data).split(b"\n", 1)[1]
    parts = re.split(rb"(?m)^ *saved name-42    \[000\] \.{5}     1\.\d{9}: ", lines)
    return [part.split(b":", 1)[1].strip().decode() for part in parts[1:]]


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


MMU_FIELDS = (
    "__u8 mmu_valid_gen 8 1 0\n__u64 gfn 16 8 0\n__u32 role 24 4 0\n__u32 root_count 28 4 0\n"
    "bool unsync 32 1 0"
)


@pytest.mark.parametrize(
    ("name", "system", "fields", "layout", "values", "text"),
    [
        (
            "sched_wakeup",
            "sched",
            "char comm[16] 8 16 0\npid_t pid 24 4 1\nint prio 28 4 1\nint success 32 4 1\nint target_cpu 36 4 1",
            "16siiii",
            (b"x", 9, 120, 1, 3),
            "x:9 [120] success=1 CPU:003",
        ),
        (
            "hrtimer_start",
            "timer",
            "void * hrtimer 8 8 0\nvoid * function 16 8 0\ns64 expires 24 8 1\ns64 softexpires 32 8 1",
            "QQQQ",
            (0xFF10, 0x2000, 5, 6),
            "hrtimer=0xff10 function=middle/0x0 expires=5 softexpires=6",
        ),
        (
            "hrtimer_expire_entry",
            "timer",
            "void * hrtimer 8 8 0\ns64 now 16 8 1\nvoid * function 24 8 0",
            "QQQ",
            (0xFF10, 7, 0x2010),
            "hrtimer=0xff10 now=7 function=middle/0xfffffffffffffff0",
        ),
        ("kfree", "kmem", "unsigned long call_site 8 8 0", "Q", (0x2010,), "(middle+0x10) plain"),
        ("kfree", "kmem", "unsigned long call_site 8 8 0", "Q", (5,), "plain"),
        (
            "tlb_flush", "tlb",
            "int reason 8 4 1\nunsigned long pages 16 8 0",
            "ixxxxq",
            (1, -1),
            "pages=-1 reason=remote shootdown (1)",
        ),
        (
            "sys_enter_futex",
            "syscalls",
            (
                "u32 * uaddr 8 8 0\nint op 16 8 0\nu32 val 24 8 0\nvoid * utime 32 8 0\nu32 * uaddr2 40 8 0\n"
                "u32 val3 48 8 0"
            ),
            "QQQQQQ",
            (0x10, 128 | 9, 1, 2, 3, 4),
            "op=FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG uaddr=0x00000010 val=0x00000001 utime=0x00000002 val3=0x00000004",
        ),
        (
            "kvm_exit",
            "kvm",
            (
                "unsigned int exit_reason 8 4 0\nunsigned long guest_rip 16 8 0\nu32 isa 24 4 0\n"
                "u64 info1 32 8 0\nu64 info2 40 8 0"
            ),
            "IxxxxQIxxxxQQ",
            (0x7C, 0x55, 2, 8, 9),
            "reason EXIT_MSR rip 0x55 info 8 9",
        ),
        (
            "kvm_entry", "kvm",
            "unsigned int vcpu_id 8 4 0\nunsigned long rip 16 8 0",
            "IxxxxQ",
            (3, 16),
            "vcpu 3 rip 0x10",
        ),
        (
            "kvm_emulate_insn",
            "kvm",
            (
                "__u64 rip 8 8 0\n__u32 csbase 16 4 0\n__u8 len 20 1 0\n__u8 insn[15] 21 15 0\n"
                "__u8 flags 36 1 0\n__u8 failed 37 1 0"
            ),
            "QIB15sBB",
            (0x10, 1, 2, b"\x0f\x05\xff", 0, 1),
            "1:10: 0f 05 FAIL",
        ),
        (
            "kvm_mmu_get_page",
            "kvmmmu",
            MMU_FIELDS + "\nbool created 33 1 0",
            "QQIIBB",
            (0, 0x55, 0x0100_0E82 | 3 << 5, 8, 1, 0),
            "existing sp gfn 55 2 q3 direct wu- invalid !pae !nxe !wp smm root 8 unsync",
        ),
        (
            "kvm_mmu_zap_page", "kvmmmu", MMU_FIELDS, "QQIIBB", (0, 0, 0xF010, 7, 0, 0),
            "0 q0 --- pae nxe wp smep smap root 7 sync",
        ),
        (
            "drv_bss_info_changed",
            "mac80211",
            (
                "char wiphy_name[8] 8 8 0\nu32 vif_type 16 4 0\nbool assoc 20 1 0\nbool enable_beacon 21 1 0\n"
                "u16 assoc_cap 22 2 0\nu32 basic_rates 24 4 0"
            ),
            "8sIBBHI",
            (b"phy0", 2, 1, 1, 0x431, 0),
            "phy0 vif:NOTFOUND:vif_name(2){0}assoc:1      {0} assoc_cap:0x431 basic_rates:0 enable_beacon:1{0}".format(
                "\n" + 65 * " "
            ).rstrip(),
        ),
        (
            "raw_data", "ftrace",
            "unsigned int id 8 4 0\nchar buf[] 12 0 0",
            "I4s",
            (171, b"\x01\x02\x03\x04"),
            "# ab 01 02 03 04",
        ),
        (
            "func_repeats",
            "ftrace",
            (
                "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0\nu16 count 24 2 0\n"
                "u16 top_delta_ts 26 2 0\nu32 bottom_delta_ts 28 4 0"
            ),
            "QQHHI",
            (0x2010, 0x1000, 3, 0, 500),
            "middle (count: 3  last_ts:     1.000000500)",
        ),
        (
            "kernel_stack",
            "ftrace",
            "int size 8 4 1\nunsigned long caller[8] 16 64 0",
            "ixxxxQQ",
            (2, 0x3010, 0x10),
            "<stack trace >\n=> inner (3010)\n=> 10",
        ),
        (
            "function", "ftrace",
            "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0",
            "QQ",
            (8208, 4112),
            "middle",
        ),
        (
            "function",
            "ftrace",
            "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0\nunsigned long args[] 24 0 0",
            "QQQQ",
            (0x2010, 0x1010, 1, 255),
            "middle(1, ff)",
        ),
    ],
)  # fmt: skip
def test_plugins_have_texts_of_their_own(name, system, fields, layout, values, text):
    assert texts(77, name, fields, [Kernel().pack(layout, *values)], system) == [text]


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
        ([(4, b"[x86-tsc]\0")], " 1000000005"),
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


HYPERCALLS = (
    "xen",
    "xen_mc_entry",
    "unsigned int op 8 4 0",
    '"op %u%s", REC->op, xen_hypercall_name(REC->op)',
    [number.to_bytes(4, "little") for number in range(64)],
)
#: Each command, with all of its bytes: below 0x80, as trace-cmd takes the higher ones for signed numbers.
COMMANDS = (
    "scsi",
    "scsi_dispatch_cmd_start",
    "unsigned int cmd_len 8 4 0\n__data_loc unsigned char[] cmnd 12 4 0",
    '"%s", scsi_trace_parse_cdb(p, __get_dynamic_array(cmnd), REC->cmd_len)',
    [
        (32).to_bytes(4, "little") + (32 << 16 | 16).to_bytes(4, "little") + bytes(block)
        for code, services in {
            **dict.fromkeys(
                (8, 10, 40, 42, 47, 65, 168, 170, 175, 136, 138, 143, 147), (0x18, 0x6B)
            ),
            **dict.fromkeys((66, 18, 0), (0,)),
            158: (0x10, 0x12, 5),
            127: (9, 10, 11, 13, 1),
        }.items()
        for service in services
        for block in [[code, service, *range(7, 13), 0, service, 0x68, *range(40, 61)]]
    ],
)


@pytest.mark.parametrize(
    ("system", "name", "fields", "print_fmt", "records"),
    [HYPERCALLS, COMMANDS],
    ids=["xen", "scsi"],
)
def test_functions_of_print_formats_are_those_of_plugins(
    tmp_path, system, name, fields, print_fmt, records
):
    k = Kernel()
    text = format_text(name, 900, fields, print_fmt)
    pages = k.page(10**9, *(k.record(1000, k.common(900, 42) + record) for record in records))
    data = File(k, {0: pages}, formats={system: [text]}).version_7()
    (tmp_path / "trace.dat").write_bytes(data)
    found = ours(data).splitlines()
    assert len(found) == len(records) + 1
    assert not any(b"FAILED" in line for line in found)
    if not shutil.which("trace-cmd-3.4"):
        pytest.skip("trace-cmd-3.4 is not installed")
    assert found == theirs("trace-cmd-3.4", tmp_path / "trace.dat").splitlines()


#: Events of a kernel that plugins know, and what draws a record: of commands all bytes that are looked at, as above.
DRAWN = {
    "xen_mc_entry": (
        "xen",
        "unsigned int op 8 4 0\nunsigned int nargs 12 4 0\nunsigned long args[6] 16 48 0",
        '"op %u%s args [%lx, %lx]", REC->op, xen_hypercall_name(REC->op), REC->args[0], REC->args[5]',
        lambda draw: draw.randrange(70).to_bytes(4, "little") + draw.randbytes(52),
    ),
    "scsi_dispatch_cmd_start": (
        "scsi",
        (
            "unsigned int opcode 8 4 0\nunsigned int cmd_len 12 4 0\nint prot_op 16 4 1\n"
            "__data_loc unsigned char[] cmnd 20 4 0"
        ),
        (
            '"prot_op=%s cmnd=(%s %s raw=%s)", __print_symbolic(REC->prot_op, { 0, "NORMAL" }, { 1, "INSERT" }), '
            '__print_symbolic(REC->opcode, { 0x08, "READ_6" }, { 0x28, "READ_10" }, { 0x7f, "VARIABLE" }), '
            "scsi_trace_parse_cdb(p, __get_dynamic_array(cmnd), REC->cmd_len), "
            "__print_hex(__get_dynamic_array(cmnd), REC->cmd_len)"
        ),
        lambda draw: _command(
            draw.choice([0, *_COMMAND_CODES, draw.randrange(256)]),
            bytes(draw.randrange(128) for _ in range(draw.randrange(32, 40))),
            draw,
        ),
    ),
    "drv_bss_info_changed": (
        "mac80211",
        (
            "char wiphy_name[32] 8 32 0\nu32 vif_type 40 4 0\n__data_loc char[] vif_name 44 4 0\nbool assoc 48 1 0\n"
            "bool cts 49 1 0\nbool shortpre 50 1 0\nbool enable_beacon 51 1 0\nu16 aid 52 2 0\nu8 dtimper 54 1 0\n"
            "u16 bcnint 56 2 0\nu16 assoc_cap 58 2 0\nu32 basic_rates 60 4 0\nu16 ht_operation_mode 64 2 0"
        ),
        '"%s vif:%s(%d)", REC->wiphy_name, __get_str(vif_name), REC->vif_type',
        lambda draw: (
            draw.choice([b"phy0", b"phy12", b""]).ljust(32, b"\0")
            + draw.randbytes(4)
            + (6 << 16 | 66).to_bytes(4, "little")
            + draw.randbytes(18)
            + b"wlan0\0"
        ),
    ),
}
_COMMAND_CODES = (8, 10, 40, 42, 47, 65, 66, 127, 127, 136, 138, 143, 147, 158, 158, 168, 170, 175)


def _command(code, block, draw):
    service = draw.choice([0x10, 0x12, block[1]]) if code == 158 else block[1]
    variable = (0, draw.randrange(15)) if code == 127 else block[8:10]
    block = bytes([code, service, *block[2:8], *variable, *block[10:]])
    numbers = code, len(block), draw.randrange(3), len(block) << 16 | 24
    return b"".join(number.to_bytes(4, "little") for number in numbers) + block


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_records_are_shown_as_plugins_show_them(name, tmp_path):
    system, fields, print_fmt, record = DRAWN[name]
    draw, k = Random(1), Kernel()
    text = format_text(name, 900, fields, print_fmt)
    records = [k.record(1000, k.common(900, 42) + record(draw)) for _ in range(30)]
    data = File(k, {0: k.page(10**9, *records)}, formats={system: [text]}).version_7()
    (tmp_path / "trace.dat").write_bytes(data)
    found = ours(data)
    assert found.count(b": %s: " % name.encode()) == 30
    assert b"FAILED" not in found
    if not shutil.which("trace-cmd-3.4"):
        pytest.skip("trace-cmd-3.4 is not installed")
    assert found == theirs("trace-cmd-3.4", tmp_path / "trace.dat")


def test_commands_with_large_addresses():
    block = bytes([0x2A, 0x20, 0x90, 0x3A, 0, 1, 0, 0xFF, 1, 0])
    record = bytes([10, 0, 0, 0, 16, 0, 10, 0]) + block
    system, name, fields, print_fmt, _ = COMMANDS
    assert texts(900, name, fields, [record], system, print_fmt) == [
        "lba=2419720193 txlen=65281 protect=1"
    ]

"""What trace-cmd prints of a file it prints of copies, other versions, and what comes back by way of other formats."""

from pathlib import Path

import pytest
from support.trace_cmd.files import File, Kernel, format_text, rich
from support.trace_cmd.reports import ours

import converter

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "trace_cmd"
K = Kernel()
SYMBOLS = b"1000 T vfs_read\n2000 T vfs_write\n3000 T end\n"
RELEASE = {
    old: [(5, f"Linux host {old} x86_64".encode() + b"\0")]
    for old in ("3.18.0", "4.14.62", "6.12.1")
}
OLD_STATES = (
    '(REC->prev_state & (1024-1)) ? __print_flags(REC->prev_state & (1024-1), "|", { 1, "S"} , '
    '{ 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K"}, '
    '{ 256, "W" }, { 512, "P" }) : "R", REC->prev_state & 1024 ? "+" : ""'
)
STATES_4_14 = (
    '(REC->prev_state & 255) ? __print_flags(REC->prev_state & 255, "|", { 1, "S" }, { 2, "D" }, '
    '{ 4, "T" }, { 8, "t" }, { 16, "X" }, { 32, "Z" }, { 64, "P" }, { 128, "I" }) : "R", '
    'REC->prev_state & 0x1000 ? "+" : ""'
)
SWITCH_FIELDS = """char prev_comm[16] 8 16 0
pid_t prev_pid 24 4 1
int prev_prio 28 4 1
long prev_state 32 8 1
char next_comm[16] 40 16 0
pid_t next_pid 56 4 1
int next_prio 60 4 1"""


def switches(states, numbers, release):
    text = format_text(
        "sched_switch",
        316,
        SWITCH_FIELDS,
        '"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d '
        f'next_prio=%d", REC->prev_comm, REC->prev_pid, REC->prev_prio, {states}, '
        "REC->next_comm, REC->next_pid, REC->next_prio",
    )
    tasks = (b"a", 42, 120), (b"b", 43, 120)
    records = [
        K.record(
            1,
            K.common(316, 42 + i % 2)
            + K.pack("16siiq", *tasks[i % 2], number)
            + K.pack("16sii", *tasks[1 - i % 2]),
        )
        for i, number in enumerate(numbers)
    ]
    return File(
        K,
        {0: K.page(10, *records)},
        formats={"sched": [text]},
        options=RELEASE[release],
        cmdlines=b"42 a\n43 b\n",
    )


def exits():
    text = format_text(
        "sched_process_exit",
        317,
        "char comm[16] 8 16 0\npid_t pid 24 4 1\nint prio 28 4 1",
        '"comm=%s pid=%d prio=%d", REC->comm, REC->pid, REC->prio',
    )
    record = K.record(1, K.common(317, 42) + K.pack("16sii", b"saved name", 42, 120))
    return File(K, {0: K.page(10, record)}, formats={"sched": [text]}, options=RELEASE["6.12.1"])


def vectors():
    names = ("irq_work_entry", "irq_work_exit", "reschedule_entry", "call_function_single_exit")
    texts = [
        format_text(name, 700 + i, "int vector 8 4 1", '"vector=%d", REC->vector')
        for i, name in enumerate(names)
    ]
    records = [K.record(1, K.common(700 + i, 42) + K.pack("i", 246)) for i in range(len(names))]
    return File(K, {0: K.page(10, *records)}, formats={"irq_vectors": texts})


def graph():
    entry = format_text(
        "funcgraph_entry",
        11,
        "unsigned long func 8 8 0\nunsigned int depth 16 4 0\nunsigned long args[] 20 0 0",
        '"--> %ps (%u)", (void *)REC->func, REC->depth',
    )
    end = format_text(
        "funcgraph_exit",
        10,
        "unsigned long func 8 8 0\nunsigned long retval 16 8 0\nunsigned int depth 24 4 0\n"
        "unsigned int overrun 28 4 0\nunsigned long long calltime 32 8 0\n"
        "unsigned long long rettime 40 8 0",
        '"<-- %ps (%u)", (void *)REC->func, REC->depth',
    )
    function = format_text(
        "function",
        1,
        "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0\nunsigned long args[] 24 0 0",
        '" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip',
    )
    records = [
        K.common(1, 42) + K.pack("QQ2Q", 0x1000, 0x2008, 5, 6),
        K.common(1, 42) + K.pack("QQ", 0x2000, 0x1008),
        K.common(11, 42) + K.pack("QI3Q", 0x1000, 0, 1, 2, 3),
        K.common(11, 42) + K.pack("QI", 0x2000, 1),
        K.common(10, 42) + K.pack("QQIIQQ", 0x2000, (1 << 64) - 9, 1, 0, 1, 11),
        K.common(10, 42) + K.pack("QQIIQQ", 0x1000, 16, 0, 0, 1, 21),
    ]
    page = K.page(10, *(K.record(1, one) for one in records))
    return File(K, {0: page}, formats={"ftrace": [function, entry, end]}, kallsyms=SYMBOLS)


def no_values():
    """Ends of functions of a kernel that does not record what they return."""
    end = format_text(
        "funcgraph_exit",
        10,
        "unsigned long func 8 8 0\nunsigned int depth 16 4 0\nunsigned int overrun 20 4 0\n"
        "unsigned long long calltime 24 8 0\nunsigned long long rettime 32 8 0",
        '"<-- %ps (%u)", (void *)REC->func, REC->depth',
    )
    record = K.record(1, K.common(10, 42) + K.pack("QIIQQ", 0x1000, 0, 0, 1, 21))
    return File(K, {0: K.page(10, record)}, formats={"ftrace": [end]}, kallsyms=SYMBOLS)


def calls():
    """A system call with arguments, and one without."""
    arguments = "dfd", "filename", "flags", "mode"
    fields = "int __syscall_nr 8 4 1\n" + "\n".join(
        f"unsigned long {name} {16 + 8 * i} 8 0" for i, name in enumerate(arguments)
    )
    shown = ", ".join(f"{name}: 0x%08lx" for name in arguments)
    values = ", ".join(f"((unsigned long)(REC->{name}))" for name in arguments)
    ret = "int __syscall_nr 8 4 1\nlong ret 16 8 1"
    texts = [
        format_text("sys_enter_openat", 800, fields, f'"{shown}", {values}'),
        format_text("sys_exit_openat", 801, ret, '"0x%lx", REC->ret'),
        format_text("sys_enter_getpid", 802, "int __syscall_nr 8 4 1", '""'),
    ]
    records = [
        K.common(800, 42) + K.pack("i4xQQQQ", 257, 0xFFFFFF9C, 0x7F1200000000, 0xA00C2, 0),
        K.common(801, 42) + K.pack("i4xq", 257, -2),
        K.common(802, 42) + K.pack("i", 39),
    ]
    page = K.page(10, *(K.record(1, one) for one in records))
    return File(K, {0: page}, formats={"syscalls": texts})


def work():
    text = format_text(
        "workqueue_execute_end", 320, "void * work 8 8 0", '"work struct %p", REC->work'
    )
    record = K.record(1, K.common(320, 42) + K.pack("Q", 0xFFFF_8880_0000_1000))
    return File(K, {0: K.page(10, record)}, formats={"workqueue": [text]})


def stacks():
    """Stacks in an instance, where events were lost before them."""
    text = format_text(
        "kernel_stack",
        4,
        "int size 8 4 1\nunsigned long caller[8] 16 64 0",
        '"\\t=> %ps\\n", (void *)REC->caller[0]',
    )
    frames = (0x1004, 0x2008), (0x2000,)
    records = [
        K.record(1, K.common(4, 42, flags=1) + K.pack(f"i4x{len(one)}Q", len(one), *one))
        for one in frames
    ]
    page = K.page(10, *records, missed=7)
    return File(K, {}, {"one": {0: page}}, formats={"ftrace": [text]}, kallsyms=SYMBOLS)


FILES = {
    "states of Linux 3.18": switches(OLD_STATES, (0, 2 | 128, 16, 32, 64, 512, 1024, 1), "3.18.0"),
    "states of Linux 4.14": switches(STATES_4_14, (0x1000, 0x80, 0x40, 0x10, 0x20, 1), "4.14.62"),
    "task exits": exits(),
    "interrupt vectors": vectors(),
    "functions": graph(),
    "functions without values": no_values(),
    "work": work(),
    "system calls": calls(),
    "stacks": stacks(),
}
#: Texts that CTF's readers would need symbols for, and events that a format has under other names: losses name them.
NOT_BY = {
    "a.pftrace": {"system calls"},
    "a.ctf": {"functions", "functions without values", "interrupt vectors", "work", "stacks"},
    "a.uftrace": set(),
}


def lines(data):
    """The report, without the number of CPUs, which only says which have data."""
    return ours(data).splitlines()[1:]


def through(data, tmp_path, *names):
    """The file that conversions through files of these names make of it."""
    path = tmp_path / "in.dat"
    path.write_bytes(data)
    for name in names:
        converter.convert(path, tmp_path / name)
        path = tmp_path / name
    return path.read_bytes()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("between", ["a.pftrace", "a.ctf", "a.uftrace"])
def test_events_come_back_with_their_texts(tmp_path, name, between):
    if name in NOT_BY[between]:
        pytest.skip("its losses say so")
    data = FILES[name].version_7()
    assert lines(through(data, tmp_path, between, "back.dat")) == lines(data)


def test_a_stack_that_is_text_is_not_printed_as_addresses(tmp_path):
    data = FILES["stacks"].version_7()
    _, *events = lines(through(data, tmp_path, "a.lttng", "back.dat"))
    texts = [line.split(b"] ")[1] for line in events]
    assert texts[0] == (
        b"d....     0.000000011: kernel_stack_event:   size=2 caller=vfs_read <- vfs_write"
    )


def _sources():
    yield from ((name, file.version_7()) for name, file in FILES.items())
    yield "rich", rich("6")
    yield from ((path.name, path.read_bytes()) for path in sorted(FIXTURES.glob("*.dat")))


SOURCES = dict(_sources())


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("variant", ["v6", "v7_none", "v7_zlib"])
def test_other_versions_have_the_same_texts(tmp_path, name, variant):
    source, copy = tmp_path / "in.dat", tmp_path / "copy.dat"
    source.write_bytes(SOURCES[name])
    converter.convert(source, copy, target_format=f"trace_cmd+{variant}")
    assert lines(copy.read_bytes()) == lines(SOURCES[name])


# What a function returned is on the line of its call, which may be outside.
@pytest.mark.parametrize("name", [name for name in SOURCES if not name.startswith("functions")])
def test_a_selection_has_the_texts_of_its_events(tmp_path, name):
    source, part = tmp_path / "in.dat", tmp_path / "part.dat"
    source.write_bytes(SOURCES[name])
    expected = lines(SOURCES[name])
    converter.convert(source, part, selection=converter.Selection(until="+0.000001"))
    found = lines(part.read_bytes())
    assert 0 < len(found) <= len(expected)
    # A selection also ends the slices that are open at its end.
    assert [line for line in found if line not in expected and b": E|" not in line] == []

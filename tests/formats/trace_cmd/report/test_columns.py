"""Columns of the report, and function graphs with return values, as trace-cmd 3.4 prints them."""

import pytest
import support.trace_cmd.files as files
from support.trace_cmd.files import File, Kernel, format_text
from support.trace_cmd.reports import ours

ENTRY = format_text(
    "funcgraph_entry",
    11,
    "unsigned long func 8 8 0\nunsigned int depth 16 4 0\nunsigned long args[] 20 0 0",
    '"--> %ps (%u)", (void *)REC->func, REC->depth',
)
EXIT = format_text(
    "funcgraph_exit",
    10,
    "unsigned long func 8 8 0\nunsigned long retval 16 8 0\nunsigned int depth 24 4 0\n"
    "unsigned int overrun 28 4 0\nunsigned long long calltime 32 8 0\n"
    "unsigned long long rettime 40 8 0",
    '"<-- %ps (%u)", (void *)REC->func, REC->depth',
)
PLAIN = format_text("y", 700, "int a 8 4 1", '"a=%d", REC->a')
SYMBOLS = b"1000 T vfs_read\n2000 T vfs_write\n3000 T end\n"


def entry(k, depth, *args):
    return k.common(11, 7) + k.pack(f"QI{len(args)}Q", 0x1000, depth, *args)


def end(k, depth, value):
    return k.common(10, 7) + k.pack("QQIIQQ", 0x1000, value, depth, 0, 1, 11)


def graph(*payloads):
    k = Kernel()
    page = k.page(10, *(k.record(1, make(k)) for make in payloads))
    file = File(k, {0: page}, formats={"ftrace": [ENTRY, EXIT]}, kallsyms=SYMBOLS)
    return [line.split(b"|", 1)[1].strip() for line in ours(file.version_7()).splitlines()[1:]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, b"0x0"),
        (16, b"0x10"),
        ((1 << 64) - 1, b"-1"),
        ((1 << 64) - 4095, b"-4095"),
        ((1 << 64) - 4096, b"0xfffffffffffff000"),
        (0xFFFF_FFF7, b"0xfffffff7"),
        (1 << 63, b"0x8000000000000000"),
    ],
)
def test_ends_of_calls_have_their_return_values(value, text):
    lines = graph(lambda k: entry(k, 0), lambda k: entry(k, 1, 9, 10), lambda k: end(k, 1, value),
                  lambda k: end(k, 0, value))  # fmt: skip
    assert lines == [
        b"vfs_read() {",
        b"vfs_read(9, a); (ret=" + text + b")",
        b"} (ret=" + text + b")",
    ]


def test_a_leaf_at_the_end_of_a_batch_has_its_return_value():
    lines = graph(lambda k: entry(k, 0), lambda k: end(k, 0, 3))
    assert lines == [b"vfs_read(); (ret=0x3)"]


@pytest.mark.parametrize(("disabled", "text"), [(0, b"0"), (2, b"2"), (9, b"9"), (10, b"10")])
def test_old_real_time_kernels_have_a_column_for_migration(monkeypatch, disabled, text):
    field = "\tfield:unsigned char common_migrate_disable;\toffset:8;\tsize:1;\tsigned:0;\n"
    monkeypatch.setattr(files, "_COMMON", files._COMMON + field)
    plain = format_text("y", 700, "int a 12 4 1", '"a=%d", REC->a')
    k = Kernel()
    page = k.page(10, k.record(1, k.common(700, 7) + k.pack("Bxxxi", disabled, 5)))
    data = File(k, {0: page}, formats={"own": [plain]}).version_7()
    (line,) = ours(data).splitlines()[1:]
    assert line.split()[2] == b"....." + text


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (4, b".....           4: y:"),
        (1234567, b".....     1234567: y:"),
        (12345678901, b"..... 12345678901: y:"),
        # trace-cmd has no blank here.
        (123456789012, b"..... 123456789012: y:"),
    ],
)
def test_times_of_counters_are_aligned(time, text):
    k = Kernel()
    page = k.page(time - 1, k.record(1, k.common(700, 7) + k.pack("i", 1)))
    options = [(4, b"local [counter]\0")]
    file = File(k, {0: page}, formats={"own": [PLAIN]}, options=options)
    (line,) = ours(file.version_6()).splitlines()[1:]
    assert text in line


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("é", "              é-7    ".encode()),
        ("a b", b"             a b-7    "),
        ("", b"           <...>-7    "),
        ("sixteen_bytes_xx", b"sixteen_bytes_xx-7    "),
    ],
)
def test_names_are_aligned_by_bytes(name, text):
    k = Kernel()
    page = k.page(10, k.record(1, k.common(700, 7) + k.pack("i", 1)))
    cmdlines = f"7 {name}\n".encode()
    data = File(k, {0: page}, formats={"own": [PLAIN]}, cmdlines=cmdlines).version_7()
    (line,) = ours(data).splitlines()[1:]
    assert line.startswith(text)


def test_an_empty_file_of_version_6_has_the_cpus_of_its_header():
    k = Kernel()
    data = File(k, {0: b"", 1: b""}, formats={"own": [PLAIN]}).version_6()
    assert ours(data) == b"cpus=2\n"


def test_repeated_functions_are_nested_as_functions_are():
    k = Kernel()
    function = format_text(
        "function",
        1,
        "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0",
        '" %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip',
    )
    repeats = format_text(
        "func_repeats",
        20,
        "unsigned long ip 8 8 0\nunsigned long parent_ip 16 8 0\nu16 count 24 2 0\n"
        "u16 top_delta_ts 26 2 0\nu32 bottom_delta_ts 28 4 0",
        '"%ps", (void *)REC->ip',
    )
    records = [
        k.common(1, 7) + k.pack("QQ", 0x1000, 0x3000),
        k.common(20, 7) + k.pack("QQHHI", 0x2000, 0x1000, 3, 0, 5),
        k.common(20, 7) + k.pack("QQHHI", 0x2000, 0x2000, 3, 0, 5),
        k.common(1, 7) + k.pack("QQ", 0x3000, 0x2000),
    ]
    page = k.page(10, *(k.record(1, one) for one in records))
    symbols = b"1000 T a\n2000 T b\n3000 T c\n4000 T d\n"
    file = File(k, {0: page}, formats={"ftrace": [function, repeats]}, kallsyms=symbols)
    lines = ours(file.version_7()).splitlines()[1:]
    texts = [line.split(b": ", 1)[1][22:].split(b" (")[0] for line in lines]
    assert texts == [b"a", b"   b", b"      b", b"      c"]

"""Fields as kernels since Linux 2.6.30 have spelled them, and arrays that are as long as their record."""

import dataclasses

import pytest
from support.trace_cmd.files import File, Kernel, format_text
from support.trace_cmd.writing import CAPABILITIES, made_anew, read_back, written
from support.traces.losses import line_of
from support.traces.small_traces import fields_at

from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.event_format.syntax import FLEXIBLE, Location, parse_event_format
from converter.formats.trace_cmd.reading.reader import read
from converter.ir.field_classes import ArrayClass, BytesClass, IntegerClass, StringClass, Style
from converter.ir.kinds import Kind
from converter.projection.project import project
from converter.storage.opening import open_source

NUMBER = 77
ADDRESSES = ArrayClass(IntegerClass(64, style=Style.SYMBOL))
KERNELS = [Kernel(), Kernel(big_endian=True), Kernel(long_size=4), Kernel(True, 4)]
KALLSYMS = b"1000 T outer\n2000 T middle\n3000 t inner\n4000 T end\n"


def file_of(name, fields, records, kernel=None, system="ftrace", print_fmt='""'):
    """A file with these records of one event; `fields` are lines of declaration, offset, size, sign."""
    k = kernel or Kernel()
    text = format_text(name, NUMBER, fields, print_fmt)
    pages = k.page(10, *(k.record(1, k.common(NUMBER, 42) + record) for record in records))
    return File(k, {0: pages}, formats={system: [text]}, kallsyms=KALLSYMS)


def events(data):
    trace = read_back(data)
    (batch,) = trace.batches()
    (declared,) = trace.event_classes
    return declared, [fields_at(trace, batch, i) for i in range(len(batch))]


@pytest.mark.parametrize("spelling", ["char buf", "char buf[]", "unsigned char buf[0]"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_marker_is_text_in_the_spelling_of_any_kernel(spelling, kernel):
    end = 8 + kernel.long_size
    fields = f"unsigned long ip 8 {kernel.long_size} 0\n{spelling} {end} 0 0"
    record = kernel.pack("I" if kernel.long_size == 4 else "Q", 0x1000) + b"B|42|work\n\0"
    declared, (event,) = events(file_of("print", fields, [record], kernel).version_7())
    assert declared.kind is Kind.MARK
    assert event["buf"] == b"B|42|work\n"


@pytest.mark.parametrize(
    "spelling",
    [
        "unsigned long caller[8] {at} 64 0",
        "unsigned long caller {at} 0 0",
        "char caller[64] {at} 64 0",
    ],
)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_kernel_stack_has_as_many_frames_as_its_record_is_long(spelling, kernel):
    letter = "I" if kernel.long_size == 4 else "Q"
    at = 16 if kernel.long_size == 8 else 12
    stacks = [[0x3010, 0x2020, 0x1030], [0x3000] * 11, []]
    records = [
        kernel.pack("i", len(stack)).ljust(at - 8, b"\0")
        + kernel.pack(f"{len(stack)}{letter}", *stack)
        for stack in stacks
    ]
    file = file_of("kernel_stack", "int size 8 4 1\n" + spelling.format(at=at), records, kernel)
    for data in (file.version_6(), file.version_7("zstd")):
        declared, found = events(data)
        assert declared.fields[1].type == dataclasses.replace(
            ADDRESSES, element=IntegerClass(8 * kernel.long_size, style=Style.SYMBOL)
        )
        assert [event["caller"] for event in found] == stacks
        # Its pages made anew from columns have the same frames.
        assert events(made_anew(data))[1] == found


def test_a_user_stack_has_eight_frames_whatever_it_is_called():
    frames = [0x7F0000001000, *[0] * 7]
    record = Kernel().pack("Ixxxx8Q", 42, *frames)
    fields = "unsigned int tgid 8 4 0\nchar caller[64] 16 64 0"
    declared, (event,) = events(file_of("user_stack", fields, [record]).version_7())
    assert declared.fields[1].type == ArrayClass(IntegerClass(64, style=Style.POINTER), 8)
    assert event["caller"] == frames


def test_a_stack_is_the_names_of_its_functions_where_a_format_has_no_symbols():
    record = Kernel().pack("ixxxx4Q", 4, 0x3010, 0x2020, 0x1030, 0x10)
    fields = "int size 8 4 1\nunsigned long caller[8] 16 64 0"
    trace = read(open_source(file_of("kernel_stack", fields, [record]).version_7()))
    typed = dataclasses.replace(CAPABILITIES.kinds[Kind.TYPED], of_class=None)
    for arrays in (False, True):
        capabilities = dataclasses.replace(CAPABILITIES, kinds={Kind.TYPED: typed}, arrays=arrays)
        target, losses = project(trace, capabilities, "none")
        (batch,) = target.batches()
        assert fields_at(target, batch, 0)["caller"] == b"inner <- middle <- outer <- 0x10"
        assert "field-as-text event=ftrace:kernel_stack field=caller (1)" in map(line_of, losses)


def test_a_stack_goes_through_a_new_file_with_its_symbols():
    record = Kernel().pack("ixxxx3Q", 3, 0x3010, 0x2020, 0x1030)
    fields = "int size 8 4 1\nunsigned long caller[8] 16 64 0"
    trace = read(open_source(file_of("kernel_stack", fields, [record]).version_7()))
    other = dataclasses.replace(trace, format="none", sidecar={})
    target, _ = project(other, CAPABILITIES, "trace_cmd")
    back = read(open_source(written(target)))
    (batch,) = back.batches()
    assert fields_at(back, batch, 0)["caller"] == [0x3010, 0x2020, 0x1030]
    assert back.symbols.lookup(0x2020) == (b"middle", 0x20)


def test_the_stack_of_a_synthetic_event_is_one():
    kernel = Kernel()
    record = kernel.pack("I", 16 << 16 | 12) + kernel.pack("2Q", 0x3000, 0x2000)
    fields = "__data_loc unsigned long[] stack 8 4 0"
    print_fmt = '"stack=%s", __get_stacktrace(stack)'
    declared, (event,) = events(
        file_of("slow", fields, [record], kernel, "synthetic", print_fmt).version_7()
    )
    assert declared.fields[0].type == ADDRESSES
    assert event["stack"] == [0x3000, 0x2000]


@pytest.mark.parametrize(
    ("declaration", "rest", "expected"),
    [
        # Linux 2.6.30 and 2.6.31: all that varies in length is text.
        ("__str_loc name", "offset:8;tsize:2;", StringClass()),
        ("__data_loc name", "offset:8;\tsize:2;", StringClass()),
        ("__data_loc char[] name", "offset:8;\tsize:2;", StringClass()),
        ("__data_loc char[] name", "offset:8;\tsize:4;\tsigned:1;", StringClass()),
        ("__rel_loc char[] name", "offset:8;\tsize:4;\tsigned:0;", StringClass()),
        ("char name[TASK_COMM_LEN]", "offset:8;\tsize:16;", StringClass()),
        ("__data_loc u8[] data", "offset:8;\tsize:4;\tsigned:0;", BytesClass()),
        (
            "__u8 sockaddr[sizeof(struct sockaddr_in6)]",
            "offset:8;\tsize:28;\tsigned:0;",
            BytesClass(),
        ),
        ("__data_loc __u8[] addr", "offset:8;\tsize:4;\tsigned:0;", BytesClass()),
        ("struct entry list[]", "offset:8;\tsize:0;\tsigned:0;", BytesClass()),
        ("struct entry list", "offset:8;\tsize:0;\tsigned:0;", BytesClass()),
        ("u32 buf", "offset:8;\tsize:0;\tsigned:0;", ArrayClass(IntegerClass(32))),
        ("u32 buf[]", "offset:8;\tsize:0;\tsigned:0;", ArrayClass(IntegerClass(32))),
        ("unsigned long args", "offset:8;\tsize:0;\tsigned:0;", ArrayClass(IntegerClass(64))),
        (
            "__data_loc cpumask_t mask",
            "offset:8;\tsize:4;\tsigned:0;",
            ArrayClass(IntegerClass(64, style=Style.HEXADECIMAL)),
        ),
        (
            "__rel_loc unsigned long[] mask",
            "offset:8;\tsize:4;\tsigned:0;",
            ArrayClass(IntegerClass(64, style=Style.HEXADECIMAL)),
        ),
    ],
)
def test_a_field_is_what_its_declaration_means(declaration, rest, expected):
    text = f'name: event\nID: 7\nformat:\n\n\tfield:{declaration};\t{rest}\n\nprint fmt: ""\n'
    _, fields, _ = fields_of(parse_event_format(text.encode(), "test"), 8, None)
    assert fields[0].type == expected


def test_a_dynamic_text_of_two_bytes_is_an_offset():
    kernel = Kernel()
    record = kernel.pack("HH", 12, 0) + b"eth0\0"
    file = file_of("net", "__str_loc name 8 2 0", [record], system="net")
    assert events(file.version_7())[1][0]["name"] == b"eth0"
    field = parse_event_format(file.formats["net"][0], "net").fields[0]
    assert (field.location, field.array_length) == (Location.DATA_LOC, FLEXIBLE)

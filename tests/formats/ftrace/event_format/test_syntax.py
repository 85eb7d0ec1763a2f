import contextlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from converter.formats.ftrace.event_format.fields import fields_of
from converter.formats.ftrace.event_format.syntax import (
    FLEXIBLE,
    FormatSyntaxError,
    Location,
    parse_event_format,
    parse_header_page,
    peek_event_format,
    type_size,
)
from converter.ir.field_classes import IntegerClass
from converter.ir.kinds import Kind, Role

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures" / "trace_cmd"

COMMON = b"""\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
"""
HEADER_PAGE = b"""\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
"""


def format_text(*fields, print_fmt=b'"x"', name=b"event", common=COMMON):
    own = b"".join(b"\t" + field + b"\n" for field in fields)
    return b"name: %b\nID: 42\nformat:\n%b\n%b\nprint fmt: %b\n" % (name, common, own, print_fmt)


def field(declaration, rest="offset:8;\tsize:4;\tsigned:0;"):
    text = format_text(f"field:{declaration};\t{rest}".encode())
    return parse_event_format(text, "test").fields[0]


def all_formats():
    packed = (FIXTURES / "linux618_all_formats.txt.zst").read_bytes()
    text = zstandard.ZstdDecompressor().decompress(packed)
    first, *others = text.split(b"\nname: ")
    return [first, *(b"name: " + other for other in others)]


def test_all_formats_of_a_kernel_parse():
    formats = [parse_event_format(text, "any") for text in all_formats()]
    assert len(formats) == 2323
    assert max(len(event.fields) for event in formats) == 20
    for text, event in zip(all_formats(), formats, strict=True):
        assert peek_event_format(text) == (event.name.encode(), event.id)
        assert [item.name for item in event.common_fields] == [
            "common_type",
            "common_flags",
            "common_preempt_count",
            "common_pid",
        ]
        assert event.print_fmt.startswith('"')
        for item in event.fields:
            # Where there is no size, the last field takes the rest of the record.
            assert item.size or item.array_length == FLEXIBLE
            assert item.size % max(item.element_bytes(8), 1) == 0 or item.location


def test_an_event_has_name_id_fields_and_print_fmt():
    text = format_text(
        b"field:char comm[16];\toffset:8;\tsize:16;\tsigned:0;",
        b"field:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;",
        print_fmt=b'"comm=%s pid=%d", REC->comm, REC->pid',
        name=b"sched_wakeup",
    )
    event = parse_event_format(text, "sched")
    assert (event.system, event.name, event.id) == ("sched", "sched_wakeup", 42)
    assert event.print_fmt == '"comm=%s pid=%d", REC->comm, REC->pid'
    comm, pid = event.fields
    assert (comm.name, comm.type, comm.array_length) == ("comm", "char", 16)
    assert (comm.offset, comm.size, comm.element_bytes(8)) == (8, 16, 1)
    assert comm.is_string
    assert (pid.type, pid.signed, pid.array_length, pid.common) == ("pid_t", True, None, False)
    assert [item.common for item in event.common_fields] == [True] * 4
    assert event.field("common_pid") is event.common_fields[3]
    assert event.field("nothing") is None


@pytest.mark.parametrize(
    ("declaration", "name", "declared", "length", "location"),
    [
        ("int x", "x", "int", None, Location.INLINE),
        ("unsigned long x[6]", "x", "unsigned long", 6, Location.INLINE),
        ("u32 buf[]", "buf", "u32", FLEXIBLE, Location.INLINE),
        ("char comm[TASK_COMM_LEN]", "comm", "char", 0, Location.INLINE),
        ("u8 m[2][6]", "m", "u8", 12, Location.INLINE),
        ("__data_loc char[] name", "name", "char", FLEXIBLE, Location.DATA_LOC),
        ("__data_loc cpumask_t cpumask", "cpumask", "cpumask_t", None, Location.DATA_LOC),
        ("__data_loc unsigned long[] mask", "mask", "unsigned long", FLEXIBLE, Location.DATA_LOC),
        ("__rel_loc char[] name", "name", "char", FLEXIBLE, Location.REL_LOC),
        ("const struct xdp_mem_allocator * xa", "xa", "const struct xdp_mem_allocator *", None, 0),
        ("struct page *page", "page", "struct page *", None, 0),
        (
            "const char __attribute__((user)) * filename",
            "filename",
            "const char __attribute__((user)) *",
            None,
            0,
        ),
        ("unsigned long graph_ent.func", "func", "unsigned long", None, 0),
    ],
)
def test_declarations(declaration, name, declared, length, location):
    found = field(declaration)
    assert (found.name, found.type, found.array_length) == (name, declared, length)
    assert found.location == location


@pytest.mark.parametrize("prefix", ["field:", "field special:", "field: "])
def test_a_field_may_be_special(prefix):
    text = format_text(f"{prefix}int x;\toffset:8;\tsize:4;\tsigned:1;".encode())
    assert parse_event_format(text, "ftrace").fields[0].name == "x"


def test_an_old_format_does_not_say_what_is_signed():
    assert field("int x", "offset:8;\tsize:4;").signed is False


def test_what_the_text_says_of_the_size_is_right():
    assert field("int dfd", "offset:16;\tsize:8;\tsigned:0;").size == 8
    array = field("u64 arr[]", "offset:20;\tsize:16;\tsigned:0;")
    assert (array.size, array.element_bytes(8), array.offset) == (16, 8, 20)


def test_fields_may_be_out_of_order_and_overlap():
    event = parse_event_format(
        format_text(
            b"field:u64 b;\toffset:12;\tsize:8;\tsigned:0;",
            b"field:u64 a;\toffset:9;\tsize:8;\tsigned:0;",
        ),
        "test",
    )
    assert [item.offset for item in event.fields] == [12, 9]


def test_of_fields_of_one_name_the_first_has_the_role():
    """So finds libtraceevent them; a converter may add arguments of other formats behind a kernel's fields."""
    text = format_text(
        b"field:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;",
        b"field:char buf[16];\toffset:16;\tsize:16;\tsigned:0;",
        b"field:u64 ip;\toffset:32;\tsize:8;\tsigned:0;",
        name=b"print",
    )
    kind, fields, _ = fields_of(parse_event_format(text, "ftrace"), 8, None)
    assert kind is Kind.MARK
    assert [(each.name, each.role) for each in fields[:3]] == [
        ("ip", Role.INSTRUCTION),
        ("buf", Role.MESSAGE),
        ("ip", Role.NONE),
    ]
    assert fields[2].type == IntegerClass(64)


def test_more_common_fields_of_older_kernels():
    extra = COMMON + b"\tfield:int common_lock_depth;\toffset:8;\tsize:4;\tsigned:1;\n"
    event = parse_event_format(format_text(common=extra), "test")
    assert [item.name for item in event.common_fields][-1] == "common_lock_depth"
    assert event.fields == ()


def test_a_format_without_print_fmt_has_an_empty_one():
    text = format_text().partition(b"print fmt")[0]
    assert parse_event_format(text, "test").print_fmt == ""


def test_kinds_of_fields():
    assert field("unsigned char addr[6]", "offset:8;\tsize:6;\tsigned:0;").is_string
    assert not field("unsigned short a[3]", "offset:8;\tsize:6;\tsigned:0;").is_string
    assert field("__data_loc cpumask_t m").is_bitmask
    assert field("__data_loc unsigned long[] m").is_bitmask
    assert not field("unsigned long m[2]", "offset:8;\tsize:16;\tsigned:0;").is_bitmask
    assert field("void * p", "offset:8;\tsize:8;\tsigned:0;").is_pointer
    assert field("long long p", "offset:8;\tsize:8;\tsigned:1;").is_long
    old = field("__data_loc char name", "offset:8;\tsize:2;\tsigned:0;")
    assert old.is_string
    assert old.is_array
    assert old.element_bytes(8) == 1


@pytest.mark.parametrize(
    ("declared", "size"),
    [
        ("u8", 1), ("__u16", 2), ("uint32_t", 4), ("__s64", 8), ("unsigned char", 1), ("long long", 8),
        ("unsigned long long int", 8), ("unsigned long", 4), ("size_t", 4), ("struct page *", 4), ("unsigned", 4),
        ("short int", 2), ("struct page", 0), ("sector_t", 8),
    ],
)  # fmt: skip
def test_sizes_of_types(declared, size):
    assert type_size(declared, 4) == size


def test_an_element_of_a_32_bit_kernel():
    assert field("__data_loc unsigned long[] args").element_bytes(4) == 4
    assert field("__data_loc unsigned int[] args").element_bytes(4) == 4
    assert field("unsigned long args[6]", "offset:8;\tsize:24;\tsigned:0;").element_bytes(4) == 4


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"name: x\n",
        b"name: x\nID: y\n",
        b"name: x\nID: 99999999999\nformat:\n",
        b"name: x\nID: 1\n",
        b"name: x\nID: 1\nformat:\n\tfield:int;\toffset:0;\tsize:4;\tsigned:1;\n",
        b"name: x\nID: 1\nformat:\n\tfield:int x;\toffset:-1;\tsize:4;\tsigned:1;\n",
        b"name: x\nID: 1\nformat:\n\tfield:int x;\toffset:0;\tsize:99999999999;\n",
        b"name: x\nID: 1\nformat:\n\tfield:int x[;\toffset:0;\tsize:4;\n",
        b"name: x\nID: 1\nformat:\n\tfield:;\toffset:0;\tsize:4;\n",
        b"name: x\nID: 1\nformat:\nsomething else\n",
    ],
)
def test_what_is_no_format_is_refused(text):
    with pytest.raises(FormatSyntaxError):
        parse_event_format(text, "test")


def test_header_page():
    page = parse_header_page(HEADER_PAGE)
    assert (page.timestamp_offset, page.timestamp_size) == (0, 8)
    assert (page.commit_offset, page.commit_size, page.long_size) == (8, 8, 8)
    assert (page.data_offset, page.data_size, page.page_size) == (16, 4080, 4096)
    assert (page.overwrite_offset, page.overwrite_size) == (8, 1)


def test_header_page_of_32_bits_without_overwrite():
    page = parse_header_page(
        b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\n"
        b"\tfield: local_t commit;\toffset:8;\tsize:4;\n"
        b"\tfield: char data;\toffset:12;\tsize:4084;\n"
    )
    assert (page.long_size, page.data_offset, page.page_size) == (4, 12, 4096)
    assert page.overwrite_offset is None


@pytest.mark.parametrize("missing", ["timestamp", "commit", "data"])
def test_header_page_without_a_field_is_refused(missing):
    lines = [line for line in HEADER_PAGE.splitlines() if missing.encode() not in line]
    with pytest.raises(FormatSyntaxError, match=missing):
        parse_header_page(b"\n".join(lines))


def mutated(texts):
    """A text with a few stretches replaced."""

    def change(text, edits):
        for position, length, new in edits:
            start = position % (len(text) + 1)
            text = text[:start] + new + text[start + length :]
        return text

    edit = st.tuples(st.integers(0, 5000), st.integers(0, 20), st.binary(max_size=12))
    return st.builds(change, texts, st.lists(edit, min_size=1, max_size=5))


@given(st.binary(max_size=300) | mutated(st.sampled_from(all_formats()[::40])))
def test_any_text_is_a_format_or_refused(text):
    try:
        event = parse_event_format(text, "any")
    except FormatSyntaxError:
        return
    for item in (*event.fields, *event.common_fields):
        assert item.element_bytes(8) >= 0
        assert isinstance(item.is_string, bool)


@given(st.binary(max_size=200) | mutated(st.just(HEADER_PAGE)))
def test_any_text_is_a_header_page_or_refused(text):
    try:
        page = parse_header_page(text)
    except FormatSyntaxError:
        return
    assert page.long_size in (4, 8)


@pytest.mark.parametrize(
    "text",
    [
        b"name: " + b"a " * 200_000,
        b"name:" + b" " * 400_000,
        b"name: x\nID: 1\nformat:\n\tfield:" + b"a " * 200_000,
        b"name: x\nID: 1\nformat:\n\tfield:" + b" " * 400_000 + b";",
        b"name: x\nID: 1\nformat:\n\tfield:int x" + b"[9]" * 100_000 + b";\toffset:0;\tsize:4;\n",
        b"name: x\nID: 1\nformat:\n\tfield:" + b"a " * 100_000 + b"(;\toffset:0;\tsize:4;\n",
        b"\n" * 400_000,
    ],
)  # fmt: skip
def test_a_long_text_takes_linear_time(text):
    # Quadratic time would be hours.
    with contextlib.suppress(FormatSyntaxError):
        parse_event_format(text, "any")

import json
import random
import struct
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from converter.formats.trace_cmd.event_format import FormatSyntaxError, parse_event_format
from converter.formats.trace_cmd.print_format import compile_print_format, render_bprint

FIXTURES = Path(__file__).parents[1] / "roundtrip_fixtures" / "trace_cmd"


class Symbols:
    """Functions of 0x100 bytes, and strings."""

    def __init__(self, functions=(), printk=()):
        self.functions = dict(functions)
        self.strings = dict(printk)

    def function(self, address):
        return self.functions.get(address)

    def printk(self, address):
        return self.strings.get(address)


SYMBOLS = Symbols(
    {0x1000: ("schedule", 0), 0x1024: ("schedule", 0x24)},
    {0x2000: "value %d of %s\\n", 0x3000: "plain\\n"},
)

FIELDS = {
    "u": ("unsigned int", 4, 0),
    "i": ("int", 4, 1),
    "l": ("unsigned long", 8, 0),
    "q": ("s64", 8, 1),
    "b": ("u8", 1, 0),
    "h": ("short", 2, 1),
    "p": ("void *", 8, 0),
    "comm": ("char", 16, 0),
    "mac": ("u8", 6, 0),
    "ip4": ("__u8", 4, 0),
    "ip6": ("__u8", 16, 0),
    "sa": ("__u8", 28, 0),
    "words": ("unsigned long", 32, 0),
    "d": ("__data_loc char[]", 4, 0),
    "m": ("__data_loc unsigned long[]", 4, 0),
    "a": ("__data_loc u32[]", 4, 0),
    "r": ("__rel_loc char[]", 4, 0),
}
COUNTS = {"comm": 16, "mac": 6, "ip4": 4, "ip6": 16, "sa": 28, "words": 4}


def compiled(
    print_fmt, record_fields=FIELDS, *, order="little", long_size=8, system="test", name="event"
):
    lines = ["field:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;"]
    lines.append("field:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n")
    offset = 8
    for field, (declared, size, signed) in record_fields.items():
        count = f"[{COUNTS[field]}]" if field in COUNTS else ""
        lines.append(
            f"field:{declared} {field}{count};\toffset:{offset};\tsize:{size};\tsigned:{signed};"
        )
        offset += size
    text = "name: {}\nID: 1\nformat:\n\t{}\n\nprint fmt: {}\n".format(
        name, "\n\t".join(lines), print_fmt
    )
    event = parse_event_format(text.encode(), system)
    return compile_print_format(event, SYMBOLS, order, long_size)


def record(order="little", **values):
    """A record with the given fields; dynamic ones follow the others."""
    fixed = bytearray(8)
    fixed[2] = values.pop("flags", 0)
    size = 8 + sum(size for _, size, _ in FIELDS.values())
    tail = b""
    for field, (declared, length, _) in FIELDS.items():
        value = values.get(field, 0)
        if declared.startswith(("__data_loc", "__rel_loc")):
            data = value or b""
            base = 0 if declared.startswith("__data_loc") else len(fixed) + 4
            fixed += (len(data) << 16 | size + len(tail) - base).to_bytes(4, order)
            tail += data
        elif isinstance(value, bytes):
            fixed += value.ljust(length, b"\0")
        else:
            fixed += (value & (1 << 8 * length) - 1).to_bytes(length, order)
    return bytes(fixed) + tail


def printed(print_fmt, **values):
    return compiled(print_fmt).render(record(**values))


@pytest.mark.parametrize(
    ("print_fmt", "values", "text"),
    [
        # numbers
        ('"%d %i %u", REC->i, REC->i, REC->i', {"i": -5}, "-5 -5 4294967291"),
        (
            '"%x %X %o %#x %#o", REC->u, REC->u, REC->u, REC->u, REC->u',
            {"u": 171},
            "ab AB 253 0xab 0253",
        ),
        ('"%#x %#o", REC->u, REC->u', {"u": 0}, "0 0"),
        (
            '"[%5d|%-5d|%05d|%+d|% d]", REC->i, REC->i, REC->i, REC->i, REC->i',
            {"i": 42},
            "[   42|42   |00042|+42| 42]",
        ),
        (
            '"[%.3d|%8.3d|%08.3d|%.0d]", REC->i, REC->i, REC->i, REC->b',
            {"i": 7},
            "[007|     007|     007|]",
        ),
        ('"%*d|%-*d|", 4, REC->i, 4, REC->i', {"i": 7}, "   7|7   |"),
        ('"%hhu %hhd %hu %hd", REC->u, REC->u, REC->u, REC->u', {"u": 0x1FFFF}, "255 -1 65535 -1"),
        (
            '"%ld %lu %lld %llx %Lx %zu %zd %td %jd"' + ", REC->q" * 9,
            {"q": -2},
            "-2 18446744073709551614 -2 fffffffffffffffe fffffffffffffffe 18446744073709551614 -2 -2 -2",
        ),
        ("\"%c%c%c\", REC->b, 65, 'x'", {"b": 66}, "BAx"),
        ('"%c|", REC->b', {"b": 0}, "|"),
        # a field is not sign-extended, and numbers compare unsigned
        ('"%ld %d", REC->i, REC->i < 0', {"i": -1}, "4294967295 0"),
        # literal text
        (r'"a\tb\nc\\d\"%% 5%%"', {}, 'a\tb\nc\\d"% 5%'),
        ('"a" " b"', {}, "a b"),
        ('"%s" LOCAL_PR_FMT, REC->comm, REC->comm', {"comm": b"x"}, "xx"),
        ('"%k|%", REC->u', {}, ">k<|"),
        # strings
        (
            '"%s|%10s|%-10s|%.2s|%.*s", REC->comm, REC->comm, REC->comm, REC->comm, 3, REC->comm',
            {"comm": b"bash\0junk"},
            "bash|      bash|bash      |ba|bas",
        ),
        ('"%s", REC->u ? "yes" : "no"', {"u": 3}, "yes"),
        ('"%s", REC->u ? "a" : REC->i ? "b" : "c"', {"i": 3}, "b"),
        ('"%s %s", __get_str(d), __get_rel_str(r)', {"d": b"one\0", "r": b"two\0"}, "one two"),
        ('"[%8s]", __get_str(d)', {"d": b""}, "[]"),
        ('"%s", REC->p', {"p": 0x3000}, "plain"),
        ('"%s", REC->p', {"p": 0xABC}, "abc"),
        ('"%s", REC->comm', {"comm": "ä".encode()}, "ä"),
        ('"%s", REC->comm', {"comm": b"\xff"}, "\udcff"),
        # symbols
        (
            '"%ps %pS %pf %pF", (void *)REC->p, REC->p, REC->p, REC->p',
            {"p": 0x1024},
            "schedule schedule+0x24 schedule schedule+0x24",
        ),
        ('"%pS %p", REC->p, REC->p', {"p": 0x99}, "0x99 0x99"),
        ('"%p", REC->p', {"p": 0}, "(nil)"),
        # operators
        ('"%d %d %d", 1 + 2 * 3, (1 + 2) * 3, 10 - 2 - 3', {}, "7 9 5"),
        (
            '"%u:%u", ((unsigned int) ((REC->u) >> 20)), ((unsigned int) ((REC->u) & ((1U << 20) - 1)))',
            {"u": 0x700003},
            "7:3",
        ),
        ('"%llx", ~REC->q', {"q": 1}, "fffffffffffffffe"),
        ('"%d%d%d%d", !REC->u, REC->u && 1, REC->u || 0, REC->u ^ 1', {"u": 1}, "0110"),
        ('"%d %d", REC->u / REC->b, REC->u % REC->b', {"u": 7, "b": 0}, "0 0"),
        ('"%x %x", (u8)REC->u, (unsigned short)REC->u', {"u": 0x12345}, "45 2345"),
        ('"%lx", (unsigned long)-4095', {}, "fffffffffffff001"),
        ('"%d", (REC)->u', {"u": 5}, "5"),
        ('"%d", __builtin_expect(!!(REC->u), 0) ? 1 : 2', {"u": 5}, "1"),
        ('"%d", REC->u & (1 | 2 | 4)', {"u": 10}, "2"),
        (
            '"%zu %zu %zu %zu", sizeof(u64), sizeof(unsigned long), sizeof(REC->u), sizeof(struct page *)',
            {},
            "8 8 4 8",
        ),
        (
            '"%lx %x", REC->words[1], ((u32 *)REC->words)[2]',
            {"words": bytes(8) + b"\x21\x43" + bytes(6)},
            "4321 4321",
        ),
        (
            '"%x %d", ((u8 *)__get_dynamic_array(a))[4], __get_str(d)[0]',
            {"a": bytes(4) + b"\7\0\0\0", "d": b"A\0"},
            "7 65",
        ),
        (
            '"%x %x", __get_dynamic_array(a)[1], *(u32 *)__get_dynamic_array(a)',
            {"a": b"\1\0\0\0\2\0\0\0"},
            "2 1",
        ),
        (
            '"%d %d", __get_dynamic_array_len(a), __get_rel_dynamic_array_len(r)',
            {"a": bytes(12), "r": b"xy\0"},
            "12 3",
        ),
        ('"%d", ({ int x = (REC->u); int y = (3); ((x) < (y) ? (x) : (y)); })', {"u": 9}, "3"),
        (
            (
                '"%s", ({ const char *r = trace_seq_buffer_ptr(p); trace_seq_printf(p, "%d-%s", REC->u, "x");'
                " trace_seq_putc(p, 0); r; })"
            ),
            {"u": 9},
            "9-x",
        ),
        # tables
        ('"%s", __print_flags(REC->u, "|", { 1, "A" }, { 2, "B" }, { 4, "C" })', {"u": 5}, "A|C"),
        ('"%s", __print_flags(REC->u, "|", { 1, "A" }, { 2, "B" })', {"u": 9}, "A|0x8"),
        ('"%s", __print_flags(REC->u, "|", { 3, "AB" }, { 1, "A" })', {"u": 3}, "AB"),
        ('"[%s]", __print_flags(REC->u, "|", { 0, "none" }, { 1, "A" })', {"u": 0}, "[]"),
        ('"[%s]", __print_flags(REC->u, "|", { UNKNOWN, "none" }, { 1, "A" })', {"u": 0}, "[none]"),
        ('"[%4s]", __print_flags(REC->u, "|", { 1, "A" }, { 2, "B" })', {"u": 3}, "[   A|   B]"),
        (
            '"%s", __print_flags_u64(REC->q, "|", { 1ULL << 63, "TOP" }, { 1, "A" })',
            {"q": (1 << 63) + 1},
            "TOP|A",
        ),
        ('"%s", __print_symbolic(REC->u, { 1, "one" }, { 1 << 1, "two" })', {"u": 2}, "two"),
        ('"%s", __print_symbolic(REC->u, { 1, "one" })', {"u": 77}, "0x4d"),
        ('"%s", __print_symbolic(REC->i, { -1, "INVALID" }, { 0, "OK" })', {"i": -1}, "INVALID"),
        ('"%s", __print_symbolic(REC->u, { HRTIMER_SOFTIRQ, "HRTIMER" })', {"u": 8}, "HRTIMER"),
        ('"%s", __print_symbolic_u64(REC->q, { 5, "five" })', {"q": 5}, "five"),
        ('"%s", __print_symbolic(REC->u, { })', {"u": 5}, "0x5"),
        ('"%s", __print_symbolic(REC->u, { 5, "five" }, { 6, ((void *)0) })', {"u": 6}, "0x6"),
        # memory
        (
            '"%s|%s", __print_hex(REC->mac, 3), __print_hex_str(REC->mac, 6)',
            {"mac": b"\1\2\xff\0\0\5"},
            "01 02 ff|0102ff000005",
        ),
        (
            '"%s", __print_hex(__get_dynamic_array(d), __get_dynamic_array_len(d))',
            {"d": b"\xab\xcd"},
            "ab cd",
        ),
        (
            '"%s", __print_array(__get_dynamic_array(a), __get_dynamic_array_len(a) / sizeof(u32), sizeof(u32))',
            {"a": struct.pack("<II", 1, 0xFFFFFFFF)},
            "{0x1,0xffffffff}",
        ),
        (
            '"%s %s", __print_array(REC->ip4, 2, 2), __print_array(REC->ip4, 4, 1)',
            {"ip4": b"\1\2\3\4"},
            "{0x201,0x403} {0x1,0x2,0x3,0x4}",
        ),
        (
            '"%s", __print_array(REC->ip4, 2, 3)',
            {"ip4": b"\1\2"},
            "{BAD SIZE:3 0x1,BAD SIZE:3 0x2}",
        ),
        ('"%s", __print_dynamic_array(a, 4)', {"a": struct.pack("<II", 1, 2)}, "{0x1,0x2}"),
        ('"%s", __get_bitmask(m)', {"m": struct.pack("<Q", 0x100000003)}, "00000001,00000003"),
        ('"%s", __get_cpumask(m)', {"m": struct.pack("<QQ", 0x8F, 1)}, "0-3,7,64"),
        ('"%s|", __get_cpumask(m)', {"m": bytes(8)}, "|"),
        (
            '"%*pbl %*pb", 8, REC->words, 64, REC->words',
            {"words": b"\x0d"},
            "0,2-3 00000000,0000000d",
        ),
        (
            '"%pM %pMR %pMF %pm", REC->mac, REC->mac, REC->mac, REC->mac',
            {"mac": bytes(range(6))},
            "00:01:02:03:04:05 05:04:03:02:01:00 00-01-02-03-04-05 000102030405",
        ),
        (
            '"%pM %pI4 %pI6c %pU", REC->ip4, REC->mac, REC->mac, REC->mac',
            {},
            "INVALIDMAC INVALIDIPv4 INVALIDIPv6 INVALIDUUID",
        ),
        (
            '"%pI4 %pi4 %pI4h %pI4n", REC->ip4, REC->ip4, REC->ip4, &REC->ip4',
            {"ip4": b"\x7f\0\0\1"},
            "127.0.0.1 127.000.000.001 1.0.0.127 127.0.0.1",
        ),
        (
            '"%pI6 %pi6 %pI6c", REC->ip6, REC->ip6, REC->ip6',
            {"ip6": bytes.fromhex("fe80" + "00" * 13 + "01")},
            "fe80:0000:0000:0000:0000:0000:0000:0001 fe800000000000000000000000000001 fe80::1",
        ),
        ('"%pI6c", REC->ip6', {"ip6": bytes(10) + b"\xff\xff\x0a\0\0\1"}, "::ffff:10.0.0.1"),
        (
            '"%pI6c", REC->ip6',
            {"ip6": bytes.fromhex("20010db8000000010000000000020000")},
            "2001:db8:0:1::2:0",
        ),
        ('"%pI6c", REC->ip6', {}, "::"),
        (
            '"%pISpc %pISc", REC->sa, REC->sa',
            {"sa": b"\2\0\0\x50\x7f\0\0\1"},
            "127.0.0.1:80 127.0.0.1",
        ),
        ('"%pISpc", REC->sa', {"sa": b"\x0a\0\0\x50" + bytes(4) + bytes(15) + b"\1"}, "[::1]:80"),
        ('"%pISpc", __get_sockaddr(d)', {"d": b"\2\0\1\xbb\1\2\3\4" + bytes(8)}, "1.2.3.4:443"),
        ('"[%pISpc]", REC->sa', {"sa": b"\1\0"}, "[]"),
        (
            '"%pU %pUl %pUB", REC->ip6, REC->ip6, REC->ip6',
            {"ip6": bytes(range(0xA0, 0xB0))},
            (
                "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf a3a2a1a0-a5a4-a7a6-a8a9-aaabacadaeaf"
                " A0A1A2A3-A4A5-A6A7-A8A9-AAABACADAEAF"
            ),
        ),
        (
            '"%*ph %*phC %*phN", 3, __get_dynamic_array(d), 2, __get_dynamic_array(d), 9, __get_dynamic_array(d)',
            {"d": b"\1\2\3\4"},
            "01 02 03 01:02 01020304",
        ),
        # functions
        ('"%u", jiffies_to_msecs(REC->u)', {"u": 12}, "12"),
        (
            '"%llu.%09u", __print_ns_to_secs(REC->q), __print_ns_without_secs(REC->q)',
            {"q": 3_000_000_007},
            "3.000000007",
        ),
        (
            '"%d %d %d", __event_in_irq() != 0, __event_in_hardirq(), __event_in_softirq()',
            {"flags": 0x10},
            "1 0 16",
        ),
        (
            '"%s %s", mc_event_error_type(REC->u), mc_event_error_type(9)',
            {"u": 1},
            "Uncorrected Info",
        ),
        ('"%s", jbd2_dev_to_name(REC->u)', {"u": 8 << 20 | 1}, "8:1"),
        (
            '"stack=%s", __get_stacktrace(m)',
            {"m": struct.pack("<QQQ", 0x1024, 0x99, 0)},
            "stack=STACK:\n=> schedule+0x24\n=> 0x99\n",
        ),
        ('"%d", __le16_to_cpup(REC->ip4)', {"ip4": b"\1\2"}, "513"),
    ],
)
def test_records_print_as_trace_cmd_prints_them(print_fmt, values, text):
    form = compiled(print_fmt)
    assert form.reason is None
    assert form.render(record(**values)) == text


def test_big_endian_records():
    form = compiled('"%d %x %s %s", REC->i, REC->h, __get_str(d), __get_cpumask(m)', order="big")
    mask = struct.pack(">QQ", 3, 1)
    assert form.render(record("big", i=-9, h=0x102, d=b"be\0", m=mask)) == "-9 102 be 0-1,64"


def test_a_pointer_of_32_bits_is_a_string_of_the_kernel():
    form = compiled('"%s %pS", REC->u, REC->i', long_size=4)
    assert form.render(record(u=0x3000, i=0x99)) == "plain 0x99"


def test_dynamic_arrays_outside_the_record_are_empty():
    form = compiled('"%s|%s|%d", __get_str(d), __get_bitmask(m), __get_dynamic_array_len(a)')
    data = bytearray(record(d=b"x\0", m=bytes(8), a=bytes(8)))
    assert form.render(bytes(data[:-12])) == "x||0"


def test_oldest_ftrace_events_print_their_fields_in_order():
    fields = {"u": FIELDS["u"], "i": FIELDS["i"]}
    form = compiled('"%u/%d"', fields, system="ftrace")
    assert form.render(bytes(8) + struct.pack("<Ii", 3, -4)) == "3/-4"
    assert not compiled('"%u/%d"', fields, system="other").parsable


RAW_TEXT = (
    "[FAILED TO PARSE] u=1 i=-2 l=0x3 q=-4 b=5 h=-6 p=0x7 comm=bash mac=ARRAY[00, 01, 02, 03, 04, 05] ip4= ip6= sa="
    " words=ARRAY[" + ", ".join(["00"] * 32) + "] d=dyn m=ARRAY[] a=ARRAY[01, 00, 00, 00] r="
)


@pytest.mark.parametrize(
    "print_fmt",
    [
        '"%d", no_such_function(REC->u)',
        '"%d", REC->nothing',
        '"%d"',
        '"%d", ({ union x y; y.z = REC->u; y.w; })',
        '"%s", __print_symbolic(REC->u, names)',
        '"%d", sizeof(struct page)',
        '"%d", (',
        '"unterminated',
        "nothing",
        '"%d" 5',
        "",
    ],
)
def test_what_cannot_be_evaluated_prints_raw_fields(print_fmt):
    form = compiled(print_fmt)
    assert not form.parsable
    assert form.reason
    values = {"u": 1, "i": -2, "l": 3, "q": -4, "b": 5, "h": -6, "p": 7, "comm": b"bash"}
    data = record(**values, mac=b"\0\1\2\3\4\5"[::1], d=b"dyn\0", a=struct.pack("<I", 1))
    # A string that starts with NUL is empty.
    expected = RAW_TEXT.replace("mac=ARRAY[00, 01, 02, 03, 04, 05]", "mac=")
    assert form.render(data) == expected
    shifted = record(**values, mac=b"\1\2\3\4\5\6", d=b"dyn\0", a=struct.pack("<I", 1))
    assert "mac=ARRAY[01, 02, 03, 04, 05, 06] " in form.render(shifted)


def packed(*values):
    return b"".join(values)


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("value %d of %s", struct.pack("<i", -3) + b"name\0", "value -3 of name"),
        ("%s %d\\n", b"ab\0\0" + struct.pack("<i", 5), "ab 5\n"),
        ("%lu %llx %zu", struct.pack("<QQQ", 1, 2, 3), "1 2 3"),
        ("%u %lld", struct.pack("<IQ", 1, 2**63), "1 -9223372036854775808"),
        (
            "%ps %pS %px %p",
            struct.pack("<QQQQ", 0x1000, 0x1024, 16, 0),
            "schedule schedule+0x24 0x10 (nil)",
        ),
        ("%pI4 %d", b"10.0.0.1\0\0\0\0" + struct.pack("<i", 7), "10.0.0.1 7"),
        ("%*d|%.*s", struct.pack("<iii", 4, 7, 2) + b"abc\0", "   7|ab"),
        ("%c%c", b"xy", "xy"),
        ("%d %s", b"", "0 "),
        ("100%%", b"", "100%"),
    ],
)
def test_binary_arguments_of_trace_printk(text, args, expected):
    assert render_bprint(text, args, "little", 8, SYMBOLS) == expected


def test_binary_arguments_of_a_32_bit_big_endian_kernel():
    args = struct.pack(">IIQ", 1, 0x1000, 2)
    assert render_bprint("%lu %ps %llu", args, "big", 4, SYMBOLS) == "1 schedule 2"


BPRINT = {"ip": ("unsigned long", 8, 0), "fmt": ("const char *", 8, 0), "buf": ("u32", 0, 0)}


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (0x2000, "schedule: value 7 of x"),
        (0x4000, "schedule: (NO FORMAT FOUND at 4000)\n"),
    ],
)
def test_bprint_looks_its_format_up(address, text):
    form = compiled('"%ps: %s", (void *)REC->ip, REC->fmt', BPRINT, system="ftrace", name="bprint")
    data = bytes(8) + struct.pack("<QQI", 0x1000, address, 7) + b"x\0\0\0"
    assert form.render(data) == text


def test_print_and_bputs():
    fields = {"ip": BPRINT["ip"], "str": BPRINT["fmt"]}
    bputs = compiled('"%ps: %s", (void *)REC->ip, REC->str', fields, system="ftrace", name="bputs")
    assert bputs.render(bytes(8) + struct.pack("<QQ", 0x1000, 0x3000)) == "schedule: plain"
    fields = {"ip": BPRINT["ip"], "buf": ("char", 0, 0)}
    written = compiled(
        '"%ps: %s", (void *)REC->ip, REC->buf', fields, system="ftrace", name="print"
    )
    assert (
        written.render(bytes(8) + struct.pack("<Q", 0x1000) + b"B|1|x\n\0\0") == "schedule: B|1|x\n"
    )


def unpacked(name):
    return zstandard.ZstdDecompressor().decompress((FIXTURES / name).read_bytes())


def all_formats():
    first, *others = unpacked("linux618_all_formats.txt.zst").split(b"\nname: ")
    return [first, *(b"name: " + other for other in others)]


#: They read bit fields of a union, whose layout is not in the trace.
UNPARSABLE = {
    "kvm_mmu_get_page",
    "kvm_mmu_prepare_zap_page",
    "kvm_mmu_sync_page",
    "kvm_mmu_unsync_page",
}


def test_all_formats_of_a_kernel_compile_and_print():
    source = random.Random(618)
    unparsable = set()
    for text in all_formats():
        event = parse_event_format(text, "any")
        form = compile_print_format(event, SYMBOLS, "little", 8)
        if not form.parsable:
            unparsable.add(event.name)
        for size in (0, 9, 40, 400):
            for data in (bytes(size), source.randbytes(size)):
                assert isinstance(form.render(memoryview(data)), str)
    assert unparsable == UNPARSABLE


def test_records_of_nearly_all_events_print_as_trace_cmd_prints_them():
    formats = {}
    for text in all_formats():
        event = parse_event_format(text, "any")
        formats[event.id] = text
    lines = unpacked("linux618_printed_events.jsonl.zst").splitlines()
    assert len(lines) == 2296
    for line in lines:
        item = json.loads(line)
        functions = {int(address, 16): tuple(found) for address, found in item["functions"].items()}
        strings = {int(address, 16): found for address, found in item["printk"].items()}
        event = parse_event_format(formats[item["id"]], item["system"])
        form = compile_print_format(event, Symbols(functions, strings), "little", 8)
        text = form.render(bytes.fromhex(item["record"]))
        # trace-cmd aligns the text, and ends the line.
        assert (event.name, text.lstrip().rstrip("\n ")) == (
            item["event"],
            item["text"].rstrip("\n "),
        )


def edited(text, edits):
    for position, length, new in edits:
        start = position % (len(text) + 1)
        text = text[:start] + new + text[start + length :]
    return text


EDITS = st.lists(
    st.tuples(
        st.integers(0, 20_000),
        st.integers(0, 12),
        st.binary(max_size=8)
        | st.sampled_from([b"(", b")", b"%", b"*", b"{", b"->", b"[", b'"', b"? 1 :", b"__get_str(", b"99999999999"]),
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


@given(
    st.sampled_from(all_formats()),
    EDITS,
    st.binary(max_size=200),
    st.sampled_from([4, 8]),
    st.booleans(),
)
def test_a_damaged_format_prints_something(text, edits, data, long_size, big):
    try:
        event = parse_event_format(edited(text, edits), "ftrace")
    except FormatSyntaxError:
        return
    form = compile_print_format(event, SYMBOLS, "big" if big else "little", long_size)
    form.render(data).encode("utf-8", "surrogateescape")


TOKENS = st.sampled_from(
    (
        *(
            "REC->",
            "REC",
            "(REC)",
            "u",
            "i",
            "d",
            "words",
            "1",
            "0x10",
            "077",
            "'c'",
            '"%s"',
            '"%*ph"',
        ),
        *(
            "(",
            ")",
            "{",
            "}",
            "[",
            "]",
            ",",
            ",",
            ":",
            "?",
            "+",
            "-",
            "*",
            "&",
            "~",
            "!",
            "<<",
            "==",
        ),
        *(
            "sizeof(",
            "__get_str(",
            "__print_flags(",
            "__print_symbolic(",
            "__print_hex(",
            "__print_array(",
        ),
        *(
            "__get_dynamic_array(",
            "__builtin_expect(",
            "({",
            "})",
            ";",
            "=",
            "int",
            "(int)",
            "(void*)",
        ),
        *("trace_seq_printf(p,", "unsigned", "long"),
    )
)


@given(st.text(max_size=60) | st.lists(TOKENS, max_size=30).map(" ".join), st.binary(max_size=150))
def test_any_print_fmt_prints_something(arguments, data):
    form = compiled(f'"%d %s %pI4 %*ph", {arguments}'.replace("\n", " "))
    form.render(data)


@given(st.text(max_size=40), st.binary(max_size=60), st.sampled_from([4, 8]))
def test_any_binary_arguments_print_something(text, args, long_size):
    render_bprint(text, args, "little", long_size, SYMBOLS)


@pytest.mark.parametrize(
    "arguments",
    [
        "(" * 50_000,
        "-" * 50_000 + "1",
        "(1" + "+ REC->u" * 50_000 + ")",
        "REC->u ? 1 : " * 20_000 + "2",
        "({" * 20_000,
        "REC->u" + "[0]" * 20_000,
        "({ int a = REC->u; " + "".join("int a = a + a + a; " for _ in range(200)) + "a; })",
        '__print_flags(REC->u, "", { 1' + " | X" * 50_000 + ', "a" })',
        "(int" + " *" * 100_000,
        '"' + "\\" * 200_001,
        "1" * 200_000,
        "0x" + "f" * 200_000,
        "(u32)" * 50_000 + "1",
    ],
)  # fmt: skip
def test_a_print_fmt_made_to_exhaust_something(arguments):
    compiled(f'"%d", {arguments}').render(record())


def test_texts_are_bounded():
    wide = compiled('"' + "%999999999d" * 3000 + '"' + ", REC->u" * 3000)
    assert len(wide.render(record())) <= 1 << 20
    precise = compiled('"%.*d %*d", REC->u, REC->u, REC->i, REC->u')
    assert len(precise.render(record(u=2**31 - 1, i=-(2**31)))) < 1 << 21
    assert (
        len(render_bprint("%*d" * 10, struct.pack("<i", 2**31 - 1) * 20, "little", 8, SYMBOLS))
        < 1 << 17
    )

"""Print formats of every construct: fields of `print_format_events.FIELDS`, and what trace-cmd prints of them."""

from __future__ import annotations

import struct
from typing import Any

#: What is printed, the fields of the record, and the text.
PRINTED: list[tuple[str, dict[str, Any], str]] = [
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
        "stack=STACK:\n=> schedule+0x24\n=> 0x99",
    ),
    (
        '"stack=%s", __get_stacktrace(m)',
        {"m": struct.pack("<QQQ", 2, 0x1024, 0x99)},
        "stack=STACK:\n=> schedule+0x24\n=> 0x99",
    ),
    ('"%d", __le16_to_cpup(REC->ip4)', {"ip4": b"\1\2"}, "513"),
    ('"%x", __fswab16(REC->u)', {"u": 0x11223344}, "4433"),
    ('"%x", __builtin_bswap32(REC->u)', {"u": 0x11223344}, "44332211"),
    ('"%llx", __fswab64(REC->l)', {"l": 0x1122334455667788}, "8877665544332211"),
    ('"%d", __builtin_constant_p(REC->u) ? 1 : __fswab16(REC->u)', {"u": 1}, "256"),
]
#: What cannot be evaluated.
NOT_EVALUATED = [
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
]
#: Texts of trace_printk, their binary arguments, and what they print.
BINARY: list[tuple[str, bytes, str]] = [
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
    ("%-4d|%+d|% d|%05d|%.3d", struct.pack("<5i", 7, 7, 7, -7, 7), "7   |+7| 7|-0007|007"),
    ("%#x %#X %#o %.0d|", struct.pack("<4i", 10, 10, 8, 0), "0xa 0XA 010 |"),
    ("%-6s|%6s|%-*d|", b"ab\0cd\0\0\0" + struct.pack("<ii", 4, 7), "ab    |    cd|7   |"),
]

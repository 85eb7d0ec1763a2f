"""Inputs of AIX that no fixture is like: templates of every construct, files of CPUs, reports of any columns."""

from __future__ import annotations

from collections.abc import Iterator

from support.aix.files import (
    entry_32,
    entry_64,
    every_form,
    stream,
    words_32,
    words_64,
    written,
)
from support.aix.own_files import CLASS, DAMAGED, own_event, with_declarations
from support.aix.trcfmt_templates import EXPRESSED, KERNEL, MOVING, OTHERS
from support.aix.trcrpt_reports import LINES, WIDTHS, report
from support.fuzzing.corpus import Files
from support.traces.strategies import batch_of

from converter.formats.aix.entries.scan import HEADER
from converter.formats.aix.layout import OWN_MAGIC
from converter.ir.collect import with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import BytesClass, IntegerClass
from converter.ir.kinds import Kind
from converter.ir.trace import Trace

#: What trcrpt prints.
_PRINTED = b"""\

Wed Oct 22 10:14:53 2003
System: AIX 5.2 Node: lpar05
Machine: 0021768A4C00
Internet Address: 00000000 0.0.0.0
Buffering: Kernel Heap

trace -a -o trc_raw

ID    PROCESS NAME     CPU  PID        TID         I  SYSTEM CALL    ELAPSED_SEC    DELTA_MSEC   APPL    SYSCALL KERNEL  INTERRUPT

001   --1-             -1   -1         -1                             0.000000000      0.000000                  TRACE ON channel 0
                                                                                                                 Wed Oct 22 10:14:53 2003
106   ksh              0    8526       24713                          0.000001000      0.001000                  dispatch: cmd=ksh pid=8526 tid=24713 priority=60 old_tid=517 old_priority=127 CPUID=0
101   ksh              0    8526       24713          kfork           0.005833472      5.832472          kfork LR = D0040AF8
104   ksh              0    8526       24713          kfork           0.006000000      0.056528          return from kfork [166 usec]
102   ksh              0    8526       24713       1                  0.006100000      0.100000                          slih cpuid=0
103   ksh              0    8526       24713       1                  0.006200000      0.100000                          return from slih
134   cp               1    7214       25001          execve          0.014451456      8.251456                  exec: cmd=cp ../bin/track /tmp/junk pid=7214 tid=25001
006   wait             0    516        517                            7.160342830      0.000826                  TRACEBUFFER WRAPAROUND 5D88 C77A missed entries
"""  # noqa: E501 - as wide as it is
#: Templates whose values lie at known places, which become fields.
_PLACED = [
    '"SW" W1 "pid="DW "tid="DW hook=$HD W3 "name="A8.16 B0.4 B1.4 X1',
    '"x" {{ $a = X2 }} {{ $b = $a }} G8 U4 a=$b%D2 "w="$D2%DW $PID',
    'W1 "n="S2',
    "W1 S2 W2 X4",
    '"x" W1 F4 F8 F2 T4 E4 P4 oW "o="o8',
    'W1 "bits="B0.3 B1.5 B8.7 X3 A40',
    '"label" X16 U16',
]
#: What is read by other rules of the language: lengths and texts in front, times, loops, what ends an event.
_LANGUAGE = [
    'G5 "|"A8.16"|" A16 A0.4',
    "G4 SW S1 S4 S8",
    'G5 {{ $n = 5 }} "|"$n%S1"|" A2',
    "G4 B2.3 B0.3 B0.2 X1 LOOP 3 { X0 } X16",
    "W1 D8 TW T8 E4 EW E1 PW P4",
    "HB HT HT & 0x07, 0 gen, 1 chk, 2 chl, 6 chkg",
    "G5 X1 O2 X1 R1 X1 W3 B0.4 O0.3 {{ $DATAPOINTER = 5 }} X1 {{ $BASEPOINTER = 4 }} G4",
    r'"ab" \t "c"\t\t"d" \n\n\n "b" X2',
    'block   number \t G4 X4 "quoted  as is" \'x "y"\' `n=X4, all $HD%D2!`',
    'X2, 0004 "four", 0005 { "five" $HD }, 5 "again", \\* "else"',
    'D2, -1 "a", 7 "b"',
    'A2, "AB" "yes", \\* "no"',
    'E2, ENOENT "none", 13 "denied"',
    "G8 {{ $count = B1 }} G9 LOOP $count {X0}",
    "{{ $v = (2 + 3) * 4 - 20 / 6 + 0x10 + o10 / 0 }} $v%U4 $v%B0.8 $v%W24.27 $v%Q4 $v%E4",
    "$HOOKENV $TRACEENV $WORDSIZE $GENERIC $HD $HL $D5 $L1 $SVC $EXECPATH $PID $TID $CPUID $PRI",
    "$TOTALCPUS $TRACEDCPUS $REPORTEDCPUS $RELLINENO $LOGIDX0 $LOGIDX $LOGFILE $TRACEID $IPADDR $BUFF",
    '"a" X2, 5 { "b" $BREAK "c" } "d"',
    '"a" $SKIP "b"',
    'X2, 5 { "b" $ERROR "c" } "d"',
    '"a" $DEFAULT "z"',
    '"a" $008 $600 $610 $BEEF',
    'BITFLAGS $HD, 1 "READ", 2 "WRITE" {"readonly"}, & F0 10 "ONE", o400 "OCT", 0x200 "HEX"',
    '"action="op_name($D1) "old="op_name($D2) unknown(1)',
    '"loop" endtimer(0x010,0x010) starttimer(0x010,0x010)',
    "LOOP 100000 { X0 R1 }",
    "LOOP 30 { LOOP 30 { LOOP 30 { LOOP 30 { X0 } } } }",
    "$SVC $STOP",
    '"unterminated',
    "{{ $x = ",
    "LOOP {",
    "X2, 1",
    "BITFLAGS",
]
_CALLED = """600 1.0 "sub" {{ $z = $z + 2 }} $z U1
610 1.0 "deep" $610
501 1.0 {{ f(n) {{ $n2 = $n * 2 }} "f" $n $n2 LOOP $n { "." } }} "unused"
F00 1.0 "" {{ op_name(v) $v, 1 "ADD", 2 "DEL", \\* { "UNKNOWN(" $v%UW ")" } }}
008 1.0 "default" $HD
# a comment, and lines that are none
5X5 1.0 "x"
"""
#: A hook for each template is one of these and those behind it.
_FIRST_HOOK = 0x700
_TEMPLATES_OF_A_FILE = 12


def inputs() -> list[Files]:
    """Streams of 64-bit kernels, and reports."""
    found: list[Files] = [{"": _PRINTED}, {"": stream("64", *KERNEL)}]
    found += _with_templates("64")
    found += _reports()
    found += _streams("64")
    found += _own()
    return found


def inputs_32() -> list[Files]:
    """Streams of 32-bit kernels, which nothing tells from others."""
    return [{"": every_form("32")}, *_with_templates("32"), *_streams("32")]


def _with_templates(variant: str) -> Iterator[Files]:
    """A hook for each template: entries of every form, short and long."""
    bodies = [*EXPRESSED, *MOVING, *OTHERS, *_PLACED, *_LANGUAGE]
    for first in range(0, len(bodies), _TEMPLATES_OF_A_FILE):
        part = bodies[first : first + _TEMPLATES_OF_A_FILE]
        lines = "".join(
            f"{_FIRST_HOOK + number:03X} 1.0 {'L=INT ' * (number % 3 == 0)}{body}\n"
            for number, body in enumerate(part)
        )
        entries = [
            entry
            for hook in range(_FIRST_HOOK, _FIRST_HOOK + len(part))
            for entry in _forms(variant, hook)
        ]
        yield {"a": stream(variant, *entries), "a.trcfmt": (lines + _CALLED).encode()}


def _forms(variant: str, hook: int) -> list[bytes]:
    data = b"\5hello world\0\0\1" + bytes(range(40))
    if variant == "64":
        hook <<= 4
        return [
            words_64(hook, 1, 2, (1 << 64) - 1, 3, 5, sub=5, tid=7, ts=1000),
            words_64(hook, 7, 13, sub=2, narrow=True, tid=8, ts=1500),
            entry_64(hook, data, word=1, sub=5, tid=7, ts=9000),
            entry_64(hook, b"", word=2, narrow=True, tid=7, ts=None),
        ]
    return [
        words_32(hook, 1, 2, (1 << 32) - 1, 3, 5, tid=7, ts=1000),
        words_32(hook, 7, sub=13, tid=8, ts=1500),
        entry_32(hook, data, word=1, tid=7, ts=9000),
        entry_32(hook, b"", word=2, tid=7, ts=None),
    ]


def _streams(variant: str) -> Iterator[Files]:
    """Files of CPUs, pieces that are lost or zero, times and threads of every width, entries of the other kernel."""
    words, entry = (words_64, entry_64) if variant == "64" else (words_32, entry_32)
    shift = 4 if variant == "64" else 0
    yield {
        "a": stream(variant, words(0x001 << shift, ts=1)),
        "a-0": stream(variant, words(0x500 << shift, 1, ts=2), words(0x500 << shift, 2, ts=9)),
        "a-12": stream(variant, words(0x106 << shift, 8, 9, 60, 7, 60, tid=9, ts=5)),
        "a-3": b"no",
        "a-x": b"no stream",
    }
    many = [words((0x500 + i % 7) << shift, i, tid=i % 90, ts=10 * i) for i in range(120)]
    whole = stream(variant, *many)
    start = len(whole) // 2 // 8 * 8
    for size, filling in ((68, b""), (8, b""), (64, b"\0"), (400, b"\0"), (60, b"\x2d")):
        yield {"": whole[:start] + filling * size + whole[start + size :]}
    yield {"": whole[:-3]}
    conversion = b"".join(word.to_bytes(8, "big") for word in (1000, 512, 2))
    odd = [
        entry(
            0x00A << shift,
            conversion,
            **({"word": 0, "sub": 0x25C} if shift else {"word": 0x25C}),
            ts=100,
        ),
        words(0x500 << shift, 1, ts=(1 << int(variant)) - 1),
        words(0x500 << shift, 1, ts=3),
        words(0x134 << shift, 8, ts=4),
        entry(0x134 << shift, b"", word=8, ts=5),
        entry(0x134 << shift, b"/usr/bin/ksh -c x\0", word=8, tid=9, ts=6),
        words(0x139 << shift, 10, 11, tid=9, ts=7),
        words(0x106 << shift, 10, 11, 60, 9, 70, tid=11, ts=8),
        words(0x465 << shift, 1, 2, 3, tid=9, ts=9),
    ]
    yield {"": stream(variant, *odd)}
    if variant == "32":
        wide = bytes.fromhex("50000005") + b"".join(word.to_bytes(8, "big") for word in range(5))
        data = [
            entry_32(0x00B, wide, word=0x80000028, tid=9, ts=170),
            entry_32(0x00B, wide[:12] + b"hello\0", word=0xC0000006, tid=9, ts=180),
            entry_32(0x00B, wide[:12], word=0x00000008, tid=9, ts=None),
            entry_32(0x00B, b"too short", word=0x80000028, tid=9, ts=190),
        ]
        yield {"": stream("32", *data)}
        kinds = [(0x5 << 28 | kind << 16 | 5).to_bytes(4, "big") for kind in (3, 4, 5, 7, 11, 15)]
        yield {"": stream("32", *(word + bytes(40) for word in kinds))}


def _own() -> Iterator[Files]:
    """Streams that declare what their events are: damaged declarations, and events that contradict them."""
    good = own_event(data=(7).to_bytes(4, "big"))
    for line in DAMAGED:
        lines = (line,) if line.startswith("# class 0") else (CLASS, line)
        yield {"": with_declarations(*lines, events=good)}
    wide = ('# thread 0 {"tid":70,"process":0,"name":"main"}', '# process 0 {"pid":7,"name":"ksh"}')
    events = [
        own_event(1),
        own_event(0x7FFFFFFF),
        own_event(cpu=0x80000001),
        own_event(thread=1),
        own_event(track=1),
        own_event(data=b"\1\2\3"),
        own_event(data=b"\1\2\3\4\5"),
        own_event(rest=1, data=bytes(4)),
        own_event(rest=(1 << 26) + 1, data=bytes(4)),
    ]
    for event in events:
        yield {"": with_declarations(CLASS, *wide, events=good + event + good * 3)}
    typed = '# class 0 {"kind":"TYPED","fields":[{"name":"a","type":%s}]}'
    for held, data in (
        ('"i33"', (1 << 32).to_bytes(8, "big")),
        ('"u1"', b"\0\2"),
        ('"i5"', (-17).to_bytes(2, "big", signed=True)),
        ('{"array":"null"}', b"\xff" * 4),
        ('"string"', b"\xff" * 4),
        ('{"optional":{"array":"u64","length":4000}}', b"\0\0" * 200),
        ('{"optional":"u8"}', b"\0\1\0\5"),
        ('{"variant":[["a","u8"],["b","string"]]}', b"\0\1\0\0\0\1x"),
        ('{"variant":[["a","u8"]]}', b"\0\7\1"),
        ('{"structure":[["a","u64"],["b","bytes"]]}', bytes(11) + b"\1x"),
        ('{"array":"f32","length":3}', bytes(12)),
        ('{"array":"u8","length":3}', bytes(6)),
        ('"bool"', b"\0\5"),
    ):
        yield {"": with_declarations(typed % held, events=own_event(data=data))}
    many = b"".join(own_event(data=number.to_bytes(4, "big")) for number in range(60))
    whole = with_declarations(CLASS, events=many)
    start = len(whole) - len(many) // 2
    for size, filling in ((4, b""), (60, b""), (500, b"\0"), (100, b"\x2d")):
        yield {"": whole[:start] + filling * size + whole[start + size :]}
    yield from ({"": written(_large(), variant)} for variant in ("64", "32"))
    head = entry_64(0x0100, OWN_MAGIC, word=HEADER)
    yield {"": stream("64", head, *[entry_64(0x0100, b"x" * 200, word=3)] * 9)}


def _large() -> Trace:
    """Events that go on in further entries."""
    fields = (Field("a", BytesClass()), Field("b", IntegerClass(32)))
    trace = Trace("none", event_classes=[EventClass(Kind.TYPED, "large", "x", fields)])
    sizes = (3, 9000, 4090, 1)
    rows = [(0, at, 0, -1, -1, (bytes([at]) * size, at)) for at, size in enumerate(sizes)]
    return with_batches(trace, [batch_of(trace, rows)])


def _reports() -> Iterator[Files]:
    """Reports of any columns, with and without times, in two lines, squeezed, on pages, and text between."""
    for timestamp, columns in enumerate(
        [
            ("ID", "PROCESS NAME", "I", "SYSTEM CALL"),
            ("ID", "CPU", "PID", "I"),
            ("ID", "TID"),
            ("CPU", "PID"),
            ("ID", "PROCESS NAME"),
        ]
    ):
        yield {"": report(columns, timestamp % 4)}
    whole = report()
    yield {"": report(two_lines=True)}
    yield {"": b"\n".join(b" ".join(line.split()) for line in whole.split(b"\n"))}
    yield {"": whole.replace(b"\n", b"\r\n")}
    yield {"": whole + b"\nhook ID     count\n\n106         12\n"}
    yield {"": whole.rstrip(b"\n")}
    first = report(lines=LINES[:3])
    heading = first.split(b"\n\n")[-2].split(b"\n")[-1]
    rest = report(lines=LINES[3:6]).split(heading)[1].lstrip(b"\n")
    other = report(("ID", "PID", "TID"), 2, LINES[6:9], preamble="\n")
    yield {"": first + b"\n\n" + heading + b"\n\n" + rest + other}
    yield {"": report(lines=LINES[:2], preamble="") + b"x" * 9000 + b"\n" + rest}
    for old, new in (
        (b"ID    PROCESS", b"ID    ID     "),
        (b"APPL", b"APPX"),
        (b"ELAPSED_SEC", b"ELAPSED_XXX"),
        (b"0.000001000", b"0.00000x000"),
        (b"0.005833472", b"-.005833472"),
        (b"0.006000000", b"99999999999999999999.0"),
        (b"106   ksh", b"1G6   ksh"),
        (b"106   ksh", b"F5F1F ksh"),
        (b"tid=24713", b"tid=0xZZ"),
        (b"C77A missed", b"some missed"),
        (b"kfork LR", b"other LR"),
        (b" 24713  ", b" main   "),
    ):
        yield {"": whole.replace(old, new)}
    named = [
        (f"{0x200 + number:03X}", *LINES[9][1:10], f"EVENT {number}: of a name")
        for number in range(20)
    ]
    yield {"": report(tuple(WIDTHS), lines=named)}

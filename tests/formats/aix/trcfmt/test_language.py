"""Each construct of the template language; texts in comments are of IBM's "Example Trace Format File", by section."""

import struct

import pytest
from support.aix.trcfmt_entries import generic32, generic64, report, text, words32, words64

from converter.formats.aix.trcfmt import Entry, Environment, Level, evaluate, parse

# The document's picture: five bytes, and the data pointer at "hello world\0".
HELLO = Entry(b"\x50\x09\0\0x" + b"hello world\0xxxxxx", 32)


@pytest.mark.parametrize(
    ("code", "printed", "pointer"),
    [
        ("A8.16", "hello wo        ", 13),
        ("A16.16", "hello world     ", 21),
        ("A16", "hello world", 21),
        ("A0.16", " " * 16, 5),
    ],
)
def test_ascii_of_a_length_in_a_width(code, printed, pointer):
    """II.B, Am.n, examples i to iv, with the places of the data pointer."""
    assert text(f'G5 "|"{code}"|"', HELLO) == f"|{printed}|"
    assert text(f"G5 {{{{ $v = {code} }}}} $DATAPOINTER", HELLO) == str(pointer)


@pytest.mark.parametrize(("code", "prefix"), [("S1", 1), ("S2", 2), ("S4", 4), ("S8", 8)])
def test_strings_with_their_length_in_front(code, prefix):
    """II.B, Sm: |hello world|, B = hex 0x0b."""
    entry = Entry(b"\x50\x09\0\0x" + (11).to_bytes(prefix) + b"hello worldxxxxxx", 32)
    assert text(f'G5 "|"{code}"|"', entry) == "|hello world|"
    assert text(f"G5 {{{{ $v = {code} }}}} $DATAPOINTER", entry) == str(5 + prefix + 11)


def test_strings_with_a_word_in_front():
    assert text("G4 SW", Entry(b"\x50\x09\0\0\0\0\0\x02hi", 32)) == "hi"
    assert text("G8 SW", Entry(words64().data + (2).to_bytes(8) + b"hi", 64)) == "hi"


def test_strings_whose_length_a_register_has():
    """II.B, $reg%S1."""
    assert text('G5 {{ $n = 5 }} "|"$n%S1"|" A2', HELLO) == "|hello| w"


def test_binary_is_neither_rounded_nor_aligned():
    """II.B, Bm.n: B2.3 and B0.19 are the same."""
    entry = words32(0b1011_0001_1100_0101_1110_0000_0000_0000)
    assert text("G4 B2.3", entry) == "1011000111000101111"
    assert text("G4 B0.19", entry) == "1011000111000101111"
    assert text("G4 B0.3 B0.2 B0.1 X1", entry) == "101 10 0 C5"
    assert text("G4.1 B0.4", entry) == "0110"


def test_hexadecimal():
    """II.B, Xm: X0 is X1 without the trailing space; up to 16 bytes."""
    entry = generic32(bytes(range(0xA0, 0xB0)))
    assert text("G8 X1 X2 X4", entry) == "A0 A1A2 A3A4A5A6"
    assert text("G8 X16", entry) == bytes(range(0xA0, 0xB0)).hex().upper()
    assert text('G8 LOOP 3 { X0 } "."', entry) == "A0A1A2 ."
    assert text("G8 LOOP 3 { X1 }", entry) == "A0 A1 A2"
    assert text("W1 XW", words32(0xABCDE)) == "000ABCDE"
    assert text("W1 XW", words64(0xABCDE)) == "00000000000ABCDE"


def test_decimal_unsigned_octal():
    entry = generic64((-2).to_bytes(2, signed=True) + (-3).to_bytes(4, signed=True) + bytes(16))
    assert text("G16 D2 D4", entry) == "-2 -3"
    assert text("G16 U2 U4", entry) == "65534 4294967293"
    assert text("G16 o2", entry) == "177776"
    assert text("W1 DW UW oW", words64(2**64 - 1, 7, 8)) == "-1 7 10"
    assert text("W1 DW UW oW", words32(2**32 - 1, 7, 8)) == "-1 7 10"
    assert text("W1 D8", words32(0xFFFFFFFF, 0xFFFFFFFF)) == "-1"


def test_floating_point():
    """II.B, F4 and F8: like %0.4E."""
    entry = generic32(struct.pack(">fd", 1234.5, -0.000123456789))
    assert text("G8 F4 F8", entry) == "1.2345E+03 -1.2346E-04"
    assert text("G8 F4", generic32(struct.pack(">f", float("inf")))) == "INF"


def test_length_and_type_of_the_hook():
    """II.B, HB and HT; I.A: trcgent = 8, trchkgt = E; I.B: the flags."""
    assert text("HB", generic32(b"abc")) == "3"
    assert text("HT", generic32(b"abc")) == "8"
    assert text("HT", words32(1)) == "A"
    assert text("HT", words64(1)) == "8000"
    assert text("HT", generic64(b"")) == "C000"
    masked = 'HT & 0x07, 0 "trcgen", 1 "trchk", 2 "trchl", 6 "trchkg"'
    assert [
        text(masked, each) for each in (generic32(b""), words32(), words32(1), words32(1, 2))
    ] == [
        "trcgen",
        "trchk",
        "trchl",
        "trchkg",
    ]


def test_codes_that_interpret():
    """II.C: time as ctime in GMT by its low 32 bits, errno by name, the path of a process."""
    assert text("W1 TW", words32(86400)) == "Fri Jan  2 00:00:00 1970"
    assert text("W1 T8", words64(1 << 32 | 86400)) == "Fri Jan  2 00:00:00 1970"
    assert text("W1 E4 EW", words32(2, 127)) == "ENOENT EOVERFLOW"
    assert text("E2", words32(hookdata=13)) == "EACCES"
    assert text("W1 E1", words32(0x01000000)) == "EPERM"
    assert text("W1 EW", words32(9999)) == "9999"
    around = Environment(paths={7214: "/usr/bin/cp"})
    assert text("W1 PW P4", words32(7214, 1), around) == "/usr/bin/cp 1"


def test_the_data_pointer():
    """II.A: G, O, R and W."""
    entry = words32(0x01020304, 0x11121314, 0xF0000000)
    assert text("G5 X1 O2 X1 R1 X1", entry) == "02 11 11"
    assert text("W2 X1 W1 X1 W3 B0.4", entry) == "11 01 1111"
    assert text("W3 O0.3 B0.1 R0 X1", entry) == "1 F0"
    assert text("W2 X1", words64(1, 0x2200000000000000)) == "22"
    assert text("$DATAPOINTER", words32()) == "2"
    assert text("$DATAPOINTER", generic32(b"")) == "4"
    assert text("$DATAPOINTER", words64()) == "6"
    assert text("$DATAPOINTER", generic64(b"")) == "8"
    assert text("{{ $DATAPOINTER = 5 }} X1", entry) == text("G5 X1", entry)
    assert text("{{ $BASEPOINTER = 4 }} G4 X1 $BASEPOINTER", entry) == "11 4"


def test_tabs_stop_every_eight_columns():
    r"""II.C, \t."""
    assert text(r'"ab" \t "c"\t\t"d"') == "ab      c               d"
    assert text(r'\t "x"', level="L=0") == "   x"
    assert text(r'"abc"\t"x"', level="L=0") == "abc        x"


def test_newlines_in_a_row():
    r"""II.C, \n\n\n outputs 3 newlines."""
    assert text(r'"a" \n\n\n "b" X2 \n "c"') == "a\n\n\nb 0005\nc"


def test_whitespace_is_one_blank():
    """I.E: all whitespace is squeezed down to 1 blank on the report; what touches, touches."""
    assert text('block   number \t G4 X4 "quoted  as is"   end') == (
        "block number 00000001 quoted  as is end"
    )
    assert text('V.S=$HD.$HD"x"') == "V.S=0005.0005x"
    assert text('G4 size=X1 "b="X1') == "size=00 b=00"


def test_lines_are_continued():
    """I.E, with a comment between the lines."""
    file = parse('500 1.0 "a" \\\n# no part of it\n  "b" \\\n "c"\n501 1.0 "d"\n')
    assert evaluate(file, 0x5000, words32(), Environment()).text == "a b c"
    assert evaluate(file, 0x5010, words32(), Environment()).text == "d"


def test_strings():
    """II.C, "string" 'string' and the backquoted one."""
    assert text("""'say "x"' "it's" "" """) == 'say "x" it\'s'
    assert text("W1 `n=X4, all $HD%D2!`", words32(7)) == "n=00000007, all 5!"


@pytest.mark.parametrize(
    ("name", "level"),
    [("APPL", 1), ("SVC", 2), ("KERN", 3), ("INT", 4), ("0", 0)],
)
def test_levels(name, level):
    """I.D, with the document's example."""
    assert report('"stray interrupt"', level=f"L={name}").level == level
    assert report('"stray interrupt"').level is Level.KERN


def test_switch_takes_the_first_case_that_matches():
    """III."""
    body = 'X2, 0004 "four", 0005 { "five" $HD }, 5 "again", \\* "else"'
    assert text(body, words32(hookdata=4)) == "four"
    assert text(body, words32(hookdata=5)) == "five 0005"
    assert text(body, words32(hookdata=6)) == "else"
    assert text('X2, 1 "one"', words32(hookdata=9)) == ""
    assert text('X2, 5 "" $DATAPOINTER', words32()) == "4"


@pytest.mark.parametrize(
    ("subject", "value", "match"),
    [
        ("X2", 0x10, "10"),
        ("X2", 0x10, "0x10"),
        ("U2", 10, "10"),
        ("U2", 10, "0xA"),
        ("D2", 0xFFFF, "-1"),
        ("o2", 8, "10"),
        ("B2", 6, "110"),
        ("E2", 2, "ENOENT"),
        ("E2", 2, "2"),
        ("$HD", 10, "10"),
        ("$HD", 0x10, "0x10"),
        ("$HD%X2", 0x10, "10"),
        ("$HD%W4.7", 0x5A, "5"),
        ("A2", 0x4142, "AB"),
        ("A2", 0x4142, '"AB"'),
    ],
)
def test_the_values_of_cases_are_written_as_the_code_prints(subject, value, match):
    """III.1: a matchvalue with a type corresponding to the format code."""
    body = f'{subject}, {match} "yes", \\* "no"'
    assert text(body, words32(hookdata=value)) == "yes"
    assert text(body, words32(hookdata=value ^ 0x0110)) == "no"


def test_loops():
    """IV and V, with the document's example of a count that stands elsewhere."""
    entry = generic32(b"\x03abcdef")
    assert text("G8 LOOP $count {X0}", entry) == ""
    assert text("G8 {{ $count = B1 }} G9 LOOP $count {X0}", entry) == "616263"
    assert text('G8 LOOP X1 { A1"," }', entry) == "a,b,c,"


def test_the_documents_loop():
    """V: G1.5 {{ $count = B0.5 }} G11 LOOP $count {X0}: five bits from bit 5 of byte 1."""
    data = bytearray(24)
    data[1] = 0b00000_001
    data[2] = 0b01_000000
    data[11:16] = b"\x01\x23\x45\x67\x89"
    entry = Entry(bytes(data), 32)
    assert text("G1.5 {{ $count = B0.5 }} G11 LOOP $count {X0}", entry) == "0123456789"


def test_the_documents_expression():
    """V: outputs 000D 001A."""
    assert text("{{ $dog = 7 + 6 }} {{ $cat = $dog * 2 }} $dog $cat") == "000D 001A"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("20 / 6 - 1", 2),
        ("10 - 4 - 3", 3),
        ("0x10 + o10 + 1", 25),
        ("7 / 0", 0),
        ("$undefined + 1", 1),
        ("X2 * 2 + $D1", 11),
    ],
)
def test_expressions(expression, value):
    assert text(f"{{{{ $v = {expression} }}}} $v%U4") == str(value)


def test_formats_of_macros():
    """II.C, $macro: X, D, U, B and W, with the document's example of W; others default to X2."""
    given = "{{ $zz = 0x12345678 }}"
    assert text(f"{given} $zz%W24.27") == "2"
    assert text(f"{given} $zz%X8 $zz%X4 $zz%D4 $zz%U2 $zz%B0.8") == (
        "0000000012345678 12345678 305419896 22136 01111000"
    )
    assert text(f"{given} $zz $zz%Q4 $zz%F8") == "5678 5678 5678"
    assert text("$D1%E4 $D2%DW", words32(13, 0xFFFFFFFF)) == "EACCES -1"


def test_special_macros():
    """VI."""
    around = Environment(
        trace_env=64,
        tid=9,
        pid=8,
        cpu=3,
        priority=60,
        exec_path="/bin/ksh",
        svc="kread",
        line=12,
        logfile="trc_raw",
        log_offset=100,
        total_cpus=4,
        traced_cpus=2,
        reported_cpus=1,
        large_data_types=1,
        ip_address=0x7F000001,
        buffer_scheme=2,
    )
    entry = words32(1, 2, 3, 4, 5, hookdata=0x25C)
    assert (
        text("$HOOKENV $TRACEENV $WORDSIZE $GENERIC $HD $HL", entry, around) == "32 64 4 0 025C 20"
    )
    assert text("$D1 $D5 $L1", entry) == "00000001 00000005 0000000100000002"
    assert text("$D1 $L2", words64(7, 8)) == "0000000000000007 0000000000000008"
    assert text("$D3", words32(1)) == "00000000"
    assert text("$SVC $EXECPATH $PID $TID $CPUID $PRI", entry, around) == "kread /bin/ksh 8 9 3 60"
    assert text("$TOTALCPUS $TRACEDCPUS $REPORTEDCPUS $LARGEDATATYPES", entry, around) == "4 2 1 1"
    assert text("$RELLINENO $LOGIDX0 $LOGIDX $LOGFILE $TRACEID", entry, around) == (
        "12 100 102 trc_raw 5000"
    )
    assert text("$IPADDR $BUFF", entry, around) == "7F000001 2"
    assert text("$GENERIC $HL $HD", generic32(b"hello\0")) == "1 6 0006"
    assert text("$GENERIC $HL $HD", generic64(b"hello\0")) == "1 6 0005"


def test_macros_that_end_the_event():
    """VI: BREAK, SKIP, STOP, ERROR, DEFAULT."""
    assert text('"a" X2, 5 { "b" $BREAK "c" } "d"') == "a b"
    assert report('"a" $SKIP "b"').text == ""
    assert report('"a" $SKIP').action == "skip"
    assert report('"a" $STOP "b"').action == "stop"
    around = Environment(logfile="trc_raw", log_offset=40)
    error = 'X2, 5 { "b" $ERROR "c" } "d"'
    assert text(error, words32(), around) == "b ERROR: trc_raw offset 40 traceid 500 c"
    assert text('"a" $DEFAULT "z"', more='008 1.0 "default" $HD') == "a default 0005 z"
    assert text('"a" $008 "z"', more='008 1.0 "default" $HD') == "a default 0005 z"
    assert report('"a" $DEFAULT').text == "a 500E0005 00000001 00000002 00000003 00000004 00000005"


SUBROUTINES = r"""
900 1.0 "ESDI STRATEGY" {{ $rv = 0 }} {{ $stat = X2 }} \
 $90F \n\
special_esdi_status=$stat for minor device $rv

90F 1.0 "" G4 {{ $return }} \
 block number X4 \n\
 byte count X4 \n\
 B0.1, 1 B_FLAG0 \
 B0.1, 1 B_FLAG1 \
 B0.1, 1 B_FLAG2 \
 G16 {{ $return = X2 }}
"""


def test_the_documents_subroutine():
    """VII: $return is $rv, since both are declared first; the data pointer stays where the subroutine leaves it."""
    entry = words32(0x10, 0x200, 0b101 << 29, 0x00050000, 7, hookdata=0x102, hook=0x900)
    made = evaluate(parse(SUBROUTINES), 0x9000, entry, Environment())
    assert made.text.split("\n") == [
        "ESDI STRATEGY block number 00000010",
        "byte count 00000200",
        "B_FLAG0 B_FLAG2",
        "special_esdi_status=0102 for minor device 0005",
    ]
    assert dict(made.fields)["block_number"] == 0x10
    assert dict(made.fields)["special_esdi_status"] == 0x102
    assert made.warning is None


def test_subroutines_by_four_digits():
    assert text("$F5F1 $BEEF", more='F5F1 1.0 "sub" $HD') == "sub 0005 0000"
    assert text("{{ $F5F1 = 3 }} $F5F1", more='F5F1 1.0 "sub"') == "0003"


def test_subroutines_nest_to_ten_levels():
    """VII, note."""
    chain = "".join(f'{0x600 + i:03X} 1.0 "{i}" ${0x601 + i:03X}\n' for i in range(9))
    assert text("$600", more=chain + '609 1.0 "9"').split() == [str(i) for i in range(10)]
    deep = report("$600", more=chain + '609 1.0 "9" $60A\n60A 1.0 "10"')
    assert "10 levels" in deep.warning.message
    assert report("$500").warning is not None


def test_bitflags():
    """VIII: base 16, a leading o is octal, & masks a field, a string for bits that are not set."""
    body = 'BITFLAGS $HD, 1 "READ", 2 "WRITE" {"readonly"}, & F0 10 "ONE", & F0 20 "TWO", o400 "OCT", 0x200 "HEX"'
    assert text(body, words32(hookdata=0x13)) == "READ WRITE ONE"
    assert text(body, words32(hookdata=0x320)) == "readonly TWO OCT HEX"
    assert text("BITFLAGS X2, 4 FOUR, 1 ONE", words32(hookdata=5)) == "FOUR ONE"
    assert text('BITFLAGS X2, 4 "F" $DATAPOINTER', words32(hookdata=4)) == "F 4"


FUNCTIONS = """
F00 1.0 "" {{ op_name(v) $v, 1 "ADD", 2 "DEL", 10 "TEN", \\* { "UNKNOWN(" $v%UW ")" } }}
"""


def test_template_functions():
    """Defined in one template, called in others; register formats of AIX 7.2."""
    body = '"action="op_name($D1) "old="op_name($D2)'
    assert text(body, words32(1, 2), more=FUNCTIONS) == "action=ADD old=DEL"
    assert text(body, words32(10, 77), more=FUNCTIONS) == "action=TEN old=UNKNOWN( 77 )"
    assert dict(report(body, words32(1, 2), more=FUNCTIONS).fields) == {"action": 1, "old": 2}


def test_timers():
    """IBM's page "Examples of coding and formatting events": the time between two events of a hook."""
    body = '"loop" endtimer(0x010,0x010) starttimer(0x010,0x010)'
    around = Environment(time_ns=1_000_000)
    assert text(body, words32(), around) == "loop"
    around.time_ns = 1_007_936
    assert text(body, words32(), around) == "loop [7 usec]"


def test_hooks_that_were_made_look_like_those_of_their_application():
    """I.C: the document's examples of reformatted hooks, here as templates see them."""
    entry = Entry(bytes.fromhex("500e0005 00000001 00000002 00000003 00000004 00000005"), 32)
    assert (entry.id, entry.hook_data, entry.generic, entry.length) == (0x5000, 5, False, 20)
    assert text("HT $HD W1 DW DW DW DW DW", entry) == "E 0005 1 2 3 4 5"
    wide = bytes.fromhex("8000002850000005") + b"".join(i.to_bytes(8) for i in range(1, 6))
    assert text("HT $HD W1 DW DW DW DW DW", Entry(wide, 64)) == "8000 0005 1 2 3 4 5"
    hello = bytes.fromhex("4000000650000005 0000000000000001") + b"hello\0"
    assert text("HT HB DW A16", Entry(hello, 64)) == "4000 6 1 hello"


def test_values_are_named_by_the_text_in_front():
    made = report(
        '"EVENT" W1 "pid="DW "block number:" XW last word XW XW $HD%D2', words32(1, 2, 3, 4)
    )
    assert made.fields == (
        ("pid", 1),
        ("number", 2),
        ("last_word", 3),
        ("field", 4),
        ("HD", 5),
    )
    assert dict(report('"E" a=$D1%XW a=$D2%XW').fields) == {"a": 1, "a_2": 2}


def test_an_entry_without_a_template_is_shown_in_words():
    assert evaluate(parse(""), 0x5000, words32(0xAB), Environment()).text == "500A0005 000000AB"
    assert evaluate(parse('008 1.0 "?"'), 0x5000, words32(), Environment()).text == "?"

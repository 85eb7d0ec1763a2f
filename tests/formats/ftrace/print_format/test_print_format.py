"""Records print as trace-cmd prints them, by every construct of print formats."""

import struct

import pytest
from support.trace_cmd.print_format_cases import NOT_EVALUATED, PRINTED
from support.trace_cmd.print_format_events import compiled, record


@pytest.mark.parametrize(
    ("print_fmt", "values", "text"),
    PRINTED,
)
def test_records_print_as_trace_cmd_prints_them(print_fmt, values, text):
    form = compiled(print_fmt)
    assert form.reason is None
    assert form.render(record(**values)) == text


def test_big_endian_records():
    form = compiled('"%d %x %s %s", REC->i, REC->h, __get_str(d), __get_cpumask(m)', order="big")
    mask = struct.pack(">QQ", 3, 1)
    assert form.render(record("big", i=-9, h=0x102, d=b"be\0", m=mask)) == "-9 102 be 0-1,64"


def test_dynamic_arrays_outside_the_record_are_empty():
    form = compiled('"%s|%s|%d", __get_str(d), __get_bitmask(m), __get_dynamic_array_len(a)')
    data = bytearray(record(d=b"x\0", m=bytes(8), a=bytes(8)))
    assert form.render(bytes(data[:-12])) == "x||0"


RAW_TEXT = (
    "[FAILED TO PARSE] u=1 i=-2 l=0x3 q=-4 b=5 h=-6 p=0x7 comm=bash mac=ARRAY[00, 01, 02, 03, 04, 05] ip4= ip6= sa="
    " words=ARRAY[" + ", ".join(["00"] * 32) + "] d=dyn m=ARRAY[] a=ARRAY[01, 00, 00, 00] r="
)


@pytest.mark.parametrize(
    "print_fmt",
    NOT_EVALUATED,
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

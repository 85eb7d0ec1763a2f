"""Values that uftrace records with a function: of every kind, and its place in the source."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from support.uftrace.files import (
    BAZ,
    ENTRY,
    EXIT,
    FOO,
    LONGS,
    MAIN,
    ORDERS,
    TID,
    Directory,
    calls,
    events,
    field_types,
    one_call,
    opened,
    payload,
)

import converter
from converter.errors import TraceError
from converter.formats.uftrace.layout import Feature
from converter.formats.uftrace.mapping import STRUCTURE
from converter.formats.uftrace.reading import reader
from converter.formats.uftrace.side_table import Tables, build_tables
from converter.formats.uftrace.writing.tasks import Tasks
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.field_classes import (
    BytesClass,
    FloatClass,
    IntegerClass,
    Label,
    StringClass,
    Style,
)
from converter.ir.invariants import check
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Trace
from converter.storage.opening import open_source


@ORDERS
@LONGS
def test_values_of_every_kind(tmp_path, big_endian, bits):
    directory = Directory(
        big_endian=big_endian,
        bits=bits,
        argspec="foo@arg1,arg2/i8,arg3/u16,arg4/x32,arg5/o64,arg6/p,arg7/c,arg8/d32,arg9/t6:Point%RDI,"
        "fparg1/32,fparg2/64,fparg3/80,arg10/s,arg11/S,arg12/e:Color,arg13/i64",
        retspec="foo@retval/f32",
        enumauto="enum Color { RED, GREEN = 5, BLUE };",
    )
    long = "q" if bits == 64 else "i"
    ulong = long.upper()
    extended = struct.pack("<QH", 0xC000000000000000, 0x4000)
    if big_endian:
        extended = extended[::-1]
    entry = (
        directory.pack(long, -5)
        + directory.pack("b3xH2xIQ", -3, 65535, 0xFFFFFFFF, 1 << 63)
        + directory.pack(ulong, 0xDEADBEEF)
        + b"A\0\0\0"
        + directory.pack("i", -1)
        + b"\1\2\3\4\5\6\0\0"
        + directory.pack("fd", 1.5, -2.5)
        + extended
        + b"\0\0"
        + directory.text(b"text")
        + directory.text("한글".encode())
        + directory.pack(long, 5)
        + directory.pack("q", -(1 << 63))
    )
    trace = one_call(directory, tmp_path, entry, directory.pack("f", 0.25))
    assert payload(trace) == {
        "arg1": -5,
        "arg2": -3,
        "arg3": 65535,
        "arg4": 0xFFFFFFFF,
        "arg5": 1 << 63,
        "arg6": 0xDEADBEEF,
        "arg6_text": b"0xdeadbeef",
        "arg7": 65,
        "arg7_text": b"'A'",
        "arg8": -1,
        "arg9": b"\1\2\3\4\5\6",
        "arg9_text": b"Point{...}",
        "fparg1": 1.5,
        "fparg2": -2.5,
        "fparg3": 3.0,
        "arg10": b"text",
        "arg11": "한글".encode(),
        "arg12": 5,
        "arg12_text": b"GREEN",
        "arg13": -(1 << 63),
    }
    assert events(trace)[1][4] == {"retval": 0.25}
    assert field_types(trace, "arg4") == [IntegerClass(32, False, Style.HEXADECIMAL)]
    assert field_types(trace, "arg5") == [IntegerClass(64, False, Style.OCTAL)]
    assert field_types(trace, "arg6") == [IntegerClass(bits, False, Style.POINTER)]
    assert field_types(trace, "arg7") == [IntegerClass(8, True, Style.CHARACTER)]
    assert field_types(trace, "arg9") == [BytesClass(f"{STRUCTURE}Point")]
    assert field_types(trace, "fparg1") == [FloatClass(32)]
    assert field_types(trace, "fparg3") == [FloatClass(64)]
    assert field_types(trace, "arg10") == [StringClass()]
    assert field_types(trace, "arg12") == [
        IntegerClass(
            bits, True, labels=(Label(0, 0, "RED"), Label(5, 5, "GREEN"), Label(6, 6, "BLUE"))
        )
    ]
    roles = {item.name: item.role for one in trace.event_classes for item in one.fields}
    assert roles["retval"] is Role.RETURN
    check(trace)


@pytest.mark.parametrize(
    ("register", "expected"),
    [
        (0xFFFFFFFF, -1),
        (0xFFFFFF80, -128),
        (0xFFFF0001, -65535),
        (0xFFFF0000, 0xFFFF0000),
        (0x80000000, 0x80000000),
        (0x1_FFFF_FFFF, 0x1_FFFF_FFFF),
        (1 << 63, -(1 << 63)),
    ],
)
@ORDERS
def test_a_small_negative_int_fills_half_of_a_register(tmp_path, register, expected, big_endian):
    directory = Directory(big_endian=big_endian, argspec="foo@arg1,arg2/i64,arg3/d32")
    values = directory.pack("QQI", register, register, 0xFFFFFFFF)
    signed = (register ^ 1 << 63) - (1 << 63)
    held = payload(one_call(directory, tmp_path, values + bytes(4)))
    assert held == {"arg1": expected, "arg2": signed, "arg3": -1}


@pytest.mark.parametrize("recorded", [b"NULL", b"\xff\xff\xff\xff"])
def test_null_texts(tmp_path, recorded):
    directory = Directory(argspec="foo@arg1/s")
    assert payload(one_call(directory, tmp_path, directory.text(recorded))) == {"arg1": b"NULL"}


def test_an_empty_structure_takes_no_bytes(tmp_path):
    directory = Directory(retspec="foo@retval/t0:Empty")
    found = payload(one_call(directory, tmp_path, None, b""))
    assert found == {"retval": b"", "retval_text": b"Empty{}"}


@pytest.mark.parametrize(
    ("mantissa", "head", "expected"), [
    (0, 0, 0.0),
    (1 << 63, 0xBFFF, -1.0),
    (1 << 63, 0x7FFF, np.inf),
    (1 << 63, 0x0001, 0.0),
])  # fmt: skip
def test_80_bit_floats(tmp_path, mantissa, head, expected):
    directory = Directory(argspec="foo@fparg1/80")
    entry = struct.pack("<QHxx", mantissa, head)
    assert payload(one_call(directory, tmp_path, entry)) == {"fparg1": expected}


def test_an_80_bit_nan(tmp_path):
    directory = Directory(argspec="foo@fparg1/80")
    entry = struct.pack("<QHxx", 3 << 62, 0x7FFF)
    assert np.isnan(payload(one_call(directory, tmp_path, entry))["fparg1"])


@pytest.mark.parametrize(
    ("mantissa", "head", "rounded"), [
    (3 << 62, 0x4000, False), (1 << 63 | 1 << 11, 0x4000, False), (1 << 63 | 1 << 10, 0x4000, True),
    (1 << 63, 0x43FE, False), (1 << 63, 0x43FF, True), (1 << 63, 0x3C00, True), (0, 0, False),
])  # fmt: skip
@ORDERS
def test_80_bit_floats_that_a_double_does_not_hold(tmp_path, mantissa, head, rounded, big_endian):
    directory = Directory(argspec="foo@fparg1/80", big_endian=big_endian)
    entry = (
        struct.pack(">HQxx", head, mantissa) if big_endian else struct.pack("<QHxx", mantissa, head)
    )
    directory.tasks[TID] = directory.record(10, ENTRY, 0, FOO, entry)
    trace = opened(directory, tmp_path)
    collect(trace)
    expected = ["uftrace: 80-bit floating-point values are rounded to 64 bits"]
    assert [warning.detail for warning in trace.warnings] == (expected if rounded else [])


SOURCES = f"""# path name: /usr/bin/app
F: {MAIN:x} main
L: 7 dir/app.c
F: {FOO:x} foo
L: 3 app.c
A: @arg1/i32,arg2/s
R: @retval
"""


@pytest.mark.parametrize(
    ("srcline", "auto_args", "shown"),
    [("", False, True), ("", True, False), ("yes", True, True), ("no", False, False)],
)
def test_places_in_the_source(tmp_path, srcline, auto_args, shown):
    directory = Directory(auto_args=auto_args, argspec="foo@arg1/i32,arg2/s")
    directory.features |= Feature.DEBUG_INFO
    directory.files["app.dbg"] = SOURCES.encode()
    values = directory.pack("i", 5) + directory.text(b"text")
    directory.tasks[TID] = (
        directory.record(10, ENTRY, 0, MAIN)
        + directory.record(11, ENTRY, 1, FOO, values)
        + directory.record(12, ENTRY, 2, FOO)
        + directory.record(13, ENTRY, 3, BAZ)
        + directory.record(14, EXIT, 3, BAZ)
    )
    path = str(directory.write(tmp_path / "data"))
    trace = reader.read(open_source(path), srcline)
    held = [held for _, kind, _, _, held in events(trace) if kind is Kind.SLICE_BEGIN]
    assert [one.get("srcline") for one in held] == (
        [b"dir/app.c:7", b"app.c:3", b"app.c:3", None] if shown else [None] * 4
    )
    assert (held[1]["arg1"], held[1]["arg2"]) == (5, b"text")
    # The same by name of the option.
    with converter.open_trace(path, options={"srcline": srcline}) as again:
        assert difference(trace, again) is None


def test_an_option_that_is_no_answer(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    with pytest.raises(TraceError, match="srcline: expected yes or no, found maybe"):
        reader.read(open_source(str(directory.write(tmp_path / "data"))), "maybe")


def test_names_of_structures_that_are_no_utf8(tmp_path):
    """Their bytes are in the texts that are shown."""
    directory = Directory(tids=[TID], argspec="foo@arg1/t4:Point")
    directory.files["info"] = directory.info().replace(b"Point", b"P\xffint")
    trace = one_call(directory, tmp_path, directory.pack("I", 7))
    assert payload(trace)["arg1_text"] == b"P\xffint{...}"
    converter.write(trace, tmp_path / "anew", "uftrace")
    assert difference(trace, converter.read(tmp_path / "anew")) is None


def test_functions_that_the_tables_do_not_have(tmp_path):
    """In a directory of this converter's own, as where its symbols are damaged: they are read as recorded ones."""
    directory = Directory(
        argspec="foo@arg1/e:Color,arg2/i32,arg3/s;main@arg1/c",
        retspec="foo@retval/c",
        enumauto="enum Color { RED, GREEN = 5 };",
    )
    directory.files["traceconv.json"] = build_tables(Trace("none"), Tasks(Trace("none")), Tables())
    entry = directory.pack("qi", 5, -2) + directory.text(b"hello")
    held = payload(one_call(directory, tmp_path, entry, b"a"))
    assert held == {
        "arg1": 5,
        "arg1_text": b"GREEN",
        "arg2": -2,
        "arg3": b"hello",
    }

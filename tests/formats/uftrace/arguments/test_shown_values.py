"""The texts beside values that are no plain numbers: as uftrace shows them."""

from __future__ import annotations

import dataclasses
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from support.uftrace.oracle import VERSIONS, needs_uftrace, run

import converter
from converter.formats.uftrace.arguments.shown_values import SymbolNames, text_field, texts
from converter.formats.uftrace.mapping import STRUCTURE
from converter.formats.uftrace.symbols.debug_info import DebugInfo
from converter.formats.uftrace.symbols.symbol_files import Symbols
from converter.ir.columns import list_of_bytes, value
from converter.ir.events import Field
from converter.ir.field_classes import (
    BytesClass,
    FloatClass,
    IntegerClass,
    Label,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind

FLAGS = (
    Label(-65536, -65536, "ALL"),
    Label(-1, -1, "LOW"),
    Label(0, 0, "NO"),
    Label(65536, 65536, "A"),
)
COLOURS = (Label(-1, -1, "RED"), Label(0, 0, "GREEN"), Label(7, 7, "BLUE"), Label(256, 256, "MASK"))


def shown(values, held, names=None):
    column = list_of_bytes(values) if isinstance(held, BytesClass) else np.array(values, held.dtype)
    found = texts(column, held, names or SymbolNames([], []))
    data = bytes(found.values)
    return [data[a:b] for a, b in zip(found.offsets[:-1], found.offsets[1:], strict=True)]


def test_enumerators_and_what_is_none():
    held = IntegerClass(64, True, labels=COLOURS)
    values = [-1, 0xFFFFFFFF, 7, 256, 55, -2, -200_000]
    expected = [b"RED", b"RED", b"BLUE", b"MASK", b"BLUE|GREEN|RED+0x31", b"-2", b"-0x30d40"]
    assert shown(values, held) == expected
    assert shown([65535], IntegerClass(64, True, labels=FLAGS)) == [b"NO|LOW|ALL+0x20000"]
    # Files of this converter's own say such names, which other formats may have as any bytes.
    assert shown([1], IntegerClass(64, labels=(Label(1, 1, "R\udcff"),))) == [b"R\xff"]


def test_characters():
    held = IntegerClass(8, True, Style.CHARACTER)
    assert shown([97, 10, 0, 39, -1], held) == [b"'a'", rb"'\n'", rb"'\0'", b"'''", b"'\xff'"]


def test_pointers():
    held = IntegerClass(64, False, Style.POINTER)
    symbols = Symbols(np.array([4], np.uint64), np.array([6], np.uint64), [b"main"], DebugInfo())
    # One file twice in memory, and a number in front of its only function.
    mappings = [(100, 110, 100, 0), (1 << 40, (1 << 40) + 20, 1 << 40, 0)]
    names = SymbolNames([SimpleNamespace(symbols=symbols)], [mappings])
    found = shown([1 << 40, 105, 105, 7, 0, (1 << 40) + 5, 110, 106], held, names)
    at = b"0x10000000000"
    assert found == [at, b"&main", b"&main", b"0x7", b"0", b"&main", b"0x6e", b"0x6a"]


def test_structures():
    assert shown([b"abc", b""], BytesClass(f"{STRUCTURE}Point")) == [b"Point{...}", b"Point{}"]
    assert shown([b"abc"], BytesClass()) == [b"{...}"]


@pytest.mark.parametrize(
    "held",
    [
        IntegerClass(64, True),
        IntegerClass(32, False, Style.HEXADECIMAL),
        FloatClass(64),
        StringClass(),
    ],
)
def test_plain_values_have_no_text(held):
    assert text_field(Field("arg1", held)) is None


PROGRAM = r"""
enum col { RED = -1, GREEN, BLUE = 7 };
struct point { int x, y; };
__attribute__((noinline)) int colour(enum col a, enum col b) { return a + b; }
__attribute__((noinline)) int letter(char a, char b) { return a + b; }
__attribute__((noinline)) int apply(int (*f)(char, char), void (*g)(void)) { return f != 0 && g != 0; }
__attribute__((noinline)) int at(struct point p, int n) { return p.x + n; }
__attribute__((noinline)) enum col mixed(int n) { return n; }
__attribute__((noinline)) char last(int n) { return n; }
__attribute__((noinline)) int number(int a, long b, unsigned c, signed char d) { return a + b + c + d; }
int main(void) {
  struct point p = { 1, 2 };
  colour(RED, BLUE); colour(GREEN, 5); colour(9, -7);
  letter('a', '\n'); letter('\0', 'z');
  apply(letter, 0); apply(0, 0);
  at(p, -3);
  mixed(7); mixed(-1); mixed(6); last('x'); last('\n');
  number(-5, -70000, 4000000000u, -128);
  return 0;
}
"""
FUNCTIONS = ("colour", "letter", "apply", "at")
RETURNING = ("mixed", "last")


@needs_uftrace
def test_texts_are_those_of_replay(tmp_path):
    (tmp_path / "shown.c").write_text(PROGRAM)
    run("gcc", "-pg", "-O0", "-g", "-o", "shown", "shown.c", cwd=tmp_path)
    run("uftrace", "record", "-a", "-d", "data", "./shown", cwd=tmp_path)
    trace = converter.read(tmp_path / "data")
    found = [call for call in calls(trace) if call[0] in FUNCTIONS]
    assert len(found) == 8
    lines = run("uftrace", "replay", "--no-pager", "-d", str(tmp_path / "data")).decode()
    printed = re.findall(rf"({'|'.join(RETURNING)})\(.*\) = (.*);", lines)
    assert printed == list(returned(trace)) and len(printed) == 5
    converter.write(dataclasses.replace(trace, sidecar={}), tmp_path / "anew", "uftrace")
    assert list(returned(converter.read(tmp_path / "anew"))) == printed
    for program in filter(shutil.which, VERSIONS):
        lines = run(program, "replay", "--no-pager", "-d", str(tmp_path / "data"))
        printed = re.findall(rf"\| +({'|'.join(FUNCTIONS)})\((.*)\)(?: =|;| \{{)", lines.decode())
        if program != "uftrace":
            # It takes what is an int for a long where that is an enumerator, which is negative in no case then.
            printed, found = ([one for one in of if one[0] != "colour"] for of in (printed, found))
        assert printed == found


def returned(trace):
    """Name and text of what each function returned that has such a text."""
    open_ = []
    for batch in trace.batches():
        for i, id in enumerate(batch.class_id.tolist()):
            event_class = trace.event_classes[id]
            values = values_of(trace, batch.tables[id], event_class, int(batch.row[i]))
            if event_class.kind is Kind.SLICE_BEGIN:
                open_.append(values["name"].decode())
            elif event_class.kind is Kind.SLICE_END and open_:
                name = open_.pop()
                if "retval_text" in values:
                    yield name, values["retval_text"].decode()


def calls(trace):
    """Name and arguments of each function, as texts where there are some beside the numbers."""
    for batch in trace.batches():
        for i, id in enumerate(batch.class_id.tolist()):
            event_class, row = trace.event_classes[id], int(batch.row[i])
            if event_class.kind is not Kind.SLICE_BEGIN:
                continue
            values = values_of(trace, batch.tables[id], event_class, row)
            name = values.pop("name").decode()
            values.pop("category")
            shown = [
                values[f"{one}_text"].decode() if f"{one}_text" in values else str(held)
                for one, held in values.items()
                if not one.endswith("_text")
            ]
            yield name, ", ".join(shown)


def values_of(trace, table, event_class, row):
    return {
        field.name: value(table.column(i), field.type, row, trace.strings)
        for i, field in enumerate(event_class.fields)
    }

"""Static templates compiled to places: what is gathered there is what evaluating shows."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.aix.trcfmt_entries import generic32, generic64, words32, words64

from converter.formats.aix.report.lines import own_templates
from converter.formats.aix.trcfmt import Environment, StaticField, evaluate, layout, parse
from converter.kernels.batches.gather import Segments


def of(body, env=32, *, generic=False, more=""):
    return layout(parse(f"{more}\n500 1.0 {body}\n"), 0x5000, env, generic=generic)


def test_places_of_values():
    body = '"SW" W1 "pid="DW "tid="DW hook=$HD W3 "name="A8.16 B0.4 B1.4 X1'
    assert of(body) == (
        StaticField("pid", 4, 4, "D"),
        StaticField("tid", 8, 4, "D"),
        StaticField("hook", 2, 2, "X"),
        StaticField("name", 12, 8, "A"),
        StaticField("field", 20, 1, "B", 0, 4),
        StaticField("field_2", 20, 2, "B", 4, 12),
        StaticField("field_3", 22, 1, "X"),
    )
    assert of(body, 64)[:3] == (
        StaticField("pid", 8, 8, "D"),
        StaticField("tid", 16, 8, "D"),
        StaticField("hook", 6, 2, "X"),
    )


def test_the_pointer_of_generic_entries_starts_at_the_data_word():
    assert of('"x" XW', 32, generic=True) == (StaticField("field", 4, 4, "X"),)
    assert of('"x" XW', 64, generic=True) == (StaticField("field", 8, 8, "X"),)


def test_macros_that_hold_values_of_the_entry():
    assert of('"x" {{ $a = X2 }} {{ $b = $a }} G8 U4 a=$b%D2 "w="$D2%DW $PID') == (
        StaticField("field", 8, 4, "U"),
        StaticField("a", 2, 2, "D"),
        StaticField("w", 8, 4, "D"),
    )


def test_subroutines_are_part_of_it():
    more = '90F 1.0 "" G4 {{ $r }} "block="X4 {{ $r = X2 }}'
    assert of('"x" {{ $v = 0 }} $90F "minor="$v', more=more) == (
        StaticField("block", 4, 4, "X"),
        StaticField("minor", 8, 2, "X"),
    )


def test_a_text_with_its_length_is_the_last():
    assert of('W1 "n="S2') == (StaticField("n", 4, 2, "S"),)
    assert of("W1 S2 X4") is None
    assert of("W1 S2 W2 X4") == (StaticField("field", 4, 2, "S"), StaticField("field_2", 8, 4, "X"))


@pytest.mark.parametrize(
    "body",
    [
        'X2, 1 "a"',
        "LOOP 3 { X1 }",
        "BITFLAGS X2, 1 A",
        "{{ $a = 1 + 2 }} $a",
        "$undefined",
        "$SKIP",
        "$123",
        "$500",
        "f(1)",
        "`X4`",
        "HT",
        "R9 X1",
        "{{ $DATAPOINTER = X2 }} X1",
        "$D1%W1.3",
        r"\*",
    ],
)
def test_what_is_not_static(body):
    assert of(body) is None


def test_no_template_has_no_layout():
    assert layout(parse(""), 0x5000, 32, generic=False) is None


@given(
    st.lists(
        st.sampled_from(
            [
                "X1",
                "X2",
                "X4",
                "D2",
                "D4",
                "U8",
                "o4",
                "XW",
                "DW",
                "A4",
                "B0.3",
                "B1.5",
                "O1",
                "O0.2",
                "W1",
                "R1",
                "R0",
            ]
        ),
        max_size=10,
    ),
    st.binary(min_size=64, max_size=64),
    st.sampled_from([32, 64]),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_the_places_hold_what_evaluating_reads(codes, data, env, generic):
    file = parse('500 1.0 "label" ' + " ".join(codes) + "\n")
    found = layout(file, 0x5000, env, generic=generic)
    if found is None:
        return
    make = {(32, True): generic32, (64, True): generic64}.get((env, generic))
    if make is not None:
        entry = make(data)
    else:
        words = [int.from_bytes(data[i : i + 4]) for i in range(0, 40, 4)]
        entry = (words32 if env == 32 else words64)(*words)
    made = evaluate(file, 0x5000, entry, Environment())
    shown = dict(made.fields)
    for field in found:
        raw = entry.data[field.offset : field.offset + field.width]
        if len(raw) < field.width and field.format != "A":
            assert field.name not in shown
            continue
        number = int.from_bytes(raw, signed=field.format == "D")
        if field.format == "B":
            number = number >> (8 * field.width - field.bit_offset - field.bits)
            number &= (1 << field.bits) - 1
        if field.format == "A":
            assert shown.get(field.name, "") == raw.split(b"\0")[0].decode(
                "utf-8", "surrogateescape"
            )
        else:
            assert shown[field.name] == number


def test_columns_of_many_entries_at_once():
    """The dispatch of each of a million entries, gathered by its five places."""
    count = 1_000_000
    found = layout(own_templates(), 0x1060, 64, generic=False)
    assert [each.name for each in found] == ["pid", "tid", "priority", "old_tid", "old_priority"]
    size = 48
    entries = np.zeros((count, size // 8), ">u8")
    entries[:, 2] = np.arange(count)
    data = Segments([entries.view(np.uint8).reshape(-1)])
    location = np.arange(count, dtype=np.int64) * size
    sizes = np.full(count, size, np.uint32)
    started = time.process_time()
    columns = []
    for field in found:
        out = np.empty(count * field.width, np.uint8)
        data.integers(location, sizes, field.offset, field.width, True, out)
        columns.append(out.view(np.int64))
    assert time.process_time() - started < 2, "half a million events a second at the very least"
    assert (columns[1] == np.arange(count)).all()

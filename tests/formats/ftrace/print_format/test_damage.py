"""Print formats that are damaged, or made to exhaust something, print a bounded text."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trace_cmd.print_format_events import SYMBOLS, all_formats, compiled, record

from converter.formats.ftrace.event_format.syntax import FormatSyntaxError, parse_event_format
from converter.formats.ftrace.print_format.print_format import PrintFormat, render_bprint
from converter.formats.ftrace.print_format.text_sources import TextSources


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
    form = PrintFormat(event, TextSources(SYMBOLS), "big" if big else "little", long_size)
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

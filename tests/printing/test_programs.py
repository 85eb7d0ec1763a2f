"""What programs print, and that one that could do anything else is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converter.formats.ftrace.print_format.printf import (
    Directive,
    number_formatter,
    string_formatter,
)
from converter.kernels.batches.gather import Segments
from converter.kernels.tables.strings import StringTable
from converter.printing import program as op
from converter.printing.code import Code, Form, Names
from converter.printing.directory import Directory
from converter.printing.printer import Printer
from converter.printing.program import Program


def printed(code, columns=None, rows=1, *, escapes=False, record=None):
    """What a program prints of some rows, all of one record if there is any."""
    located = None
    if record is not None:
        sizes = np.full(rows, len(record), np.uint32)
        located = Segments([record]), np.zeros(rows, np.int64), sizes
    program = code.finish().bind(lambda key: columns[key], located)
    blocks = []
    printer = Printer(StringTable(), escapes)
    classes, row = np.zeros(rows, np.int32), np.arange(rows, dtype=np.int32)
    printer.print([program], classes, row, lambda block: blocks.append(bytes(block)))
    printer.flush(lambda block: blocks.append(bytes(block)))
    return b"".join(blocks)


_REFUSED = "operation|outside|out of|back|too much|names|bits|begin|ends where"
FLAGS = st.sets(st.sampled_from("-0 +#")).map("".join)


@settings(max_examples=60, deadline=None)
@given(
    FLAGS,
    st.integers(0, 30),
    st.none() | st.integers(0, 30),
    st.sampled_from(["hh", "h", "", "ll"]),
    st.sampled_from("diuxXoc"),
    st.integers(0, 2**64 - 1) | st.integers(0, 300),
)
def test_numbers_as_printf_has_them(flags, width, precision, length, conversion, number):
    directive = Directive(flags, width, precision, length, conversion)
    code = Code()
    code.constant(number)
    form = Form(flags, width, -1 if precision is None else precision, directive.bits, conversion)
    code.add(op.NUMBER, code.form(form))
    assert printed(code) == number_formatter(directive)(number).encode("latin-1")


@settings(max_examples=40, deadline=None)
@given(
    FLAGS,
    st.integers(-9, 9),
    st.integers(-9, 9),
    st.text("abc", max_size=12),
)
def test_texts_as_printf_has_them(flags, width, precision, text):
    code = Code()
    code.constant(width)
    code.constant(precision)
    code.add(op.FORM, code.form(Form(flags)), 2, 3)
    code.add(op.MARK)
    code.literal(text.encode())
    code.add(op.FIT)
    form = Directive(
        flags + "-" * (width < 0), abs(width), precision if precision >= 0 else None, "", "s"
    )
    assert printed(code) == string_formatter(form)(text).encode()


def test_control_characters_are_escaped_where_they_would_reach_a_terminal():
    text = b"tab\t \x1b[2J\x7f\r" + "\x9b \xa9 é".encode() + b"\xff\n"
    code = Code()
    code.literal(text)
    assert printed(code) == text
    escaped = b"tab\t \\x1b[2J\\x7f\\r\\x9b \xc2\xa9 \xc3\xa9\xff\n"
    assert printed(code, escapes=True) == escaped


def test_an_event_names_a_task_once():
    tasks = Directory(lambda pid: (b"?", 0), lambda pid, text: (text, 1))
    code = Code()
    code.number_of("pid", 1)
    code.find(tasks)
    code.add(op.DROP)
    code.add(op.FOUND_TEXT)
    code.number_of("pid", 1)
    code.add(op.LEARN, code.directory(tasks), code.column("name", op.TEXTS), 1)
    names = np.frombuffer(b"abc", np.uint8), np.arange(4, dtype=np.int64)
    columns = {"pid": np.array([5, 5, 5], np.int32), "name": names}
    assert printed(code, columns, 3) == b"?aa"


def test_a_list_ends_where_it_is_told_to():
    code = Code()
    code.each(
        "list",
        1,
        lambda: (code.number_of("values", 2), code.add(op.DECIMAL, 64)),
        between=b",",
        goes_on=lambda: code.number_of("values", 2),
    )
    code.literal(b";")
    columns = {
        "list": np.array([0, 0, 2, 5], np.int64),
        "values": np.array([1, 2, 3, 0, 4], np.uint8),
    }
    assert printed(code, columns, 3) == b";1,2;3;"


@pytest.mark.parametrize("place", [0, 1, 4, 5, 1 << 62, (1 << 64) - 1, (1 << 64) - 8])
@pytest.mark.parametrize("size", [1, 4, 8])
def test_arrays_are_read_as_far_as_they_are_in_the_record(place, size):
    code = Code()
    code.number_of("place", 0)
    for number in (9, 2, size):
        code.constant(number)
    code.add(op.ARRAY, 0)
    record = bytes(range(1, 6))
    inside = [record[at : at + size] for at in (place, place + size) if at + size <= len(record)]
    numbers = [f"0x{int.from_bytes(one, 'little'):x}" for one in inside]
    found = printed(code, {"place": np.array([place], np.uint64)}, record=record)
    assert found.decode() == f"{{{','.join(numbers)}}}"


def test_rows_lists_and_texts_that_are_not_there():
    short = {
        "a": np.zeros(1, np.uint8),
        "list": np.array([0, 9], np.int64),
        "text": np.array([7], np.int32),
    }
    code = Code()
    code.number_of("a", 1)
    code.add(op.DECIMAL, 64)
    with pytest.raises(ValueError, match="outside"):
        printed(code, short, 2)
    code = Code()
    code.each("list", 1, lambda: (code.number_of("a", 2), code.add(op.DECIMAL, 64)))
    with pytest.raises(ValueError, match="outside"):
        printed(code, short)
    code = Code()
    code.text_of("text", 1)
    with pytest.raises(ValueError, match="none of the trace's"):
        printed(code, short)


@pytest.mark.parametrize(
    "operations",
    [
        [(9999, 0, 0, 0)],
        [(op.DECIMAL, 64, 0, 0)],
        [(op.CONSTANT, 1, 0, 0), (op.DECIMAL, 65, 0, 0)],
        [(op.LITERAL, 0, 4, 0)],
        [(op.LITERAL, -1, 1, 0)],
        [(op.COLUMN, 0, 0, 0)],
        [(op.JUMP, 2, 0, 0)],
        [(op.JUMP, 0, 0, 0)],
        [
            (op.CONSTANT, 1, 0, 0),
            (op.JUMP_IF_ZERO, 3, 0, 0),
            (op.CONSTANT, 1, 0, 0),
            (op.MARK, 0, 0, 0),
        ],
        [(op.FIT, 0, 0, 0)],
        [(op.CONSTANT, 1, 0, 0)] * 300,
        [(op.CONSTANT, 1, 0, 0), (op.NUMBER, 0, 0, 0)],
        [(op.CONSTANT, 1, 0, 0), (op.CHOOSE, 0, 0, 0)],
        [(op.CONSTANT, 1, 0, 0), (op.FIND, 0, 0, 0)],
        [(op.CALL, 0, 0, 0)],
        [(op.CONSTANT, 1, 0, 0), (op.TIME, 1, 0, 0)],
        [(op.LIMIT, 0, 5, 0)],
        [(op.CONSTANT, 1, 0, 0), (op.STORE, 256, 0, 0)],
        [(op.FETCH, -1, 0, 0)],
        # 64 bits have no room for the product, of which nothing is left of 2^64.
        [(op.CONSTANT, 1, 0, 0), (op.LETTERS, 0, (1 << 59) + 3, 255)],
        [(op.CONSTANT, 1, 0, 0), (op.LETTERS, 0, 1 << 56, 255)],
        [(op.CONSTANT, 1, 0, 0), (op.LETTERS, 0, 1, 3)],
        [*[(op.CONSTANT, 1, 0, 0)] * 5, (op.ARRAY, (1 << 63) - 1, 0, 0)],
        [(op.CONSTANT, 1, 0, 0), (op.BITS, 65, 0, 0)],
        [(op.CONSTANT, 1, 0, 0), (op.AGAIN, 0, 0, 0)],
        [(op.AGAIN, 1, 0, 0), (op.AGAIN, 0, 0, 0)],
        [(op.CONSTANT, 1, 0, 0), (op.GIVE_UP, 0, 0, 0)],
        [
            *[(op.CONSTANT, 1, 0, 0)] * 2,
            (op.GIVE_UP, 3, 0, 0),
            (op.DECIMAL, 64, 0, 0),
        ],
    ],
)
def test_a_program_that_makes_no_sense_is_refused(operations):
    with pytest.raises(ValueError, match=_REFUSED):
        Program(np.array(operations, np.int64), b"abc", [], [], [], [], [], False)


def test_a_program_goes_back_and_gives_up():
    """It counts down from a number, and leaves nothing of what it has printed where that is 3."""

    def counted():
        code.literal(b"begun ")
        code.number_of("n", 0)
        code.add(op.STORE, 1)
        again = code.here()
        code.add(op.FETCH, 1)
        end = code.add(op.JUMP_IF_ZERO)
        code.add(op.FETCH, 1)
        code.constant(3)
        code.add(op.NOT_EQUAL)
        # What is below it on the stack is left there.
        code.constant(1)
        code.add(op.COPY)
        code.add(op.DROP)
        code.add(op.BOTH)
        code.give_up()
        code.add(op.FETCH, 1)
        code.add(op.DECIMAL, 64, 0)
        code.add(op.FETCH, 1)
        code.constant(1)
        code.add(op.SUBTRACT)
        code.add(op.STORE, 1)
        code.add(op.AGAIN, again)
        code.land(end)
        code.add(op.PRINTED)
        code.add(op.DECIMAL, 64, 0)
        code.literal(b"\n")

    code = Code()
    code.constant(1)
    code.attempt(counted, lambda: code.literal(b"three\n"))
    columns = {"n": np.array([2, 0, 3, 1])}
    assert printed(code, columns, 4) == b"begun 218\nbegun 6\nthree\nbegun 17\n"


def test_a_loop_that_does_not_end_is_an_error():
    code = Code()
    again = code.here()
    code.add(op.PRINTED)
    end = code.add(op.JUMP_IF_ZERO)
    code.add(op.AGAIN, again)
    code.land(end)
    assert printed(code) == b""
    code = Code()
    code.literal(b"x")
    again = code.here()
    code.add(op.PRINTED)
    end = code.add(op.JUMP_IF_ZERO)
    code.add(op.AGAIN, again)
    code.land(end)
    with pytest.raises(ValueError, match="does not end"):
        printed(code)


def test_names_of_bits_and_numbers():
    code = Code()
    names = [(1, 1, b"one"), (4, 4, b"four")]
    for number in (0, 1, 5, 9):
        code.constant(number)
        code.named(op.FLAGS, Names([*names, (0, 0, b"none")], 2, separator=b"|"))
        code.literal(b" ")
        code.constant(number)
        code.named(op.CHOOSE, Names(names))
        code.literal(b"\n")
    assert printed(code).decode().split("\n") == [
        "none 0x0",
        "one one",
        "one|four 0x5",
        "one|0x8 0x9",
        "",
    ]


def test_a_place_that_is_known_is_read_at_once():
    code = Code()
    for operation, operand in (
        (op.CONSTANT, 8),
        (op.CONSTANT, 40),
        (op.DROP, 0),
        (op.CONSTANT, 2),
        (op.ELEMENT, 4),
        (op.CONSTANT, 4),
        (op.READ, 0),
    ):
        code.add(operation, operand)
    by_hand = Code()
    by_hand.add(op.LOAD, 16, 4)
    assert code.here() == by_hand.here() == 1
    code.add(op.DECIMAL, 32)
    assert printed(code) == b"0"


def test_what_a_jump_leads_to_is_not_joined_with_what_is_in_front():
    code = Code()
    code.constant(0)
    skipped = code.add(op.JUMP_IF_ZERO)
    code.literal(b"no")
    code.land(skipped)
    code.constant(7)
    code.add(op.DECIMAL, 64)
    assert printed(code) == b"7"
    either = Code()
    either.constant(1)
    either.constant(1)
    either.unless_zero(lambda: either.constant(2), lambda: either.constant(3))
    either.add(op.DROP)
    either.add(op.DECIMAL, 64)
    assert printed(either) == b"1"


@pytest.mark.parametrize(
    "text", [b"a\x1bb\n", b"\xc2\x9b\n", b"\xc2\n\x9b\n", b"x" * 70 + b"\x7f\n"]
)
def test_escapes_are_those_of_each_character(text):
    code = Code()
    code.literal(text)
    shown = (
        text.replace(b"\x1b", b"\\x1b").replace(b"\xc2\x9b", b"\\x9b").replace(b"\x7f", b"\\x7f")
    )
    rows = (1 << 18) // len(text) + 5
    assert printed(code, rows=rows, escapes=True) == shown * rows


@given(st.integers(0, 2**64 - 1), st.integers(0, 25), st.booleans())
def test_times_are_seconds_with_nine_decimals(ticks, width, signed):
    code = Code()
    code.constant(ticks)
    code.add(op.TIME, 1, 1, 2 * width + (not signed))
    value = ticks - (1 << 64) if signed and ticks >> 63 else ticks
    whole, nanos = divmod(abs(value), 10**9)
    assert printed(code) == f"{'-' * (value < 0)}{whole}.{nanos:09}".rjust(width).encode()

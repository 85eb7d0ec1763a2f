"""Programs of the emitter: what they take, and that they are checked."""

import json
from decimal import Decimal

import numpy as np
import pytest

from converter.formats.json_values import emit_programs as op
from converter.formats.json_values.emit import TEXT_PADDING, Emitter
from converter.formats.json_values.emit_programs import Program
from converter.ir.tables import Table
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable

NO_TEXTS = (np.zeros(TEXT_PADDING, np.uint8), np.zeros(1, np.int64))
OFFSETS = np.array([0, 1, 3], np.int64)


def program(*operations, columns=0, literals=b"", strings=None):
    code = [(*operation, 0, 0, 0, 0, 0)[:6] for operation in operations]
    strings = strings or StringTable()
    return Program(np.array(code, np.int32).reshape(-1), literals, columns, strings)


def text_of(one, rows, strings=None, threads=NO_TEXTS, ts=None):
    count = len(rows)
    zeros = np.zeros(count, np.int32)
    ts = zeros.astype(np.int64) if ts is None else ts
    columns = {"class_id": zeros, "row": np.array(rows, np.int32), "thread": zeros}
    events = EventArrays(ts=ts, **columns, cpu=zeros - 1)
    text, done = Emitter(strings or StringTable(), 3).emit([one], events, threads, 0, count)
    assert done == count
    return bytes(text)


def test_a_string_is_taken_as_it_is_stored():
    strings = StringTable()
    one = program((op.STRING, 0), (op.STRING_IF, 1, 0, 1), columns=2, literals=b";")
    ids = np.array([strings.intern(b"a"), strings.intern(b"0x1")], np.int32)
    lists = np.frombuffer(b"xyz", np.uint8), OFFSETS
    one.bind([ids, lists])
    assert text_of(one, [0, 1], strings) == rb'"a";"x""\u0030x1";"yz"'
    one.bind([lists, ids])
    assert text_of(one, [0, 1], strings) == b'"x";"a""yz";"0x1"'


def test_columns_may_have_any_stride():
    one = program((op.SIGNED, 0), (op.ARRAY, 1, 0, 1), (op.BOOLEAN, 2), columns=3)
    one.bind([np.arange(4)[::-2], OFFSETS, np.broadcast_to(np.True_, 3)])
    assert text_of(one, [0, 1]) == b"3[true]1[true,true]"


def test_strings_are_escaped_wherever_it_is_needed():
    texts = ["z" * size for size in range(40)]
    texts += [
        f"{'z' * at}{mark}{'z' * after}"
        for mark in '"\\\n\x1f'
        for at in range(20)
        for after in (0, 3, 9)
    ]
    texts += ['"' * size for size in range(1, 40)] + ["\x7fé" * 20]
    data = [text.encode() for text in texts]
    one = program((op.STRING, 0), columns=1)
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    one.bind([(np.frombuffer(b"".join(data), np.uint8), offsets)])
    found = text_of(one, range(len(texts))).decode()
    assert found == "".join(json.dumps(text, ensure_ascii=False) for text in texts)


def test_texts_that_read_as_numbers_have_their_first_character_escaped():
    numbers = ["0x0", "NaN", "Infinity", "-Infinity", "NaN:7ff8000000000001"]
    numbers += [f"0x{'123456789abcdef0'[:size]}" for size in range(1, 17)]
    others = ["", "0x", "0x00", "0x01", "0X1", "0x1F", "0x" + "1" * 17, "Na", "-5", "I", "N" * 40]
    # Each byte that is no digit, at each place.
    others += [
        f"0x1{'a' * at}{other}{'a' * after}"
        for other in "/:`gG\x7f@¿"
        for at in range(9)
        for after in (0, 4)
    ]
    texts = [*numbers, *others]
    data = [text.encode() for text in texts]
    expected = [json.dumps(text, ensure_ascii=False) for text in texts]
    for i, text in enumerate(numbers):
        expected[i] = f'"\\u{ord(text[0]):04x}{text[1:]}"'
    strings = StringTable()
    one = program((op.STRING, 0), columns=1)
    one.bind([np.array([strings.intern(text) for text in data], np.int32)])
    assert text_of(one, range(len(texts)), strings).decode() == "".join(expected)
    # As lists of bytes, with others behind the last of them and without.
    offsets = np.cumsum([0, *map(len, data)], dtype=np.int64)
    for padding in (b"", b"x" * 64):
        one.bind([(np.frombuffer(b"".join(data) + padding, np.uint8), offsets)])
        assert text_of(one, range(len(texts))).decode() == "".join(expected)


def test_addresses_have_as_many_digits_as_they_need():
    values = [0, *(int("123456789abcdef0"[:size], 16) for size in range(1, 17)), 2**64 - 1]
    one = program((op.HEXADECIMAL, 0), columns=1)
    one.bind([np.array(values, np.uint64)])
    assert text_of(one, range(len(values))).decode() == "".join(f'"{value:#x}"' for value in values)


@pytest.mark.parametrize("operation", [op.TIME, op.EVENT_TIME])
def test_times_have_the_decimals_that_they_need(operation):
    times = [*range(1001), *range(999_000, 1_001_001), -1, -20, -1000, 7_123_456_780, 7_123_999_999]
    times += [-(2**63), 2**63 - 1]
    one = program((operation, 0, 0, 0, 0, 1), columns=int(operation == op.TIME), literals=b";")
    one.bind([np.array(times, np.int64)] if operation == op.TIME else [])
    # Exact, as Decimal is; without an exponent.
    expected = [f"{Decimal(time).scaleb(-3):f}" for time in times]
    expected = [text.rstrip("0").rstrip(".") if "." in text else text for text in expected]
    found = text_of(one, range(len(times)), ts=np.array(times, np.int64)).decode()
    assert found.split(";")[1:] == expected


@pytest.mark.parametrize("mark", ["z", '"', "\x01"])
def test_strings_of_any_size_fit_however_often_they_occur(mark):
    """Up to a size their quoted form is kept, and copied to where there is room for it."""
    strings, texts = (
        StringTable(),
        [mark * size for size in (1, 42, 126, 127, 128, 253, 254, 255, 2000)],
    )
    ids = np.array([strings.intern(text.encode()) for text in texts], np.int32)
    columns = 20
    one = program(*((op.STRING, i) for i in range(columns)), columns=columns)
    one.bind([ids] * columns)
    rows = [*range(len(texts))] * 2
    quoted = [json.dumps(text) for text in texts]
    assert text_of(one, rows, strings).decode() == "".join(quoted[row] * columns for row in rows)


def test_an_event_of_many_kept_strings_has_room_at_the_end_of_a_block():
    strings, columns = StringTable(), 1200
    ids = np.array([strings.intern(b"z" * 254)] * 7, np.int32)
    one = program(*((op.STRING, i) for i in range(columns)), columns=columns)
    one.bind([ids] * columns)
    assert text_of(one, range(7), strings) == (b'"' + b"z" * 254 + b'"') * columns * 7


@pytest.mark.parametrize("size", [1, 255, 256, 257, 100_000])
def test_threads_have_texts_of_any_size(size):
    text = b"t" * size
    data = np.frombuffer(text + bytes(TEXT_PADDING), np.uint8)
    threads = data, np.array([0, size], np.int64)
    one = program((op.EVENT_PLACE, 0, 0, 0, 0, 1), (op.LITERAL, 0, 0, 0, 1, 1), literals=b"[]")
    assert text_of(one, [0] * 9, threads=threads) == (b"[" + text + b"]") * 9


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 64, 5000])
def test_lists_of_integers_have_any_length(count):
    values = np.array([-(2**63), 2**63 - 1, 0, 7] * 1250, np.int64)[:count]
    one = program(
        (op.ARRAY, 0, 0, 1), (op.SIGNED, 1), (op.ARRAY, 2, 0, 1), (op.UNSIGNED, 3), columns=4
    )
    offsets = np.array([0, count], np.int64)
    one.bind([offsets, values, offsets, values.view(np.uint64)])
    text = text_of(one, [0]).decode()
    signed, end = json.JSONDecoder().raw_decode(text)
    assert signed == values.tolist()
    # Those that readers may not hold are text.
    expected = [v if v < 2**63 else str(v) for v in values.view(np.uint64).tolist()]
    assert json.loads(text[end:]) == expected


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 64, 65, 300])
def test_literals_of_any_size_stand_in_front(size):
    front = bytes(range(48, 58)) * 30
    one = program(
        (op.BOOLEAN, 0, 0, 0, 0, size), (op.STRING_IF, 1, 0, size), (op.LITERAL, 0, 0, 0, 0, size),
        columns=2, literals=front,
    )  # fmt: skip
    strings = StringTable()
    text = "x" * size
    one.bind([np.array([True, False]), np.array([strings.intern(text), 0], np.int32)])
    before = front[:size]
    quoted = before + b'"%b"' % text.encode() if size else b""
    expected = before + b"true" + quoted + before + before + b"false" + before
    assert text_of(one, [0, 1], strings) == expected
    # What is kept of the string is the same.
    assert text_of(one, [0, 1] * 300, strings) == expected * 300


INTEGERS = np.array([-5, 2**63 - 1], np.int64)
TEXTS = (b"", b"0x1", b'a"b', b"z" * 300)


@pytest.mark.parametrize(
    ("operation", "values"),
    [
        (op.SIGNED, INTEGERS),
        (op.UNSIGNED, INTEGERS.view(np.uint64)),
        (op.HEXADECIMAL, INTEGERS.view(np.uint64)),
        (op.TIME, INTEGERS),
        (op.FLOAT, np.array([0.25, np.nan, -np.inf])),
        (op.BOOLEAN, np.array([True, False])),
        (op.IF_TRUE, np.array([True, False])),
        (op.STRING, np.arange(len(TEXTS), dtype=np.int32)),
        (op.PLAIN_STRING, np.arange(len(TEXTS), dtype=np.int32)),
        (op.STRING_IF, np.arange(len(TEXTS), dtype=np.int32)),
    ],
)
@pytest.mark.parametrize("stride", [0, 1, 2])
def test_what_is_the_same_in_all_rows_is_written_as_what_differs(operation, values, stride):
    strings = StringTable()
    assert [strings.intern(text) for text in TEXTS] == list(range(len(TEXTS)))
    one = program(
        (op.SIGNED, 0, 0, 0, 0, 1), (operation, 1, 1, 2, 1, 3), (op.EVENT, 0, 0, 0, 3, 1), (op.SIGNED, 2, 0, 0, 0, 4),
        columns=3, literals=b"[ab]", strings=strings,
    )  # fmt: skip
    for rows in (63, 64, 65):
        numbers = np.arange(rows)
        for value in values:
            column = np.full((rows, 2), value)
            column[:, 1] = 0
            given = column[:, 0] if stride else np.broadcast_to(value, rows)
            one.bind([numbers, np.ascontiguousarray(given) if stride == 1 else given, numbers])
            text = text_of(one, range(rows), strings)
            # Of few rows nobody looks whether they are the same.
            one.bind([numbers, np.array([value]), numbers])
            alone = text_of(one, [0], strings)
            before, after = alone.split(b"0", 1)[0], alone.rsplit(b"0", 1)[0]
            middle = after[len(before) + 1 :]
            expected = b"".join(b"%b%d%b%d" % (before, row, middle, row) for row in range(rows))
            assert text == expected


def test_a_column_that_is_the_same_in_one_batch_may_differ_in_the_next():
    one = program((op.SIGNED, 0, 0, 0, 0, 1), (op.EVENT,), columns=1, literals=b";")
    for values in (
        np.zeros(64, np.int64),
        np.arange(64),
        np.full(64, 3),
        np.arange(9),
        np.ones(64),
    ):
        one.bind([values.astype(np.int64)])
        expected = "".join(f";{int(value)}0" for value in values)
        assert text_of(one, range(len(values))).decode() == expected
        with pytest.raises(ValueError, match="outside"):
            text_of(one, [len(values)])


def test_elements_of_lists_are_written_one_by_one_even_if_all_are_the_same():
    strings = StringTable()
    one = program(
        (op.ARRAY, 0, 0, 2), (op.STRING, 1), (op.LITERAL, 0, 0, 0, 0, 1), (op.SIGNED, 2, 0, 0, 0, 1),
        columns=3, literals=b";", strings=strings,
    )  # fmt: skip
    offsets = np.arange(0, 129, 2, dtype=np.int64)
    one.bind([offsets, np.full(128, strings.intern(b"x"), np.int32), np.zeros(64, np.int64)])
    assert text_of(one, range(64), strings) == b'["x";,"x";];0' * 64


def test_elements_of_lists_are_checked():
    one = program((op.ARRAY, 0, 0, 1), (op.FLOAT, 1), columns=2)
    one.bind([np.array([0, 1, 3], np.int64), np.zeros(2)])
    assert text_of(one, [0]) == b"[0.0]"
    with pytest.raises(ValueError, match="outside"):
        text_of(one, [1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: program((99, 0), columns=1),
        lambda: program((op.TIME, 1), columns=1),
        lambda: program((op.TIME, 0), (op.TIME, 0), columns=1),
        lambda: program((op.LITERAL, 0, 0, 0, 1, 2), literals=b"ab"),
        lambda: program((op.STRING_IF, 0, 1, 2), columns=1, literals=b"ab"),
        lambda: program((op.ARRAY, 0, 0, 1), columns=1),
        lambda: program((op.TIME, 0), columns=1).bind([np.zeros(1, np.int32)]),
        lambda: program((op.TIME, 0), columns=1).bind([]),
        lambda: program((op.BASE64, 0), columns=1).bind([np.zeros(1, np.uint8)]),
    ],
)
def test_programs_and_their_columns_are_checked(make):
    with pytest.raises(ValueError, match=r"^[a-z0]"):
        make()


@pytest.mark.parametrize(
    ("operation", "column", "row"),
    [
        (op.TIME, np.zeros(1, np.int64), 1),
        (op.TIME, np.zeros(1, np.int64), -1),
        (op.STRING, np.array([7], np.int32), 0),
        (op.STRING, (np.zeros(3, np.uint8), OFFSETS), 2),
        (op.STRING, (np.zeros(2, np.uint8), OFFSETS), 1),
        (op.BASE64, (np.zeros(3, np.uint8), OFFSETS[::-1].copy()), 0),
    ],
)
def test_rows_are_checked(operation, column, row):
    one = program((operation, 0), columns=1)
    one.bind([column])
    with pytest.raises(ValueError, match="outside"):
        text_of(one, [row])


def test_a_program_that_let_go_of_its_columns_has_no_rows():
    one = program((op.TIME, 0), columns=1)
    one.bind([np.zeros(1, np.int64)])
    one.release()
    with pytest.raises(ValueError, match="outside"):
        text_of(one, [0])


def test_texts_of_threads_lie_inside_and_have_padding_behind_them():
    one = program((op.EVENT_PLACE,))
    padded = np.frombuffer(b"xyz" + bytes(TEXT_PADDING), np.uint8)
    assert text_of(one, [0], threads=(padded, OFFSETS)) == b"x"
    with pytest.raises(ValueError, match="outside"):
        text_of(one, [0], threads=(padded, OFFSETS + 3))


@pytest.mark.parametrize("number", [-1, 1, 1 << 30])
def test_programs_are_put_where_there_is_a_place(number):
    tables = {number: Table(1, [])}
    with pytest.raises(ValueError, match=f"class {number} of 1"):
        op.bind_plain(tables, {number: program()}, {number}, [None])

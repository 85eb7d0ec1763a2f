"""Varints of every length, at every place of a window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.formats.perfetto.emit import (
    BAD_COLUMN,
    EACH,
    FRAME_RECORD,
    LITERAL,
    OK,
    OPTION,
    OPTIONAL,
    U64,
    UNION,
    Emitter,
    PacketSequence,
)
from converter.formats.perfetto.scan_fields import VARINT, decode_messages, decode_repeated
from converter.kernels.strings import StringTable


def varint(value: int, padding: int = 0) -> bytes:
    """A varint, with so many bytes that add nothing."""
    size = max(1, -(-value.bit_length() // 7)) + padding
    groups = [value >> 7 * k & 0x7F for k in range(size)]
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def decoded(message: bytes, behind: bytes) -> tuple[list[int], int]:
    columns = [np.zeros(1, np.uint64) for _ in range(2)]
    damaged, _ = decode_messages(
        np.frombuffer(message + behind, np.uint8),
        np.zeros(1, np.int64),
        np.array([len(message)], np.int64),
        [1, 2],
        [VARINT, VARINT],
        columns,
    )
    return [int(column[0]) for column in columns], damaged


values = st.integers(0, 64).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))


@given(values, values, st.integers(0, 9), st.binary(max_size=12))
def test_varints_are_read_wherever_they_end(
    one: int, other: int, padding: int, behind: bytes
) -> None:
    padding = min(padding, 10 - len(varint(one)))
    message = b"\x08" + varint(one, padding) + b"\x10" + varint(other)
    assert decoded(message, behind) == ([one, other], 0)
    cut = message[: -len(varint(other))] + varint(other)[:-1]
    assert decoded(cut, behind) == ([one, 0], 1)


@given(st.binary(max_size=12))
def test_varints_of_more_than_ten_bytes_are_damage(behind: bytes) -> None:
    assert decoded(b"\x08" + b"\x80" * 10 + b"\x01", behind) == ([0, 0], 1)


@given(
    st.lists(
        st.tuples(st.lists(values, max_size=8), st.integers(0, 300), st.booleans()), max_size=12
    )
)
def test_repeated_fields_hold_as_many_values_as_there_are(
    messages: list[tuple[list[int], int, bool]],
) -> None:
    """However few bytes each takes: a packed one that is small a single one."""
    expected = [[*few, *[1] * small] for few, small, _ in messages]
    texts = []
    for held, (_, _, packed) in zip(expected, messages, strict=True):
        encoded = [varint(value) for value in held]
        whole = b"".join(encoded)
        apart = b"".join(b"\x08" + one for one in encoded)
        texts.append(b"\x0a" + varint(len(whole)) + whole if packed else apart)
    sizes = np.array([len(text) for text in texts], np.int64)
    offsets = np.zeros(len(texts) + 1, np.int64)
    data = np.frombuffer(b"".join(texts), np.uint8)
    found = decode_repeated(data, np.cumsum(sizes) - sizes, sizes, 1, offsets)
    assert found.tolist() == [value for held in expected for value in held]
    assert np.diff(offsets).tolist() == [len(held) for held in expected]


def emitted(steps: list[Any], columns: list[Any], times: list[int]) -> tuple[int, int, bytes]:
    """The status, the number of the event behind those that were emitted, and these, of a class of records."""
    sequence = PacketSequence(StringTable(), 1)
    program = sequence.add_program(FRAME_RECORD, steps)
    sequence.bind(program, len(times), columns)
    none = np.full(len(times), -1, np.int32)
    rows = np.arange(len(times), dtype=np.int32)
    ts = np.array(times, np.uint64).view(np.int64)
    sequence.begin(ts, np.full(len(times), program, np.int32), rows, none, none, none)
    emitter = Emitter(sequence)
    status, done = emitter.emit(0, len(times), True)
    return status, done, bytes(emitter.take())


def packet(ts: int, fields: bytes) -> bytes:
    content = b"\x40" + varint(ts) + b"\x50\x01\x68\x02" + fields
    return b"\x0a" + varint(len(content)) + content


# Tags of one to five bytes.
numbers = st.sampled_from([3, 200, 5_000, 1_000_000, (1 << 29) - 1])


@given(numbers, st.lists(st.tuples(values, values), min_size=1, max_size=20))
def test_varints_are_written_with_no_byte_too_many(
    number: int, pairs: list[tuple[int, int]]
) -> None:
    """Of times and of fields, whatever the times before."""
    column = np.array([value for _, value in pairs], np.uint64)
    steps = [(U64, number << 3, 0, 0, 0, b"")]
    expected = [packet(ts, varint(number << 3) + varint(value)) for ts, value in pairs]
    times = [ts for ts, _ in pairs]
    assert emitted(steps, [column], times) == (OK, len(pairs), b"".join(expected))


@given(numbers, st.lists(values, max_size=200))
def test_lists_are_written_whole(number: int, listed: list[int]) -> None:
    steps = [(EACH, 0, 0, 0, 1, b""), (U64, number << 3, 0, 0, 0, b"")]
    columns = [np.array([0, len(listed)]), np.array(listed, np.uint64)]
    fields = b"".join(varint(number << 3) + varint(value) for value in listed)
    assert emitted(steps, columns, [7]) == (OK, 1, packet(7, fields))


_VALUE = (U64, 3 << 3, 0, 0, 0, b"")
_FEW = np.array([1, 1], np.uint64)


@pytest.mark.parametrize(
    ("steps", "columns"),
    [
        ([_VALUE], [_FEW]),
        ([(EACH, 0, 0, 0, 1, b""), _VALUE], [np.array([0, 1, 2, 3]), _FEW]),
        (
            [(EACH, 0, 0, 0, 2, b""), (LITERAL, 0, 0, 0, 0, b""), _VALUE],
            [np.array([0, 1, 2, 3]), _FEW],
        ),
        ([(OPTIONAL, 0, 0, 0, 1, b""), _VALUE], [np.ones(3, np.uint8), _FEW]),
        (
            [(UNION, 0, 0, 0, 2, b""), (OPTION, 0, 0, 0, 1, b""), _VALUE],
            [(np.zeros(3, np.int16), np.arange(3, dtype=np.int32)), _FEW],
        ),
    ],
    ids=["column", "numbers of a list", "elements of a list", "optional value", "option"],
)
def test_rows_that_a_column_lacks_are_told(steps: list[Any], columns: list[Any]) -> None:
    """And not read, whatever their column belongs to."""
    expected = packet(5, b"\x18\x01") + packet(6, b"\x18\x01")
    assert emitted(steps, columns, [5, 6, 7]) == (BAD_COLUMN, 2, expected)

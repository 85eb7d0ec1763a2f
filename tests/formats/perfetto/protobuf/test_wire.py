"""Varints of every length, at every place of a window."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.formats.perfetto.reading.kernels import scan_ftrace
from converter.formats.perfetto.writing.kernels.emit import (
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
from converter.kernels.batches.event_arrays import EventArrays, OutputArrays
from converter.kernels.protobuf.decode import (
    COUNTED,
    VARINT,
    decode_messages,
    decode_repeated,
)
from converter.kernels.tables.strings import StringTable


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
        ([1, 2], [VARINT, VARINT], columns),
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


@given(
    st.lists(
        st.tuples(values, values, st.lists(st.tuples(values, st.integers(0, 3)), max_size=6)),
        max_size=12,
    ),
    st.sampled_from([3, 15, 16, 17, 300]),
    st.integers(0, 40),
)
def test_a_list_is_read_with_the_fields_beside_it(
    messages: list[tuple[int, int, list[tuple[int, int]]]], number: int, cut: int
) -> None:
    """Wherever its values stand, as they are read by themselves; of a message that is cut off, what is in front."""
    texts = []
    for one, other, held in messages:
        before = b"".join(varint(number << 3, pad) + varint(value, 0) for value, pad in held[:3])
        behind = b"".join(varint(number << 3, pad) + varint(value, 0) for value, pad in held[3:])
        packed = varint(number << 3 | 2) + b"\x02\x05\x06"
        texts.append(
            b"\x08" + varint(one) + before + b"\x10" + varint(other) + behind + b"\x20\x01" + packed
        )
    if texts:
        texts[-1] = texts[-1][: max(0, len(texts[-1]) - cut)]
    sizes = np.array([len(text) for text in texts], np.int64)
    starts = np.cumsum(sizes) - sizes
    data = np.frombuffer(b"".join(texts), np.uint8)
    columns = [np.zeros(len(texts), np.uint64) for _ in range(2)]
    alone = [np.zeros(len(texts), np.uint64) for _ in range(2)]
    offsets, by_itself = (np.zeros(len(texts) + 1, np.int64) for _ in range(2))
    met, met_alone = (np.zeros(COUNTED, np.int64) for _ in range(2))
    fields = [1, 2], [VARINT, VARINT]
    damaged, found = decode_messages(
        data, starts, sizes, (*fields, columns), [number], met, number, offsets
    )
    damaged_alone, none = decode_messages(
        data, starts, sizes, (*fields, alone), [number], met_alone
    )
    expected = decode_repeated(data, starts, sizes, number, by_itself)
    assert (damaged, met.tolist()) == (damaged_alone, met_alone.tolist())
    assert np.array_equal(columns, alone)
    assert not len(none)
    assert found.tolist() == expected.tolist()
    assert offsets.tolist() == by_itself.tolist()
    whole = [
        [*(value for value, _ in held[:3]), *(value for value, _ in held[3:]), 5, 6]
        for _, _, held in messages
    ]
    known = [found[start:end].tolist() for start, end in pairwise(offsets.tolist())]
    assert known[:-1] == whole[:-1]
    if whole:
        assert known[-1] == whole[-1][: len(known[-1])]
        assert cut or known[-1] == whole[-1]


def filled(bundle: bytes, behind: bytes) -> list[Any]:
    """What the kernel makes of a bundle of events: times, tids, keys, flags, sizes, and what it says of damage."""
    data = np.frombuffer(bundle + behind, np.uint8)
    start, size = np.zeros(1, np.int64), np.array([len(bundle)], np.int64)
    rows = np.empty((1, scan_ftrace.BUNDLE_COLUMNS), np.int64)
    scan_ftrace.scan_bundles(data, start, size, rows)
    count = int(rows[0, scan_ftrace.EVENTS])
    wide = [np.zeros(count, np.int64) for _ in range(3)]
    ids = [np.zeros(count, np.int32) for _ in range(4)]
    narrow = dict(zip(("tid", "key", "cpu", "bundle"), ids, strict=True))
    flags = np.zeros(count, np.uint32)
    done = scan_ftrace.fill_bundles(
        data,
        start,
        size,
        rows,
        scan_ftrace.CpuStates(),
        StringTable(),
        OutputArrays(ts=wide[0], start=wide[1], size=wide[2], flags=flags, **narrow),
        (np.zeros((0, 7), np.int64), np.zeros((0, 4), np.int64)),
    )
    texts = [data[at : at + n].tobytes() for at, n in zip(*wide[1:], strict=True)][:done]
    columns = [wide[0], ids[0], ids[1], ids[2], flags]
    damage = int(rows[0, scan_ftrace.DAMAGE])
    return [damage, *(column[:done].tolist() for column in columns), texts]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**63 - 1),
            st.integers(0, 2**31 - 1),
            st.integers(3, 2000),
            st.binary(max_size=200),
            st.permutations(range(3)),
            st.integers(0, 3),
        ),
        max_size=8,
    ),
    st.binary(max_size=12),
    st.integers(1, 30),
)
def test_events_of_bundles_are_the_same_however_their_tags_are_written(
    events: list[Any], behind: bytes, cut: int
) -> None:
    """With tags and sizes of more bytes than they need, and fields in any order; a bundle that is cut off is damage."""
    events = [event for event in events if event[2] not in (5, 327)]
    written = []
    for pads in (False, True):
        bundle = b"\x88\x00\x81\x00" if pads else b"\x08\x01"
        for ts, tid, number, text, order, padding in events:
            more = padding * pads
            fields = [
                varint(1 << 3, more) + varint(ts),
                varint(2 << 3, more) + varint(tid),
                varint(number << 3 | 2, more) + varint(len(text), more) + text,
            ]
            whole = b"".join(fields[i] for i in order)
            bundle += varint(2 << 3 | 2, more) + varint(len(whole), more) + whole
        written.append(bundle)
    expected = [
        [ts for ts, *_ in events],
        [tid for _, tid, *_ in events],
        [number for _, _, number, *_ in events],
        [1] * len(events),
        [0] * len(events),
        [text for _, _, _, text, *_ in events],
    ]
    for bundle in written:
        assert filled(bundle, behind) == [0, *expected]
        if events and cut < len(events[-1][3]):
            assert filled(bundle[:-cut], behind)[0] == 1


def emitted(steps: list[Any], columns: list[Any], times: list[int]) -> tuple[int, int, bytes]:
    """The status, the number of the event behind those that were emitted, and these, of a class of records."""
    sequence = PacketSequence(StringTable(), 1)
    program = sequence.add_program(FRAME_RECORD, steps)
    sequence.bind(program, len(times), columns)
    none = np.full(len(times), -1, np.int32)
    rows = np.arange(len(times), dtype=np.int32)
    ts = np.array(times, np.uint64).view(np.int64)
    numbers = np.full(len(times), program, np.int32)
    given = {"class_id": numbers, "row": rows, "thread": none, "cpu": none, "track": none}
    sequence.begin(EventArrays(ts=ts, **given))
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

"""Programs over the fields of records: what is joined and gathered is what walking field by field finds."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converter.formats.ctf.streams.scan_columns import decode
from converter.formats.ctf.streams.scan_programs import FLAGS, OPERATIONS, Program
from converter.kernels.tables.strings import StringTable

INTEGER, SKIP, ENDED, INTEGERS, END = (
    OPERATIONS[name] for name in ("INTEGER", "SKIP", "ENDED", "INTEGERS", "END")
)
#: Rows of three gatherings, the last of which is not full.
ROWS = 700


def program(operations: list[list[int]], slots: int) -> Program:
    words = np.zeros((len(operations) + 1, 9), np.int64)
    words[:, 1] = 1
    words[:, 4:6] = words[:, 7] = -1
    for row, operation in zip(words, [*operations, [END]], strict=True):
        row[: len(operation)] = operation
    return Program(words, np.zeros((0, 4), np.int64), 1, slots)


def decoded(
    operations: list[list[int]], items: list[int], records: list[bytes], counted: int = 1
) -> list[bytes]:
    starts = np.cumsum([0, *map(len, records)])
    columns = decode(
        program(operations, len(items)),
        [np.frombuffer(b"".join(records), np.uint8)],
        np.zeros((1, 0), np.uint64),
        8 * starts[:-1],
        np.array([8 * len(record) for record in records], np.uint32),
        np.array(items, np.int64),
        np.full(len(items), counted * len(records), np.int64),
        StringTable(),
    )
    return [column.tobytes() for column in columns]


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([8, 16, 32, 64]),
            st.sampled_from([0, FLAGS["BIG"], FLAGS["SIGNED"], FLAGS["BIG"] | FLAGS["SIGNED"]]),
            st.sampled_from(["kept", "skipped", "behind a text"]),
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([0, 1]),
)
def test_joined_fields_are_those_read_one_by_one(
    fields: list[tuple[int, int, str]], counted: int
) -> None:
    joined: list[list[int]] = []
    items: list[int] = []
    form = []
    for width, flags, how in fields:
        if how == "behind a text":
            joined.append([ENDED, 8, 8, 0, -1])
            form.append("text")
        if how == "skipped":
            joined.append([SKIP, 1, width])
        else:
            joined.append([INTEGER, 1, width, flags | FLAGS["BYTEWISE"], len(items)])
            items.append(width // 8)
        form.append(str(width))
    single = [
        [word & ~FLAGS["BYTEWISE"] if at == 3 else word for at, word in enumerate(operation)]
        for operation in joined
    ]
    random = np.random.default_rng(len(fields))
    records = [
        b"".join(
            b"ab\0"[row % 3 :] if part == "text" else random.bytes(int(part) // 8) for part in form
        )
        for row in range(ROWS)
    ]
    assert decoded(joined, items, records, counted) == decoded(single, items, records, counted)
    shorter = [*records[:-1], records[-1][:-1]]
    with pytest.raises(ValueError, match="outside its window"):
        decoded(joined, items, shorter, counted)


def test_a_slot_of_another_size_is_refused() -> None:
    operations = [[INTEGER, 1, 32, FLAGS["BYTEWISE"], 0]]
    with pytest.raises(ValueError, match="another size"):
        decoded(operations, [8], [bytes(4)])


@pytest.mark.parametrize("operation", [[INTEGER, 1, 24], [INTEGER, 1, 8, FLAGS["REVERSED"]]])
def test_only_whole_bytes_are_joined(operation: list[int]) -> None:
    operation = [*operation, 0, 0, 0][:4]
    operation[3] |= FLAGS["BYTEWISE"]
    with pytest.raises(ValueError, match="makes no sense"):
        program([operation], 0)


def test_lists_of_whole_bytes_are_copied_in_their_order_of_bits() -> None:
    values = list(range(1, 6))
    for width, code in ((8, "B"), (16, "H"), (32, "I"), (64, "Q")):
        expected = struct.pack(f"5{code}", *values)
        for flags, order in ((0, "<"), (FLAGS["BIG"], ">")):
            operations = [[INTEGERS, 8, width, flags, 0, -1, 5, -1, 8]]
            record = struct.pack(f"{order}5{code}", *values)
            _, contents = decoded(operations, [8, width // 8], [record], 0)
            assert contents == expected
    operations = [[INTEGERS, 8, 8, FLAGS["REVERSED"], 0, -1, 2, -1, 8]]
    assert decoded(operations, [8, 1], [b"\x01\x06"], 0)[1] == b"\x80\x60"

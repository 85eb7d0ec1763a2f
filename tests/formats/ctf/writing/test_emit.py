"""The kernel that emits CTF by itself: programs that make no sense, and columns that end too early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from converter.formats.ctf.writing.emit import (
    BACKWARDS,
    DONE,
    OP_ARRAY,
    OP_BYTES,
    OP_GROUP,
    OP_LIST,
    OP_OPTIONAL,
    OP_SCALAR,
    OP_STRING,
    OP_THREAD,
    OP_UNION,
    OUT_OF_RANGE,
    WRONG_LENGTH,
    Emitter,
)
from converter.kernels.batches.event_arrays import EventArrays
from converter.kernels.tables.strings import StringTable


def emitter_of(operations: list[tuple[int, int, int]]) -> tuple[Emitter, int]:
    emitter = Emitter(StringTable(), bytes(16), 1 << 12)
    emitter.add_stream(0, 0, 0, False, True)
    return emitter, emitter.add_program(0, operations, False)


def emitted(emitter: Emitter, ts: int = 0, row: int = 0, program: int = 0, thread: int = -1) -> int:
    narrow = np.zeros(1, np.int32)
    columns = {"class_id": narrow + program, "row": narrow + row, "thread": narrow + thread}
    events = EventArrays(ts=np.array([ts]), **columns, track=narrow, stream=narrow)
    status, _ = emitter.emit(events, 0)
    return status


@pytest.mark.parametrize(
    "operations",
    [
        [(OP_SCALAR, 0, 0)],
        [(OP_SCALAR, 9, 0)],
        [(OP_SCALAR, 8, 1), (OP_SCALAR, 8, 0)],
        [(OP_LIST, 0, 1)],
        [(OP_LIST, 0, -1)],
        [(OP_UNION, 3, 0)],
        [(OP_UNION, 1, 1), (OP_SCALAR, 1, 0)],
        [(OP_THREAD + 1, 0, 0)],
        [(OP_OPTIONAL, 0, depth) for depth in range(100, 0, -1)] + [(OP_SCALAR, 1, 0)],
    ],
)
def test_programs_that_make_no_sense(operations: list[tuple[int, int, int]]) -> None:
    with pytest.raises(ValueError, match="operation"):
        emitter_of(operations)


@pytest.mark.parametrize(
    ("operations", "columns", "status"),
    [
        ([(OP_SCALAR, 8, 0)], [np.zeros(1)], OUT_OF_RANGE),
        ([(OP_STRING, 0, 0)], [np.array([0, 99], np.int32)], OUT_OF_RANGE),
        ([(OP_STRING, 0, 0)], [np.array([0, -1], np.int32)], OUT_OF_RANGE),
        (
            [(OP_BYTES, 0, 0)],
            [(np.zeros(3, np.uint8), np.array([0, 1, 4]))],
            OUT_OF_RANGE,
        ),
        ([(OP_BYTES, 0, 0)], [(np.zeros(3, np.uint8), np.array([0, 2, 1]))], OUT_OF_RANGE),
        (
            [(OP_LIST, 0, 1), (OP_SCALAR, 4, 0)],
            [np.array([0, 1, 3]), np.zeros(2, np.int32)],
            OUT_OF_RANGE,
        ),
        (
            [(OP_LIST, 0, 2), (OP_SCALAR, 4, 0), (OP_SCALAR, 4, 0)],
            [np.array([0, 1, 3]), np.zeros(2, np.int32), np.zeros(9, np.int32)],
            OUT_OF_RANGE,
        ),
        (
            [(OP_ARRAY, 2, 1), (OP_SCALAR, 4, 0)],
            [np.array([0, 2, 3]), np.zeros(3, np.int32)],
            WRONG_LENGTH,
        ),
        (
            [(OP_UNION, 1, 2), (OP_GROUP, 0, 1), (OP_SCALAR, 4, 0)],
            [
                (np.array([0, 1], np.int16), np.zeros(2, np.int32)),
                None,
                np.zeros(1, np.int32),
            ],
            OUT_OF_RANGE,
        ),
        (
            [(OP_UNION, 1, 2), (OP_GROUP, 0, 1), (OP_SCALAR, 4, 0)],
            [
                (np.zeros(2, np.int16), np.array([0, -1], np.int32)),
                None,
                np.zeros(1, np.int32),
            ],
            OUT_OF_RANGE,
        ),
        (
            [(OP_OPTIONAL, 0, 1), (OP_SCALAR, 4, 0)],
            [np.ones(2, np.uint8), np.zeros(1, np.int32)],
            OUT_OF_RANGE,
        ),
        ([(OP_OPTIONAL, 0, 0)], [np.ones(1, np.uint8)], OUT_OF_RANGE),
    ],
)
def test_columns_are_never_read_beyond_their_end(
    operations: list[tuple[int, int, int]], columns: list[Any], status: int
) -> None:
    """The second row is the bad one; what was written of it is taken back."""
    emitter, program = emitter_of(operations)
    emitter.bind(program, 2, columns)
    assert emitted(emitter) == DONE
    before = emitter.pending(0)
    assert emitted(emitter, row=1) == status
    assert emitter.pending(0) == before
    assert emitted(emitter, row=2) == OUT_OF_RANGE
    assert emitted(emitter, row=-1) == OUT_OF_RANGE


def test_numbers_beyond_the_tables_and_times_that_go_back() -> None:
    emitter, program = emitter_of([])
    emitter.bind(program, 1, [])
    assert emitted(emitter, ts=9, program=1) == OUT_OF_RANGE
    assert emitted(emitter, ts=9, program=-1) == OUT_OF_RANGE
    assert emitted(emitter, ts=9, thread=0) == OUT_OF_RANGE
    assert emitted(emitter, ts=9, thread=-2) == OUT_OF_RANGE
    # Also of events without fields, whose columns would say it.
    assert emitted(emitter, ts=9, row=1) == OUT_OF_RANGE
    assert emitted(emitter, ts=9, row=-1) == OUT_OF_RANGE
    assert emitted(emitter, ts=9) == DONE
    assert emitted(emitter, ts=8) == BACKWARDS
    emitter.release()
    assert emitted(emitter, ts=9) == OUT_OF_RANGE
    for wrong in (-1, 1):
        with pytest.raises(ValueError, match="no such stream"):
            emitter.take(wrong)


@pytest.mark.parametrize(
    ("operation", "column"),
    [
        (OP_SCALAR, np.zeros(2, np.int16)),
        (OP_STRING, np.zeros(2, np.int64)),
        (OP_BYTES, np.zeros(2, np.uint8)),
        (OP_BYTES, (np.zeros(8, np.uint8)[::2], np.array([0, 1, 2]))),
        (OP_SCALAR, np.zeros((2, 2))),
    ],
)
def test_columns_of_another_shape_are_refused(operation: int, column: Any) -> None:
    emitter, program = emitter_of([(operation, 4 if operation == OP_SCALAR else 0, 0)])
    with pytest.raises(ValueError, match=r"column|bytes"):
        emitter.bind(program, 2, [column])
    with pytest.raises(ValueError, match="columns for"):
        emitter.bind(program, 2, [])

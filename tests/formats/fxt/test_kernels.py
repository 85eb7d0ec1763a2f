"""FXT's kernels by themselves: arguments out of range, and files made to slow their tables down."""

from __future__ import annotations

import time

import numpy as np
import pytest
from support.fxt.files import event, start

from converter.formats.fxt.mapping import BLOB, Codec
from converter.formats.fxt.reading.scan import DONE, Scanner
from converter.formats.fxt.record_types import EventType
from converter.formats.fxt.writing.emit import BAD_COLUMN, Emitter
from converter.formats.fxt.writing.emit_provider import Provider
from converter.ir.tables import Table
from converter.kernels.batches.event_arrays import EventArrays, OutputArrays
from converter.kernels.tables.strings import StringTable

BLOB_CODECS = [codec for _, codec in BLOB.fields]
INSTANT = 0x40


def scanned(data, room=100):
    """A scanner that has passed a window, and how the scan ended."""
    scanner = Scanner(StringTable(), big_endian=False, ticks_per_second=10**9)
    wide = [np.empty(room, np.int64) for _ in range(4)]
    narrow = [np.empty(room, np.int32) for _ in range(4)]
    values = np.empty(2 * room + 32, np.uint64)
    columns = OutputArrays(**dict(zip(COLUMNS, [wide[0], *narrow, *wide[1:]], strict=True)))
    result = scanner.scan(data, columns, values)
    return scanner, result


COLUMNS = ("ts", "class_id", "row", "thread", "cpu", "first", "start", "size")


def provider():
    return Provider(StringTable(), big_endian=False)


def emitted(one, program, rows=1):
    """The status of an emission of a row, and how much it left."""
    numbers = np.array([program], np.int32)
    none = np.full(1, -1, np.int32)
    row = np.array([rows - 1], np.int32)
    ts = np.zeros(1, np.int64)
    one.begin(EventArrays(ts=ts, class_id=numbers, row=row, thread=none, cpu=none))
    emitter = Emitter(one)
    status, _ = emitter.emit(0, 1, True)
    return status, emitter.size


def test_threads_that_would_share_a_slot_do_not():
    # Koids that differ in the uppermost bits alone once these have been mixed into the lower ones.
    count = 1 << 16
    high = np.arange(count, dtype=np.uint64) << np.uint64(47)
    words = np.zeros((count, 4), np.uint64)
    words[:, 0] = 4 | 4 << 4
    words[:, 2] = 1
    words[:, 3] = high ^ (high >> np.uint64(32))
    begin = time.perf_counter()
    scanner, result = scanned(words.tobytes(), count)
    # Milliseconds, where 2**31 comparisons took seconds.
    assert time.perf_counter() - begin < 1
    assert result == (DONE, count, 2 * count)
    assert scanner.threads(0)[-1] == (1, int(words[-1, 3]))
    assert len(scanner.threads(0)) == count


def test_scanner_refuses_numbers_below_its_tables():
    scanner, result = scanned(start("little") + event("little", EventType.INSTANT, 1))
    assert result == (DONE, 1, 2)
    for table, count in (
        (scanner.signatures, 1),
        (scanner.threads, 2),
        (scanner.processes, 2),
    ):
        assert len(table(0)) == count
        assert table(1000) == []
        with pytest.raises(ValueError, match="-1"):
            table(-1)


@pytest.mark.parametrize(("room", "values"), [(0, 40), (4, 3)])
def test_scanner_refuses_arrays_without_room(room, values):
    scanner = Scanner(StringTable(), big_endian=False, ticks_per_second=10**9)
    arrays = [np.empty(room, np.int32 if 1 <= i <= 4 else np.int64) for i in range(8)]
    columns = OutputArrays(**dict(zip(COLUMNS, arrays, strict=True)))
    with pytest.raises(ValueError, match="too small"):
        scanner.scan(b"", columns, np.empty(values, np.uint64))


@pytest.mark.parametrize("missing", ["class_id", "row", "thread", "cpu", "first", "start", "size"])
def test_scanner_refuses_missing_columns(missing):
    scanner = Scanner(StringTable(), big_endian=False, ticks_per_second=10**9)
    arrays = [np.empty(4, np.int32 if 1 <= i <= 4 else np.int64) for i in range(8)]
    columns = dict(zip(COLUMNS, arrays, strict=True))
    del columns[missing]
    with pytest.raises(ValueError, match="missing"):
        scanner.scan(b"\0" * 8, OutputArrays(**columns), np.empty(40, np.uint64))


def test_programs_that_were_refused_cannot_be_run():
    one = provider()
    for codecs, arguments in (
        ([Codec.STRING], []),
        ([Codec.STRING, 99], []),
        ([Codec.STRING] * 3, [(1, 99)]),
        ([Codec.STRING] * 3, [(16, 0)]),
        ([Codec.STRING] * 30, []),
    ):
        with pytest.raises(ValueError, match=r"fields|codec|string|type"):
            one.add_program(INSTANT, codecs, arguments, False)
        with pytest.raises(ValueError, match="no program 0"):
            one.bind(0, 1, [np.zeros(1, np.int32)] * len(codecs))
    assert emitted(one, 0)[0] == BAD_COLUMN


def test_columns_have_what_their_program_reads():
    one = provider()
    program = one.add_program(BLOB.code, BLOB_CODECS, [], False)
    ids, types = np.zeros(2, np.int32), np.zeros(2, np.uint8)
    payload = (np.zeros(5, np.uint8), np.array([0, 2, 5]))
    for rows, columns in (
        (2, [ids, types]),
        (2, [ids, types, types]),
        (2, [ids, ids, payload]),
        (3, [ids, types, payload]),
        (2, [ids, (types, ids), payload]),
        (2, [ids, types, (payload[0], payload[1][:2])]),
        (2, [ids, types, (np.zeros(10, np.uint8)[::2], payload[1])]),
        (-1, [ids, types, payload]),
        (2**63 - 1, [ids, types, payload]),
    ):
        with pytest.raises(ValueError, match=r"column|elements|rows"):
            one.bind(program, rows, columns)
        assert emitted(one, program)[0] == BAD_COLUMN
    one.bind(program, 2, [ids, types, payload])
    assert emitted(one, program, 2)[0] != BAD_COLUMN
    assert emitted(one, program, 3)[0] == BAD_COLUMN


@pytest.mark.parametrize("offsets", [[0, 6], [-1, 2], [3, 2], [5, 2**62]])
def test_offsets_outside_their_values_are_refused(offsets):
    one = provider()
    program = one.add_program(BLOB.code, BLOB_CODECS, [], False)
    payload = (np.zeros(5, np.uint8), np.array(offsets))
    one.bind(program, 1, [np.zeros(1, np.int32), np.zeros(1, np.uint8), payload])
    assert emitted(one, program) == (BAD_COLUMN, 0)


def test_threads_may_be_of_any_number():
    class Many(list):
        def __len__(self):
            return 0

    one = provider()
    one.add_threads(Many([(1, i) for i in range(1000)]))
    emitter = Emitter(one)
    emitter.declare_threads()
    assert emitter.size == 24 * 1000


@pytest.mark.parametrize("programs", [[], [-1], [1], [1 << 30]])
def test_columns_are_bound_to_programs_that_there_are(programs):
    with pytest.raises(ValueError, match="no program for class 0"):
        provider().bind_tables({0: Table(1, [])}, np.array(programs, np.int32), [[]])

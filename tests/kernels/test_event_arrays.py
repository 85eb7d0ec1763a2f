"""Columns of events that kernels read or fill."""

import numpy as np
import pytest

from converter.formats.ctf.writing.emit import Emitter
from converter.kernels.batches.event_arrays import EventArrays, OutputArrays
from converter.kernels.tables.strings import StringTable


class Batch:
    ts = np.arange(3)
    class_id = row = thread = cpu = np.zeros(3, np.int32)
    track = np.broadcast_to(np.int32(-1), 3)


def test_columns_come_from_a_batch_unless_they_are_given():
    assert len(EventArrays(Batch)) == 3
    assert len(EventArrays(Batch, stream=np.zeros(3, np.int32))) == 3
    with pytest.raises(ValueError, match="differ in length"):
        EventArrays(Batch, class_id=np.zeros(2, np.int32))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"row": np.zeros(1, np.int32)}, "no time stamps"),
        ({"ts": np.zeros(1, np.int32)}, "the column ts has elements of 4 bytes, not 8"),
        ({"ts": np.zeros(1, np.int64), "cpu": np.zeros(1)}, "the column cpu has elements of 8"),
        ({"ts": np.zeros((1, 1), np.int64)}, "2 dimensions"),
        ({str(i): np.zeros(1) for i in range(17)}, "more than 16 columns"),
    ],
)
def test_columns_are_checked(columns, message):
    with pytest.raises(ValueError, match=message):
        EventArrays(**columns)


def test_kernels_get_the_columns_that_they_need():
    emitter = Emitter(StringTable(), bytes(16), 1 << 12)
    with pytest.raises(ValueError, match="columns are missing"):
        emitter.emit(EventArrays(ts=Batch.ts), 0)
    with pytest.raises(ValueError, match="the column stream is missing"):
        emitter.emit(EventArrays(Batch), 0)


def test_columns_that_are_filled_are_writable_and_contiguous():
    OutputArrays(ts=np.zeros(3, np.int64))
    for bad in (np.broadcast_to(np.int64(0), 3), np.zeros(6, np.int64)[::2]):
        with pytest.raises((ValueError, BufferError), match=r"contiguous|read-?only|writ"):
            OutputArrays(ts=bad)

"""Messages from columns, as the `protobuf` package reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.inputs.protobuf_fields import numeric, sized
from support.profiles.pprof_messages import Profile

from converter.kernels.protobuf.decode import message_fields
from converter.kernels.protobuf.encode import ENCODED, NUMBER, PACKED, encode_messages, varint

_NUMBERS = st.integers(0, 64).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))


def lists(values: list[list[int]]) -> tuple[Any, Any]:
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int64)
    return np.array([one for found in values for one in found], np.uint64), offsets


@given(st.lists(st.tuples(_NUMBERS, st.lists(_NUMBERS, max_size=3)), max_size=5))
def test_messages_are_read_as_they_are_written(rows: list[tuple[int, list[int]]]) -> None:
    lines = [sized(4, numeric(2, 5)) * (index % 3) for index in range(len(rows))]
    starts = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    encoded = np.frombuffer(b"".join(lines), np.uint8)
    addresses = np.array([one for one, _ in rows], np.uint64)
    data, offsets = encode_messages(
        4, len(rows), [(3, NUMBER, addresses, None), (4, ENCODED, encoded, starts)]
    )
    profile = Profile.FromString(data.tobytes())
    assert [one.address for one in profile.location] == [one for one, _ in rows]
    assert [len(one.line) for one in profile.location] == [i % 3 for i in range(len(rows))]
    assert len(offsets) == len(rows) + 1
    assert offsets[-1] == len(data)
    values, at = lists([found for _, found in rows])
    data, _ = encode_messages(2, len(rows), [(1, PACKED, values, at)])
    samples = Profile.FromString(data.tobytes()).sample
    assert [list(one.location_id) for one in samples] == [found for _, found in rows]


@pytest.mark.parametrize(
    ("count", "field"),
    [
        (2, (1, NUMBER, np.zeros(1, np.uint64), None)),
        (2, (1, PACKED, np.zeros(1, np.uint64), np.array([0, 1, 2], np.int64))),
        (2, (1, PACKED, np.zeros(9, np.uint64), np.array([0, 2, 1], np.int64))),
        (1, (1, ENCODED, np.zeros(9, np.uint8), np.array([-1, 1], np.int64))),
        (1, (0, NUMBER, np.zeros(1, np.uint64), None)),
        (1, (1, 7, np.zeros(1, np.uint64), None)),
        (-1, (1, NUMBER, np.zeros(0, np.uint64), None)),
    ],
)
def test_columns_that_do_not_fit_are_refused(count: int, field: Any) -> None:
    with pytest.raises(ValueError, match=r"field|fit|decrease"):
        encode_messages(1, count, [field])


def test_more_fields_than_a_message_may_have_are_refused() -> None:
    field = (1, NUMBER, np.ones(1, np.uint64), None)
    assert len(encode_messages(1, 1, [field] * 64)[0]) == 131
    with pytest.raises(ValueError, match="too many"):
        encode_messages(1, 1, [field] * 65)


def test_fields_are_found_up_to_damage() -> None:
    sound = numeric(9, 300) + sized(6, b"abc") + varint(7 << 3 | 5) + b"1234"
    data = np.frombuffer(b"x" + sound + b"\xff", np.uint8)
    for most in (3, 4):
        rows, end = message_fields(data, 1, len(sound) + 1, most)
        assert rows.tolist() == [[9, 0, 2, 2, 1], [6, 2, 6, 3, 4], [7, 5, 10, 4, 9]]
        assert end == len(sound) + 1
    rows, end = message_fields(data, 1, len(sound) + 1, 2)
    assert (len(rows), end) == (2, 9)
    assert message_fields(np.zeros(0, np.uint8), 0, 0, 1)[1] == 0
    for start, size in ((-1, 1), (0, 2), (2, 0), (0, -1)):
        with pytest.raises(ValueError, match="outside"):
            message_fields(np.zeros(1, np.uint8), start, size, 1)

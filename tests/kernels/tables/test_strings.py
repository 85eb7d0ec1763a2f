"""The interned strings of a trace."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.ir.columns import ListColumn, list_of_bytes, take
from converter.kernels.tables.strings import StringTable, taken_lists, unfit_texts


def test_strings_are_interned_once_and_the_empty_one_is_0():
    table = StringTable()
    assert table.intern(b"") == 0
    assert table.intern("a") == table.intern(b"a") == 1
    assert table.intern("\udcff") == 2
    assert (table[2], table.text(2), len(table)) == (b"\xff", "\ufffd", 3)
    with pytest.raises(IndexError):
        table[3]


def test_many_strings_of_all_lengths():
    table = StringTable()
    texts = [bytes([i % 251]) * (i % 700) + str(i).encode() for i in range(20_000)]
    ids = [table.intern(text) for text in texts]
    assert ids == list(range(1, len(texts) + 1))
    assert [table[id] for id in ids] == texts
    assert [table.intern(text) for text in texts] == ids


def test_a_string_longer_than_an_arena():
    table = StringTable()
    assert table[table.intern(b"x" * 1_000_000)] == b"x" * 1_000_000


def test_spans_are_interned_up_to_a_nul_where_asked():
    table = StringTable()
    data = np.frombuffer(b"ab\0cab\0d", np.uint8)
    ids = np.empty(2, np.int32)
    starts, sizes = np.array([0, 4], np.int64), np.array([4, 4], np.int64)
    table.intern_spans(data, starts, sizes, ids, until_nul=True)
    assert [table[int(id)] for id in ids] == [b"ab", b"ab"]
    table.intern_spans(data, starts, sizes, ids)
    assert [table[int(id)] for id in ids] == [b"ab\0c", b"ab\0d"]


@pytest.mark.parametrize(("start", "size"), [(-1, 1), (0, -1), (8, 1), (0, 9), (2**62, 2**62)])
def test_spans_outside_the_data_are_refused(start, size):
    data = np.zeros(8, np.uint8)
    with pytest.raises(ValueError, match="outside"):
        StringTable().intern_spans(data, np.array([start]), np.array([size]), np.empty(1, np.int32))


def test_texts_that_differ_in_high_bits_of_two_words_do_not_collide():
    """A mix without a secret maps all of these to one slot, and interning takes forever."""
    table = StringTable()
    flips = ((1 << 63 | 1 << 31), (1 << 63 | 1 << 34))
    texts = []
    for pattern in range(1 << 12):
        words = [0] * 24
        for bit in range(12):
            if pattern >> bit & 1:
                words[2 * bit] ^= flips[0]
                words[2 * bit + 1] ^= flips[1]
        texts.append(b"".join(word.to_bytes(8, "little") for word in words))
    assert len({table.intern(text) for text in texts}) == len(texts)


def test_threads_intern_at_the_same_time():
    table = StringTable()
    texts = [str(i).encode() for i in range(5_000)]
    found = []

    def work():
        found.append([table.intern(text) for text in texts])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ids == found[0] for ids in found)
    assert len(table) == len(texts) + 1


def test_unfit_names_long_and_broken_strings_among_those_asked_for():
    table = StringTable()
    long, broken, good = table.intern(b"x" * 20), table.intern(b"\xc3"), table.intern("é")
    asked = np.array([good, long, broken, long], np.int32)
    assert table.unfit(asked, 10, True).tolist() == [long, broken]
    assert table.unfit(asked, -1, True).tolist() == [broken]
    assert table.unfit(asked, -1, False).tolist() == []
    late = table.intern(b"\xed\xa0\x80")
    assert table.unfit(np.array([late], np.int32), -1, True).tolist() == [late]


def _is_utf8(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(
    st.lists(
        st.tuples(st.text(max_size=12), st.binary(max_size=3), st.text("ab", max_size=12)).map(
            lambda parts: parts[0].encode("utf-8", "surrogatepass") + parts[1] + parts[2].encode()
        )
    )
)
def test_what_is_no_utf8_is_found_wherever_it_stands(texts):
    offsets = np.cumsum([0, *map(len, texts)])
    values = np.frombuffer(b"".join(texts), np.uint8)
    expected = [row for row, text in enumerate(texts) if not _is_utf8(text)]
    assert unfit_texts(values, offsets, -1, True).tolist() == expected


@given(st.lists(st.binary(max_size=70), min_size=1), st.data())
def test_texts_are_taken_by_their_rows(texts, data):
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1)))
    for dtype in (np.int32, np.int64):
        taken = take(list_of_bytes(texts), np.array(rows, dtype))
        assert isinstance(taken, ListColumn)
        values = taken.values.tobytes()
        ends = taken.offsets.tolist()
        found = [values[start:end] for start, end in itertools.pairwise(ends)]
        assert found == [texts[row] for row in rows]


@pytest.mark.parametrize(
    ("offsets", "row"),
    [([0, 3], 1), ([0, 3], -1), ([0, 4], 0), ([-1, 2], 0), ([2, 1], 0), ([2**62, 2**63 - 1], 0)],
)
def test_texts_outside_of_their_column_are_not_taken(offsets, row):
    values = np.frombuffer(b"abc", np.uint8)
    with pytest.raises(ValueError, match=f"list {row} of 1 lies outside"):
        taken_lists(values, np.array(offsets, np.int64), np.array([row], np.int64))
    assert taken_lists(values[:0], np.zeros(1, np.int64), np.zeros(0, np.int64))[0].tolist() == [0]


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.int16, np.int32, np.uint64, np.float64])
@given(lists=st.lists(st.lists(st.integers(0, 1), max_size=9), min_size=1), data=st.data())
def test_lists_of_values_of_any_size_are_taken(dtype, lists, data):
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1)))
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    flat = np.repeat(np.array(list(itertools.chain(*lists)), dtype), 2)
    # Every other value, as of a table of which a column is taken.
    for values in (flat[::2], np.ascontiguousarray(flat[::2])):
        for places in (np.array(rows, np.int64), np.repeat(np.array(rows, np.int32), 2)[::2]):
            taken = take(ListColumn(offsets, values), places)
            assert isinstance(taken, ListColumn)
            assert taken.values.dtype == dtype
            ends = taken.offsets.tolist()
            found = [taken.values[start:end].tolist() for start, end in itertools.pairwise(ends)]
            assert found == [lists[row] for row in rows]


def test_lists_beyond_their_values_are_not_taken():
    """Values count, not their bytes."""
    values = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="list 0 of 1 lies outside"):
        taken_lists(values, np.array([0, 3], np.int64), np.array([0], np.int64))

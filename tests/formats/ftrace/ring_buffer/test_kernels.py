"""The kernels that read trace.dat, each against a few plain lines that say the same."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trace_cmd.files import Kernel

from converter.formats.ftrace.ring_buffer.page_prescan import Surveyor
from converter.formats.ftrace.ring_buffer.scan import most_records_in, scan_pages, scan_symbols
from converter.kernels.batches.event_arrays import OutputArrays
from converter.kernels.batches.gather import Segments
from converter.kernels.batches.order import Merge, group_by_class
from converter.kernels.tables.strings import StringTable
from converter.kernels.tables.tasks import TaskTable


def scan(
    data,
    room=None,
    *,
    page_size=4096,
    long_size=8,
    big_endian=False,
    multiplier=0,
    shift=0,
    offset=0,
):
    room = most_records_in(len(data), page_size) if room is None else room
    columns = [np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int32)]
    columns += [np.empty(room, np.uint32), np.empty(room, np.uint32)]
    classes = np.arange(65536, dtype=np.int32)
    events = OutputArrays(
        **dict(zip(("ts", "class_id", "thread", "start", "size"), columns, strict=True))
    )
    geometry, scale = (page_size, long_size, big_endian), (multiplier, shift, offset)
    count, damaged, first = scan_pages(
        data, geometry, (classes, -1), TaskTable(), (0, 4), scale, events
    )
    return [column[:count].tolist() for column in columns], damaged, first


@given(
    st.binary(min_size=0, max_size=300), st.booleans(), st.sampled_from([4, 8]), st.integers(0, 300)
)
def test_any_bytes_can_be_scanned(data, big_endian, long_size, commit):
    kernel = Kernel(big_endian, long_size, 256)
    page = kernel.pack("Q", 5) + kernel.pack("Q" if long_size == 8 else "I", commit) + data
    columns, damaged, first = scan(page, page_size=256, long_size=long_size, big_endian=big_endian)
    for start, size in zip(columns[3], columns[4], strict=True):
        assert 0 <= start <= start + size <= len(page)
    assert (damaged > 0) == (first >= 0)
    nowhere, no_steps = np.full(65536, -1, np.int32), np.zeros((0, 5), np.int32)
    surveyor = Surveyor(long_size, big_endian, 0, 4, nowhere, no_steps)
    assert surveyor.look_at(page, 256) == (damaged, first)


def test_a_damaged_page_loses_only_its_tail():
    k = Kernel()
    good = k.record(1, k.slice(1, 0))
    broken = k.word(0, 1) + k.pack("I", 5000)
    pages = k.page(10, good, broken, good) + k.page(20, good)
    columns, damaged, first = scan(pages)
    assert columns[0] == [11, 21]
    assert (damaged, first) == (1, 16 + len(good))


def test_the_last_page_may_be_cut():
    k = Kernel()
    pages = k.page(10, k.record(1, k.slice(1, 0)), k.record(1, k.slice(1, 0)))
    columns, damaged, _ = scan(pages[:50])
    assert columns[0] == [11]
    assert damaged == 1


def test_zeros_behind_the_last_record_end_the_page():
    k = Kernel()
    columns, damaged, _ = scan(k.page(10, k.record(1, k.slice(1, 0)), bytes(64)))
    assert (columns[0], damaged) == ([11], 0)


@given(st.integers(0, (1 << 59) - 1), st.integers(1, (1 << 32) - 1), st.integers(0, 32))
def test_times_are_scaled_in_64_bits(ts, multiplier, shift):
    k = Kernel()
    columns, _, _ = scan(
        k.page(ts, k.record(0, k.slice(1, 0))), multiplier=multiplier, shift=shift, offset=7
    )
    low = (ts & 0xFFFFFFFF) * multiplier >> shift
    high = (ts >> 32) * multiplier << (32 - shift)
    expected = (low + high + 7) & ((1 << 64) - 1)
    assert columns[0][0] & ((1 << 64) - 1) == expected


def test_columns_without_room_are_refused():
    with pytest.raises(ValueError, match="room"):
        scan(Kernel().page(1), room=3)


streams = st.lists(st.lists(st.integers(0, 20), max_size=30), min_size=1, max_size=9)


def room_for(count):
    columns = {name: np.empty(count, np.int64) for name in ("ts", "location")}
    for name in ("class_id", "row", "thread", "cpu", "track"):
        columns[name] = np.empty(count, np.int32)
    return columns | {"size": np.empty(count, np.uint32)}


@given(streams, st.integers(1, 12), st.integers(1, 7))
def test_merging_compares_heads_only(columns, window, room):
    merge = Merge(list(range(len(columns))), [-1] * len(columns))
    left = [list(column) for column in columns]

    def feed(stream):
        part, left[stream] = left[stream][:window], left[stream][window:]
        ts = np.array(part, np.int64)
        zeros, places = np.zeros(len(part), np.int32), np.zeros(len(part), np.uint32)
        merge.feed(stream, ts, zeros, zeros, places, places, len(part), stream)

    for stream in range(len(columns)):
        feed(stream)
    found = []
    while True:
        filled, columns_of_batch = 0, room_for(room)
        ts, row, cpu = (columns_of_batch[name] for name in ("ts", "row", "cpu"))
        events = OutputArrays(**columns_of_batch)
        counts = np.zeros(1, np.int32)
        while True:
            filled, empty = merge.fill(events, filled, counts)
            if empty < 0:
                break
            feed(empty)
        if not filled:
            break
        assert row[:filled].tolist() == list(range(filled))
        found += list(zip(ts[:filled].tolist(), cpu[:filled].tolist(), strict=True))
    heads = [(column[0], i, 0) for i, column in enumerate(columns) if column]
    heapq.heapify(heads)
    expected = []
    while heads:
        ts, i, at = heapq.heappop(heads)
        expected.append((ts, i))
        if at + 1 < len(columns[i]):
            heapq.heappush(heads, (columns[i][at + 1], i, at + 1))
    assert found == expected


def test_a_class_out_of_range_is_refused():
    merge = Merge([0], [-1])
    one = np.ones(1, np.int32)
    merge.feed(
        0, np.ones(1, np.int64), one, one, np.ones(1, np.uint32), np.ones(1, np.uint32), 1, 0
    )
    with pytest.raises(ValueError, match="class 1 of 1"):
        merge.fill(OutputArrays(**room_for(1)), 0, np.zeros(1, np.int32))


def test_grouping_puts_rows_together():
    class_id, row = np.array([1, 0, 1], np.int32), np.array([0, 0, 1], np.int32)
    location, size = np.array([10, 20, 30], np.int64), np.array([1, 2, 3], np.uint32)
    to, to_size = np.empty(3, np.int64), np.empty(3, np.uint32)
    group_by_class(class_id, row, np.array([0, 1], np.int64), location, size, to, to_size)
    assert to.tolist() == [20, 10, 30]
    assert to_size.tolist() == [2, 1, 3]
    with pytest.raises(ValueError, match="no place"):
        group_by_class(class_id, row, np.array([0, 2], np.int64), location, size, to, to_size)


LOCATIONS = np.array([0, 1 << 32 | 4, 5 << 32, 1 << 32 | 30], np.int64)
SIZES = np.array([16, 8, 4, 4], np.uint32)


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_integers_outside_their_record_are_zero(width, big_endian):
    first, second = bytes(range(1, 33)), bytes(range(101, 133))
    out = np.empty(4 * width, np.uint8)
    Segments([first, second]).integers(LOCATIONS, SIZES, 2, width, big_endian, out)
    order = "big" if big_endian else "little"
    expected = [int.from_bytes(first[2 : 2 + width], order)]
    expected.append(int.from_bytes(second[6 : 6 + width], order) if 2 + width <= 8 else 0)
    assert out.view(f"u{width}").tolist() == [*expected, 0, 0]


@pytest.mark.parametrize("big_endian", [False, True])
def test_integers_of_a_class_come_together_as_they_come_alone(big_endian):
    data = Segments([bytes(range(1, 33)), bytes(range(101, 133))])
    places = [(0, 8), (8, 2), (2, 4), (30, 1), (31, 2), (5, 1)]
    outs = [np.full(len(LOCATIONS) * width, 77, np.uint8) for _, width in places]
    data.all_integers(LOCATIONS, SIZES, np.array(places, np.int64), big_endian, outs)
    for (offset, width), out in zip(places, outs, strict=True):
        alone = np.empty_like(out)
        data.integers(LOCATIONS, SIZES, offset, width, big_endian, alone)
        assert out.tolist() == alone.tolist()
    dtypes = [np.dtype(f"u{width}") for _, width in places]
    made = data.gathered(LOCATIONS, SIZES, np.array(places, np.int64), big_endian, dtypes)
    assert [column.dtype for column in made] == dtypes
    assert [column.tobytes() for column in made] == [out.tobytes() for out in outs]


def text_of(record, offset, length, width, relative, order):
    """What is at a place of a record, up to its first NUL, in plain words."""
    if offset + width > len(record):
        return b""
    start = offset
    if width:
        word = int.from_bytes(record[offset : offset + width], order)
        start, length = (word & 0xFFFF, word >> 16) if width == 4 else (word, len(record))
        start += offset + width if relative else 0
    end = len(record) if length < 0 else start + length
    return record[start:end].partition(b"\0")[0]


@given(
    st.lists(st.binary(max_size=40), min_size=1, max_size=80),
    st.lists(
        st.tuples(
            st.integers(0, 12), st.integers(-1, 20), st.sampled_from([0, 0, 2, 4]), st.booleans()
        ),
        max_size=3,
    ),
    st.sampled_from(["little", "big"]),
)
def test_texts_come_with_the_integers_of_a_class(records, texts, order):
    names = [b"swapper/0".ljust(16, b"\0"), b"sixteen bytes ..", b"\5\0\4\0", b"\0\5\0\4"]
    records = [names[len(one) % 4] + one for one in records] * 2
    data = b"".join(records)
    sizes = np.array([len(one) for one in records], np.uint32)
    location = np.concatenate([[0], np.cumsum(sizes[:-1], dtype=np.int64)]).astype(np.int64)
    # Of one record only a part is there, and one is nowhere.
    location, sizes = np.append(location, [len(data) - 1, 7 << 32]), np.append(sizes, [4, 4])
    strings = StringTable()
    segments, big_endian = Segments([data]), order == "big"
    places = np.array([[0, 4]], np.int64)
    number, *ids = segments.gathered_with_texts(
        location, sizes.astype(np.uint32), places, np.array(texts, np.int64).reshape(-1, 4),
        strings, big_endian, [np.dtype(np.uint32)],
    )  # fmt: skip
    (alone,) = segments.gathered(
        location, sizes.astype(np.uint32), places, big_endian, [np.dtype(np.uint32)]
    )
    assert number.tolist() == alone.tolist()
    for place, column in zip(texts, ids, strict=True):
        expected = [*(text_of(one, *place, order) for one in records), b"", b""]
        assert [strings[id] for id in column.tolist()] == expected


def test_texts_need_places_that_there_are():
    for places in ([[0, 4, 3, 0]], [[-1, 4, 0, 0]], [[0, 4]]):
        with pytest.raises(ValueError, match=r"location of 3|differ|four numbers"):
            Segments([bytes(32)]).gathered_with_texts(
                LOCATIONS, SIZES, np.zeros((0, 2), np.int64), np.array(places, np.int64),
                StringTable(), False, [],
            )  # fmt: skip


@pytest.mark.parametrize("places", [[(0, 3)], [(-1, 4)], [(0, 4), (4, 4)], [(0, 8)]])
def test_integers_need_columns_of_their_size(places):
    out = np.empty(len(LOCATIONS) * 4, np.uint8)
    with pytest.raises(ValueError, match=r"integer of 3|differ"):
        Segments([bytes(32)]).all_integers(
            LOCATIONS, SIZES, np.array(places, np.int64), False, [out]
        )


def test_spans_are_interned_and_copied_up_to_a_nul():
    segments = Segments([b"ab\0cdefghijklmnop", b"\0\0\0\0xyz\0rest"])
    span, length = np.empty(4, np.int64), np.empty(4, np.int64)
    segments.fixed_spans(LOCATIONS, SIZES, 0, 5, span, length)
    assert length.tolist() == [5, 5, 0, 0]
    strings, ids = StringTable(), np.empty(4, np.int32)
    segments.intern(span, length, strings, ids)
    assert [strings[id] for id in ids.tolist()] == [b"ab", b"xyz", b"", b""]
    offsets = np.empty(5, np.int64)
    segments.measure(span, length, False, 2, offsets)
    assert offsets.tolist() == [0, 4, 8, 8, 8]
    values = np.empty(8, np.uint8)
    segments.copy(span, offsets, values)
    assert values.tobytes() == b"ab\0cxyz\0"
    with pytest.raises(ValueError, match="outside"):
        segments.copy(span, offsets + 4, values)


def test_symbols_of_kallsyms():
    text = (
        b"0000000000000000 A absolute\nffffffff81000000 T start\nffffffff81000010 t in_module\t[mod]\n"
        b"junk\n\nffff8100 t $a\nc0008000 W spaced name\nffffffff81000020 T cut"
    )
    address, start, size = np.empty(9, np.uint64), np.empty(9, np.uint32), np.empty(9, np.uint32)
    count = scan_symbols(text, address, start, size)
    names = [
        text[a : a + n] for a, n in zip(start[:count].tolist(), size[:count].tolist(), strict=True)
    ]
    assert names == [b"start", b"in_module", b"spaced", b"cut"]
    assert address[:count].tolist() == [
        0xFFFFFFFF81000000, 0xFFFFFFFF81000010, 0xC0008000, 0xFFFFFFFF81000020,
    ]  # fmt: skip


@given(st.binary(max_size=200))
def test_any_text_can_be_scanned_for_symbols(text):
    room = text.count(b"\n") + 1
    start, size = np.empty(room, np.uint32), np.empty(room, np.uint32)
    count = scan_symbols(text, np.empty(room, np.uint64), start, size)
    assert all(
        int(a) + int(n) <= len(text) for a, n in zip(start[:count], size[:count], strict=True)
    )


@given(st.lists(st.integers(0, 2**31 - 1), max_size=400, unique=True))
def test_tasks_are_found_again(pids):
    table = TaskTable()
    for i, pid in enumerate(pids):
        table.assign(pid, i)
    assert [table.thread_of(pid) for pid in pids] == list(range(len(pids)))
    assert table.thread_of(-1) == -1
    assert len(table) == len(pids)
    other = TaskTable()
    other.absorb(table)
    assert [task[0] for task in other.tasks()] == pids

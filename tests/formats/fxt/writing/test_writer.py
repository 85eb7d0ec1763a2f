"""What FXT's writer makes of tables, limits and clocks, and when it copies instead."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.fxt.files import (
    ORDERS,
    VARIANTS,
    argument,
    event,
    events,
    extended,
    initialization,
    kernel_object,
    large_blob,
    magic,
    opened,
    provider,
    record,
    split,
    string,
    thread,
    without_records,
    written,
)

from converter.errors import UnsupportedError
from converter.formats.fxt.embedding import EMBEDDING
from converter.formats.fxt.layout import layout
from converter.formats.fxt.mapping import (
    BLOB,
    EXTENSION,
    LARGE_TIMED,
    LOG,
    MODULE,
    SAMPLE,
    SHAPES,
    SWITCH,
    argument_field,
)
from converter.formats.fxt.record_types import ArgumentType, EventType, RecordType
from converter.formats.fxt.writing import writer
from converter.ir.canonical import difference
from converter.ir.collect import with_batches
from converter.ir.columns import Column, ListColumn, list_of_bytes
from converter.ir.events import Batch, EventClass, Table
from converter.ir.trace import ClockDomain, Process, Thread, Trace
from converter.storage.sink import BufferSink
from converter.streaming import block_emission

INSTANT = SHAPES[RecordType.EVENT << 4 | EventType.INSTANT]


def trace_of(columns, *, shape=INSTANT, arguments=(), threads=1, thread=None, cpu=None, **parts):
    """A trace of events of one class with these columns; times count up."""
    fields = [field for field, _ in shape.fields]
    fields += [argument_field(shape.kind, kind, name)[0] for kind, name in arguments]
    trace = Trace(
        format="none",
        processes=[Process(1, "process")],
        threads=[Thread(10 + i, 0) for i in range(threads)],
        event_classes=[EventClass(shape.kind, fields=tuple(fields), timed=shape.timed)],
        **parts,
    )
    made: list[Column] = columns(trace) if callable(columns) else columns
    count = len(made[0])
    if thread is None and shape.thread:
        thread = np.arange(count, dtype=np.int32) % threads
    batch = Batch(
        ts=np.arange(count, dtype=np.int64),
        class_id=np.zeros(count, np.int32),
        row=np.arange(count, dtype=np.int32),
        tables={0: Table(count, made)},
        thread=thread,
        cpu=cpu,
    )
    return with_batches(trace, [batch])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", [b"traced", b"12345678", b"", None, bytes(255)])
def test_what_stands_in_front_is_as_declared(name, order):
    sidecar = {"providers": [[7, name], [2**32 - 1, b"p"]], "initialization": [5, 6, 2**64 - 1]}
    trace = Trace("none", clock=ClockDomain("any", Fraction(12345)), sidecar={"fxt": sidecar})
    variant = "be" if order == "big" else ""
    expected = magic(order) + provider(order, 7, name) + provider(order, 2**32 - 1, b"p")
    expected += initialization(order, 12345, 5, 6, 2**64 - 1)
    assert written(trace, variant).startswith(expected)


@pytest.mark.parametrize("provider", [[2**32, b"p"], [-1, b"p"], [1, bytes(256)]])
def test_a_provider_that_does_not_fit_is_refused(provider):
    with pytest.raises(UnsupportedError, match="provider"):
        written(Trace("none", sidecar={"fxt": {"providers": [provider]}}))


def records_of(data, kind, order="little"):
    """The records of a type in a file, parsed."""
    return [
        layout(order).parse(one)
        for one in split(data, order)
        if one[0 if order == "little" else 7] & 15 == kind
    ]


def constant(trace, text, count):
    return np.full(count, trace.strings.intern(text), np.int32)


def test_head_of_a_file():
    data = written(Trace(format="none"))
    assert data == bytes.fromhex(
        "1000044678541600"  # magic number
        "3000110000009000 7472616365636f6e 7600000000000000"  # provider 1, "traceconv"
        "2100000000000000 00ca9a3b00000000"  # nanoseconds
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("payload", [b"", b"sixteen bytes...", b"nine byte"])
def test_payloads_are_in_blobs_that_say_whose_they_are(order, payload):
    sink = BufferSink()
    sink.write(magic(order))
    built = EMBEDDING.frame(sink, payload, 0)
    blob = layout(order).parse(built)
    assert (blob.header.size * 8, blob.header.blob_type) == (len(built), 1)
    assert (blob.name, blob.payload) == (b"traceconv residual", payload)


def test_more_threads_than_slots():
    def columns(trace):
        return [constant(trace, b"a", 2000), constant(trace, b"b", 2000)]

    trace = trace_of(columns, threads=700)
    data = written(trace)
    assert len(records_of(data, RecordType.THREAD)) >= 700
    assert {one.header.index for one in records_of(data, RecordType.THREAD)} == set(range(1, 256))
    assert difference(trace, opened(data)) is None


def test_more_strings_than_slots():
    # Every record uses five strings that no other does, and some that the ring comes round to again and again.
    count = 9_000
    names = [b"string %d" % i for i in range(4 * count)]

    def columns(trace):
        ids = np.array([trace.strings.intern(name) for name in names], np.int32).reshape(4, count)
        return [ids[0], constant(trace, b"category", count), ids[1], ids[2], ids[3], ids[1][::-1]]

    arguments = [(ArgumentType.STRING, f"argument {i}") for i in range(4)]
    trace = trace_of(columns, arguments=arguments)
    data = written(trace)
    slots = [one.header.index for one in records_of(data, RecordType.STRING)]
    assert len(slots) > 0x7FFF
    assert set(slots) == set(range(1, 0x8000))
    again = opened(data)
    assert not again.warnings
    assert difference(trace, again) is None


@pytest.mark.parametrize("threads", [3, 700])
def test_slots_are_the_same_for_any_number_of_emitters(threads, monkeypatch):
    """Emitted ahead, records refer to what is in slots by then, not to what was when they were emitted."""
    slots, part = 0x7FFF, 100
    texts = list(range(slots))
    # By turns a part of new strings, then one of strings whose slots those have taken.
    while len(texts) < slots + 40 * 2 * part:
        texts += range(max(texts) + 1, max(texts) + 1 + 2 * part)
        texts += texts[len(texts) - slots - 2 * part + 20 :][:part] * 2
    texts = texts[len(texts) % (2 * part) :]
    count = len(texts) // 2

    def columns(trace):
        ids = np.array([trace.strings.intern(b"%d" % text) for text in texts], np.int32)
        return [ids[::2], constant(trace, b"category", count), ids[1::2]]

    arguments = [(ArgumentType.STRING, "argument")]
    trace = trace_of(columns, arguments=arguments, threads=threads)
    monkeypatch.setattr(block_emission, "_EVENTS_AT_ONCE", 1 << 30)
    whole = written(trace)
    assert difference(trace, opened(whole)) is None
    monkeypatch.setattr(block_emission, "_EVENTS_AT_ONCE", part)
    for emitters in (1, 3):
        monkeypatch.setattr(writer, "emitter_count", lambda emitters=emitters: emitters)
        assert written(trace) == whole


def test_texts_in_lists_are_inline():
    texts = [b"", b"a", b"eight by", b"x" * 1000]

    def columns(trace):
        return [list_of_bytes(texts), list_of_bytes(texts[::-1]), list_of_bytes(texts)]

    trace = trace_of(columns, arguments=[(ArgumentType.STRING, "text")])
    data = written(trace)
    # The name of the argument is the only one registered.
    assert [one.value for one in records_of(data, RecordType.STRING)] == [b"text"]
    assert difference(trace, opened(data)) is None
    (batch,) = opened(data).batches()
    assert isinstance(batch.tables[0].column(2), ListColumn)


def test_texts_too_long_for_a_record_are_registered():
    long = [b"a" * 20_000, b"b" * 31_999]

    def columns(trace):
        return [constant(trace, b"", 2)] * 2 + [list_of_bytes(long)] * 3

    trace = trace_of(columns, arguments=[(ArgumentType.STRING, f"text {i}") for i in range(3)])
    assert difference(trace, opened(written(trace))) is None


def test_bytes_too_large_for_a_record_are_refused():
    def columns(trace):
        return [constant(trace, b"", 1)] * 2 + [list_of_bytes([bytes(20_000)])] * 2

    trace = trace_of(columns, arguments=[(ArgumentType.BLOB, f"blob {i}") for i in range(2)])
    with pytest.raises(UnsupportedError, match=r"instant: an event is larger than a record"):
        written(trace)


@pytest.mark.parametrize(
    ("size", "records"), [(0, 1), (1, 1), (32_752, 1), (32_753, 2), (100_000, 4)]
)
def test_blobs_that_no_record_holds_are_written_in_chunks(size, records):
    payload = bytes(i * 7 & 255 for i in range(size))

    def columns(trace):
        return [
            constant(trace, b"blob", 1),
            np.array([3], np.uint8),
            list_of_bytes([payload]),
        ]

    data = written(trace_of(columns, shape=BLOB))
    chunks = [one["payload"] for one in events(opened(data))]
    assert b"".join(chunks) == payload
    assert len(chunks) == records
    assert all(len(one) <= 32_760 for one in split(data, "little"))


def test_chunks_share_one_registered_name():
    def columns(trace):
        return [
            list_of_bytes([b"n" * 5_000]),
            np.array([3], np.uint8),
            list_of_bytes([bytes(200_000)]),
        ]

    data = written(trace_of(columns, shape=BLOB))
    assert len(records_of(data, RecordType.BLOB)) == 7
    names = [one.value for one in records_of(data, RecordType.STRING)]
    assert names == [b"n" * 5_000]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("length", [32_000, 32_728, 32_744])
def test_records_of_full_size_survive(order, length):
    """Texts, blobs and names as long as a record, one with words behind it."""
    header = {"name": 1, "length": length - 64, "blob_type": 3}
    blob = record(order, RecordType.BLOB, header, payload=bytes(range(1, 9)) * (length // 8 - 8))
    data = (
        magic(order)
        + string(order, 1, b"s" * (length + 8))
        + thread(order, 1, 1, 11)
        + kernel_object(order, 1, 1, b"p" * length)
        + kernel_object(order, 2, 11, b"t" * (length - 40), [argument(8, b"process", 1)])
        + event(order, EventType.INSTANT, 1, name=1)
        + extended(order, blob, b"appended" * 6)
    )
    out = written(without_records(opened(data)), VARIANTS[order])
    assert difference(opened(data), opened(out)) is None


def test_an_argument_has_no_more_words_than_its_size_can_say():
    def columns(trace):
        payload = list_of_bytes([b"payload"])
        return [constant(trace, b"", 1)] * 2 + [payload, list_of_bytes([bytes(size)])]

    for size in (32_752, 32_753):
        trace = trace_of(columns, shape=LARGE_TIMED, arguments=[(ArgumentType.BLOB, "blob")])
        if size > 32_752:
            with pytest.raises(UnsupportedError, match="an event is larger than a record"):
                written(trace, "large")
        else:
            assert difference(trace, opened(written(trace, "large"))) is None


@pytest.mark.parametrize("shape", [INSTANT, LARGE_TIMED])
def test_extensions_longer_than_a_record_are_refused(shape):
    columns = [np.zeros(1, np.int32)] * 2 + [list_of_bytes([bytes(40_000)])]
    if shape is LARGE_TIMED:
        columns.insert(2, list_of_bytes([b"payload"]))
    trace = trace_of(columns, shape=shape)
    fields = (*(field for field, _ in shape.fields), EXTENSION)
    trace.event_classes[0] = replace(trace.event_classes[0], fields=fields)
    with pytest.raises(UnsupportedError, match="an event is larger than a record"):
        written(trace, "large")


@pytest.mark.parametrize("shape", [INSTANT, LOG, MODULE])
@pytest.mark.parametrize("id", [-1, 7, 2**31 - 1])
def test_strings_beyond_the_table_are_refused(shape, id):
    def columns(trace):
        for text in (b"a", b"b", b"c", b"d", b"e"):
            trace.strings.intern(text)
        ids = np.array([id], np.int32)
        name = [np.zeros(1, np.uint16), ids, list_of_bytes([b""])]
        return {INSTANT: [ids, ids], LOG: [ids], MODULE: name}[shape]

    trace = trace_of(columns, shape=shape)
    # Those, the empty one and "process".
    with pytest.raises(UnsupportedError, match="outside its column or table"):
        written(trace)
    assert len(trace.strings) == 7


@pytest.mark.parametrize(
    ("shape", "column", "message"),
    [
        (LOG, list_of_bytes([bytes(40_000)]), "log: a text is longer than its record can hold"),
        (
            SAMPLE,
            ListColumn(np.array([0, 256]), np.zeros(256, np.uint64)),
            "sample: an event is larger",
        ),
    ],
)
def test_what_no_record_holds_is_refused(shape, column, message):
    with pytest.raises(UnsupportedError, match=message):
        written(trace_of([column], shape=shape))


def test_classes_that_no_record_holds_are_refused():
    trace = trace_of(lambda trace: [constant(trace, b"a", 1)] * 2)
    trace.event_classes[0] = replace(
        trace.event_classes[0], fields=trace.event_classes[0].fields[:1]
    )
    with pytest.raises(UnsupportedError, match="no record holds events of this class"):
        written(trace)


def test_large_records_are_only_in_variants_that_have_them():
    data = magic("little") + thread("little", 1, 1, 1) + large_blob("little", 0, bytes(40_000))
    trace = without_records(opened(data))
    # A file that has them keeps them.
    assert difference(trace, opened(written(trace))) is None
    trace = replace(trace, format="another")
    with pytest.raises(UnsupportedError, match=r"fxt\+large"):
        written(trace)
    assert difference(trace, opened(written(trace, "large"))) is None


def test_names_stand_before_their_use():
    trace = trace_of(lambda trace: [constant(trace, b"a", 1)] * 2)
    trace.threads[0].name = "thread"
    kinds = [one[0] & 15 for one in split(written(trace), "little")]
    # Magic, provider, initialization; process, string "process", thread; string, thread slot, event.
    assert kinds == [0, 0, 1, 7, 2, 7, 2, 3, 4]


def test_scheduled_threads_get_objects_even_without_a_name():
    words = np.ones(1, np.uint64)
    cpu = np.zeros(1, np.int32)
    trace = trace_of([words, words, np.zeros(1, np.uint8)], shape=SWITCH, threads=2, cpu=cpu)
    data = written(trace)
    objects = records_of(data, RecordType.KERNEL_OBJECT)
    assert [(one.header.object_type, one.koid) for one in objects] == [(1, 1), (2, 10), (2, 11)]
    assert objects[1].arguments[0].value == 1
    assert difference(trace, opened(data)) is None


def test_names_filled_in_late_are_written():
    trace = trace_of(lambda trace: [constant(trace, b"a", 1)] * 2, threads=2)
    (batch,) = trace.batches()

    def batches():
        yield batch
        trace.threads[1].name = "late"
        trace.processes.append(Process(5, "also late"))
        trace.processes.append(Process(6))

    trace.make_batches = batches
    again = opened(written(trace))
    assert difference(with_batches(trace, [batch]), again) is None


def test_renamed_processes_stay_events():
    def named(name):
        header = {"object_type": 1, "name": 0x8000 | len(name)}
        fields = {"header": header | {"arguments": 0}, "koid": 1, "name": name}
        return layout("little").build(RecordType.KERNEL_OBJECT, fields)

    data = magic("little") + named(b"a") + named(b"b") + named(b"b") + named(b"c")
    trace = opened(data)
    for _ in range(2):
        again = opened(written(without_records(trace)))
        assert difference(opened(data), again) is None
        assert again.processes[0].name == "c"


@pytest.mark.parametrize(
    "clock",
    [
        ClockDomain("ns", Fraction(24_000_000), 1_700_000_000_123_456_789),
        ClockDomain("ns", Fraction(3), -5),
        ClockDomain("ns", Fraction(10**9), -(10**18)),
        ClockDomain("ns", Fraction((1 << 63) - 1)),
    ],
)
def test_clocks_survive(clock):
    assert opened(written(Trace(format="none", clock=clock))).clock == clock


def test_a_clock_of_unknown_rate_counts_nanoseconds():
    data = written(Trace(format="none", clock=ClockDomain("tsc", None)))
    assert opened(data).clock.ticks_per_second == 10**9


def test_a_rate_that_is_not_whole_is_refused():
    with pytest.raises(UnsupportedError, match="whole number of ticks"):
        written(Trace(format="none", clock=ClockDomain("third", Fraction(10, 3))))


def test_providers_and_initialization_survive():
    data = (
        magic("little")
        + provider("little", 5, b"five")
        + provider("little", 6, None)
        + initialization("little", 10**9, 7, 1_700_000_000_000_000_000, 99)
    )
    again = written(without_records(opened(data)))
    assert again == data


def test_a_changed_batch_ends_the_copying():
    first = magic("little") + provider("little", 1, b"p") + initialization("little", 500)
    first += string("little", 1, b"one") + thread("little", 1, 1, 11)
    held = [argument(ArgumentType.STRING, 1, 1)]
    first += event("little", EventType.INSTANT, 1, name=1, arguments=held)
    trace = opened(first)
    (copied,) = trace.batches()
    (changed,) = without_records(trace).batches()
    data = written(with_batches(trace, [copied, changed]))
    assert data.startswith(first)
    wanted = with_batches(trace, [changed, changed])
    assert difference(wanted, opened(data)) is None
    data = written(with_batches(trace, [changed, copied]))
    assert difference(wanted, opened(data)) is None


def test_the_other_byte_order_is_encoded_anew():
    data = magic("big") + thread("big", 1, 1, 11) + event("big", EventType.INSTANT, 1)
    assert written(opened(data), "be") == data
    little = written(opened(data))
    assert little.startswith(magic("little"))
    assert difference(opened(data), opened(little)) is None


@pytest.mark.parametrize("anchor", [[], [10**10], [10**30]])
def test_an_epoch_has_an_anchor_of_64_bits_that_gives_it_back(anchor):
    trace = Trace(format="fxt", clock=ClockDomain("ns", epoch_ns=-(10**12)))
    trace.sidecar["fxt"] = {"initialization": anchor}
    assert opened(written(trace)).clock == trace.clock


def test_an_epoch_without_an_anchor_of_64_bits_is_refused():
    clock = ClockDomain("ns", Fraction(10**12), epoch_ns=-(1 << 62))
    with pytest.raises(UnsupportedError, match="epoch"):
        written(Trace(format="fxt", clock=clock))

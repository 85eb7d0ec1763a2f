"""The representation on disk: everything comes back, and no input ends in anything but a trace or an error."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.traces.small_traces import event_class, trace_of
from support.traces.strategies import traces

import converter
from converter.errors import TraceError
from converter.formats.ir import layout
from converter.formats.ir import messages as pb
from converter.formats.ir.numbers import pack, unpack
from converter.formats.ir.reading import read
from converter.formats.ir.values import pack_value, unpack_value
from converter.formats.ir.writing import write
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.field_classes import (
    ArrayClass,
    FloatClass,
    IntegerClass,
    Label,
    Member,
    StringClass,
    VariantClass,
)
from converter.ir.invariants import check
from converter.ir.kinds import Kind
from converter.ir.trace import TrackScope
from converter.jobs.transcription import transcribe
from converter.registry import format_named
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "roundtrip_fixtures"


def written(trace, variant=""):
    sink = BufferSink()
    write(trace, sink, variant)
    return sink.getvalue()


def packed(numbers, **how):
    message = pb.Numbers()
    pack(numbers, message, **how)
    return message


def opened(data):
    return read(open_source(data))


@given(variant=st.sampled_from(["", "json"]), trace=traces())
def test_every_trace_survives(variant, trace):
    again = opened(written(trace, variant))
    assert difference(trace, again, sidecar=True) is None
    assert difference(trace, again, sidecar=True) is None, "a second pass"
    assert not again.warnings
    if variant == "":
        check(again)
        assert again.format == trace.format
        assert [c.native for c in again.event_classes] == [c.native for c in trace.event_classes]


@given(trace=traces())
def test_strings_that_others_add_are_no_strings_of_the_file(trace):
    again = opened(written(trace))
    again.strings.intern(b"somebody else's")
    assert difference(trace, again) is None


@pytest.mark.parametrize("path", ["trace_cmd/small.dat", "chrome/features.json"])
def test_a_file_survives_by_way_of_the_representation(path, tmp_path):
    source = FIXTURES / path
    converter.convert(source, tmp_path / "x.tcir")
    suffix = source.suffix
    converter.convert(tmp_path / "x.tcir", tmp_path / f"back{suffix}")
    first, second = converter.read(source), converter.read(tmp_path / f"back{suffix}")
    assert difference(first, second) is None


def test_formats_are_told_apart(tmp_path):
    trace = converter.read(FIXTURES / "trace_cmd/small.dat")
    assert converter.detect(written(trace)).name == "ir"
    assert converter.detect(written(trace, "json")).name == "ir"


NUMBERS = st.sampled_from(["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"]).flatmap(
    lambda name: st.lists(
        st.integers(int(np.iinfo(name).min), int(np.iinfo(name).max))
        | st.integers(0, 3).map(lambda n: int(np.iinfo(name).max) - n)
    ).map(lambda values: np.array(values, name))
)


@given(NUMBERS)
@example(np.array([-(1 << 63), (1 << 63) - 1], np.int64))
@example(np.broadcast_to(np.uint64((1 << 64) - 1), (5,)))
def test_numbers_survive(numbers):
    message = packed(numbers)
    again = unpack(message, numbers.dtype, len(numbers), "x")
    assert again.dtype == numbers.dtype
    assert np.array_equal(again, numbers)


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 1000)))
def test_distances_survive(values):
    numbers = np.array(values, np.int64)
    assert np.array_equal(
        unpack(packed(numbers, deltas=True), numbers.dtype, len(numbers), "x"), numbers
    )


def test_numbers_are_stored_as_narrow_as_they_are():
    assert packed(np.arange(1000, 1255, dtype=np.int64)).width == 1
    assert packed(np.arange(70_000, dtype=np.int64)).width == 4
    assert packed(np.arange(10**15, 10**15 + 70_000, dtype=np.int64), deltas=True).width == 1
    assert packed(np.broadcast_to(np.int32(-1), (9,))).width == 0


JSON_LIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.just("\ud800 alone")
    | st.binary(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.sampled_from(("", "\ud800", "\udcff")), inner)
    ),
)


@given(JSON_LIKE)
def test_sidecar_values_survive(value):
    assert unpack_value(pb.Value.FromString(pack_value(value).SerializeToString())) == value


# Damage


def small():
    trace = replace(converter.read(FIXTURES / "trace_cmd/small.dat"), symbols=None)
    return written(replace(trace, sidecar={}))


def outcome(data):
    """A trace that holds together, or the error."""
    try:
        trace = opened(data)
        check(collect(trace))
    except TraceError as error:
        return error
    return trace


def test_any_cut_gives_a_trace_or_an_error():
    data = small()
    for size in range(0, len(data), 211):
        result = outcome(data[:size])
        assert isinstance(result, TraceError) or result.warnings


@given(st.data())
def test_any_flipped_byte_gives_a_trace_or_an_error(data):
    content = bytearray(small())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    outcome(bytes(content))


@given(st.data())
def test_any_flipped_byte_of_what_is_compressed_gives_a_trace_or_an_error(data):
    places, _ = layout.record_places(open_source(content := small()))
    source = open_source(content)
    records = [layout.parse_record(source, *place) for place in places]
    plain = bytearray(b"".join(layout.frame(r.SerializeToString()) for rs in records for r in rs))
    for _ in range(8):
        changed = bytearray(plain)
        place = data.draw(st.integers(0, len(changed) - 1))
        changed[place] ^= data.draw(st.integers(1, 255))
        outcome(bytes(changed))


def plain(*records):
    header = pb.Header(magic="traceconv-ir", version=1, clock={"rate": "1"})
    return b"".join(
        layout.frame(record.SerializeToString())
        for record in (pb.Record(header=header), *records, pb.Record(tail=pb.Tail()))
    )


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (pb.Record(batch=pb.Batch(count=1 << 31)), "events"),
        (pb.Record(batch=pb.Batch(count=3)), "event_class"),
        (pb.Record(tables={"event_class": [{"kind": 19}]}), "kind"),
        (pb.Record(tables={"thread": [{"process": 3}]}), "process"),
        (pb.Record(tables={"track": [{"index": 3}]}), "track"),
        (pb.Record(tables={"track": [{"scope": int(TrackScope.CPU), "owner": -1}]}), "track"),
        (pb.Record(tables=pb.Tables(string=[b"a", b"a"])), "string"),
        (pb.Record(zstd=b"no zstd"), "zstd"),
    ],
)
def test_defects_have_names(record, message):
    result = outcome(plain(record))
    assert isinstance(result, TraceError)
    assert message in str(result)


@pytest.mark.parametrize("variant", ["", "json"])
@pytest.mark.parametrize(
    ("held", "value"), [(IntegerClass(2), 4), (IntegerClass(7, signed=True), -65)]
)
def test_integers_are_within_their_bits(variant, held, value):
    wide = replace(held, bits=8)
    made = event_class(Kind.TYPED, a=wide, b=ArrayClass(wide))
    for values in ([value, []], [0, [value]]):
        trace = trace_of([made], [(0, 1, 0, 0, values)])
        assert not isinstance(outcome(written(trace, variant)), TraceError)
        trace.event_classes[0] = event_class(Kind.TYPED, a=held, b=ArrayClass(held))
        assert isinstance(outcome(written(trace, variant)), TraceError)


def test_a_canonical_form_has_options_that_are_declared():
    made = event_class(Kind.TYPED, a=VariantClass((Member("x", IntegerClass(8)),)))
    text = written(trace_of([made], [(0, 1, 0, 0, [("x", 1)])]), "json")
    assert text.count(b'{"x":1}') == 1
    assert isinstance(outcome(text.replace(b'{"x":1}', b'{"y":1}')), TraceError)


def test_rows_without_events_are_damage():
    made = pb.Record(tables={"event_class": [{"kind": int(Kind.TYPED)}]})
    batch = pb.Record(batch=pb.Batch(table=[{"event_class": 0, "rows": 1}]))
    assert "rows" in str(outcome(plain(made, batch)))


def test_a_canonical_form_refers_to_threads_that_are_there():
    trace = trace_of([event_class(Kind.TYPED)], [(0, 1, 0, 0, [])])
    text = written(trace, "json")
    assert text.count(b"[1,0,0,0,null,[]]") == 1
    assert isinstance(outcome(text.replace(b"[1,0,0,0,", b"[1,0,0,4,")), TraceError)


@pytest.mark.parametrize(
    ("held", "value", "text"),
    [
        (FloatClass(), 1.5, b'"1.5"'),
        (VariantClass((Member("x", IntegerClass(8)),)), ("x", 7), b'{"x":7}'),
        (StringClass(), b"some", b'"some"'),
        (ArrayClass(IntegerClass(8)), [5], b"[5]"),
    ],
)
def test_values_of_a_canonical_form_are_of_their_types(held, value, text):
    written_form = written(
        trace_of([event_class(Kind.TYPED, a=held)], [(0, 1, 0, 0, [value])]), "json"
    )
    assert written_form.count(text) == 1
    for other in (b"4", b"null", b'"other"', b'{"z":1}', b"[[]]", b"true"):
        outcome(written_form.replace(text, other))
    assert isinstance(outcome(written_form.replace(text, b'{"z":{}}')), TraceError)


@pytest.mark.parametrize("place", ["p0", "t0", "event", "field", "some"])
def test_names_of_a_canonical_form_are_texts(place):
    held = IntegerClass(8, labels=(Label(0, 0, "some"),))
    trace = trace_of([event_class(Kind.TYPED, "event", field=held)], [(0, 1, 0, 0, [0])])
    text = written(trace, "json")
    name = b'"%b"' % place.encode()
    assert name in text
    assert not isinstance(outcome(text.replace(name, rb'"\udcff"')), TraceError)
    assert isinstance(outcome(text.replace(name, rb'"\ud800"')), TraceError)


@pytest.mark.parametrize(
    "text", ['{"clock": 1}', '{"clock":', '{"clock": {}, "events": []}', "{" + "[" * 5000]
)
def test_a_damaged_canonical_form_is_an_error(text):
    assert isinstance(outcome(text.encode()), TraceError)


def test_a_canonical_form_that_is_cut_off_has_the_events_before():
    text = (FIXTURES / "generated" / "fxt.canonical.json").read_bytes()
    whole = json.loads(text)
    first = text.index(b'"events"')
    for size in range(first, len(text), 97):
        lines = text[first:size].count(b"\n")
        read = outcome(text[:size])
        if lines < 2:
            assert isinstance(read, TraceError)
            continue
        assert read.warnings
        count = sum(len(batch) for batch in read.batches())
        assert count >= min(lines - 2, len(whole["events"]))
        assert sum(len(batch) for batch in outcome(text).batches()) >= count


def test_a_version_from_the_future_is_refused():
    header = pb.Header(magic="traceconv-ir", version=2)
    with pytest.raises(TraceError, match="version"):
        opened(layout.frame(pb.Record(header=header).SerializeToString()))


def test_the_canonical_form_is_json(tmp_path):
    converter.convert(FIXTURES / "trace_cmd/small.dat", tmp_path / "x", target_format="ir+json")
    assert len(json.loads((tmp_path / "x").read_text())["events"]) == 338


def test_any_format_takes_it():
    trace = converter.read(written(converter.read(FIXTURES / "trace_cmd/small.dat")))
    for name in ("fxt", "perfetto", "chrome"):
        sink = BufferSink()
        transcribe(trace, sink, *format_named(name))
        assert sink.getvalue()

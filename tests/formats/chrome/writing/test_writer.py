"""Writing Chrome JSON: valid, compact, and what viewers take."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from support.chrome.files import FEATURES, dump, event, load, written
from support.traces.strategies import batch_of

import converter
from converter.errors import UnsupportedError
from converter.formats.chrome.capabilities import CAPABILITIES
from converter.formats.chrome.reading.reader import read
from converter.formats.chrome.times import Scale
from converter.formats.json_values.value_text import reads_as_json
from converter.ir.canonical import difference
from converter.ir.collect import with_batches
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    ArrayClass,
    BytesClass,
    FieldClass,
    FloatClass,
    IntegerClass,
    Member,
    NullClass,
    OptionalClass,
    StringClass,
    StructureClass,
    Style,
    VariantClass,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain, Process, Thread, Trace
from converter.projection.losses import LossClass
from converter.projection.project import project
from converter.projection.timeline_fields import DURATION, JSON_TEXT, PHASE
from converter.storage.opening import open_source

SCHEMA = Path(__file__).parents[4] / "schemas" / "chrome" / "trace_event.schema.json"
NAME = Field("name", StringClass(), Role.NAME)


def trace_of(
    event_class: EventClass,
    rows: list[tuple[Any, ...]],
    *,
    ts: list[int] | None = None,
    cpus: list[int] | None = None,
    batches: int = 1,
    clock: ClockDomain | None = None,
) -> Trace:
    """A trace of one class on one thread, a microsecond between events unless said otherwise."""
    trace = Trace(
        format="none",
        clock=clock or ClockDomain("ns"),
        processes=[Process(10, "p"), Process(20, "q")],
        threads=[Thread(10, 0, "main"), Thread(21, 1, "other")],
        event_classes=[event_class],
    )
    found = [
        (0, ts[i] if ts else i * 1000, cpus[i] if cpus else -1, 0, -1, row)
        for i, row in enumerate(rows)
    ]
    size = -(-len(found) // batches)
    return with_batches(
        trace, [batch_of(trace, found[i : i + size]) for i in range(0, len(found), size)]
    )


def arguments(field_class: FieldClass, *values: Any) -> list[str]:
    """The JSON text of values as the only argument of events."""
    event_class = EventClass(Kind.INSTANT, fields=(NAME, Field("v", field_class)))
    text = dump(trace_of(event_class, [(b"n", value) for value in values])).decode()
    lines = [line.rstrip(",") for line in text.split("\n") if line.startswith('{"ph":"i"')]
    return [line.partition('"args":{"v":')[2].partition("}")[0] for line in lines]


def test_the_output_is_valid_against_the_schema() -> None:
    schema = json.loads(SCHEMA.read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    output = json.loads(dump(load(FEATURES)))
    # The features have events on purpose that stay text because they are wrong.
    wrong = {"no time", 5, "unknown", "no duration"}
    output["traceEvents"] = [e for e in output["traceEvents"] if e.get("name") not in wrong]
    assert list(validator.iter_errors(output)) == []
    assert list(validator.iter_errors([event(ph="X")])) != []
    assert list(validator.iter_errors([event(ph="b")])) != []


def test_text_is_escaped_where_it_must_be_and_nowhere_else() -> None:
    text = 'a"b\\c\nd\te\x00\x1f\x7fé😀'
    assert json.loads(arguments(StringClass(), text.encode())[0]) == text
    assert arguments(StringClass(), "😀".encode()) == ['"😀"']
    names = [e["name"] for e in written(load([event(name=text)]))]
    assert names == [text]


def test_text_that_occurs_again_is_the_same_in_every_place() -> None:
    """Names are as they are, values that look like numbers are not: also where their text is kept from before."""
    event_class = EventClass(Kind.INSTANT, fields=(NAME, Field("v", StringClass())))
    texts = [
        b"0x1f",
        b"0x1f",
        b"plain",
        b"plain",
        b'"',
        b'"',
        b"x" * 1000,
        b"x" * 1000,
        b"NaN",
        b"",
    ]
    for names in (texts, texts[::-1]):
        rows = list(zip(names, texts, strict=True))
        lines = dump(trace_of(event_class, rows)).decode().split("\n")
        found = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"ph":"i"')]
        assert [e.get("name", "").encode() for e in found] == names
        assert [e["args"]["v"].encode() for e in found] == texts
        assert sum('"name":"0x1f"' in line for line in lines) == 2
        assert sum('"v":"\\u0030x1f"' in line for line in lines) == 2


@pytest.mark.parametrize("phase", "BXiIRPCbneSTpFstfNODc")
def test_every_event_has_a_name(phase: str) -> None:
    """Catapult's importer gives up the whole file at an event without one."""
    needs = {"dur": 5, "id": "0x1"} if phase in "XbneSTpFstfNOD" else {}
    unnamed = {"ph": phase, "ts": 1, "pid": 1, "tid": 2, **needs}
    names = [
        e["name"]
        for e in written(load([unnamed, {**unnamed, "name": ""}, {**unnamed, "name": "0x1"}]))
    ]
    assert names == ["", "", "0x1"]


def test_times_are_exact_wherever_a_second_or_millisecond_begins() -> None:
    second, milli = 10**9, 10**6
    times = [-second, -1, 0, 1, 10, 999, 1000, second - 1, second, second + 1, second + 10]
    times += [second + 100, second + 1000, 2 * second - 1, 2 * second, 123 * second, 5, second]
    times += [milli - 1, milli, milli + 1, milli + 10_010, 2 * milli - 1, 2 * milli, 1, 3 * milli]
    times += [4 * 10**15, 4 * 10**15 + 1, 4 * 10**15 + milli, second + 99_099, second + 909_900]
    event_class = EventClass(Kind.INSTANT, fields=(NAME,))
    text = dump(trace_of(event_class, [(b"n",)] * len(times), ts=times)).decode()
    written = [
        line.partition('"ts":')[2].partition(",")[0]
        for line in text.split("\n")
        if line.startswith('{"ph":"i"')
    ]
    assert [Decimal(each) * 1000 for each in written] == times
    assert [each for each in written if "." in each and each.endswith("0")] == []


@pytest.mark.parametrize("value", [0, 9, 10, 15, 16, 0xABCDEF, 2**32 - 1, 2**32, 2**64 - 1])
def test_hexadecimal_numbers(value: int) -> None:
    assert arguments(IntegerClass(64, style=Style.HEXADECIMAL), value) == [f'"{value:#x}"']


def test_text_that_looks_like_a_number_is_told_from_one() -> None:
    texts = [b"0x1f", b"NaN", b"-Infinity", b"0x01", b"nan"]
    assert arguments(StringClass(), *texts) == [
        '"\\u0030x1f"',
        '"\\u004eaN"',
        '"\\u002dInfinity"',
        '"0x01"',
        '"nan"',
    ]
    assert arguments(IntegerClass(64, style=Style.HEXADECIMAL), 31, 0) == ['"0x1f"', '"0x0"']


def test_integers_beyond_int64_are_text_for_viewers() -> None:
    values = (0, 2**63 - 1, 2**63, 2**64 - 1)
    assert arguments(IntegerClass(64), *values) == [
        "0",
        "9223372036854775807",
        '"9223372036854775808"',
        '"18446744073709551615"',
    ]
    assert arguments(IntegerClass(64, signed=True), -(2**63)) == ["-9223372036854775808"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1.5, "1.5"),
        (1e22, "1e+22"),
        (5e-324, "5e-324"),
        (1 / 3, "0.3333333333333333"),
        (123456.789, "123456.789"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
    ],
)
def test_floats_are_short_and_exact(number: float, text: str) -> None:
    assert arguments(FloatClass(64), number) == [text]


def test_bytes_and_nulls() -> None:
    assert arguments(BytesClass(), b"", b"a", b"ab", b"abc\xff") == [
        '""',
        '"YQ=="',
        '"YWI="',
        '"YWJj/w=="',
    ]
    assert arguments(NullClass(), None) == ["null"]


def test_times_have_as_many_decimals_as_they_need() -> None:
    event_class = EventClass(Kind.INSTANT, fields=(NAME,))
    trace = trace_of(event_class, [(b"a",)] * 4, ts=[-1, 0, 1_500, 10**15 + 1])
    text = dump(trace).decode()
    assert [part.split(",")[0] for part in text.split('"ts":')[1:]] == [
        "-0.001",
        "0",
        "1.5",
        "1000000000000.001",
    ]


def test_epoch_times_with_nanoseconds_are_moved_to_where_doubles_hold_them() -> None:
    event_class = EventClass(Kind.INSTANT, fields=(NAME,))
    start = 1_700_000_000_123_456_789
    trace = trace_of(event_class, [(b"a",)] * 2, ts=[start, start + 1])
    output = dump(trace)
    parsed = json.loads(output, parse_float=Decimal)
    offset = int(parsed["traceconv"]["offset"])
    # Traces of about one time are moved by the same.
    assert offset == start // (10**9 << 21) * (10**9 << 21)
    assert [e["ts"] for e in parsed["traceEvents"] if e["ph"] == "i"] == [
        Decimal(start - offset) / 1000,
        Decimal(start + 1 - offset) / 1000,
    ]
    assert [b.ts.tolist() for b in read(open_source(output)).batches()] == [[start, start + 1]]


@pytest.mark.parametrize(
    ("start", "is_moved"),
    [
        ((10**9 << 22) - 2, False),
        ((10**9 << 22) - 1, True),
        ((10**9 << 22) + 1, True),
        # Whole microseconds are exact in doubles until 2255.
        (1_700_000_000_123_456_000, False),
    ],
)
def test_moved_times_are_a_loss_that_viewers_show(
    start: int, is_moved: bool, tmp_path: Path
) -> None:
    event_class = EventClass(Kind.INSTANT, fields=(NAME,))
    step = 1000 if start % 1000 == 0 else 1
    trace = trace_of(event_class, [(b"a",)] * 2, ts=[start, start + step])
    losses = list(converter.write(trace, tmp_path / "a.json"))
    seconds = start // (10**9 << 21) << 21
    moved = [loss for loss in losses if loss.parameters == (("seconds", seconds),)]
    assert [loss.loss_class for loss in moved] == [LossClass.SHOWN] * is_moved
    # Written once more from there, they are moved once more.
    again = converter.convert(tmp_path / "a.json", tmp_path / "b.json")
    assert [loss.code for loss in again] == ["times-moved"] * is_moved
    times = [batch.ts.tolist() for batch in converter.read(tmp_path / "b.json").batches()]
    assert times == [[start, start + step]]


@pytest.mark.parametrize("rate", [1, 10**6, 24_000_000, Fraction(10**9, 3), 3_400_000_000, 10**12])
def test_clocks_of_any_rate_come_back_exactly(rate: int | Fraction) -> None:
    event_class = EventClass(Kind.INSTANT, fields=(NAME,))
    clock = ClockDomain("ns", Fraction(rate), epoch_ns=77)
    trace = trace_of(event_class, [(b"a",)] * 4, ts=[-7, 0, 1, 10**12 + 7], clock=clock)
    projected, _ = project(trace, CAPABILITIES, "chrome")
    assert difference(projected, read(open_source(dump(trace)))) is None


def test_flows_from_elsewhere_end_at_the_slice_around_them() -> None:
    fields: tuple[Field, ...] = (NAME, Field("category", StringClass(), Role.CATEGORY))
    fields += (Field("id", IntegerClass(64, style=Style.HEXADECIMAL), Role.ID),)
    trace = trace_of(EventClass(Kind.FLOW_END, fields=fields), [(b"f", b"c", 2**64 - 1)])
    assert written(trace)[0] | {"ts": 0} == {
        "ph": "f",
        "name": "f",
        "cat": "c",
        "id": "0xffffffffffffffff",
        "bp": "e",
        "ts": 0,
        "pid": 10,
        "tid": 10,
    }
    own = load([event(ph="f", cat="c", name="f", id="0x1")])
    assert "bp" not in written(own)[0]


def test_threads_without_events_are_in_the_file() -> None:
    trace = trace_of(EventClass(Kind.INSTANT, fields=(NAME,)), [(b"a",)])
    trace.threads.append(Thread(99, 1, ""))
    back = load(dump(trace))
    assert {(back.processes[t.process].pid, t.tid, t.name) for t in back.threads} == {
        (10, 10, "main"),
        (20, 21, "other"),
        (20, 99, ""),
    }


def test_times_from_one_end_of_64_bits_to_the_other_have_no_offset() -> None:
    ends = [-(1 << 63) + 1, (1 << 63) - 1]
    event_class = EventClass(Kind.INSTANT, fields=(NAME,))
    trace = trace_of(event_class, [(b"a",)] * 2, ts=ends)
    assert [batch.ts.tolist() for batch in read(open_source(dump(trace))).batches()] == [ends]


def test_later_times_that_do_not_fit_beside_the_offset_are_refused() -> None:
    event_class = EventClass(Kind.INSTANT, fields=(NAME,))
    first = trace_of(event_class, [(b"a",)], ts=[-(1 << 63) + (1 << 52) + 1])
    last = trace_of(event_class, [(b"a",)], ts=[(1 << 63) - 1])
    trace = with_batches(first, [*first.batches(), *last.batches()])
    with pytest.raises(UnsupportedError, match="64 bits"):
        dump(trace)


def test_lists_of_several_types_are_lists_of_json() -> None:
    signed = IntegerClass(64, True)
    options = (Member("n", signed), Member("t", StringClass()), Member("f", FloatClass(64)))
    inner = Member("inner", ArrayClass(OptionalClass(signed)))
    fields = (
        *(NAME, Field("a", ArrayClass(VariantClass(options)))),
        Field("b", StructureClass((Member("x", signed), inner))),
    )
    mixed = [("n", -1), ("t", b'"0x1f'), ("f", math.inf)]
    values = (b"n", mixed, [("x", 3), ("inner", [1, None])])
    trace = trace_of(EventClass(Kind.INSTANT, fields=fields), [values])
    target = project(trace, CAPABILITIES, "chrome")[0]
    text = dump(target).decode()
    assert '"args":{"a":[-1,"\\"0x1f","Infinity"],"b":{"x":3,"inner":[1,null]}}' in text
    assert difference(target, load(text.encode())) is None


def test_json_that_could_be_another_value_is_declared() -> None:
    """A list of a variant may have one type in a row; so may text of JSON that was read elsewhere."""
    texts = (b"[1,2]", b"[]", b'["0x1f","0x2"]', b'"text"', b'[1,"a"]')
    fields = (NAME, Field("a", JSON_TEXT))
    trace = trace_of(EventClass(Kind.INSTANT, fields=fields), [(b"n", text) for text in texts])
    target = project(trace, CAPABILITIES, "chrome")[0]
    text = dump(target).decode()
    assert text.count("arg_types") == len(texts) - 1
    again = load(text.encode())
    assert difference(target, again) is None
    assert difference(again, load(dump(again))) is None


def test_structures_with_an_empty_list_are_declared() -> None:
    members = (Member("n", IntegerClass(64, True)), Member("a", ArrayClass(IntegerClass(64, True))))
    values = [(("n", 1), ("a", [])), (("n", 1), ("a", [1]))]
    fields = (NAME, Field("v", StructureClass(members)))
    trace = trace_of(EventClass(Kind.INSTANT, fields=fields), [(b"n", value) for value in values])
    target = project(trace, CAPABILITIES, "chrome")[0]
    text = dump(target)
    assert text.count(b"arg_types") == 1
    assert difference(target, load(text)) is None


@pytest.mark.parametrize(
    "own", [b'[1,"a"]', b"[[1]]", b'[{"a":1},{"b":1}]', b"[-0,0]", b'[1,"0x1"]', b"[[1,[2]]]"]
)
def test_lists_that_readers_find_to_be_mixed_tell_themselves(own: bytes) -> None:
    for text in (own, b"[1,2]", b"[]", b'[{"a":1},{"a":2}]', b'["NaN",1.5]', b'["0x01","b"]'):
        file = b'[{"ph":"i","ts":1,"args":{"a":%b}}]' % text
        (field,) = (one for one in load(file).event_classes[0].fields if one.name == "a")
        assert (field.type == JSON_TEXT) is reads_as_json(text) is (text == own)


@pytest.mark.parametrize(
    ("rate", "decimals", "units", "is_shown"),
    [
        (10**6, 0, [1, 7, 10**9], True),
        (10**8, 2, [1, 7, 10**9], True),
        # Rounded down, as viewers of ticks do; nearest to its own tick from two nanoseconds a tick on.
        (24_000_000, 3, [41, 291, 41_666_666_666], True),
        (19_200_000, 3, [52, 364, 52_083_333_333], True),
        (32_768, 3, [30_517, 213_623, 30_517_578_125_000], True),
        (499_999_999, 3, [2, 14, 2_000_000_004], True),
        (10**9, 3, [1, 7, 10**9], True),
        (512_000_000, 3, [2, 14, 1_953_125_000], False),
        (2_400_000_000, 4, [4, 29, 4_166_666_667], False),
        (10**12, 6, [1, 7, 10**9], False),
        (1, 0, [10**6, 7 * 10**6, 10**15], True),
    ],
)
def test_times_are_those_of_ticks_to_the_nanosecond(
    rate: int, decimals: int, units: list[int], is_shown: bool
) -> None:
    scale = Scale.of_rate(Fraction(rate))
    assert scale.decimals == decimals
    ticks = np.array([1, 7, 10**9])
    assert scale.to_file(ticks).tolist() == units
    assert scale.from_file(scale.to_file(ticks)).tolist() == ticks.tolist()
    assert scale.is_shown is is_shown


def test_ends_of_slices_are_rounded_not_their_lengths() -> None:
    scale = Scale.of_rate(Fraction(24_000_000))
    starts, lengths = np.array([1, 2, 1, 1]), np.array([1, 1, -1, (1 << 63) - 1])
    units = scale.durations_to_file(lengths[:3], starts[:3])
    # From 41 to 83 and from 83 to 125.
    assert units.tolist() == [42, 42, -42]
    assert scale.from_file(units).tolist() == [1, 1, -1]
    with pytest.raises(UnsupportedError):
        scale.durations_to_file(lengths, starts)


@pytest.mark.parametrize(
    ("kind", "phase", "shown"),
    [
        (Kind.ASYNC_BEGIN, b"S", "b"),
        (Kind.ASYNC_INSTANT, b"p", "n"),
        (Kind.INSTANT, b"I", "I"),
        (Kind.INSTANT, b"?", "i"),
    ],
)
def test_of_the_spellings_of_a_phase_there_are_those_that_importers_show(
    kind: Kind, phase: bytes, shown: str
) -> None:
    fields = (NAME, Field("id", StringClass(), Role.ID), PHASE)
    trace = trace_of(EventClass(kind, fields=fields), [(b"n", b"1", phase)])
    target, report = project(trace, CAPABILITIES, "chrome")
    (one,) = [one for one in json.loads(dump(target))["traceEvents"] if one["ph"] != "M"]
    assert one["ph"] == shown
    dropped = [loss for loss in report if loss.code == "phase-dropped"]
    assert len(dropped) == (phase.decode() != shown)


def test_states_keep_their_cpu() -> None:
    event_class = EventClass(Kind.STATE, fields=(NAME, DURATION))
    trace = trace_of(event_class, [(b"Running", 5)], cpus=[0])
    target, _ = project(trace, CAPABILITIES, "chrome")
    assert [batch.cpu.tolist() for batch in target.batches()] == [[0]]

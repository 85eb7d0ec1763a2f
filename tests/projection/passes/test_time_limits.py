"""Times and durations that a format cannot hold: cut as its limits say, counted, and kept with --lossless."""

import json
from fractions import Fraction

import pytest
from support.traces.small_traces import event_class, events_of, trace_of
from support.viewers.trace_processor import answer, errors, needs_trace_processor

import converter
from converter.ir.columns import OptionalColumn
from converter.ir.field_classes import IntegerClass, OptionalClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain
from converter.projection.passes.time_limits import BACKWARDS, EARLY, LATE, LATE_ENDS

LAST = (1 << 63) - 1
#: (phase, time, duration, name, thread): a Bazel profile has events before zero.
EARLY_EVENTS = [
    ("X", -1306, 1306, "Launch", 1),
    ("X", -1000, 2000, "across", 2),
    ("X", -1000, 500, "inside", 2),
    ("X", 0, 5000, "Build", 1),
    ("i", -10, None, "instant", 1),
    ("C", -10, None, "counter", 1),
    ("B", -500, None, "pair", 3),
    ("E", 500, None, "pair", 3),
    ("B", -500, None, "before", 4),
    ("E", -300, None, "before", 4),
]
BACKWARDS_EVENTS = [
    ("X", 0, 100, "outer", 1),
    ("X", 10, -5, "short", 1),
    ("X", 20, 5, "after", 1),
    ("X", 30, 0, "none", 1),
    ("X", 40, -0.001, "1 ns", 1),
    ("X", 60, 5, "last", 1),
]
SLICES = "select s.ts, s.dur, s.depth, s.name from slice s order by s.name"
#: Targets whose durations are not kept as numbers of any value.
CUTTING = ["pftrace", "fxt", "dat", "uftrace"]
I64 = IntegerClass(64, signed=True)
NAME = {"name": (StringClass(), Role.NAME)}
SLICE = event_class(Kind.SLICE_COMPLETE, **NAME, duration=(I64, Role.DURATION))


def json_file(path, events):
    members = [
        {"ph": ph, "ts": ts, "name": name, "pid": 1, "tid": tid}
        | ({} if duration is None else {"dur": duration})
        | ({"args": {"v": 1}} if ph == "C" else {"s": "t"} if ph == "i" else {})
        for ph, ts, duration, name, tid in events
    ]
    # Slices are told apart by the names of their threads.
    names = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": f"t{tid}"}}
        for tid in sorted({tid for *_, tid in events})
    ]
    path.write_text(json.dumps({"traceEvents": names + members}))
    return path


def converted(source, target, **options):
    """The losses of a conversion that viewers see, by code."""
    report = converter.convert(source, target, force=True, **options)
    return {loss.code: loss.count for loss in report if loss.loss_class == "shown"}


def slices_of(path):
    """Begin and end of each slice, by name."""
    open_on, found = {}, {}
    for ts, kind, place, fields in events_of(converter.read(path)):
        name = fields.get("name", "")
        if kind is Kind.SLICE_COMPLETE:
            found[name] = (ts, ts + fields["duration"])
        elif kind in (Kind.SLICE_BEGIN, Kind.FUNCTION_ENTRY):
            open_on.setdefault(place, []).append((name, ts))
        elif kind in (Kind.SLICE_END, Kind.FUNCTION_EXIT):
            begun, first = open_on[place].pop()
            found[begun] = (first, ts)
        elif kind is Kind.MARK:
            text = fields["buf"] if "buf" in fields else fields["message"]
            if text.startswith("B|"):
                open_on.setdefault(place, []).append((text.split("|")[2].strip(), ts))
            elif text.startswith("E|"):
                begun, first = open_on[place].pop()
                found[begun] = (first, ts)
    assert not any(open_on.values())
    return found


@pytest.mark.parametrize("target", CUTTING)
def test_slices_lose_what_is_before_zero(tmp_path, target):
    source = json_file(tmp_path / "a.json", EARLY_EVENTS)
    output = tmp_path / f"b.{target}"
    assert converted(source, output)[EARLY] == 8
    assert slices_of(output) == {
        "Launch": (0, 0),
        "across": (0, 1_000_000),
        "inside": (0, 0),
        "Build": (0, 5_000_000),
        "pair": (0, 500_000),
        "before": (0, 0),
    }


@pytest.mark.parametrize("target", ["json", "ctf", "aix", "tcir"])
def test_formats_with_times_before_zero_keep_them(tmp_path, target):
    source = json_file(tmp_path / "a.json", EARLY_EVENTS)
    output = tmp_path / f"b.{target}"
    assert EARLY not in converted(source, output)
    assert slices_of(output)["Launch"] == (-1_306_000, 0)


def test_a_format_of_complete_slices_cuts_their_durations(tmp_path):
    source = json_file(tmp_path / "a.json", EARLY_EVENTS)
    assert converted(source, tmp_path / "b.lttng")[EARLY] == 8
    events = events_of(converter.read(tmp_path / "b.lttng"))
    durations = {f["name"]: (ts, f["duration"]) for ts, _, _, f in events if "duration" in f}
    assert durations == {
        "Launch": (0, 0),
        "across": (0, 1_000_000),
        "inside": (0, 0),
        "Build": (0, 5_000_000),
    }


@needs_trace_processor
@pytest.mark.parametrize("target", ["pftrace", "fxt"])
def test_trace_processor_shows_slices_from_zero_on(tmp_path, target):
    source = json_file(tmp_path / "a.json", EARLY_EVENTS)
    output = tmp_path / f"b.{target}"
    converted(source, output)
    assert not errors(output)
    assert answer(output, SLICES)[:5] == [
        ["0", "5000000", "0", "Build"],
        ["0", "0", "0", "Launch"],
        ["0", "1000000", "0", "across"],
        ["0", "0", "0", "before"],
        ["0", "0", "1", "inside"],
    ]


@pytest.mark.parametrize("first", [-1, 0, 1])
def test_the_first_time_is_zero(tmp_path, first):
    trace = trace_of([SLICE], [(0, first, -1, 1, (b"a", 1000)), (0, 5, -1, 1, (b"b", 2))])
    losses = {loss.code: loss.count for loss in converter.write(trace, tmp_path / "a.fxt")}
    assert slices_of(tmp_path / "a.fxt") == {"a": (max(first, 0), first + 1000), "b": (5, 7)}
    assert losses.get(EARLY, 0) == (first < 0)


@pytest.mark.parametrize("target", CUTTING)
def test_slices_that_end_before_they_begin_have_no_length(tmp_path, target):
    source = json_file(tmp_path / "a.json", BACKWARDS_EVENTS)
    output = tmp_path / f"b.{target}"
    assert converted(source, output)[BACKWARDS] == 2
    found = slices_of(output)
    assert [found[name] for name in ("outer", "short", "after", "none", "1 ns", "last")] == [
        (0, 100_000),
        (10_000, 10_000),
        (20_000, 25_000),
        (30_000, 30_000),
        (40_000, 40_000),
        (60_000, 65_000),
    ]


@needs_trace_processor
@pytest.mark.parametrize("target", ["pftrace", "fxt"])
def test_trace_processor_does_not_nest_others_in_slices_that_end_before_they_begin(
    tmp_path, target
):
    source = json_file(tmp_path / "a.json", BACKWARDS_EVENTS)
    output = tmp_path / f"b.{target}"
    converted(source, output)
    assert not errors(output)
    depths = {name: depth for _, _, depth, name in answer(output, SLICES)}
    assert depths == dict.fromkeys(("short", "after", "none", "1 ns", "last"), "1") | {"outer": "0"}


@pytest.mark.parametrize("target", ["json", "ctf", "lttng", "aix", "tcir"])
def test_negative_durations_are_kept_as_numbers(tmp_path, target):
    source = json_file(tmp_path / "a.json", BACKWARDS_EVENTS)
    output = tmp_path / f"b.{target}"
    assert BACKWARDS not in converted(source, output)
    durations = [f["duration"] for *_, f in events_of(converter.read(output)) if "duration" in f]
    assert durations == [100_000, -5_000, 5_000, 0, -1, 5_000]


def test_own_slices_of_fxt_may_end_before_they_begin(tmp_path):
    # As JSON, one of -1 ns would be open until the end.
    own = event_class(
        Kind.SLICE_COMPLETE,
        **NAME,
        category=(StringClass(), Role.CATEGORY),
        duration=(I64, Role.DURATION),
    )
    trace = trace_of([own], [(0, 5, -1, 1, (b"a", b"", -1)), (0, 9, -1, 1, (b"b", b"", 1))])
    trace.format = "fxt"
    assert BACKWARDS not in {loss.code for loss in converter.write(trace, tmp_path / "a.fxt")}
    assert slices_of(tmp_path / "a.fxt")["a"] == (5, 4)
    assert converted(tmp_path / "a.fxt", tmp_path / "a.json") == {BACKWARDS: 1}
    assert slices_of(tmp_path / "a.json")["a"] == (5, 5)


def test_an_absent_duration_is_not_negative(tmp_path):
    maybe = event_class(Kind.SLICE_COMPLETE, **NAME, dur=(OptionalClass(I64), Role.DURATION))
    trace = trace_of([maybe], [(0, 0, -1, 1, (b"a", None)), (0, 5, -1, 1, (b"b", -3))])
    losses = {loss.code: loss.count for loss in converter.write(trace, tmp_path / "a.dat")}
    assert losses[BACKWARDS] == 1
    kept = next(iter(trace.batches())).tables[0].column(1)
    assert isinstance(kept, OptionalColumn)
    assert kept.values.tolist()[1] == -3


@pytest.mark.parametrize("target", CUTTING)
@pytest.mark.parametrize("over", [-1, 0, 1, 90])
def test_slices_end_at_the_latest_time(tmp_path, target, over):
    begin = LAST - 10
    trace = trace_of([SLICE], [(0, begin, 0, 1, (b"a", 10 + over))])
    report = converter.write(trace, tmp_path / f"a.{target}")
    losses = {loss.code: (loss.count, str(loss.loss_class)) for loss in report}
    assert losses.get(LATE_ENDS) == ((1, "shown") if over > 0 else None)
    assert LATE not in losses
    assert slices_of(tmp_path / f"a.{target}")["a"] == (begin, min(begin + 10 + over, LAST))


@pytest.mark.parametrize("target", ["json", "ctf", "lttng", "tcir"])
def test_durations_to_later_ends_are_kept_as_numbers(tmp_path, target):
    trace = trace_of([SLICE], [(0, LAST - 10, 0, 1, (b"a", 100))])
    losses = {loss.code for loss in converter.write(trace, tmp_path / f"a.{target}")}
    assert LATE_ENDS not in losses
    events = events_of(converter.read(tmp_path / f"a.{target}"))
    assert [fields["duration"] for *_, fields in events] == [100]


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_times_of_slow_clocks_beyond_63_bits_of_nanoseconds_are_counted(tmp_path, over):
    clock = ClockDomain("slow", Fraction(1000))
    tick = LAST // 1_000_000 + over
    trace = trace_of([SLICE], [(0, 5, 0, 1, (b"a", 2)), (0, tick, 0, 1, (b"b", 0))], clock=clock)
    losses = {loss.code: loss.count for loss in converter.write(trace, tmp_path / "a.pftrace")}
    assert losses.get("time-beyond-63-bits", 0) == (over > 0)
    assert slices_of(tmp_path / "a.pftrace")["a"] == (5_000_000, 7_000_000)
    assert slices_of(tmp_path / "a.pftrace")["b"][0] == min(tick * 1_000_000, LAST)


#: Perfetto's importer of FXT multiplies ticks by (10^9 << 32) / rate, rounded down: exact for these.
EXACT = {1000: True, 10**6: True, 24_000_000: False, 10**9: True, 2 * 10**9: True, 10**10: False}
EXACT |= {10**12: False, Fraction(10**9, 3): False, 1_987_811_000: False}


@pytest.mark.parametrize(("rate", "is_exact"), EXACT.items())
def test_fxt_has_rates_that_its_viewers_convert_exactly(tmp_path, rate, is_exact):
    ticks = [int(rate * 3600) + 1, int(rate * 3600) * 10]
    events = [(0, ts, -1, 1, (b"a", 0)) for ts in ticks]
    trace = trace_of([SLICE], events, clock=ClockDomain("fine", Fraction(rate)))
    report = converter.write(trace, tmp_path / "a.fxt")
    back = converter.read(tmp_path / "a.fxt")
    assert back.clock.ticks_per_second == (rate if is_exact else 10**9)
    times = ticks if is_exact else [int(ts * 10**9 / Fraction(rate)) for ts in ticks]
    assert [ts for ts, *_ in events_of(back)] == times
    assert any(loss.code.startswith("times-") for loss in report) is not is_exact


@needs_trace_processor
def test_trace_processor_shows_exact_times_of_fine_clocks(tmp_path):
    ts = 10**12 * 3600 * 24 + 1000
    clock = ClockDomain("fine", Fraction(10**12))
    trace = trace_of([SLICE], [(0, ts, -1, 1, (b"a", 2000))], clock=clock)
    converter.write(trace, tmp_path / "a.fxt")
    assert answer(tmp_path / "a.fxt", SLICES) == [[str(ts // 1000), "2", "0", "a"]]


def test_lossless_keeps_all_of_it(tmp_path):
    source = json_file(tmp_path / "a.json", EARLY_EVENTS + BACKWARDS_EVENTS)
    converted(source, tmp_path / "b.pftrace", lossless=True)
    assert not converter.diff(converter.read(source), converter.read(tmp_path / "b.pftrace"))


@pytest.mark.parametrize("member", ["ts", "dur"])
@pytest.mark.parametrize(
    ("text", "ticks"),
    [
        ("9223372036854775.807", LAST),
        ("9223372036854775.808", None),
        ("-9223372036854775.808", -LAST - 1),
        ("-9223372036854775.809", None),
        ("-9223372036854775807e-3", -LAST),
        ("9.3e15", None),
        ("1e17", None),
        ('"1e17"', None),
    ],
)
def test_json_says_which_times_64_bits_do_not_hold(tmp_path, member, text, ticks):
    other = "dur" if member == "ts" else "ts"
    event = f'{{"ph":"X","name":"a","{other}":1,"{member}":{text},"pid":1,"tid":1}}'
    last = '{"ph":"i","name":"b","ts":5,"pid":1,"tid":1}'
    path = tmp_path / "a.json"
    path.write_text(f'{{"traceEvents":[{event},{last}]}}')
    trace = converter.read(path)
    (first, *_) = events_of(trace)
    beyond = [str(one) for one in trace.warnings if "1 times beyond 63 bits" in str(one)]
    if ticks is None:
        assert first[1] is Kind.NATIVE
        assert len(beyond) == 1
    else:
        assert (first[0] if member == "ts" else first[3]["duration"]) == ticks
        assert not trace.warnings


def test_a_large_time_after_a_small_one_keeps_its_sign(tmp_path):
    instant = event_class(Kind.INSTANT, **NAME)
    times = [LAST - 10, -LAST, -5, LAST, 0, -LAST - 1]
    trace = trace_of([instant], [(0, ts, -1, 1, (b"i",)) for ts in times])
    converter.write(trace, tmp_path / "a.json")
    assert [ts for ts, *_ in events_of(converter.read(tmp_path / "a.json"))] == times

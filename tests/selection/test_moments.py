"""Times as they are written, in ticks of clocks."""

from fractions import Fraction

import pytest

from converter.errors import SelectionError
from converter.ir.trace import ClockDomain
from converter.selection.moments import first_tick, last_tick, parse_moment, parse_span, ticks

NS = ClockDomain("ns")
START = 1_000


def window(text, clock=NS):
    moment = parse_moment(text)
    return first_tick(moment, clock, START), last_tick(moment, clock, START)


@pytest.mark.parametrize(
    ("text", "tick"),
    [
        ("827.282964583", 827_282_964_583),
        ("5us", 5_000),
        ("1.5ms", 1_500_000),
        ("-2s", -2_000_000_000),
        ("+1.5s", START + 1_500_000_000),
        ("+200ns", START + 200),
        ("+3", START + 3_000_000_000),
    ],
)
def test_times_of_a_clock_of_nanoseconds(text, tick):
    assert window(text) == (tick, tick)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-05-01", "0"),
        ("2024-05-01 12:00", "43200"),
        ("2024-05-01T12:00:00.25", "43200.25"),
        ("2024-05-01 12:00:00.123456789Z", "43200.123456789"),
        ("2024-05-01 14:00:00+02:00", "43200"),
    ],
)
def test_dates_where_the_clock_knows_them(text, seconds):
    epoch = 1_714_521_600 * 10**9
    tick = int(Fraction(seconds) * 10**9)
    assert window(text, ClockDomain("wall", epoch_ns=epoch)) == (tick, tick)
    assert window(text, ClockDomain("wall", epoch_ns=epoch + 500))[0] == tick - 500


def test_a_printed_time_stands_for_all_that_it_was_cut_from():
    clock = ClockDomain("tsc", Fraction(3 * 10**9))
    assert window("0.000000001", clock) == (3, 5)
    assert window("0.000000001", ClockDomain("slow", Fraction(10))) == (1, 0)


def test_a_clock_of_unknown_rate_has_ticks_alone():
    clock = ClockDomain("bare", None)
    assert window("5000", clock) == (5000, 5000)
    for text in ("+1s", "2024-05-01"):
        with pytest.raises(SelectionError):
            window(text, clock)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "1.5h",
        "1e9",
        "++1s",
        "2024-13-01",
        "2024-05-01 25:00",
        "1.5 s s",
        "9" * 30,
        "\u0661",
    ],
)
def test_what_is_no_time(text):
    with pytest.raises(SelectionError, match="is not a time"):
        parse_moment(text)


def test_dates_of_clocks_without_one():
    with pytest.raises(SelectionError, match="does not say what time of day"):
        window("2024-05-01")


def test_lengths():
    assert ticks(parse_span("20ms").seconds, NS) == 20_000_000
    assert ticks(parse_span("1.5").seconds, ClockDomain("x", Fraction(10))) == 15
    for text in ("+5s", "-5s", "5 minutes"):
        with pytest.raises(SelectionError, match="is not a duration"):
            parse_span(text)

"""Times of events and clocks of recordings: stamps, options, rates and the host of a guest."""

from fractions import Fraction

import pytest
from support.trace_cmd.files import File, Kernel
from support.trace_cmd.reading import events, opened
from support.trace_cmd.writing import made_anew


def test_a_stamp_keeps_the_upper_five_bits_of_the_time():
    k = Kernel()
    base = 3 << 59
    pages = k.page(
        base + 10, k.record(0, k.slice(1, 0)), k.stamp(base + 99), k.record(0, k.slice(1, 0))
    )
    assert [event[0] for event in events(opened(File(k, {0: pages}).version_7()))] == [
        base + 10,
        base + 99,
    ]


def test_clock_and_host_come_from_the_options():
    k = Kernel()
    file = File(
        k,
        {0: k.page(5, k.record(0, k.slice(1, 0)))},
        options=[
            (4, b"local [mono] global\0"),
            (1, b"0x10\0"),
            (5, b"Linux box 6.18.0-rc1 x86_64\0"),
            (9, b"3.1.6 not-a-git-repo\0"),
            (8, k.pack("I", 12)),
            (11, k.pack("Q", 1 << 63)),
            (999, b"unheard of"),
        ],
    )
    trace = opened(file.version_7())
    assert trace.clock.name == "mono"
    assert trace.clock.ticks_per_second == Fraction(10**9)
    assert trace.clock.epoch_ns == 16_000
    assert events(trace)[0][0] == 5
    assert trace.environment == {
        "sysname": "Linux",
        "hostname": "box",
        "kernel_release": "6.18.0-rc1",
        "machine": "x86_64",
        "tracer_name": "trace-cmd",
        "tracer_version": "3.1.6 not-a-git-repo",
        "cpu_count": 12,
        "trace_id": 1 << 63,
    }
    assert (999, b"unheard of") in trace.sidecar["trace_cmd"]["options"]


def test_a_tsc_without_its_rate_has_no_known_unit():
    k = Kernel()
    file = File(k, {0: k.page(5)}, options=[(4, b"local [x86-tsc]\0")])
    assert opened(file.version_7()).clock.ticks_per_second is None


@pytest.mark.parametrize(
    ("multiplier", "shift", "offset"),
    [(1, 0, 0), (3, 1, 5), (3000, 10, 55), ((1 << 32) - 1, 31, 0)],
)
def test_times_of_cycles_are_the_same_when_pages_are_made_again(multiplier, shift, offset):
    k = Kernel()
    raw = [0, 1, 2, 1000, 1001, (1 << 33) + 7]
    pages = b"".join(k.page(ts, k.record(0, k.slice(1, 0))) for ts in raw)
    options = [(4, b"local [x86-tsc]\0"), (14, k.pack("IIQ", multiplier, shift, offset))]
    data = File(k, {0: pages}, options=options).version_7()
    times = [event[0] for event in events(opened(data))]
    # trace-cmd does not add the offset.
    assert times == [ts * multiplier >> shift for ts in raw]
    assert [event[0] for event in events(opened(made_anew(data)))] == times


@pytest.mark.parametrize("interpolate", [0, 1])
def test_host_time_is_what_exact_arithmetic_gives(interpolate):
    k = Kernel()
    times, offsets, scalings, bits = [100, 1000, 5000], [-50, 400, 999], [3, 5, 7], [1, 2, 0]
    option = k.pack("QIII3q3q3q3q", 7, interpolate, 1, 3, *times, *offsets, *scalings, *bits)
    raw = [50, 100, 999, 1000, 4999, 5000, 9000]
    records = [k.record(0, k.slice(1, 0)) for _ in raw]
    pages = b"".join(k.page(ts, record) for ts, record in zip(raw, records, strict=True))
    data = File(k, {0: pages}, options=[(12, option)]).version_7()
    expected = []
    for ts in raw:
        low = max(i for i in range(2) if i == 0 or times[i] <= ts)
        offset = offsets[low]
        if interpolate:
            delta = times[low + 1] - times[low]
            product = (ts - times[low]) * (offsets[low + 1] - offsets[low]) + delta // 2
            offset += int(Fraction(product, delta))
        expected.append((ts * scalings[low] >> bits[low]) + offset)
    assert [event[0] for event in events(opened(data))] == expected

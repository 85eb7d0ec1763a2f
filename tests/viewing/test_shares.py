import json

import pytest

import converter
from converter.analysis.viewing.shares import shares_of

SMALL = "roundtrip_fixtures/trace_cmd/small.dat"


def shares(source, stretches):
    with converter.open_trace(source) as trace:
        return shares_of(trace, stretches)


def slices(*spans):
    events = [
        {"ph": "X", "name": "x", "pid": 1, "tid": 1, "ts": start, "dur": end - start}
        for start, end in spans
    ]
    return json.dumps({"traceEvents": events}).encode()


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 100)], [1, 1, 1, 1]),
        ([(0, 25), (50, 75), (100, 100)], [1, 0, 1, 0]),
        # Over edges, and several in a stretch; what is inside counts once.
        ([(0, 10), (5, 8), (20, 45), (90, 100)], [0.6, 0.8, 0, 0.4]),
    ],
)
def test_time_in_slices(spans, expected):
    found = shares(slices(*spans), 4)
    assert found.cpus == []
    (line,) = found.threads
    assert line.shares == pytest.approx(expected)
    assert line.total == pytest.approx(sum(expected) / 4)
    assert found.step == 25_000


def test_time_on_cpus():
    found = shares(SMALL, 10)
    assert [line.name for line in found.cpus] == ["CPU 0", "CPU 1"]
    assert len(found.threads) == 10
    assert found.more_threads > 0
    totals = [line.total for line in found.threads]
    assert totals == sorted(totals, reverse=True)
    for column in range(10):
        on_cpus = sum(line.shares[column] for line in found.cpus)
        assert sum(line.shares[column] for line in found.threads) <= on_cpus + 0.01


def test_nothing():
    found = shares(b'{"traceEvents": []}', 4)
    assert found.cpus == found.threads == []

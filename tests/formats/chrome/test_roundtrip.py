"""The law, for Chrome JSON: what is written is read back as it was."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.chrome.files import FEATURES, FIXTURES, dump, event, events, load
from support.chrome.oracle import compare
from support.traces.strategies import fitted_traces, traces

from converter.errors import TraceError
from converter.formats.chrome.capabilities import CAPABILITIES
from converter.formats.chrome.reading.reader import read
from converter.formats.chrome.writing.writer import write
from converter.ir.canonical import difference
from converter.ir.trace import ClockDomain, Trace
from converter.projection.project import project
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

CLOCKS = st.sampled_from(
    [
        ClockDomain("ns"),
        ClockDomain("ns", Fraction(10**6)),
        ClockDomain("ns", Fraction(10**12), epoch_ns=-5),
    ]
)
TOO_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def check(trace: Trace) -> None:
    sink = BufferSink()
    write(trace, sink, "")
    json.loads(sink.getvalue())
    back = read(open_source(sink.getvalue()))
    assert difference(trace, back) is None
    assert back.warnings == []


@settings(suppress_health_check=TOO_SLOW)
@given(
    fitted_traces(
        CAPABILITIES,
        clock=CLOCKS,
        environment=st.dictionaries(st.text(max_size=3), st.integers() | st.just("x"), max_size=2),
    )
)
def test_what_fits_survives(trace: Trace) -> None:
    check(trace)


@settings(suppress_health_check=TOO_SLOW)
@given(traces())
def test_anything_survives_as_far_as_it_fits(trace: Trace) -> None:
    if trace.clock.ticks_per_second is not None and trace.clock.ticks_per_second > 10**9:
        trace.clock = ClockDomain("ns")
    projected, _ = project(trace, CAPABILITIES, "chrome")
    projected.clock = ClockDomain("ns", epoch_ns=projected.clock.epoch_ns)
    check(projected)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["0x1f", "NaN", "0x", "-Infinity", "12"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
EVENTS = st.fixed_dictionaries(
    {"ph": st.sampled_from("BEXiIRCbneSTpFstfPNODVv(?Mc")},
    optional={
        "ts": st.integers(0, 2**40) | st.decimals(0, 9, places=4).map(float) | st.just("5"),
        "dur": st.integers(0, 2**40),
        "tts": st.integers(0, 2**40) | st.none(),
        "pid": st.integers(0, 2**32) | st.sampled_from(["a", "7", ""]),
        "tid": st.integers(0, 9) | st.just("b"),
        "name": st.text(max_size=4) | st.integers(0, 1) | st.sampled_from(["thread_name"]),
        "cat": st.text(max_size=3),
        "id": st.integers(0, 3) | st.sampled_from(["0x1f", "x", ""]),
        "id2": st.just({"local": "0x1"}) | JSON,
        "args": st.dictionaries(st.text("ab", max_size=2), JSON, max_size=4) | JSON,
        "s": st.sampled_from("gpt"),
        "bp": st.sampled_from(["e", "x"]),
        "cname": JSON,
        "flow_in": st.booleans(),
        "bind_id": st.integers(-3, 3) | st.just("0x7"),
        "cpu": st.integers(0, 2**33),
    },
)


@settings(suppress_health_check=TOO_SLOW)
@given(st.lists(EVENTS, max_size=6))
@example([{"ph": "B", "ts": "5", "pid": ""}])
def test_files_of_others_survive_whole(
    tmp_path_factory: pytest.TempPathFactory, found: list[object]
) -> None:
    path = tmp_path_factory.getbasetemp() / "chrome.json"
    path.write_text(json.dumps(found))
    trace = load(path.read_bytes())
    back = load(dump(trace))
    assert difference(trace, back, sidecar=True) is None
    assert difference(back, load(dump(back)), sidecar=True) is None


def with_commas(value: object) -> str:
    """JSON with a comma behind each last element, and space that must not matter."""
    if isinstance(value, dict) and value:
        return f"{{{''.join(f'{json.dumps(k)}:{with_commas(v)} ,' for k, v in value.items())}\n}}"
    if isinstance(value, list) and value:
        return f"[{''.join(f'{with_commas(item)}, ' for item in value)}]"
    return json.dumps(value)


@settings(suppress_health_check=TOO_SLOW)
@given(st.lists(EVENTS, max_size=4), JSON)
def test_a_comma_behind_the_last_element_changes_nothing(
    found: list[object], member: object
) -> None:
    document = {"before": member, "traceEvents": found, "behind": member}
    expected = load(json.dumps(document, indent=1))
    assert difference(expected, load(with_commas(document)), sidecar=True) is None
    assert json.loads(dump(load(with_commas(document))))


@pytest.mark.parametrize("text", ["{,}", '{"x":1,,}', "[,]", "[1,,]", '{"x":,}'])
def test_a_comma_behind_nothing_is_damage(text: str) -> None:
    for place in ("args", "other", "ts"):
        trace = load(f'[{{"ph":"i","ts":1}},{{"ph":"i","{place}":{text},"ts":2}}]')
        assert len(events(trace)) == 1
        assert len(trace.warnings) == 1


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json")), ids=lambda path: path.stem)
def test_fixtures_are_the_same_to_another_parser(path: Path) -> None:
    assert compare(path) == []


def test_own_output_is_a_fixed_point() -> None:
    once = dump(load(FEATURES))
    assert dump(load(once)) == once


def test_every_byte_of_damage_leaves_a_prefix() -> None:
    whole = dump(load((FIXTURES / "nesting.json").read_bytes()))
    counts = []
    for end in range(1, len(whole)):
        trace = _survivor(whole[:end])
        if trace is not None:
            counts.append(sum(len(batch) for batch in trace.batches()))
            # Only the line feed at the end can go without anybody noticing.
            assert trace.warnings or end == len(whole) - 1
    assert counts == sorted(counts)
    assert counts[-1] == 5


def test_flipped_bytes_end_in_a_trace_or_an_error() -> None:
    for data in (FEATURES, dump(load(FEATURES))):
        for at in range(0, len(data), 197):
            for byte in (data[at] ^ 1, ord('"'), ord("}")):
                _survivor(data[:at] + bytes([byte]) + data[at + 1 :])


def _survivor(data: bytes) -> Trace | None:
    try:
        return load(data)
    except TraceError:
        return None


def test_deep_nesting_is_no_problem() -> None:
    deep = "[" * 100_000
    assert _survivor(f'[{{"ph":"i","ts":1,"args":{{"a":{deep}'.encode()) is None
    nested = event(args={})
    for _ in range(200):
        nested["args"] = {"a": nested["args"]}
    trace = load([nested])
    assert difference(trace, load(dump(trace))) is None

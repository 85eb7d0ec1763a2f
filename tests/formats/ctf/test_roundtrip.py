"""CTF's laws: what is written reads back as it was, and a trace survives its own round trip."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.traces.strategies import fitted_traces, traces

from converter.formats.ctf.capabilities import capabilities
from converter.formats.ctf.reading.reader import read
from converter.formats.ctf.writing.writer import write
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.field_classes import Style
from converter.ir.kinds import Role
from converter.ir.trace import ClockDomain, Trace
from converter.projection.project import project
from converter.storage.opening import open_source
from converter.storage.outputs import open_sink

#: Some of all: hypothesis prints strategies, and those of all are long.
INTEGERS = frozenset(
    {(1, False), (5, True), (8, False), (12, True), (32, True), (33, False), (64, False)}
)
STYLES = frozenset({Style.HEXADECIMAL, Style.POINTER})
VARIANTS = ("1.8", "2")
#: Texts of CTF end at a null character.
TEXTS = st.one_of(st.binary(max_size=8), st.text(max_size=5).map(lambda text: text.encode())).map(
    lambda text: text.replace(b"\0", b"")
)
COUNTS = st.integers(1, 1 << 40)
CLOCKS = st.builds(
    ClockDomain,
    st.sampled_from(("ns", "boot", "my clock")),
    st.fractions(1, 1 << 40, max_denominator=1 << 60),
    st.one_of(st.none(), st.integers(-(1 << 62), 1 << 62)),
    st.sampled_from(("", 'a "clock"\\')),
)
CPUS = st.integers(-1, 3)
ENVIRONMENTS = st.dictionaries(
    st.sampled_from(("hostname", "event", "a b", "traceconv_0", "")),
    st.one_of(st.text(max_size=5), st.integers(-(1 << 70), 1 << 70)),
    max_size=3,
)


def again(trace: Trace, variant: str) -> Trace:
    """The trace written and read back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        with open_sink(path, directory=True) as sink:
            write(trace, sink, variant)
        with open_source(path) as source:
            return collect(read(source))


@given(
    variant=st.sampled_from(VARIANTS),
    trace=fitted_traces(
        replace(capabilities(""), integers=INTEGERS, styles=STYLES),
        of_role={Role.COUNT: COUNTS},
        clock=CLOCKS,
        cpus=CPUS,
        strings=TEXTS,
        environment=ENVIRONMENTS,
    ),
)
def test_what_the_format_holds_survives(variant: str, trace: Trace) -> None:
    """All variants hold the same."""
    result = again(trace, variant)
    assert difference(trace, result) is None
    assert not result.warnings


@given(variant=st.sampled_from(VARIANTS), trace=traces())
def test_what_is_projected_survives(variant: str, trace: Trace) -> None:
    rate = trace.clock.ticks_per_second
    assume(rate is None or rate < 1 << 63)
    projected = collect(project(trace, capabilities(variant), "ctf")[0])
    assert difference(projected, again(projected, variant)) is None


FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "ctf"
OWN = sorted(path.name for path in FIXTURES.iterdir() if any(path.rglob("metadata")))


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a directory by relative name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", OWN)
def test_an_unchanged_trace_is_copied_byte_for_byte(name: str, tmp_path: Path) -> None:
    with (
        open_source(FIXTURES / name) as source,
        open_sink(tmp_path / "out", directory=True) as sink,
    ):
        trace = read(source)
        for _ in trace.batches():
            pass
        write(trace, sink, "")
    assert contents(tmp_path / "out") == contents(FIXTURES / name)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", OWN)
def test_a_trace_survives_encoding_anew(name: str, variant: str) -> None:
    with open_source(FIXTURES / name) as source:
        trace = replace(collect(read(source)), sidecar={})
    assert difference(trace, again(trace, variant)) is None


def test_a_trace_becomes_one_of_the_other_version(tmp_path: Path) -> None:
    with open_source(FIXTURES / "ctf2_small") as source:
        trace = read(source)
        with open_sink(tmp_path / "out", directory=True) as sink:
            write(trace, sink, "1.8")
        with open_source(tmp_path / "out") as other:
            result = read(other)
            assert difference(trace, result) is None
            assert result.variant == "1.8"

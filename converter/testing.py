"""The laws of formats, as tests: also for formats of other packages.

    from converter.testing import FormatConformance

    class TestTally(FormatConformance):
        format = "tally"

With that class in a test module, pytest checks all requirements of a format: what fits survives exactly, a file
survives its own round trip, with `lossless` everything survives, files are recognised, and damage ends in a sound trace
or a TraceError. `traceconv new-format` makes such a module.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from converter.errors import TraceError
from converter.fixtures.generation import file_name
from converter.fixtures.kinds import GROUPS
from converter.fixtures.synthetic import synthetic_trace
from converter.ir.canonical import canonical, difference
from converter.ir.invariants import check
from converter.ir.trace import Trace
from converter.jobs.conversion import write
from converter.jobs.reading import detect, open_trace
from converter.jobs.reading import read as read_trace
from converter.projection.project import project
from converter.registry import format_named

#: Groups of kinds of events that add nothing to the others.
_WHOLE = ("all", "kernel")
#: The number of damaged files, each damaged in its own way.
_DAMAGES = 24


def read(path: Path, name: str) -> Trace:
    """Read a file of a format or "format+variant"; without a name its format is recognised."""
    format, _, variant = name.partition("+")
    reader = name if variant and "variant" in format_named(format)[0].options else format
    return read_trace(path, reader if name else None)


def is_replayed(trace: Trace, name: str) -> bool:
    """Return True if a trace is of that format and is written unchanged."""
    target, variant = format_named(name)
    same = target.replays_as_any_variant or variant in ("", trace.variant)
    return target.holds_all or (trace.format == target.name and target.replays and same)


def projected(trace: Trace, name: str) -> Trace:
    """Return the part of a trace that a format can represent."""
    target, variant = format_named(name)
    return project(trace, target.capabilities(variant), target.name)[0]


def assert_same(first: Trace, second: Trace, form: Mapping[str, object] | None = None) -> None:
    """Assert that two traces are equal in the canonical form; that of the first may be passed."""
    if (canonical(first) if form is None else form) != canonical(second):
        pytest.fail(str(difference(first, second)))


def assert_what_fits_survives(trace: Trace, path: Path, name: str) -> Trace:
    """Assert ``read(write(project(trace))) == project(trace)``; return the trace that was read."""
    write(trace, path, name)
    again = read(path, name)
    assert not again.warnings
    assert_same(trace if is_replayed(trace, name) else projected(trace, name), again)
    return again


class FormatConformance:
    """The requirements of a format, as tests: derive from it, and set the format's name."""

    #: Its name.
    format: ClassVar[str]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run once for each variant and group of kinds of events."""
        format, _ = format_named(self.format)
        variants = [
            f"{format.name}+{one}" if one else format.name for one in format.variants or ("",)
        ]
        if "name" in metafunc.fixturenames:
            metafunc.parametrize("name", variants)
        if "kinds" in metafunc.fixturenames:
            metafunc.parametrize("kinds", [group for group in GROUPS if group not in _WHOLE])
        if "seed" in metafunc.fixturenames:
            metafunc.parametrize("seed", range(_DAMAGES))

    def test_each_kind_of_events_survives_as_projected(
        self, name: str, kinds: str, tmp_path: Path
    ) -> None:
        """Test that what fits survives exactly, and that the rest is a counted loss."""
        trace = synthetic_trace(kinds, 60, seed=1)
        assert_what_fits_survives(trace, tmp_path / file_name(*format_named(name)), name)

    def test_a_file_survives_its_own_round_trip(self, name: str, tmp_path: Path) -> None:
        """Test that ``read(write(read(file))) == read(file)``, without a loss."""
        target = format_named(name)
        first, second = tmp_path / "first", tmp_path / "second"
        write(synthetic_trace("all", 160, seed=2), first, name)
        trace = read(first, name)
        with open_trace(first, target[0].name) as source:
            assert len(write(source, second, name)) == 0
        assert_same(trace, read(second, name))

    def test_all_survives_lossless(self, name: str, tmp_path: Path) -> None:
        """Test that ``read(write(trace, lossless=True)) == trace``, if files of the format can embed a trace."""
        target, variant = format_named(name)
        if not (target.embeds or target.is_directory(variant) or target.holds_all):
            pytest.skip(f"files of {target.name} have no room for what does not fit")
        trace = synthetic_trace("all", 160, seed=3)
        write(trace, tmp_path / "out", name, lossless=True)
        assert_same(trace, read(tmp_path / "out", name))

    def test_kinds_that_occur_are_stated(self, name: str, tmp_path: Path) -> None:
        """Passes are skipped that concern no kind of `Trace.semantics.kinds`."""
        write(synthetic_trace("all", 160, seed=2), tmp_path / "out", name)
        trace = read(tmp_path / "out", name)
        stated = trace.semantics.kinds
        assert stated is None or {one.kind for one in trace.event_classes} <= stated

    def test_its_files_are_recognised(self, name: str, tmp_path: Path) -> None:
        """Test that they are recognised by their contents and, when written, by their suffix."""
        target, variant = format_named(name)
        path = tmp_path / file_name(target, variant)
        write(
            synthetic_trace("all", 160), path, None if variant == target.default_variant else name
        )
        assert detect(path).name == target.name

    def test_damage_ends_in_a_sound_trace_or_an_error_of_it(
        self, seed: int, tmp_path: Path
    ) -> None:
        """Test files with changed bytes, and files that end early."""
        target, _ = format_named(self.format)
        path = tmp_path / "out"
        write(synthetic_trace("all", 50, seed=1), path, target.name)
        draw = np.random.default_rng(seed)
        files = (
            [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
        )
        for file in files:
            data = bytearray(file.read_bytes())
            for _ in range(min(8, len(data))):
                data[draw.integers(len(data))] = draw.integers(256)
            if seed % 3 == 0 and data:
                del data[draw.integers(len(data)) :]
            file.write_bytes(data)
        with suppress(TraceError):
            check(read(path, target.name))

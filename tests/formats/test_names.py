"""Names and texts that are no UTF-8: each format holds them or the loss report says so, and everything shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fuzz import targets
from support.fuzzing.outputs import REPORT, read_in_part, show, written
from support.samples import sampled
from support.traces.any_traces import any_trace
from support.traces.spoiled_names import PARTS, spoiled

import converter
from converter.fixtures.kinds import GROUPS
from converter.fixtures.script import script
from converter.fixtures.synthetic import synthetic_trace
from converter.ir.canonical import difference
from converter.ir.invariants import check
from converter.ir.trace import Trace
from converter.testing import assert_what_fits_survives

#: A round of the script: each kind of events.
EVENTS = len(script(GROUPS["all"])) + 3


def every_kind() -> Trace:
    return synthetic_trace("all", EVENTS)


def every_type() -> Trace:
    return any_trace(1)


MADE = pytest.mark.parametrize("made", [every_kind, every_type])


@MADE
@pytest.mark.parametrize("target", targets())
def test_what_fits_survives(made, target: str, tmp_path: Path) -> None:
    assert_what_fits_survives(spoiled(made()), tmp_path / "out", target)


@pytest.mark.parametrize(
    ("target", "part"),
    sampled(((name, part) for name in targets() if "+" not in name for part in PARTS), 20),
)
def test_what_is_not_lost_is_there(target: str, part: str, tmp_path: Path) -> None:
    """Of a trace of which nothing but such names would be lost."""
    path = tmp_path / "plain"
    converter.write(every_kind(), path, target)
    plain = replace(converter.read(path), format="none", sidecar={})
    report = converter.write(spoiled(plain, {part}), tmp_path / "out", target)
    again = converter.read(tmp_path / "out")
    assert not again.warnings
    if not report:
        assert difference(spoiled(plain, {part}), again) is None


@MADE
def test_everything_shows_them(made) -> None:
    trace = spoiled(made())
    check(trace)
    written(trace, REPORT)
    show(trace)
    read_in_part(trace)
    assert repr(trace) and repr(trace.events()) and trace._repr_html_()
    assert trace.to_arrow().num_rows > len(made().event_classes)
    converter.diff(trace, made())

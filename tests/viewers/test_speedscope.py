"""The call trees that speedscope shows of Chrome JSON are those of the projected trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.samples import sampled
from support.viewers.speedscope import Imported, imported_all, needs_speedscope
from viewers.conversions import RECORDINGS, SOURCES, Conversion, convert, format_of
from viewers.pending import reason_of
from viewers.speedscope_model import trees

import converter

pytestmark = needs_speedscope

Shown = tuple[Conversion, Imported]
#: What is converted for it.
CHOSEN = sampled([source for source in SOURCES if format_of(source) != "chrome"], 4)


@pytest.fixture(scope="module")
def all_shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shown]:
    """All conversions, imported by one process."""
    folder = tmp_path_factory.mktemp("speedscope")
    conversions = [convert(source, "chrome", folder) for source in CHOSEN]
    found = imported_all([one.path for one in conversions])
    return {one.source: (one, shown) for one, shown in zip(conversions, found, strict=True)}


@pytest.fixture(
    params=CHOSEN,
    ids=lambda source: f"{source}-to-chrome",
)
def shown(request: pytest.FixtureRequest, all_shown: dict[str, Shown]) -> Shown:
    """A conversion and what is imported of it."""
    return all_shown[request.param]


@pytest.fixture(autouse=True)
def pending(request: pytest.FixtureRequest) -> None:
    """What is known to be shown otherwise; strict, so that what has become right is taken off the list."""
    reason = reason_of(request.node.name)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def test_speedscope_matches_begins_and_ends(shown: Shown) -> None:
    """It ignores an end that does not say the name of its begin, and leaves that open."""
    conversion, found = shown
    assert found.error is None
    threads = trees(conversion).values()
    assert found.warnings.get("ignored end", 0) == 0
    assert found.warnings.get("no begin", 0) == sum(one.orphans for one in threads)
    assert found.warnings.get("no end", 0) == sum(one.unfinished for one in threads)


def test_speedscope_shows_trees_of_the_same_depth(shown: Shown) -> None:
    """Where slices end when others begin, it may take these for their callees."""
    conversion, found = shown
    depths = {one.thread: one.depth for one in found.profiles}
    expected = trees(conversion)
    assert depths.keys() == expected.keys()
    deeper = {
        thread: (depths[thread], calls)
        for thread, calls in expected.items()
        if not calls.depth <= depths[thread] <= calls.most
    }
    assert deeper == {}


@pytest.mark.parametrize("source", [source for source in SOURCES if format_of(source) == "chrome"])
def test_speedscope_shows_a_copy_as_its_original(source: str, tmp_path: Path) -> None:
    copy = tmp_path / Path(source).name
    converter.convert(RECORDINGS / source, copy)
    before, after = imported_all([RECORDINGS / source, copy])
    assert after == before

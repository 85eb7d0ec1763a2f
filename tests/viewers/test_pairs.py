"""What trace_processor shows of a file it shows in another of its formats, too, but for what the report names.

A loss excuses the columns that `loss_tables` says of its code, of the tables that show events of its kinds. What it
says to be shown otherwise must be shown otherwise. What another format shows beside is no loss; whether it is right,
tests of the models ask.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property

import pytest
from support.viewers.trace_processor import needs_trace_processor, version
from viewers.conversions import RECORDINGS, SOURCES, convert, format_of
from viewers.differences import ROW, Difference, differences
from viewers.loss_tables import CHANGES, MOVES, changed_by, excuses
from viewers.pending import UNNAMED, UNSEEN, known
from viewers.readable import readable
from viewers.test_trace_processor import MODELS
from viewers.trace_processor import Row, tables_if_opened, tables_of

from converter.formats.fxt.record_types import MAGIC
from converter.ir.kinds import Kind
from converter.projection.loss_codes import LOSS_CODES
from converter.projection.losses import Loss, LossClass

pytestmark = needs_trace_processor

#: The version of trace_processor that the lists of `pending` are of.
LISTED = 52
#: Formats of recordings that trace_processor opens.
OPENED = {*MODELS, "ftrace_text", "perf"}
#: Kernel events, which only Perfetto has (others are slices); they are looked at for what losses say.
UNJUDGED = {"ftrace"}


def conversions() -> list[tuple[str, str]]:
    """The sources that trace_processor opens with the formats that it opens besides."""
    return [
        (source, target)
        for source in SOURCES
        for target in MODELS
        if format_of(source) in OPENED and format_of(source) != target
    ]


@dataclass(frozen=True)
class Pair:
    """What trace_processor shows of a source otherwise than of an output, and what the report says of it."""

    differences: list[Difference]
    losses: list[Loss]

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns that differ."""
        return frozenset[str]().union(*(one.names for one in self.differences))

    @cached_property
    def excused(self) -> frozenset[str]:
        """The columns in which losses show."""
        return frozenset[str]().union(*map(changed_by, self.losses))

    def unnamed(self) -> frozenset[str]:
        """The columns that differ without a loss that says so."""
        return frozenset(
            column
            for column in self.columns
            if column.partition(".")[0] not in UNJUDGED and not excuses(self.excused, column)
        )

    def unseen(self) -> frozenset[str]:
        """The codes of losses that say that a difference is shown where there is none, and no row of another table."""
        moved = {f"{one.table}.{ROW}" for one in self.differences if one.moved}
        return frozenset(
            loss.code
            for loss in self.losses
            if loss.loss_class is LossClass.SHOWN
            and not any(is_seen(changed_by(loss), column) for column in {*self.columns, *moved})
        )


def is_seen(changed: frozenset[str], column: str) -> bool:
    """Tell whether a difference is one of those of a loss: the column, or a row that is missing."""
    table, _, name = column.partition(".")
    return excuses(changed, column) or (
        name == ROW and any(one.startswith(f"{table}.") for one in changed)
    )


def as_known(found: frozenset[str], entries: dict[str, str]) -> None:
    """All that is found is known; with the version of the lists, all that is known is found."""
    assert found <= entries.keys(), found - entries.keys()
    if version()[0] == LISTED:
        assert found == entries.keys(), entries.keys() - found


@pytest.fixture(scope="module", params=conversions(), ids="-to-".join)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A conversion as trace_processor shows both ends of it."""
    source, target = request.param
    if (RECORDINGS / source).read_bytes()[:8] == MAGIC[::-1]:
        pytest.skip("trace_processor does not read big-endian FXT")
    folder = tmp_path_factory.mktemp("pairs")
    recording = readable(source, folder)
    is_copy = recording != RECORDINGS / source
    conversion = convert(source, target, folder, recording if is_copy else None)
    before, after = tables_if_opened(recording), tables_of(conversion.path)
    return Pair(differences(before, after), list(conversion.losses))


def test_what_looks_different_is_a_named_loss(pair: Pair, request: pytest.FixtureRequest) -> None:
    source, target = conversion_of(request.node.name)
    as_known(pair.unnamed(), known(UNNAMED, source, target))


def test_what_is_a_shown_loss_looks_different(pair: Pair, request: pytest.FixtureRequest) -> None:
    source, target = conversion_of(request.node.name)
    if format_of(source) == "ftrace_text" or source.endswith(".script.txt"):
        pytest.skip("people read the text itself, of which trace_processor shows little")
    as_known(pair.unseen(), known(UNSEEN, source, target))


def conversion_of(name: str) -> tuple[str, str]:
    """The source and the target of a test by its name."""
    source, _, target = name.removesuffix("]").partition("[")[2].partition("-to-")
    return source, target


def test_only_losses_that_may_be_shown_say_where() -> None:
    shown = {code for code, one in LOSS_CODES.items() if one.default_class is LossClass.SHOWN}
    assert CHANGES.keys() - shown - MOVES == set()


def test_a_loss_excuses_the_columns_of_its_kinds() -> None:
    of_counters = Loss("counter-rounded", 1, 0, event_kinds=frozenset({Kind.COUNTER}))
    assert changed_by(of_counters) == {"counters.value"}
    assert changed_by(replace(of_counters, loss_class=LossClass.DETAIL)) == set()
    of_slices = Loss("field-unshown", 1, 0, event_kinds=frozenset({Kind.SLICE_BEGIN}))
    assert changed_by(of_slices) == {"slices.args"}
    assert changed_by(replace(of_slices, code="arrow-ids-unshown")) == {"flows.*"}
    assert excuses(frozenset({"flows.*"}), "flows.to_ts")
    assert not excuses(frozenset({"slices.args"}), "slices.*")


def test_a_row_is_there_if_another_says_more() -> None:
    def missing(before: list[Row], after: list[Row]) -> list[frozenset[str]]:
        return [one.names for one in differences({"slices": before}, {"slices": after})]

    a, b = ["debug.a", "int", 1], ["debug.b", "int", 2]
    row: Row = {"ts": 1, "name": None, "args": json.dumps([a])}
    more = {"name": "[No name]", "args": json.dumps([a, b])}
    assert missing([row], [row | more]) == []
    assert missing([row, row], [row | more]) == [{"slices.*"}]
    assert missing([row], [row | {"ts": 2}]) == [{"slices.*"}]
    assert missing([row], [row | {"args": json.dumps([b])}]) == [{"slices.args"}]
    assert missing([row | {"name": "b"}], [row]) == [{"slices.name"}]


def test_a_row_of_another_table_is_moved() -> None:
    log: Row = {"ts": 1, "tag": "t", "msg": "m", "tid": 2}
    before = {"logs": [log], "slices": []}
    after = {"logs": [], "slices": [{"ts": 1, "name": "m", "tid": 2, "args": None}]}
    (found,) = differences(before, after)
    assert found.moved
    assert not found.columns

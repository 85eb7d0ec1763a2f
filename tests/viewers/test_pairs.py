"""Files that trace_processor opens look the same in another of its formats, but for what the report names as shown."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.trace_processor import needs_trace_processor
from viewers.conversions import RECORDINGS, SOURCES, Conversion, convert, format_of
from viewers.pending import reason_of
from viewers.test_trace_processor import MODELS
from viewers.trace_processor import (
    Row,
    arguments,
    tables_if_opened,
    tables_of,
)

from converter.formats.fxt.record_types import MAGIC
from converter.projection.losses import LossClass

pytestmark = needs_trace_processor

#: Names of tracks and types of rows are the importers' own, as is where they count what is wrong.
OWN_COLUMNS = ("id", "arg_set", "source", "target", "type", "track", "args", "depth", "parent")
OWN_TABLES = ("stats", "ftrace")
#: Keys of arguments begin with what each importer calls them.
PREFIX = re.compile(r"^(debug|args)\.")


@pytest.fixture(autouse=True)
def pending(request: pytest.FixtureRequest) -> None:
    """What is known to look different without a loss that says so."""
    reason = reason_of(request.node.name)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("source", [source for source in SOURCES if format_of(source) in MODELS])
def test_what_looks_different_is_a_named_loss(source: str, target: str, tmp_path: Path) -> None:
    if format_of(source) == target:
        pytest.skip("looks the same by another test")
    if (RECORDINGS / source).read_bytes()[:8] == MAGIC[::-1]:
        pytest.skip("trace_processor does not read big-endian FXT")
    conversion = convert(source, target, tmp_path)
    before, after = tables_if_opened(RECORDINGS / source), tables_of(conversion.path)
    different = [
        name
        for name in before
        if name not in OWN_TABLES and shown(before[name]) != shown(after[name])
    ]
    if different:
        assert named(conversion), different


def named(conversion: Conversion) -> list[str]:
    """The losses of what is shown, or shown in another form."""
    classes = (LossClass.SHOWN, LossClass.KEPT)
    return [str(loss) for one in classes for loss in conversion.losses.of_class(one)]


def shown(rows: list[Row]) -> Counter[Any]:
    """Rows as they can be compared between importers."""
    return Counter(
        (
            *(plain(value) for key, value in row.items() if key not in OWN_COLUMNS),
            *sorted(
                f"{PREFIX.sub('', key)}={plain(value)}"
                for key, value in arguments(row.get("args")).items()
            ),
        )
        for row in rows
        # The idle thread is there in some tables whether it runs or not.
        if row.get("tid", row.get("pid")) != 0
    )


def plain(value: Any) -> str:
    """No text is empty text; a number is one however it is written, without a sign."""
    text = "" if value is None else str(value)
    with contextlib.suppress(ValueError):
        return str(int(text, 0) % (1 << 64))
    return text

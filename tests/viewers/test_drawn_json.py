"""What trace_processor shows of drawn JSON it shows of what is made of it; `tests.draw_json` compares many more."""

from __future__ import annotations

from pathlib import Path

from draw_json import differences
from support.trace_processor import needs_trace_processor

pytestmark = needs_trace_processor

#: A document with complete slices, pairs, arrows, counters, asynchronous slices and metadata.
DOCUMENT = 4111


def test_a_drawn_document_is_shown_the_same(tmp_path: Path) -> None:
    assert differences(DOCUMENT, tmp_path) == {}

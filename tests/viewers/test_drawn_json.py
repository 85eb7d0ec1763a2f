"""What trace_processor shows of drawn JSON it shows of what is made of it; `tests.draw_json` compares many more."""

from __future__ import annotations

from pathlib import Path

from draw_json import differences
from support.trace_processor import needs_trace_processor

pytestmark = needs_trace_processor

#: Documents with slices, arrows, counters, asynchronous slices and metadata.
DOCUMENTS = (1, 12, 107)


def test_drawn_documents_are_shown_the_same(tmp_path: Path) -> None:
    assert [differences(number, tmp_path) for number in DOCUMENTS] == [{}] * len(DOCUMENTS)

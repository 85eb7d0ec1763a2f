"""What trace_processor shows of drawn documents it shows of what is made of them; `tests.draw_json`,
`tests.draw_fxt` and `tests.draw_perfetto` compare many more.
"""

from __future__ import annotations

from pathlib import Path

import draw_fxt
import draw_json
import draw_perfetto
import pytest
from support.viewers.drawing import Grammar, differences
from support.viewers.trace_processor import needs_trace_processor

pytestmark = needs_trace_processor


#: Documents that have all kinds of packets together.
PERFETTO = (3, 9, 36)


#: Documents with complete slices, pairs, arrows, counters, asynchronous slices and metadata.
@pytest.mark.parametrize(
    ("grammar", "number"),
    [
        *((draw_json.GRAMMAR, 4111), (draw_fxt.GRAMMAR, 7)),
        *((draw_perfetto.GRAMMAR, number) for number in PERFETTO),
    ],
)
def test_a_drawn_document_is_shown_the_same(grammar: Grammar, number: int, tmp_path: Path) -> None:
    assert differences(grammar, number, tmp_path) == {}

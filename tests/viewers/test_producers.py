"""What trace_processor shows of JSON in the shapes of its producers; `tests.producers` compares many more."""

from pathlib import Path

import producers
import pytest
from support.viewers.drawing import differences
from support.viewers.trace_processor import needs_trace_processor


@needs_trace_processor
@pytest.mark.parametrize("number", range(len(producers.PRODUCERS)), ids=list(producers.PRODUCERS))
def test_a_document_is_shown_the_same(number: int, tmp_path: Path) -> None:
    assert differences(producers.GRAMMAR, number, tmp_path) == {}

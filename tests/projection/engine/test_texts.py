"""Values of other types as text."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.traces.small_traces import event_class, events_of, projected, trace_of
from support.traces.target_capabilities import RECORDER

from converter.ir.field_classes import FloatClass
from converter.ir.kinds import Kind

SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324, 1e16, 0.1]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("count", [1, 3000])
def test_numbers_as_text_whether_they_repeat_or_not(bits: int, count: int) -> None:
    values = np.array(
        [*SPECIAL, *(number / 7 for number in range(count)), *SPECIAL], f"f{bits // 8}"
    )
    declared = event_class(Kind.TYPED, "e", "", x=FloatClass(bits))
    events = [(0, i, 0, 1, (item,)) for i, item in enumerate(values.tolist())]
    trace = trace_of([declared], events)
    target, losses = projected(trace, replace(RECORDER, max_string_bytes=None))
    found = [fields["x"] for *_, fields in events_of(target)]
    assert found == [json.dumps(item) for item in values.tolist()]
    assert losses == [f"field-as-text event=e field=x ({len(values)})"]
    # Texts that hardly repeat are not kept among the trace's strings.
    assert len(trace.strings) < 100

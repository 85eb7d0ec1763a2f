"""One event whose class no program of the format has costs what is told of it, and never the other events."""

import pytest
from support.traces.losses import line_of

import converter
from converter.analysis.building.builder import TraceBuilder
from converter.formats.aix.entries.encoding import MAX_DEPTH, MAX_NODES


def written(trace, path):
    report = converter.write(trace, path)
    with converter.open_trace(path) as read:
        events = sum(len(batch) for batch in read.batches())
        assert read.warnings == []
    return events, [line_of(loss) for loss in report]


def with_arguments(arguments):
    builder = TraceBuilder()
    thread = builder.thread(7, "thread", pid=7)
    builder.slice("before", 1000, 500, thread)
    builder.slice("odd", 5000, 500, thread, args=arguments)
    builder.slice("behind", 9000, 500, thread)
    return builder.trace()


@pytest.mark.parametrize("beyond", [-1, 0, 1])
def test_arguments_beyond_the_most_are_further_events(beyond, tmp_path):
    own = len(with_arguments({}).event_classes[0].fields)
    count = MAX_NODES - own + beyond
    trace = with_arguments({f"f{number}": number for number in range(count)})
    assert max(len(one.fields) for one in trace.event_classes) == MAX_NODES + beyond
    events, losses = written(trace, tmp_path / "out.aix")
    told = [loss for loss in losses if loss.startswith("arguments-")]
    assert (events, len(told)) == ((4, 1) if beyond > 0 else (3, 0))


@pytest.mark.parametrize("beyond", [-1, 0, 1, 30])
def test_values_that_are_nested_too_deep_are_texts(beyond, tmp_path):
    value = 5
    for _ in range(MAX_DEPTH + beyond):
        value = [value]
    events, losses = written(with_arguments({"a": value}), tmp_path / "out.aix")
    told = [loss for loss in losses if loss.startswith("field-as-text event=slice field=a ")]
    assert (events, len(told)) == (3, int(beyond > 0))

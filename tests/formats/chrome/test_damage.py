"""Members of the object around the events that are damaged, in front of the events and behind them."""

import pytest

from converter.formats.chrome.reading.document import WINDOW
from converter.jobs.reading import read

EVENTS = '[{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"a"},{"ph":"i","ts":5,"pid":1,"tid":1}]'
#: Texts in which a member is damaged, the events left out; and where that is.
DAMAGED = {
    "value": ('{"otherData":{"k":nul!},"traceEvents":EVENTS,"displayTimeUnit":"ns"}', 13),
    "no value": ('{"x":\x01,"traceEvents":EVENTS,"displayTimeUnit":"ns"}', 5),
    "no colon": ('{"metadata" 5,"traceEvents":EVENTS,"displayTimeUnit":"ns"}', 12),
    "text within a value": (
        '{"metadata":{"k":"v},"traceEvents":EVENTS,"displayTimeUnit":"ns"}',
        12,
    ),
    "text": ('{"metadata":"v,"traceEvents":EVENTS,"displayTimeUnit":"ns"}', 16),
    "behind": (
        '{"traceEvents":EVENTS,"metadata":{"a"},"displayTimeUnit":"ns"}',
        33 + len(EVENTS) - 6,
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_member_costs_itself_alone(name):
    text, offset = DAMAGED[name]
    trace = read(text.replace("EVENTS", EVENTS).encode(), "chrome")
    assert sum(map(len, trace.batches())) == 2
    assert trace.sidecar["chrome"]["members"]["displayTimeUnit"] == "ns"
    assert trace.warnings[0].offset == offset
    assert trace.warnings[1].message == "members go on after the damage"


def test_a_member_is_looked_for_behind_the_window():
    # What is damaged, the name of the next member, and what is between lie in several windows.
    for more in (WINDOW - 30, WINDOW - 20, WINDOW):
        text = '{"x":[nul' + " " * more + '],"traceEvents":' + EVENTS + "}"
        trace = read(text.encode(), "chrome")
        assert sum(map(len, trace.batches())) == 2

"""Messages become arrows from the sending event to the call that handles the message."""

import pytest
from support.traces.losses import line_of
from support.traces.small_traces import event_class, events_of, trace_of

from converter.ir.collect import collect
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.projection.losses import LossReport
from converter.projection.passes.messages import with_flows

TEXT, U64 = StringClass(), IntegerClass(64)
CLASSES = [
    event_class(Kind.MESSAGE_SEND, "send", id=(U64, Role.ID)),
    event_class(Kind.MESSAGE_RECEIVE, "receive", id=(U64, Role.ID)),
    event_class(Kind.FUNCTION_ENTRY, "call"),
    event_class(Kind.MESSAGE_SEND, "send", id=(TEXT, Role.ID)),
    event_class(Kind.MESSAGE_RECEIVE, "receive", id=(TEXT, Role.ID)),
]
SEND, RECEIVE, CALL, SEND_TEXT, RECEIVE_TEXT = range(5)


def flows(*events, forks=True):
    """The times of begins and ends of arrows; each event has its class, thread, and id if it has one."""
    report = LossReport()
    rows = [
        (number, ts, 0, thread, tuple(values))
        for ts, (number, thread, *values) in enumerate(events)
    ]
    trace = collect(with_flows(trace_of(CLASSES, rows), report, forks=forks))
    kinds = (Kind.FLOW_BEGIN, Kind.FLOW_END)
    found = [(ts, kind is Kind.FLOW_BEGIN) for ts, kind, *_ in events_of(trace) if kind in kinds]
    return found, [line_of(loss) for loss in report]


@pytest.mark.parametrize("id", [0, 1, (1 << 64) - 1])
@pytest.mark.parametrize(("sender", "receiver"), [(0, 1), (1, 0), (0, 0)])
def test_an_arrow_leads_to_the_call_after_the_receive(id, sender, receiver):
    events = [(SEND, sender, id), (RECEIVE, receiver, id), (CALL, receiver)]
    assert flows(*events) == ([(0, True), (2, False)], [])


@pytest.mark.parametrize(("send", "sent"), [(SEND_TEXT, b""), (SEND_TEXT, b"0"), (SEND, 1)])
def test_other_ids_are_of_other_messages(send, sent):
    """Those that are texts are of none."""
    events = [(send, 0, sent), (RECEIVE, 1, 0), (CALL, 1)]
    assert (2, False) not in flows(*events)[0]


def test_texts_identify_no_message():
    assert flows((SEND_TEXT, 0, b"a"), (RECEIVE_TEXT, 1, b"a"), (CALL, 1)) == ([], [])


def test_a_second_receiver_has_an_arrow_where_flows_fork():
    events = [(SEND, 0, 5), (RECEIVE, 1, 5), (CALL, 1), (RECEIVE, 2, 5), (CALL, 2)]
    assert flows(*events)[0] == [(0, True), (2, False), (4, False)]
    found, losses = flows(*events, forks=False)
    assert found == [(0, True), (2, False)]
    assert losses == ["message-second-receiver (1)"]

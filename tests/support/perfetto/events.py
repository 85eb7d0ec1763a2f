"""Perfetto's typed kernel events, for tests that go through all of them."""

from converter.formats.perfetto.protobuf.descriptors import typed_events_by_name


def typed_event_numbers():
    """The field numbers of all typed events in FtraceEvent, ascending."""
    return tuple(sorted(event.number for event in typed_events_by_name().values()))

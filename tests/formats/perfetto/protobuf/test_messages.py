"""Declarations of messages: those of the package, from which the schema is made."""

from importlib.metadata import version

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from perfetto_messages import PATH, declarations

from converter.formats.perfetto import tracepoints
from converter.formats.perfetto.protobuf.messages import enumeration, message_order, message_type


def test_the_schema_is_that_of_the_package():
    declared = PATH.read_text(encoding="utf-8")
    made_from = declared.split("\n", 1)[0].removeprefix("# perfetto ")
    if version("perfetto") != made_from:
        pytest.skip(f"the schema is made from perfetto {made_from}, not {version('perfetto')}")
    assert declarations() == declared


def test_messages_are_as_the_package_declares_them():
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    file = FileDescriptorProto.FromString(perfetto_trace_pb2.DESCRIPTOR.serialized_pb)
    for message in file.message_type:
        declared = message_type(message.name)
        if declared is None:
            continue  # of a newer package
        numbers = {field.number: field.name for field in message.field}
        for field in declared.fields:
            assert numbers.get(field.number, field.name) == field.name, message.name
    assert message_type("NoSuchMessage") is None
    assert message_type("TracePacket.") is None
    assert enumeration("NoSuchEnumeration") == ()
    assert list(message_order().values()) == list(range(len(message_order())))


def test_tracepoints_are_inverse():
    numbers = tracepoints.number_of_tracepoint()
    assert len(numbers) > 500
    for point, number in numbers.items():
        assert tracepoints.tracepoint_of(number) == point

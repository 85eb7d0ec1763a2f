"""The messages of schemas/ir.proto, as classes made of its descriptor when they are first needed.

Code that protobuf's compiler makes refuses every version of protobuf older than the compiler; a descriptor is read by
any. `protoc -I schemas --descriptor_set_out=schemas/ir.desc ir.proto` makes it, and the stub beside this file says what
the classes look like; tests compare both with the schema.
"""

from __future__ import annotations

from pkgutil import get_data
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool


def _classes() -> dict[str, Any]:
    """The class of each message by its name."""
    data = get_data("converter.schemas", "ir.desc")
    assert data is not None, "the package has a loader"
    # A FileDescriptorSet of one file: its tag, and its length as a varint. protobuf's own class for it takes longer to
    # import than all of these to make.
    start = 1
    while data[start] & 0x80:
        start += 1
    pool = DescriptorPool()
    pool.AddSerializedFile(data[start + 1 :])
    # protobuf 4.22 put the function in place of the class.
    class_of = getattr(message_factory, "GetMessageClass", None)
    if class_of is None:
        class_of = getattr(message_factory, "MessageFactory")(pool).GetPrototype  # noqa: B009 - stubs lack it
    declared = pool.FindFileByName("ir.proto").message_types_by_name
    return {name: class_of(descriptor) for name, descriptor in declared.items()}


globals().update(_classes())

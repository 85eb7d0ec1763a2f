"""Writes the declarations of Perfetto's messages that conversions use: ``python -m tests.perfetto_messages --write``.

They are made from the installed ``perfetto`` package into ``schemas/perfetto/messages.txt``, a line each, in the
order of the package's file:

    message Outer.Inner<TAB>FIELD<TAB>FIELD...     FIELD: number name type repeated type_name
    enum Outer.Name<TAB>VALUE<TAB>VALUE...         VALUE: number name

`type` is a number of google.protobuf.FieldDescriptorProto.Type, `repeated` is 0 or 1, and `type_name` is the name of a
message or enumeration without Perfetto's package, "-" for other types. The first line names the package's version.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

PATH = Path(__file__).parent.parent / "schemas/perfetto/messages.txt"
_PACKAGE = ".perfetto.protos."


def declarations() -> str:
    """Return the text for the installed package."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2

    file = FileDescriptorProto.FromString(perfetto_trace_pb2.DESCRIPTOR.serialized_pb)
    lines = [f"# perfetto {version('perfetto')}"]
    for message in file.message_type:
        lines += _message(message, "")
    lines += [_enumeration(one, "") for one in file.enum_type]
    return "\n".join(lines) + "\n"


def _message(message: DescriptorProto, outer: str) -> Iterator[str]:
    name = outer + message.name
    yield "\t".join([f"message {name}", *map(_field, message.field)]) + "\t"
    for inner in message.nested_type:
        yield from _message(inner, f"{name}.")
    for one in message.enum_type:
        yield _enumeration(one, f"{name}.")


def _field(field: FieldDescriptorProto) -> str:
    repeated = int(field.label == FieldDescriptorProto.LABEL_REPEATED)
    type_name = field.type_name.removeprefix(_PACKAGE) or "-"
    return f"{field.number} {field.name} {field.type} {repeated} {type_name}"


def _enumeration(one: EnumDescriptorProto, outer: str) -> str:
    values = [f"{value.number} {value.name}" for value in one.value]
    return "\t".join([f"enum {outer}{one.name}", *values]) + "\t"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PATH.parent.mkdir(exist_ok=True)
        PATH.write_text(declarations(), encoding="utf-8")
    else:
        sys.stdout.write(declarations())

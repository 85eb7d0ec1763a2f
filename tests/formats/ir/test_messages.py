"""schemas/ir.proto, its descriptor and the stub of its classes say the same, and every version of protobuf reads it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

from converter.errors import TraceError
from converter.formats.ir import messages as pb
from converter.formats.ir.values import pack_value, unpack_value

ROOT = Path(__file__).parents[3]
SCALARS = {
    "bool": (FieldDescriptorProto.TYPE_BOOL, "bool"),
    "bytes": (FieldDescriptorProto.TYPE_BYTES, "bytes"),
    "double": (FieldDescriptorProto.TYPE_DOUBLE, "float"),
    "sint64": (FieldDescriptorProto.TYPE_SINT64, "int"),
    "string": (FieldDescriptorProto.TYPE_STRING, "str"),
    "uint32": (FieldDescriptorProto.TYPE_UINT32, "int"),
    "uint64": (FieldDescriptorProto.TYPE_UINT64, "int"),
}


def described():
    files = FileDescriptorSet.FromString((ROOT / "schemas/ir.desc").read_bytes()).file
    assert [file.name for file in files] == ["ir.proto"]
    return files[0]


def declared():
    """The messages of the schema: their fields as (label, type, name, number, oneof), in their order."""
    text = re.sub(r"//.*", "", (ROOT / "schemas/ir.proto").read_text()).replace("{}", "{\n}")
    messages = {}
    for name, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        fields, oneof = messages.setdefault(name, []), ""
        for statement in filter(None, map(str.strip, re.split(r"(?<=[;{}])", body))):
            if match := re.fullmatch(r"(?:(optional|repeated) )?(\w+) (\w+) = (\d+);", statement):
                label, type_, field, number = match.groups()
                fields.append((label or "", type_, field, int(number), oneof))
            elif match := re.fullmatch(r"oneof (\w+) \{", statement):
                oneof = match[1]
            else:
                assert statement == "}", statement
                oneof = ""
    return messages


def label_of(field):
    if field.label == field.LABEL_REPEATED:
        return "repeated"
    return "optional" if field.proto3_optional else ""


def oneof_of(message, field):
    if field.proto3_optional or not field.HasField("oneof_index"):
        return ""
    return message.oneof_decl[field.oneof_index].name


def test_the_descriptor_is_that_of_the_schema():
    file = described()
    assert (file.package, file.syntax) == ("traceconv.ir", "proto3")
    assert not file.enum_type
    assert not file.dependency
    names = {number: name for name, (number, _) in SCALARS.items()}
    found = {
        message.name: [
            (
                label_of(field),
                names.get(field.type) or field.type_name.removeprefix(".traceconv.ir."),
                field.name,
                field.number,
                oneof_of(message, field),
            )
            for field in message.field
        ]
        for message in file.message_type
    }
    assert found == declared()


def test_the_stub_is_that_of_the_schema():
    stub = ast.parse((ROOT / "converter/formats/ir/messages.pyi").read_text())
    found = {
        node.name: {
            each.target.id: ast.unparse(each.annotation)
            for each in node.body
            if isinstance(each, ast.AnnAssign)
        }
        for node in stub.body
        if isinstance(node, ast.ClassDef)
    }
    expected = {}
    for name, fields in declared().items():
        attributes = expected[name] = {}
        for label, type_, field, _, _ in fields:
            plain = SCALARS[type_][1] if type_ in SCALARS else type_
            sort = "Scalar" if type_ in SCALARS else "Composite"
            repeated = label == "repeated"
            attributes[field] = f"Repeated{sort}FieldContainer[{plain}]" if repeated else plain
    assert found == expected


def test_each_message_has_a_class():
    for message in described().message_type:
        assert getattr(pb, message.name).DESCRIPTOR.full_name == f"traceconv.ir.{message.name}"


def test_versions_of_protobuf_without_todays_function_make_the_same_classes(monkeypatch):
    class MessageFactory:
        def __init__(self, pool):
            self.pool = pool

        def GetPrototype(self, descriptor):  # noqa: N802 - protobuf's name
            return descriptor.full_name

    monkeypatch.delattr(message_factory, "GetMessageClass", raising=False)
    monkeypatch.setattr(message_factory, "MessageFactory", MessageFactory, raising=False)
    assert pb._classes()["Batch"] == "traceconv.ir.Batch"


@pytest.mark.parametrize("fields", [{}, {"count": 1}])
def test_classes_of_the_schema_are_read_and_written(fields):
    message = pb.Batch(**fields)
    assert pb.Batch.FromString(message.SerializeToString()) == message


def test_without_protobufs_compiled_code_files_are_read_and_damage_is_an_error(tmp_path):
    # Which musl's systems are without; there a text that is no UTF-8 is another error of protobuf's.
    program = """
import sys
import converter
from converter.formats.ir import layout, messages
from google.protobuf.internal import api_implementation

assert api_implementation.Type() == "python"
converter.convert(sys.argv[1], sys.argv[2])
assert not converter.diff(*map(converter.read, sys.argv[1:3]))
header = messages.Record(header=messages.Header(magic="text")).SerializeToString()
try:
    converter.read(layout.frame(header.replace(b"text", b"\\xff" * 4)), format="ir")
except converter.TraceError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-c", program, ROOT / "roundtrip_fixtures/trace_cmd/small.dat", "x.tcir"],
        cwd=tmp_path,
        env={**os.environ, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "record" in result.stdout


@pytest.mark.parametrize("depth", [0, 1, 15, 16, 17, 31, 32, 33, 100, 512, 550])
def test_values_nest_as_deep_as_json_does(depth):
    value = {"bytes": b"\xff", "text": "\ud800"}
    for level in range(depth):
        value = [value, level] if level % 2 else {"inner": value, "level": level}
    message = pack_value(value)
    assert unpack_value(type(message).FromString(message.SerializeToString())) == value


def test_values_that_nest_without_end_are_refused():
    message = pack_value([1])
    for _ in range(3000):
        message = type(message)(packed=message.SerializeToString())
    with pytest.raises(TraceError, match="inside each other"):
        unpack_value(message)
    with pytest.raises(TraceError, match="damaged"):
        unpack_value(type(message)(packed=b"\x0a\xff"))

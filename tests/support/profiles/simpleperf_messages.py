"""Files of simpleperf as the `protobuf` package reads and writes their messages: independent of ours.

The names, numbers and types of fields are those that are published (simpleperf/cmd_report_sample.proto).
"""

from __future__ import annotations

import struct
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_TYPES = {"uint64": 4, "int32": 5, "bool": 8, "string": 9, "uint32": 13, "enum": 5}
#: By message: fields as "name type", with "*" for those that repeat, in the order of their numbers.
_MESSAGES = {
    "CallChainEntry": (
        "vaddr_in_file uint64",
        "file_id uint32",
        "symbol_id int32",
        "execution_type enum",
    ),
    "UnwindingResult": ("raw_error_code uint32", "error_addr uint64", "error_code enum"),
    "Sample": (
        "time uint64",
        "thread_id int32",
        "callchain CallChainEntry*",
        "event_count uint64",
        "event_type_id uint32",
        "unwinding_result UnwindingResult",
    ),
    "LostSituation": ("sample_count uint64", "lost_count uint64"),
    "File": ("id uint32", "path string", "symbol string*", "mangled_symbol string*"),
    "Thread": ("thread_id uint32", "process_id uint32", "thread_name string"),
    "MetaInfo": (
        "event_type string*",
        "app_package_name string",
        "app_type string",
        "android_sdk_version string",
        "android_build_type string",
        "trace_offcpu bool",
    ),
    "ContextSwitch": ("switch_on bool", "time uint64", "thread_id uint32"),
    "Record": (
        "sample Sample",
        "lost LostSituation",
        "file File",
        "thread Thread",
        "meta_info MetaInfo",
        "context_switch ContextSwitch",
    ),
}


def _record_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="cmd_report_sample.proto", package="simpleperf", syntax="proto2"
    )
    for message, fields in _MESSAGES.items():
        declared = file.message_type.add(name=message)
        if message == "Record":
            declared.oneof_decl.add(name="record_data")
        for number, text in enumerate(fields, 1):
            name, kind = text.split()
            base = kind.rstrip("*")
            field = declared.field.add(name=name, number=number, label=3 if "*" in kind else 1)
            if message == "Record":
                field.oneof_index = 0
            if base in _TYPES:
                field.type = _TYPES[base]
            else:
                field.type, field.type_name = 11, f".simpleperf.{base}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("simpleperf.Record"))


#: The class of records.
Record: Any = _record_class()


def record(**content: Any) -> bytes:
    """A record with its size: ``record(thread={"thread_id": 7})``."""
    return sized(Record(**content).SerializeToString())


def sized(message: bytes) -> bytes:
    """A message with its size before it."""
    return struct.pack("<I", len(message)) + message


def file_of(*records: bytes, end: bytes = bytes(4)) -> bytes:
    """A file of records."""
    return b"SIMPLEPERF" + struct.pack("<H", 1) + b"".join(records) + end


def records_of(data: bytes) -> list[Any]:
    """The records of a file, to its end as simpleperf sees it."""
    assert data[:12] == b"SIMPLEPERF\x01\0"
    at, found = 12, []
    while True:
        (size,) = struct.unpack_from("<I", data, at)
        at += 4
        if not size:
            return found
        found.append(Record.FromString(data[at : at + size]))
        assert len(data) >= at + size
        at += size


def small() -> list[bytes]:
    """Records of two threads with two events, all fields of which occur."""

    def frame(address: int, file: int, symbol: int, kind: int = 0) -> dict[str, int]:
        return {
            "vaddr_in_file": address,
            "file_id": file,
            "symbol_id": symbol,
            "execution_type": kind,
        }

    return [
        record(
            meta_info={
                "event_type": ["cpu-clock:u", "instructions"],
                "app_package_name": "com.example.app",
                "app_type": "debuggable",
                "android_sdk_version": "34",
                "android_build_type": "userdebug",
                "trace_offcpu": True,
            }
        ),
        record(context_switch={"switch_on": True, "time": 1000, "thread_id": 31}),
        record(
            sample={
                "time": 1100,
                "thread_id": 31,
                "callchain": [frame(0x1234, 0, 1), frame(0x40, 1, 0)],
                "event_count": 250_000,
                "event_type_id": 0,
            }
        ),
        record(
            sample={
                "time": 1200,
                "thread_id": 32,
                "callchain": [frame(0x10, 1, 0, 2), frame(0x99, 0, -1, 0), frame(2**63, 7, 3, 1)],
                "event_count": 77,
                "event_type_id": 1,
                "unwinding_result": {"raw_error_code": 4, "error_addr": 0x55},
            }
        ),
        record(context_switch={"switch_on": False, "time": 1300, "thread_id": 31}),
        record(sample={"time": 1400, "thread_id": 32, "event_count": 5, "event_type_id": 1}),
        record(lost={"sample_count": 3, "lost_count": 9}),
        record(
            file={
                "id": 0,
                "path": "/system/lib64/libc.so",
                "symbol": ["read", "operator new(int)"],
                "mangled_symbol": ["read", "_Znwi"],
            }
        ),
        record(file={"id": 1, "path": "/apex/app.odex", "symbol": ["com.example.App.run"]}),
        record(thread={"thread_id": 31, "process_id": 31, "thread_name": "main"}),
        record(thread={"thread_id": 32, "process_id": 31, "thread_name": "worker"}),
    ]

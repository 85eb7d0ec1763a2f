"""What addresses of programs are called: callbacks of ROS 2, functions in executables and libraries of LTTng-UST."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.ctf.files import Bits, Stream, open_trace

import converter
from converter.ir.kinds import Kind
from converter.ir.trace import Trace

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures" / "ctf"
CONTEXT = "int32_t _vpid; int32_t _vtid;"
#: As tracetools declares them (ros2_tracing, tracetools/include/tracetools/tp_call.h).
ROS = Stream(
    {
        "ros2:rclcpp_callback_register": "uint64_t _callback; string _symbol;",
        "ros2:callback_start": "uint64_t _callback; int32_t _is_intra_process;",
        "ros2:callback_end": "uint64_t _callback;",
    },
    context=CONTEXT,
)
_OBJECT = "uint64_t _baddr; uint64_t _memsz; string _path;"
UST = Stream(
    {
        "lttng_ust_statedump:bin_info": f"{_OBJECT} uint8_t _is_pic;",
        "lttng_ust_lib:load": _OBJECT,
        "lttng_ust_cyg_profile:func_entry": "uint64_t _addr; uint64_t _call_site;",
        "lttng_ust_cyg_profile:func_exit": "uint64_t _addr; uint64_t _call_site;",
    },
    context=CONTEXT,
)


def u64(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


def i32(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "little") for value in values)


def ros(event: int, ts: int, handle: int, payload: bytes = b"", pid: int = 7) -> Bits:
    return ROS.record(event, ts, i32(pid, pid) + u64(handle) + payload)


def ust(event: int, ts: int, *values: int, payload: bytes = b"", pid: int = 7) -> Bits:
    return UST.record(event, ts, i32(pid, pid) + u64(*values) + payload)


def names_of(trace: Trace) -> dict[int, bytes]:
    """The symbols of a trace."""
    assert trace.symbols is not None
    addresses, names = trace.symbols.entries()
    return dict(zip(addresses.tolist(), names, strict=True))


def test_callbacks_of_ros_2_are_slices_under_their_names(tmp_path: Path) -> None:
    records = [
        ros(1, 1000, 0x10, i32(0)),
        # What follows may be registered later than it is first called.
        ros(0, 2000, 0x10, b"void (Talker::on_timer)()\0"),
        ros(2, 3000, 0x10),
        ros(1, 4000, 0x20, i32(1)),
        ros(2, 5000, 0x20),
    ]
    source = ROS.write(tmp_path / "source", ROS.packet(records))
    trace = open_trace(source)
    assert names_of(trace) == {0x10: b"void (Talker::on_timer)()"}
    kinds = [trace.event_classes[int(i)].kind for batch in trace.batches() for i in batch.class_id]
    call = [Kind.FUNCTION_ENTRY, Kind.FUNCTION_EXIT]
    assert kinds == [call[0], Kind.TYPED, call[1], *call]
    converter.convert(source, tmp_path / "x.json", target_format="chrome")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    slices = [(one["name"], one["pid"]) for one in events if one["ph"] == "B"]
    assert slices == [("void (Talker::on_timer)()", 7), ("0x20", 7)]


def test_a_handle_that_two_processes_have_keeps_its_number(tmp_path: Path) -> None:
    records = [
        ros(0, 1, 0x10, b"one\0"),
        ros(0, 2, 0x10, b"two\0", pid=8),
        ros(0, 3, 0x20, b"same\0"),
        ros(0, 4, 0x20, b"same\0", pid=8),
    ]
    trace = open_trace(ROS.write(tmp_path / "source", ROS.packet(records)))
    assert names_of(trace) == {0x20: b"same"}


def test_functions_are_in_executables_and_libraries(tmp_path: Path) -> None:
    records = [
        ust(2, 1, 0x400123, 0x7F00_0010),
        ust(0, 2, 0x400000, 0x1000, payload=b"/usr/bin/tool\0\0"),
        ust(0, 3, 0x7F00_0000, 0x100, payload=b"/lib/libc.so.6\0\1"),
        ust(1, 4, 0x8000_0000, 0x100, payload=b"plugin.so\0"),
        ust(2, 5, 0x8000_0020, 0x400FFF),
        ust(3, 6, 0x8000_0020, 0x401000),
        ust(2, 7, 0x400200, 0, pid=8),
    ]
    trace = open_trace(UST.write(tmp_path / "source", UST.packet(records)))
    assert names_of(trace) == {
        0x400123: b"tool@0x400123",
        0x400FFF: b"tool@0x400fff",
        0x7F00_0010: b"libc.so.6+0x10",
        0x8000_0020: b"plugin.so+0x20",
    }
    assert sum(len(batch) for batch in trace.batches()) == len(records)


def test_a_recording_of_functions_names_them(tmp_path: Path) -> None:
    converter.convert(FIXTURES / "ctf_cyg", tmp_path / "x.json", target_format="chrome")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    names = {one["name"] for one in events if one["ph"] == "B"}
    assert names == {"cyg+0x1159", "cyg+0x11b0", "cyg+0x121f", "cyg+0x128b"}


@pytest.mark.parametrize("size", [0, (1 << 64) - 1])
def test_object_files_of_any_size(size: int, tmp_path: Path) -> None:
    records = [ust(2, 1, 16, 32), ust(1, 2, 8, size, payload=b"x\0")]
    trace = open_trace(UST.write(tmp_path / "source", UST.packet(records)))
    assert names_of(trace) == {}


def test_fields_of_other_types_name_nothing(tmp_path: Path) -> None:
    stream = Stream({"ros2:rclcpp_callback_register": "string _callback; uint8_t _symbol;"})
    trace = open_trace(stream.write(tmp_path, stream.packet(stream.record(0, 1, b"a\0\1"))))
    assert names_of(trace) == {}

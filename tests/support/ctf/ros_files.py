"""Messages and callbacks of ROS 2 as LTTng records them."""

from __future__ import annotations

from support.ctf.files import Bits, Stream

#: As tracetools declares them (ros2_tracing, tracetools/include/tracetools/tp_call.h).
ROS = Stream(
    {
        "ros2:callback_start": "uint64_t _callback; int32_t _is_intra_process;",
        "ros2:callback_end": "uint64_t _callback;",
        "ros2:rmw_publish": "uint64_t _rmw_publisher_handle; uint64_t _message; uint64_t _timestamp;",
        "ros2:rmw_take": (
            "uint64_t _rmw_subscription_handle; uint64_t _message; uint64_t _source_timestamp;"
            "int32_t _taken;"
        ),
        "ros2:rcl_take": "uint64_t _message;",
        "ros2:rclcpp_ring_buffer_enqueue": (
            "uint64_t _buffer; uint64_t _index; uint64_t _size; int32_t _overwritten;"
        ),
        "ros2:rclcpp_ring_buffer_dequeue": "uint64_t _buffer; uint64_t _index; uint64_t _size;",
    },
    context="int32_t _vpid; int32_t _vtid;",
)


def i32(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "little") for value in values)


def ros(event: str, ts: int, pid: int, *values: int, last: bytes = b"") -> Bits:
    payload = i32(pid, pid) + b"".join(value.to_bytes(8, "little") for value in values) + last
    return ROS.record(list(ROS.events).index(f"ros2:{event}"), ts, payload)


def start(ts: int, pid: int, callback: int) -> Bits:
    return ros("callback_start", ts, pid, callback, last=i32(0))


def end(ts: int, pid: int, callback: int) -> Bits:
    return ros("callback_end", ts, pid, callback)


def publish(ts: int, pid: int, stamp: int) -> Bits:
    return ros("rmw_publish", ts, pid, 1, 0x99, stamp)


def take(ts: int, pid: int, stamp: int, taken: int = 1) -> Bits:
    return ros("rmw_take", ts, pid, 5, 0x55, stamp, last=i32(taken))


RECORDS = [
    start(1000, 7, 0x10),
    publish(1100, 7, 777),
    end(1200, 7, 0x10),
    take(2000, 8, 777),
    # What comes between is not what handles the message.
    ros("rcl_take", 2010, 8, 0x55),
    start(2100, 8, 0x20),
    publish(2200, 8, 888),
    end(2300, 8, 0x20),
    # One of two subscriptions has the message twice as late; one process asks in vain.
    take(3000, 9, 888),
    take(3010, 7, 888, taken=0),
    start(3020, 7, 0x30),
    end(3030, 7, 0x30),
    start(3100, 9, 0x40),
    end(3200, 9, 0x40),
    take(4000, 10, 888),
    start(4100, 10, 0x50),
    # Of the next callback nothing says what it is for.
    end(4200, 10, 0x50),
    start(4300, 10, 0x60),
    end(4400, 10, 0x60),
]

#: In ring buffers: two processes' at one address, and one place that is used again.
QUEUED = [
    ros("rclcpp_ring_buffer_enqueue", 100, 7, 0xB0, 0, 1, last=i32(0)),
    ros("rclcpp_ring_buffer_enqueue", 110, 8, 0xB0, 0, 1, last=i32(0)),
    ros("rclcpp_ring_buffer_enqueue", 120, 7, 0xB0, 1, 2, last=i32(0)),
    ros("rclcpp_ring_buffer_dequeue", 200, 7, 0xB0, 0, 1),
    start(210, 7, 0x10),
    end(220, 7, 0x10),
    ros("rclcpp_ring_buffer_enqueue", 230, 7, 0xB0, 0, 2, last=i32(0)),
    ros("rclcpp_ring_buffer_dequeue", 300, 7, 0xB0, 0, 1),
    start(310, 7, 0x10),
    end(320, 7, 0x10),
    ros("rclcpp_ring_buffer_dequeue", 330, 8, 0xB0, 0, 1),
    start(340, 8, 0x10),
    end(350, 8, 0x10),
]

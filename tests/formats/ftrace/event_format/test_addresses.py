"""Addresses of networks, devices and file systems are text, and bytes again when pages are made anew."""

import struct

import pytest
from support.trace_cmd.files import File, Kernel, format_text
from support.trace_cmd.writing import made_anew, read_back
from support.traces.small_traces import fields_at

from converter.errors import UnsupportedError
from converter.formats.ftrace.event_format.addresses import address_suffixes, packer
from converter.formats.ftrace.event_format.syntax import parse_event_format
from converter.ir.columns import list_of_bytes
from converter.ir.field_classes import BytesClass
from converter.kernels.tables.strings import StringTable

NUMBER = 77
UUID = bytes(range(16))
V6 = bytes.fromhex("20010db8000000000000000000000001")


def socket(kernel, family, port, host):
    pad = bytes(4) if family == 10 else b""
    return kernel.pack("H", family) + struct.pack(">H", port) + pad + host


def opened(length, suffix, memory, kernel, argument="REC->addr"):
    text = format_text(
        "seen", NUMBER, f"__u8 addr[{length}] 8 {length} 0", f'"%p{suffix}", {argument}'
    )
    record = kernel.common(NUMBER, 42) + memory.ljust(length, b"\0")
    pages = kernel.page(10, kernel.record(1, record), kernel.record(1, record))
    return File(kernel, {0: pages}, formats={"net": [text]}).version_7()


@pytest.mark.parametrize("kernel", [Kernel(), Kernel(big_endian=True)], ids=str)
@pytest.mark.parametrize(
    ("length", "suffix", "memory", "text"),
    [
        (4, "I4", bytes([127, 0, 0, 1]), b"127.0.0.1"),
        (4, "i4", bytes([10, 2, 3, 255]), b"010.002.003.255"),
        (16, "I6", V6, b"2001:0db8:0000:0000:0000:0000:0000:0001"),
        (16, "i6", V6, b"20010db8000000000000000000000001"),
        (16, "I6c", V6, b"2001:db8::1"),
        (16, "I6c", bytes(10) + b"\xff\xff\x0a\0\0\1", b"::ffff:10.0.0.1"),
        (16, "I6c", bytes(16), b"::"),
        (6, "M", bytes(range(6)), b"00:01:02:03:04:05"),
        (6, "MF", bytes(range(6)), b"00-01-02-03-04-05"),
        (6, "MR", bytes(range(6)), b"05:04:03:02:01:00"),
        (6, "m", bytes(range(6)), b"000102030405"),
        (16, "U", UUID, b"00010203-0405-0607-0809-0a0b0c0d0e0f"),
        (16, "UL", UUID, b"03020100-0504-0706-0809-0A0B0C0D0E0F"),
        (28, "ISpc", (2, 80, bytes([10, 0, 0, 1])), b"10.0.0.1:80"),
        (28, "ISpc", (10, 443, V6), b"[2001:db8::1]:443"),
        (28, "IS", (2, 80, bytes([10, 0, 0, 1])), b"10.0.0.1"),
        (28, "ISc", (10, 0, V6), b"2001:db8::1"),
        (28, "ISpc", (1, 0x2F61, b"bc"), None),
    ],
)
def test_an_address_is_text_and_bytes_again(length, suffix, memory, text, kernel):
    if isinstance(memory, tuple):
        memory = socket(kernel, *memory)
    data = opened(length, suffix, memory, kernel)
    trace = read_back(data)
    (batch,) = trace.batches()
    expected = memory.ljust(length, b"\0").hex().encode() if text is None else text
    assert [fields_at(trace, batch, i)["addr"] for i in range(2)] == [expected, expected]
    again = made_anew(data)
    back = read_back(again)
    (batch,) = back.batches()
    assert fields_at(back, batch, 1)["addr"] == expected


@pytest.mark.parametrize(
    ("length", "print_fmt", "forms"),
    [
        (4, '"%pI4", REC->addr', {"addr": "I4"}),
        (4, '"%pI4", &REC->addr', {"addr": "I4"}),
        (4, '"%d %*d %pI4", 1, 2, 3, (void *)(REC->addr)', {"addr": "I4"}),
        (4, '"%pI4 %pI4h", REC->addr, REC->addr', {"addr": "I4"}),
        # Not of the length that the suffix asks for, not of a field, not parsable.
        (5, '"%pI4", REC->addr', {}),
        (4, '"%pI4", 5', {}),
        (4, '"%pI4", REC->', {}),
        (4, '"%pI4"', {}),
        (4, '"%p", REC->addr', {}),
    ],
)
def test_the_print_fmt_tells_what_is_an_address(length, print_fmt, forms):
    text = format_text("seen", NUMBER, f"__u8 addr[{length}] 8 {length} 0", print_fmt)
    assert address_suffixes(parse_event_format(text, "net")) == forms


def test_other_bytes_stay_bytes():
    text = format_text("seen", NUMBER, "__u8 addr[4] 8 4 0", '"%pI4", REC->other')
    data = File(
        Kernel(), {0: Kernel().page(1, Kernel().record(1, Kernel().common(NUMBER, 1) + b"abcd"))},
        formats={"net": [text]},
    ).version_7()  # fmt: skip
    assert read_back(data).event_classes[0].fields[0].type == BytesClass()


def test_a_text_that_is_no_address_is_refused():
    field = parse_event_format(format_text("x", 1, "u8 a[4] 8 4 0", '""'), "net").fields[0]
    for text in (b"somewhere", b"1.2.3", b"1.2.3.256"):
        with pytest.raises(UnsupportedError, match="no address"):
            packer(field, "I4", big_endian=False)(list_of_bytes([text]), StringTable())

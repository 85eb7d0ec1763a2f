"""Printing what a kernel records: its strings, the texts of trace_printk, events of all formats."""

import json
import random
import struct

import pytest
from support.trace_cmd.print_format_cases import BINARY
from support.trace_cmd.print_format_events import (
    FIELDS,
    SYMBOLS,
    Symbols,
    all_formats,
    compiled,
    record,
    unpacked,
)

from converter.formats.ftrace.event_format.syntax import parse_event_format
from converter.formats.ftrace.print_format.print_format import PrintFormat, render_bprint
from converter.formats.ftrace.print_format.text_sources import TextSources

# Strings of the kernel, and the events of ftrace itself


def test_a_pointer_of_32_bits_is_a_string_of_the_kernel():
    form = compiled('"%s %pS", REC->u, REC->i', long_size=4)
    assert form.render(record(u=0x3000, i=0x99)) == "plain 0x99"


def test_oldest_ftrace_events_print_their_fields_in_order():
    fields = {"u": FIELDS["u"], "i": FIELDS["i"]}
    form = compiled('"%u/%d"', fields, system="ftrace")
    assert form.render(bytes(8) + struct.pack("<Ii", 3, -4)) == "3/-4"
    assert not compiled('"%u/%d"', fields, system="other").parsable


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    BINARY,
)
def test_binary_arguments_of_trace_printk(text, args, expected):
    assert render_bprint(text, args, "little", 8, SYMBOLS) == expected


def test_binary_arguments_of_a_32_bit_big_endian_kernel():
    args = struct.pack(">IIQ", 1, 0x1000, 2)
    assert render_bprint("%lu %ps %llu", args, "big", 4, SYMBOLS) == "1 schedule 2"


BPRINT = {"ip": ("unsigned long", 8, 0), "fmt": ("const char *", 8, 0), "buf": ("u32", 0, 0)}


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (0x2000, "schedule: value 7 of x"),
        (0x4000, "schedule: (NO FORMAT FOUND at 4000)"),
    ],
)
def test_bprint_looks_its_format_up(address, text):
    form = compiled('"%ps: %s", (void *)REC->ip, REC->fmt', BPRINT, system="ftrace", name="bprint")
    data = bytes(8) + struct.pack("<QQI", 0x1000, address, 7) + b"x\0\0\0"
    assert form.render(data) == text


def test_print_and_bputs():
    fields = {"ip": BPRINT["ip"], "str": BPRINT["fmt"]}
    bputs = compiled('"%ps: %s", (void *)REC->ip, REC->str', fields, system="ftrace", name="bputs")
    assert bputs.render(bytes(8) + struct.pack("<QQ", 0x1000, 0x3000)) == "schedule: plain"
    fields = {"ip": BPRINT["ip"], "buf": ("char", 0, 0)}
    written = compiled(
        '"%ps: %s", (void *)REC->ip, REC->buf', fields, system="ftrace", name="print"
    )
    assert (
        written.render(bytes(8) + struct.pack("<Q", 0x1000) + b"B|1|x\n\0\0") == "schedule: B|1|x"
    )


# All formats of a kernel


#: They read bit fields of a union, whose layout is not in the trace.
UNPARSABLE = {
    "kvm_mmu_get_page",
    "kvm_mmu_prepare_zap_page",
    "kvm_mmu_sync_page",
    "kvm_mmu_unsync_page",
}


def test_all_formats_of_a_kernel_compile_and_print():
    source = random.Random(618)
    unparsable = set()
    for text in all_formats():
        event = parse_event_format(text, "any")
        form = PrintFormat(event, TextSources(SYMBOLS), "little", 8)
        if not form.parsable:
            unparsable.add(event.name)
        for size in (0, 9, 40, 400):
            for data in (bytes(size), source.randbytes(size)):
                assert isinstance(form.render(memoryview(data)), str)
    assert unparsable == UNPARSABLE


def test_records_of_nearly_all_events_print_as_trace_cmd_prints_them():
    formats = {}
    for text in all_formats():
        event = parse_event_format(text, "any")
        formats[event.id] = text
    lines = unpacked("linux618_printed_events.jsonl.zst").splitlines()
    assert len(lines) == 2296
    for line in lines:
        item = json.loads(line)
        functions = {int(address, 16): tuple(found) for address, found in item["functions"].items()}
        strings = {int(address, 16): found for address, found in item["printk"].items()}
        event = parse_event_format(formats[item["id"]], item["system"])
        form = PrintFormat(event, TextSources(Symbols(functions, strings)), "little", 8)
        text = form.render(bytes.fromhex(item["record"]))
        # trace-cmd aligns the text, and ends the line.
        assert (event.name, text.lstrip().rstrip("\n ")) == (
            item["event"],
            item["text"].rstrip("\n "),
        )

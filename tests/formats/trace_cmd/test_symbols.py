"""Symbols that travel name the addresses that they cover, and no others."""

import re
from pathlib import Path

import pytest
from support.trace_cmd.files import File, Kernel, format_text
from support.trace_cmd.reports import ours

import converter

SCHEMAS = Path(__file__).parents[3] / "schemas" / "ftrace" / "events"
#: As of Linux 6.18.
FREED = format_text(
    "kmem_cache_free",
    700,
    "unsigned long call_site 8 8 0\nconst void * ptr 16 8 0\n__data_loc char[] name 24 4 0",
    '"call_site=%pS ptr=%p name=%s", (void *)REC->call_site, REC->ptr, __get_str(name)',
)
#: Its format is longer than uftrace reads: flags have many names.
LONG = (SCHEMAS / "kmem" / "kmem_cache_alloc" / "format").read_bytes()
LONG_ID = int(re.search(rb"ID: (\d+)", LONG)[1])
BASE = 0xFFFF_FFFF_8100_0000
SYMBOLS = b"".join(
    b"%016x T %b\n" % (BASE + at, name)
    for at, name in (
        (0, b"_text"),
        (0x100, b"first"),
        (0x100, b"alias"),
        (0x400, b"between"),
        (0x800, b"second"),
        (0x900, b"static_one"),
        (0xA00, b"other"),
        (0xB00, b"static_one"),
        (0xC00, b"_end"),
    )
)


def recording(*addresses):
    """A file with an event of each address."""
    k = Kernel()
    records = [
        k.record(1, k.common(700, 42) + k.pack("QQI4s", address, 7, 28 | 2 << 16, b"n"))
        for address in addresses
    ]
    formats = {"kmem": [FREED]}
    return File(k, {0: k.page(10, *records)}, formats=formats, kallsyms=SYMBOLS).version_7()


def sites(data):
    """The functions that the report names."""
    return re.findall(rb"call_site=(\S+)", ours(data))


def test_the_first_symbol_of_an_address_names_it():
    data = recording(BASE + 0x100, BASE + 0x3FF)
    assert sites(data) == [b"first+0x0", b"first+0x2ff"]


@pytest.mark.parametrize(
    "offsets",
    [
        (0x100, 0x439, 0x800),
        (0x400, 0x439, 0x440, 0x4FF),
        (0x439,),
        (0x910, 0xB10),
        (0x8FF, 0x900, 0xBFF),
    ],
    ids=lambda offsets: "-".join(f"{at:x}" for at in offsets),
)
def test_names_by_way_of_perfetto_are_those_of_the_source(tmp_path, offsets):
    source, between, back = (tmp_path / name for name in ("a.dat", "a.pftrace", "b.dat"))
    data = recording(*(BASE + at for at in offsets))
    source.write_bytes(data)
    converter.convert(source, between)
    converter.convert(between, back)
    assert sites(back.read_bytes()) == sites(data)


def test_an_address_without_a_name_does_not_get_the_name_of_another(tmp_path):
    source, between, back = (tmp_path / name for name in ("a.dat", "a.ctf", "b.dat"))
    source.write_bytes(recording(BASE + 0x439, BASE + 0x800))
    losses = converter.convert(source, between)
    lost = [loss for loss in losses if ("field", "call_site") in loss.parameters]
    assert [loss.count for loss in lost if loss.code == "function-names"] == [2]
    converter.convert(between, back)
    assert sites(back.read_bytes()) == [b"0xffffffff81000439", b"0xffffffff81000800"]


def test_formats_that_uftrace_cannot_hold_whole_have_their_functions(tmp_path):
    k = Kernel()
    addresses = BASE + 0x439, BASE + 0x8F0, BASE + 0x10
    end = 1, 61 | 2 << 16, 8, 8, 1, -1, 0, b"n"
    records = [
        k.record(1, k.common(LONG_ID, 42) + k.pack("QQI4xQQQib3s", one, *end)) for one in addresses
    ]
    file = File(k, {0: k.page(10, *records)}, formats={"kmem": [LONG]}, kallsyms=SYMBOLS)
    source, between, back = (tmp_path / name for name in ("a.dat", "a.uftrace", "b.dat"))
    source.write_bytes(file.version_7())
    assert len(LONG) > 4096
    converter.convert(source, between)
    header = (between / "kernel_header").read_bytes()
    assert b'"call_site=%pS ptr=%llu name=%s' in header
    converter.convert(between, back)
    names = [b"between+0x39", b"second+0xf0", b"_text+0x10"]
    assert sites(back.read_bytes()) == sites(source.read_bytes()) == names


@pytest.mark.parametrize(
    ("address", "mark", "site"),
    [(0, b"0x0", b"0x0"), (5, b"tracing_mark_write", b"0x5")],
)
def test_no_null_pointer_is_called_as_marks_are(tmp_path, address, mark, site):
    """Marks of other formats have the address 0."""
    k = Kernel()
    call = k.record(1, k.common(700, 42) + k.pack("QQI4s", address, 7, 28 | 2 << 16, b"n"))
    text = k.record(1, k.common(5, 42) + k.pack("Q", 0) + b"B|42|x\n\0")
    file = File(k, {0: k.page(10, text, call)}, formats={"kmem": [FREED]}, kallsyms=b"")
    source, between, back = (tmp_path / name for name in ("a.dat", "a.lttng", "b.dat"))
    source.write_bytes(file.version_7())
    converter.convert(source, between)
    converter.convert(between, back)
    assert sites(back.read_bytes()) == [site]
    assert re.findall(rb"print: +(\S+): B", ours(back.read_bytes())) == [mark]

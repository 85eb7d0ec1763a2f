"""Lossless conversion: what travels in a file comes back, unless someone has changed the file."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.samples import sampled

import converter
from converter.errors import UnsupportedError
from converter.formats.chrome import FORMAT as CHROME
from converter.formats.lossless.footer import footer_of
from converter.ir.canonical import difference
from converter.registry import FORMATS
from converter.storage.opening import open_source

FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures"
TRACE = FIXTURES / "trace_cmd/small.dat"
MARKERS = FIXTURES / "trace_cmd/markers.dat"
TIMELINE = FIXTURES / "chrome/features.json"

TARGETS = [
    f"{format.name}+{variant}" if variant else format.name
    for format in FORMATS
    if format.writable
    for variant in format.variants or ("",)
    if format.embeds or (format.is_directory(variant) and not format.holds_all)
]


def lossless(source, target, tmp_path, name="out"):
    out = tmp_path / name
    converter.convert(source, out, target_format=target, lossless=True)
    return out


@pytest.mark.parametrize("source", [TRACE, TIMELINE], ids=["kernel", "timeline"])
@pytest.mark.parametrize("target", TARGETS)
def test_the_trace_comes_back(target, source, tmp_path):
    out = lossless(source, target, tmp_path)
    original = converter.read(source)
    again = converter.read(out)
    assert difference(original, again) is None
    assert again.format == original.format
    assert not again.warnings


@pytest.mark.parametrize("target", ["fxt", "perfetto", "chrome"])
def test_the_same_trace_makes_the_same_file(target, tmp_path):
    for name in ("one", "two"):
        trace = converter.read(TRACE)
        batches = [*trace.batches()] * 7
        trace.make_batches = partial(iter, batches)
        converter.write(trace, tmp_path / name, target, lossless=True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("target", TARGETS)
def test_converting_onward_keeps_it(target, tmp_path):
    first = lossless(TIMELINE, target, tmp_path)
    second = lossless(first, "fxt", tmp_path, "second")
    converter.convert(second, tmp_path / "third.json")
    assert difference(converter.read(TIMELINE), converter.read(tmp_path / "third.json")) is None


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "chrome"])
def test_an_edited_file_holds_what_it_says(target, tmp_path):
    """A change in front of what travelled: the file is read as the plain conversion would be, with a warning."""
    out = lossless(TIMELINE, target, tmp_path)
    plain = tmp_path / "plain"
    converter.convert(TIMELINE, plain, target_format=target)
    if out.is_dir():
        hidden = out / ".traceconv"
        hidden.write_bytes(
            hidden.read_bytes().replace(b"traceconv residual 0", b"traceconv residual 1")
        )
    else:
        data = out.read_bytes()
        footer = data.rindex(b"traceconv residual ")
        checksum = data[footer + 36 : footer + 44]
        out.write_bytes(data.replace(checksum, bytes(reversed(checksum))))
    again = converter.read(out)
    assert "changed" in str(again.warnings[-1])
    assert difference(converter.read(plain), again) is None


@pytest.mark.parametrize(
    ("target", "part"), sampled(((target, part) for target in TARGETS for part in (1, 4, 7)), 16)
)
def test_damage_to_what_travels_leaves_what_the_file_says(target, part, tmp_path):
    source = MARKERS if target == "chrome" else TIMELINE
    out = lossless(source, target, tmp_path)
    plain = tmp_path / "plain"
    converter.convert(source, plain, target_format=target)
    file = out / ".traceconv" if out.is_dir() else out
    data = bytearray(file.read_bytes())
    with open_source(file) as opened:
        footer = footer_of(opened)
        assert footer is not None
    begin, end = (0, footer.start) if out.is_dir() else (footer.start, len(data) - 100)
    data[begin + (end - begin) * part // 8] ^= 0xA5
    file.write_bytes(data)
    again = converter.read(out)
    assert "changed" in str(again.warnings[-1])
    assert difference(converter.read(plain), again) is None


@pytest.mark.parametrize(
    ("position", "is_harmless"),
    [(0, True), (5, True), (21, False), (200, False), (-2, False), (-1, False)],
)
def test_damage_to_remarks_of_a_text_leaves_what_it_says(position, is_harmless, tmp_path):
    """In what a remark is known by, which the payload survives; in the payload, and in the newline."""
    plain = tmp_path / "plain"
    converter.convert(TIMELINE, plain, target_format="ftrace_text")
    out = lossless(TIMELINE, "ftrace_text", tmp_path)
    data = bytearray(out.read_bytes())
    start = plain.stat().st_size
    end = data.index(b"\n", start) + 1
    data[(start if position >= 0 else end) + position] ^= 0xA5
    out.write_bytes(data)
    again = converter.read(out)
    assert ["changed" in str(one) for one in again.warnings] == [True] * (not is_harmless)
    assert difference(converter.read(TIMELINE if is_harmless else plain), again) is None


def test_lines_after_the_remarks_of_a_text_are_read(tmp_path):
    plain, out = tmp_path / "plain", lossless(TRACE, "ftrace_text", tmp_path)
    converter.convert(TRACE, plain, target_format="ftrace_text")
    with out.open("ab") as file:
        file.write(b"bash-7 [000] ..... 9999999.5: softirq_raise: vec=1 [action=TIMER]\n")
    again = converter.read(out)
    assert "changed" in str(again.warnings[-1])
    assert sum(map(len, again.batches())) == sum(map(len, converter.read(plain).batches())) + 1


def test_a_changed_value_wins(tmp_path):
    out = lossless(TRACE, "chrome", tmp_path)
    text = out.read_bytes()
    out.write_bytes(text.replace(b'"trace-cmd', b'"TRACE-cmd', 1))
    again = converter.read(out)
    assert again.format == "chrome"
    assert "changed" in str(again.warnings[-1])


def test_chrome_json_stays_json(tmp_path):
    out = lossless(TRACE, "chrome", tmp_path)
    plain = tmp_path / "plain.json"
    converter.convert(TRACE, plain)
    document = json.loads(out.read_text())
    del document["traceconvResidual"]
    assert document == json.loads(plain.read_text())


def test_perfetto_packets_hold_it_in_an_unknown_field(tmp_path):
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

    out = lossless(TRACE, "perfetto", tmp_path)
    plain = tmp_path / "plain.pftrace"
    converter.convert(TRACE, plain)
    # Protobuf without compiled code does not compare its own sequences with parts of them, which are lists.
    packets = list(Trace.FromString(out.read_bytes()).packet)
    known = list(Trace.FromString(plain.read_bytes()).packet)
    assert packets[: len(known)] == known
    assert all(packet.WhichOneof("data") is None for packet in packets[len(known) :])


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")
@pytest.mark.parametrize("via", [name for name in TARGETS if "trace_cmd" not in name])
def test_trace_cmd_prints_the_same_after_every_detour(via, tmp_path):
    out = lossless(TRACE, via, tmp_path)
    back = tmp_path / "back.dat"
    converter.convert(out, back)
    # Of the same bytes it need not be asked.
    assert back.read_bytes() == TRACE.read_bytes() or _report(back) == _report(TRACE)


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")
@pytest.mark.parametrize("variant", ["v6", "v7", "v7_none"])
def test_trace_cmd_reads_a_file_in_which_something_travels(variant, tmp_path):
    out = lossless(TIMELINE, f"trace_cmd+{variant}", tmp_path)
    plain = tmp_path / "plain.dat"
    converter.convert(TIMELINE, plain, target_format=f"trace_cmd+{variant}")
    expected = _report(plain)
    assert expected
    assert _report(out) == expected


def _report(path):
    return subprocess.run(
        ["trace-cmd", "report", "-t", "-R", str(path)], capture_output=True, check=True
    ).stdout


def test_what_is_written_in_its_own_format_carries_nothing(tmp_path):
    out = lossless(TRACE, "trace_cmd", tmp_path)
    assert b"traceconv residual" not in out.read_bytes()


def test_a_format_without_room_is_refused():
    with pytest.raises(UnsupportedError, match="travel"):
        replace(CHROME, embeds=False).embedding()


def test_damage_of_what_travels_is_an_error_or_a_warning(tmp_path):
    out = lossless(TRACE, "fxt", tmp_path)
    data = out.read_bytes()
    start = int(data[data.rindex(b"traceconv residual ") + 19 :][:16], 16)
    for place in range(start, len(data), 20_011):
        changed = bytearray(data)
        changed[place] ^= 0x5A
        with suppress(converter.TraceError):
            converter.read(bytes(changed))

"""A trace.dat file that travels in another format comes back byte for byte, for little more than it takes itself."""

import dataclasses
from pathlib import Path

import pytest
import zstandard
from support.trace_cmd.files import File, Kernel, rich
from support.trace_cmd.writing import read_back

import converter
from converter.formats.ir.reading import read as read_ir
from converter.formats.ir.writing import write as write_ir
from converter.formats.trace_cmd.reading.reader import read
from converter.formats.trace_cmd.writing.writer import write
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.storage.opening import open_source
from converter.storage.sink import BufferSink

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures" / "trace_cmd"
#: What a lossless output has besides the compressed file and the events.
OVERHEAD = 8_000
PER_EVENT = 100
TARGETS = ("a.fxt", "a.pftrace", "a.json", "a.ctf", "a.tcir")
KERNELS = [Kernel(), Kernel(True, 4), Kernel(page_size=16384), Kernel(True, page_size=65536)]


def through(data, tmp_path, name, target="trace_cmd"):
    """The file after its trace has travelled, and the size of what it travelled in."""
    source, between, back = tmp_path / "in.dat", tmp_path / name, tmp_path / "back.dat"
    source.write_bytes(data)
    converter.convert(source, between, lossless=True)
    converter.convert(between, back, target_format=target, force=True)
    return back.read_bytes(), between


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("version", ["6", "none", "zstd", "zlib"])
def test_a_file_comes_back_byte_for_byte(tmp_path, version, name):
    data = rich(version)
    assert through(data, tmp_path, name)[0] == data


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_file_of_any_kernel_comes_back_byte_for_byte(tmp_path, kernel):
    for version in ("6", "zstd"):
        data = rich(version, kernel)
        assert through(data, tmp_path, f"{version}.fxt")[0] == data


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.dat")), ids=lambda path: path.name)
def test_a_recording_costs_itself_and_its_events(tmp_path, path):
    data = path.read_bytes()
    back, between = through(data, tmp_path, "a.pftrace")
    assert back == data
    with converter.open_trace(path) as trace:
        events = sum(len(batch) for batch in trace.batches())
    packed = len(zstandard.ZstdCompressor(1).compress(data))
    assert between.stat().st_size < packed + PER_EVENT * events + OVERHEAD


def test_symbols_are_those_of_the_file_that_travels(tmp_path):
    data = File(Kernel(), {0: Kernel().page(1, Kernel().record(1, Kernel().slice(42, 5)))})
    _, between = through(data.version_7(), tmp_path, "a.fxt")
    with converter.open_trace(between) as trace:
        assert trace.symbols.lookup(0xFFFFFFFF81000010) == (b"first", 0x10)


def test_another_variant_is_made_of_the_file_that_travels(tmp_path):
    data = rich("zstd")
    back, _ = through(data, tmp_path, "a.fxt", "trace_cmd+v6")
    assert back.startswith(b"\x17\x08\x44tracing6\0")
    assert difference(read_back(data), read_back(back)) is None


def test_a_trace_that_was_changed_is_not_the_file(tmp_path):
    data = rich("none")
    sink = BufferSink()
    with open_source(data) as source:
        write_ir(read(source), sink, "")
    with open_source(sink.getvalue()) as source:
        trace = read_ir(source)
        batches = list(trace.batches())
        fewer = dataclasses.replace(trace, make_batches=lambda: iter(batches[:0]))
        out = BufferSink()
        write(fewer, out, "")
    back = read_back(out.getvalue())
    assert out.getvalue() != data
    assert sum(map(len, back.batches())) == 0
    assert {name for name, _ in back.sidecar["trace_cmd"]["options"]} >= {4, 12, 14}


def test_a_file_that_is_damaged_on_its_way_is_an_error():
    with open_source(rich("none")) as source:
        trace = collect(read(source))
    trace.sidecar = {"trace_cmd": {"file": zstandard.compress(b"no file")}}
    trace.source_batches = trace.make_batches
    with pytest.raises(converter.TraceError):
        write(trace, BufferSink(), "")
    trace.sidecar = {"trace_cmd": {"file": b"no compressed data"}}
    with pytest.raises(converter.TraceError):
        write(trace, BufferSink(), "")


@pytest.mark.parametrize("target", ["trace_cmd+v6", "trace_cmd+v7"])
@pytest.mark.parametrize(
    "pair", [(b"header_page\0", b"header_pag?\0"), (b"local_t commit", b"local_t ______")]
)
@pytest.mark.parametrize("version", ["6", "none"])
def test_a_file_that_does_not_describe_its_pages_is_written_all_the_same(
    tmp_path, version, pair, target
):
    source, between = tmp_path / "in.dat", tmp_path / "between"
    data = rich(version)
    assert pair[0] in data
    if version == "none" and b"?" in pair[1]:
        # Nothing of the section is there: its kind is none.
        at = data.index(pair[0]) - 16
        data = data[:at] + b"\xff\xff" + data[at + 2 :]
    else:
        data = data.replace(*pair)
    source.write_bytes(data)
    with converter.open_trace(source, "trace_cmd") as trace:
        count = sum(len(batch) for batch in trace.batches())
        assert any("describe" in str(each) or "header_page" in str(each) for each in trace.warnings)
        converter.write(trace, between, target)
    with converter.open_trace(between) as trace:
        assert sum(len(batch) for batch in trace.batches()) == count

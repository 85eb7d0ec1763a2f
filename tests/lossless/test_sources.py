"""What travels of a trace that is as its source: the source, in place of its events, and what its reader was told."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from support.aix.files import stream, words_64

import converter
from converter.errors import TraceError
from converter.formats.ir import MAGIC, layout
from converter.formats.ir import messages as pb
from converter.formats.ir.values import pack_entries
from converter.formats.lossless.residual import recording_of
from converter.formats.lossless.sources import reopened
from converter.ir.canonical import difference
from converter.storage.opening import open_source

FIXTURES = Path(__file__).parents[2] / "roundtrip_fixtures"
SMALL = FIXTURES / "trace_cmd/small.dat"
MADE = FIXTURES / "trace_cmd/scratch_v7_be32.dat"
STREAM = FIXTURES / "aix/every-form-64.aix"
OWN_STREAM = FIXTURES / "aix/kernel-trace-64.aix"
SOURCES = {
    "trace.dat": MADE,
    "uftrace": FIXTURES / "uftrace/rich",
    "CTF": FIXTURES / "ctf/ctf_small",
    "LTTng 0.x": FIXTURES / "lttng_legacy/net-2.6.tar.gz",
    "AIX": STREAM,
}
TEMPLATES = '500 1.0 "mine" "first" D1 "second" X8\n100 1.0 "interrupt" X8\n'


def records(trace):
    """What travels of a trace, by kind."""
    with recording_of(trace) as recording, open_source(b"".join(recording.chunks(1))) as held:
        places, damage = layout.record_places(held)
        assert not damage
        return [
            record.WhichOneof("content")
            for place in places
            for record in layout.parse_record(held, *place)
        ]


def travelled(trace, tmp_path):
    """The trace that comes out of a file in which one travels."""
    converter.write(trace, tmp_path / "out.fxt", lossless=True)
    return converter.open_trace(tmp_path / "out.fxt")


@pytest.mark.parametrize("path", SOURCES.values(), ids=SOURCES)
def test_the_source_travels_and_no_event(path, tmp_path):
    with converter.open_trace(path) as trace:
        found = records(trace)
        assert found[:3] == ["header", "source", "file"]
        assert set(found[3:]) <= {"file"}
        with travelled(trace, tmp_path) as again:
            # Onward it travels likewise.
            assert records(again) == found
            assert difference(trace, again) is None


def test_what_travels_costs_what_the_source_takes(tmp_path):
    converter.convert(SMALL, tmp_path / "plain.fxt")
    converter.convert(SMALL, tmp_path / "out.fxt", lossless=True)
    packed = len(zstandard.ZstdCompressor(1).compress(SMALL.read_bytes()))
    more = (tmp_path / "out.fxt").stat().st_size - (tmp_path / "plain.fxt").stat().st_size
    # FXT's BLOB records have a header for every 32 KiB.
    assert packed < more < packed * 1.002 + 500


@pytest.mark.parametrize("told", [{"trcfmt": "{}/mine"}, {}], ids=["named", "beside"])
def test_templates_travel_with_streams(told, tmp_path):
    (tmp_path / ("mine" if told else "trace.fmt")).write_text(TEMPLATES)
    (tmp_path / "trc").write_bytes(stream("64", words_64(0x5000, 5, 6), words_64(0x1000, 7)))
    options = {name: value.format(tmp_path) for name, value in told.items()}
    with converter.open_trace(tmp_path / "trc", options=options) as trace:
        with travelled(trace, tmp_path) as again:
            for name in ("mine", "trace.fmt", "trc"):
                (tmp_path / name).unlink(missing_ok=True)
            assert difference(trace, again) is None
            names = [event_class.name for event_class in again.event_classes]
            assert "mine" in names
            batch = next(again.batches())
            assert again.describe is not None
            assert "first" in (again.describe(batch)(0) or "")
            converter.write(again, tmp_path / "back.aix", "aix")
    assert (tmp_path / "back.aix.trcfmt").read_text() == TEMPLATES


def test_a_stream_without_a_mark_is_read_as_it_was(tmp_path):
    path = FIXTURES / "aix/every-form-32.aix32"
    with (
        converter.open_trace(path, "aix+32") as trace,
        travelled(trace, tmp_path) as again,
    ):
        assert difference(trace, again) is None
        assert again.variant == "32"


@pytest.mark.parametrize("srcline", ["yes", "no"])
def test_functions_have_their_places_if_they_had(srcline, tmp_path):
    options = {"srcline": srcline}
    with converter.open_trace(FIXTURES / "uftrace/rich", options=options) as trace:
        assert "source" in records(trace)
        with travelled(trace, tmp_path) as again:
            assert difference(trace, again) is None
            assert again.origin is not None
            assert again.origin.options == options


#: Of what is there before any event was read.
CHANGES = {
    "the environment": lambda trace: trace.environment.update(more="yes"),
    "the clock": lambda trace: setattr(trace, "clock", replace(trace.clock, epoch_ns=5)),
    "another format's part": lambda trace: trace.sidecar.update(fxt={"unused": 1}),
    "its own part": lambda trace: trace.sidecar["trace_cmd"].update(options=[]),
    "events": lambda trace: setattr(trace, "make_batches", lambda: iter(())),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_of_a_trace_that_was_changed_its_events_travel(change, tmp_path):
    with converter.open_trace(MADE) as trace:
        assert "source" in records(trace)
        change(trace)
        assert "source" not in records(trace)
        with travelled(trace, tmp_path) as again:
            assert difference(trace, again) is None


def test_names_that_were_changed_after_reading_travel(tmp_path):
    with converter.open_trace(MADE) as trace:
        for _ in trace.batches():
            pass
        trace.processes[0].name = "another"
        trace.threads[-1].name = "other"
        with travelled(trace, tmp_path) as again:
            assert difference(trace, again) is None
            assert "other" in {thread.name for thread in again.threads}


def test_warnings_of_the_reader_come_again_once(tmp_path):
    (tmp_path / "cut.dat").write_bytes(MADE.read_bytes()[:-4000])
    with converter.open_trace(tmp_path / "cut.dat") as trace:
        converter.write(trace, tmp_path / "out.fxt", lossless=True)
        expected = [warning.detail for warning in trace.warnings]
    with converter.open_trace(tmp_path / "out.fxt") as again:
        for _ in range(2):
            for _ in again.batches():
                pass
        assert expected
        assert [warning.detail for warning in again.warnings] == expected


def test_warnings_of_a_wrapper_are_kept(tmp_path):
    (tmp_path / "cut.aix.gz").write_bytes(gzip.compress(STREAM.read_bytes())[:-4])
    with converter.open_trace(tmp_path / "cut.aix.gz") as trace:
        assert trace.warnings
        with travelled(trace, tmp_path) as again:
            assert again.warnings == trace.warnings


def made(source=None, files=(("trc", b""),), format="aix", version=2):
    """Records as somebody could make them."""
    header = pb.Header(magic=MAGIC, version=version, format=format)
    described = pb.Source(name=b"trc", opened=b"trc") if source is None else source
    return b"".join(
        layout.frame(record.SerializeToString())
        for record in (
            pb.Record(header=header),
            pb.Record(source=described),
            *(
                pb.Record(file=pb.SourceFile(name=name.encode(), zstd=zstandard.compress(data)))
                for name, data in files
            ),
        )
    )


@pytest.mark.parametrize(
    "data",
    [
        made(format="ir"),
        made(format="fxt"),
        made(format="nothing"),
        made(pb.Source(name=b"trc", opened=b"trc", option=pack_entries({"trcfmt": "/etc/passwd"}))),
        made(pb.Source(name=b"trc", opened=b"trc", option=pack_entries({"variant": 64}))),
        made(pb.Source(name=b"trc", opened=b"trc", option=pack_entries({"source": "x"}))),
        made(pb.Source(name=b"/etc/passwd", opened=b"passwd")),
        made(pb.Source(name=b"trc", opened=b"../trc")),
        made(files=[("../trc", b"")]),
        made(files=[("/trc", b"")]),
        made(files=[("trc/trc", b"")]),
        made(files=[]),
        made() + layout.frame(pb.Record(tables=pb.Tables()).SerializeToString()),
        made() + b"\n\xff",
        made()[:-4] + b"abcd",
    ],
)
def test_hostile_sources_are_errors(data):
    with open_source(data) as source, pytest.raises(TraceError):
        reopened(source)


def test_what_stands_beside_a_source_is_not_looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = stream("64", words_64(0x5000, 5))
    for name in ("trc", "trc-0"):
        Path(name).write_bytes(data)
    Path("trc.trcfmt").write_text(TEMPLATES)
    with open_source(made(files=[("trc", data)])) as source:
        trace = reopened(source)
        assert trace is not None
        assert "trcfmt" not in trace.sidecar["aix"]
        assert sum(len(batch) for batch in trace.batches()) == 1


def test_a_source_that_travels_in_itself_ends(tmp_path):
    """A file with a trace of it inside, which has one inside: each reader looks at what it is given alone."""
    inner = made(files=[("trc", stream("64", words_64(0x5000, 5)))])
    for _ in range(3):
        inner = made(files=[("trc", inner)])
    with open_source(inner) as source, pytest.raises(TraceError):
        reopened(source)


def test_readers_of_events_refuse_a_source():
    data = made(files=[("trc", stream("64"))])
    with pytest.raises(TraceError, match="version"):
        converter.read(data)


def test_a_stream_of_ours_travels_as_events():
    """It is made of them, by whoever writes it again."""
    with converter.open_trace(OWN_STREAM) as trace:
        assert "source" not in records(trace)

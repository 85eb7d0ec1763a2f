"""Recordings of several files: streams of CPUs, with templates of the user."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.aix.files import opened, stream, words_64

import converter
from converter.errors import StrictLossError
from converter.formats.aix import FORMAT
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.storage.sink import BufferSink


def _recording(folder: Path) -> Path:
    """The streams of two CPUs, and the user's templates."""
    folder.mkdir()
    for name, ts in (("trc", 5), ("trc-0", 7), ("trc-12", 6)):
        data = stream(
            "64", words_64(0x1060, 4, 5, 60, 6, 61, ts=ts), words_64(0x5F50, 1, ts=ts + 9)
        )
        (folder / name).write_bytes(data)
    (folder / "trace.fmt").write_bytes(b'5F5 1.0 "mine" W1 "size="DW\n')
    return folder / "trc"


@pytest.mark.parametrize("via", ["aix", "fxt"])
def test_streams_of_cpus_and_their_templates_come_back(tmp_path, via):
    """Also after another way through a format."""
    source = _recording(tmp_path / "in")
    first, second, back = (tmp_path / name for name in ("first", "second", "back"))
    with converter.open_trace(source, "aix") as trace:
        converter.write(trace, first, via, lossless=True, strict="all")
    with converter.open_trace(first) as trace:
        converter.write(trace, second, "chrome", lossless=True, strict="all")
    with converter.open_trace(second) as trace:
        converter.write(trace, back, "aix")
        assert trace.format == "aix"
    for suffix in ("", "-0", "-12"):
        assert (tmp_path / f"back{suffix}").read_bytes() == Path(f"{source}{suffix}").read_bytes()
    with converter.open_trace(source) as trace, converter.open_trace(back) as again:
        assert difference(collect(trace), collect(again)) is None
        assert {one.name for one in trace.event_classes} == {"DISPATCH", "mine"}


def test_streams_that_do_not_travel_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("converter.formats.lossless.travelling.MOST", 10)
    with (
        converter.open_trace(_recording(tmp_path / "in")) as trace,
        pytest.raises(StrictLossError, match="user hooks"),
    ):
        converter.write(trace, tmp_path / "out", "fxt", lossless=True, strict="all")


def test_changed_events_do_not_come_back_as_they_were(tmp_path):
    with converter.open_trace(_recording(tmp_path / "in")) as trace:
        converter.write(trace, tmp_path / "first", "fxt", lossless=True)
    with converter.open_trace(tmp_path / "first") as trace:
        changed = collect(trace)
    (batch,) = changed.batches()
    batch.ts[:] += 1000
    sink = BufferSink()
    FORMAT.writer()(changed, sink, "64")
    again = opened(sink.getvalue())
    assert again.sidecar["aix"]["own"]
    assert not sink.companions.keys() & {"-0", "-12"}
    assert "contents" not in FORMAT.portable(changed)

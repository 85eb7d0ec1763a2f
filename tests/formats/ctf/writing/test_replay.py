"""The files of CTF's own traces written again: in the other version, and after travelling through other formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.ctf.files import Stream, events_of
from support.ctf.metadata_cases import ACCEPTED

import converter
from converter.errors import TraceError, UnsupportedError
from converter.formats.ctf.metadata.files import parse_metadata
from converter.formats.ctf.metadata.other_version import metadata_in
from converter.formats.ctf.metadata.trace_class import LOG_LEVELS
from converter.formats.lossless import travelling
from converter.ir.canonical import difference

FIXTURES = Path(__file__).parents[4] / "roundtrip_fixtures"


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a directory by relative name."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.mark.parametrize("via", ["fxt", "perfetto", "chrome", "trace_cmd", "ir"])
def test_files_travel_through_other_formats(via: str, tmp_path: Path) -> None:
    source = FIXTURES / "ctf/ctf_small"
    between = tmp_path / "between"
    converter.convert(source, between, target_format=via, lossless=True)
    converter.convert(between, tmp_path / "back", target_format="ctf")
    assert contents(tmp_path / "back") == contents(source)


def test_files_travel_on_and_change_their_version(tmp_path: Path) -> None:
    source = FIXTURES / "ctf/ctf_lost"
    converter.convert(source, tmp_path / "a", target_format="fxt", lossless=True)
    converter.convert(tmp_path / "a", tmp_path / "b", target_format="perfetto", lossless=True)
    converter.convert(tmp_path / "b", tmp_path / "c", target_format="ctf+2")
    metadata = next((tmp_path / "c").rglob("metadata"))
    assert parse_metadata(metadata.read_bytes()).version == (2, 0)
    assert difference(converter.read(source), converter.read(tmp_path / "c")) is None


def test_large_files_do_not_travel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(travelling, "MOST", 10)
    source = FIXTURES / "ctf/ctf_small"
    converter.convert(source, tmp_path / "x.fxt", lossless=True)
    converter.convert(tmp_path / "x.fxt", tmp_path / "back", target_format="ctf")
    assert set(contents(tmp_path / "back")) != set(contents(source))
    assert difference(converter.read(source), converter.read(tmp_path / "back")) is None


@pytest.mark.parametrize("travelled", [False, True])
def test_a_changed_trace_is_encoded_anew(travelled: bool, tmp_path: Path) -> None:
    source = FIXTURES / "ctf/ctf_small"
    if travelled:
        converter.convert(source, tmp_path / "x.fxt", lossless=True)
        source = tmp_path / "x.fxt"
    trace = converter.read(source)
    whole = list(trace.batches())
    for batch in whole:
        batch.ts = batch.ts + 1
    changed = replace(trace, make_batches=lambda: iter(whole))
    converter.write(changed, tmp_path / "out", "ctf")
    assert difference(changed, converter.read(tmp_path / "out")) is None


@pytest.mark.parametrize("variants", [("1.8", "2"), ("2", "1.8")])
def test_what_other_formats_became_changes_its_version(
    variants: tuple[str, str], tmp_path: Path
) -> None:
    """With what is stated of it."""
    first, second = variants
    source = FIXTURES / "chrome/features.json"
    converter.convert(source, tmp_path / "one", target_format=f"ctf+{first}")
    converter.convert(tmp_path / "one", tmp_path / "two", target_format=f"ctf+{second}")
    assert converter.read(tmp_path / "two").variant == second
    assert difference(converter.read(tmp_path / "one"), converter.read(tmp_path / "two")) is None


CTF2_ONLY = (
    '\x1e{"type": "preamble", "version": 2}\n'
    '\x1e{"type": "trace-class", "name": "boards"}\n'
    '\x1e{"type": "data-stream-class"}\n'
    '\x1e{"type": "event-record-class", "name": "leb", "payload-field-class": {"type":'
    ' "structure", "member-classes": [{"name": "n", "field-class": {"type":'
    ' "variable-length-unsigned-integer"}}, {"name": "kept", "field-class": {"type":'
    ' "fixed-length-boolean", "length": 8, "alignment": 8, "byte-order": "little-endian"}}]}}\n'
)


def test_what_only_ctf_2_says_is_encoded_anew_for_1_8(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "metadata").write_text(CTF2_ONLY)
    (source / "stream").write_bytes(bytes([0x80, 0x01, 0x01, 0x7F, 0x00]))
    declared = parse_metadata(CTF2_ONLY.encode())
    with pytest.raises(UnsupportedError, match="does not have a field class"):
        metadata_in(declared, 1)
    converter.convert(source, tmp_path / "out", target_format="ctf+1.8")
    again = converter.read(tmp_path / "out")
    assert [values for _, _, values in events_of(again)] == [
        {"n": 128, "kept": True},
        {"n": 127, "kept": False},
    ]
    assert difference(converter.read(source), again) is None


#: What Babeltrace would not read in one of the versions.
UNREADABLE = {
    "labels with spaces",
    "large integers",
    "selector without labels for options",
    "variant by a path of scopes",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_metadata_say_the_same_in_ctf_2(name: str) -> None:
    one = parse_metadata(ACCEPTED[name].encode())
    if not one.streams or name in UNREADABLE:
        with pytest.raises(UnsupportedError):
            metadata_in(parse_metadata(metadata_in(one, 2)), 1)
        return
    two = parse_metadata(metadata_in(one, 2))
    again = parse_metadata(metadata_in(two, 1))
    assert (two.version, again.version) == ((2, 0), (1, 8))
    assert parse_metadata(metadata_in(again, 2)) == two


def test_log_levels_have_names_in_ctf_2(tmp_path: Path) -> None:
    path = FIXTURES / "ctf/ctf_small"
    metadata = next(path.rglob("metadata")).read_bytes()
    declared = parse_metadata(metadata)
    two = parse_metadata(metadata_in(declared, 2))
    levels = {event.log_level for event in two.streams[0].events.values()}
    assert "debug:line" in levels and levels <= set(LOG_LEVELS)


def test_a_log_level_without_a_name_is_kept_aside() -> None:
    declared = parse_metadata(next((FIXTURES / "ctf/ctf_small").rglob("metadata")).read_bytes())
    declared.streams[0].events[0].log_level = 15
    two = parse_metadata(metadata_in(declared, 2))
    assert two.streams[0].events[0].log_level is None
    assert parse_metadata(metadata_in(two, 1)).streams[0].events[0].log_level == 15


@pytest.mark.parametrize(
    "held",
    [
        {"files": {"a": 5}},
        {"files": {"metadata": b"no zstd"}, "traces": 7},
        {"files": {"metadata": b""}, "traces": [{"path": "", "metadata": b"", "version": []}]},
        {"files": {"metadata": b""}, "traces": [{"version": [1, 8]}]},
    ],
)
def test_a_sidecar_that_makes_no_sense_is_not_replayed(
    held: dict[str, object], tmp_path: Path
) -> None:
    source = FIXTURES / "ctf/ctf_lost"
    converter.convert(source, tmp_path / "x.fxt", lossless=True)
    with converter.open_trace(tmp_path / "x.fxt") as trace:
        trace.sidecar["ctf"] = held
        converter.write(trace, tmp_path / "back", "ctf")
    assert difference(converter.read(source), converter.read(tmp_path / "back")) is None


@pytest.mark.parametrize("target", ["ctf", "ctf+1.8", "ctf+2", "chrome"])
def test_strict_refuses_damaged_packets_for_every_target(target: str, tmp_path: Path) -> None:
    stream = Stream({"mark": "", "e": "string s;"})
    cut = stream.packet([stream.record(0, 1), stream.record(1, 2, b"no end")])
    source = stream.write(tmp_path / "source", cut)
    with pytest.raises(TraceError, match="crosses the end of the packet"):
        converter.convert(source, tmp_path / "out", target_format=target, strict=True)
    assert not (tmp_path / "out").exists()
    converter.convert(source, tmp_path / "out", target_format=target)


@pytest.mark.parametrize(
    ("field", "sequence", "start", "end"),
    [("packet.magic", 1, 1, None), ("packet.packet_seq_num", 4, 0, None), (None, 1, 0, -3)],
)
def test_damaged_packets_are_said_of_a_copy_too(
    field: str | None, sequence: int, start: int, end: int | None, tmp_path: Path
) -> None:
    """The copy has them as well."""
    stream = Stream({"mark": ""})
    second = stream.packet(stream.record(0, 1), sequence=sequence)[start:end]
    first = stream.packet(stream.record(0, 1), sequence=sequence // 4 * 4)
    source = stream.write(tmp_path / "source", first, second)
    with converter.open_trace(source) as trace:
        converter.write(trace, tmp_path / "out", "ctf")
        assert [warning.field for warning in trace.warnings] == [field]
    assert contents(tmp_path / "out") == contents(source)


@pytest.mark.parametrize("window", [64, 4096, 1 << 20])
def test_a_copy_passes_over_events(
    window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until somebody asks whether they are damaged."""
    monkeypatch.setattr("converter.formats.ctf.reading.packets.WINDOW", window)
    stream = Stream({"mark": "string s;"})
    records = [stream.record(0, number, b"text\0") for number in range(300)]
    packets = stream.packet(records), stream.packet(stream.record(9, 2), sequence=1)
    source = stream.write(tmp_path / "source", *packets)
    with converter.open_trace(source) as trace:
        converter.write(trace, tmp_path / "out", "ctf")
        assert not trace.warnings
        with pytest.raises(TraceError, match="an event record class of the stream"):
            converter.write(trace, tmp_path / "strict", "ctf", strict=True)
    assert contents(tmp_path / "out") == contents(source)


def test_strict_lets_unknown_attributes_pass(tmp_path: Path) -> None:
    """They are allowed, and no damage; copies have them."""
    stream = Stream({"mark": ""})
    source = stream.write(tmp_path / "source", stream.packet(stream.record(0, 1)))
    metadata = (source / "metadata").read_text().replace("clock {", "clock { colour = 3;")
    (source / "metadata").write_text(metadata)
    converter.convert(source, tmp_path / "out", target_format="ctf", strict=True)
    assert contents(tmp_path / "out") == contents(source)
    (held,) = converter.read(source).sidecar["ctf"]["traces"]
    assert [text.split(": ")[1] for text in held["remarks"]] == ["unknown attribute clock.colour"]

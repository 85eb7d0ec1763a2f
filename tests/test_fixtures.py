"""Synthetic traces and the files that are made of them: valid, the same ones everywhere, each damaged in one place."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import converter
from converter.cli import main
from converter.errors import OutputError, TraceError, UnknownFormatError, UnsupportedError
from converter.fixtures import generate, synthetic_trace
from converter.fixtures.generation import MANIFEST, Manifest, variants
from converter.fixtures.kinds import GROUPS, kinds_named
from converter.fixtures.script import script
from converter.ir.canonical import canonical, difference, dump, load
from converter.ir.invariants import check
from converter.ir.kinds import Kind

GENERATED = Path(__file__).parents[1] / "roundtrip_fixtures/generated"
#: What the committed files are made with: all but those that a library compresses.
COMMITTED = (
    "aix,chrome,ctf,fxt,ir+json,lttng_legacy,perfetto,trace_cmd+v6,trace_cmd+v7_none,uftrace"
)
COMMITTED_KINDS = "sched,timeline,typed,text"
COMMITTED_EVENTS = 48
REGENERATE = (
    f"traceconv fixtures roundtrip_fixtures/generated --force --formats {COMMITTED}"
    f" --kinds {COMMITTED_KINDS} --events {COMMITTED_EVENTS}"
)


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    """Files of every format and variant, with damaged copies."""
    folder = tmp_path_factory.mktemp("fixtures") / "all"
    return folder, generate(folder, events=160, corrupt=True)


# Synthetic traces


def test_a_synthetic_trace_is_well_formed() -> None:
    for kinds in GROUPS:
        check(synthetic_trace(kinds, 200, seed=3))


def test_a_round_of_the_script_has_every_kind() -> None:
    trace = synthetic_trace("all", len(script(GROUPS["all"])))
    used = {trace.event_classes[n].kind for batch in trace.batches() for n in batch.tables}
    assert used == set(Kind) - {Kind.NATIVE}


def test_the_seed_decides_the_values() -> None:
    assert dump(synthetic_trace(seed=5)) == dump(synthetic_trace(seed=5))
    assert dump(synthetic_trace(seed=5)) != dump(synthetic_trace(seed=6))
    trace = synthetic_trace(seed=5)
    assert dump(trace) == dump(trace), "batches are the same when read again"


def test_a_longer_trace_begins_as_a_shorter_one() -> None:
    short = canonical(synthetic_trace("sched,typed", 50))
    long = canonical(synthetic_trace("sched,typed", 90))
    assert isinstance(short["events"], list) and isinstance(long["events"], list)
    assert [event[0] for event in short["events"]] == [event[0] for event in long["events"][:50]]


def test_batches_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = dump(synthetic_trace("all", 300))
    monkeypatch.setattr("converter.fixtures.synthetic._BATCH", 7)
    trace = synthetic_trace("all", 300)
    assert len(list(trace.batches())) == 43
    assert dump(trace) == whole


def test_kinds_are_named_singly_and_in_groups() -> None:
    assert kinds_named("irq_entry, SCHED") == (*sorted({*GROUPS["sched"], Kind.IRQ_ENTRY}),)
    assert kinds_named(["all"]) == GROUPS["all"]
    for wrong in ("nonsense", "", "native", "sched,"):
        with pytest.raises(UnsupportedError, match="kind"):
            kinds_named(wrong)


# Files


def test_every_format_and_variant_is_there(damaged: tuple[Path, Manifest]) -> None:
    _, manifest = damaged
    made = {(fixture.format, fixture.variant) for fixture in manifest.fixtures}
    assert made == {(format.name, variant) for format, variant in variants()}
    for format in converter.FORMATS:
        # An empty variant may stand for another one.
        names = {variant for name, variant in made if name == format.name}
        assert names | {""} == {*format.variants, ""}


def test_the_manifest_says_what_there_is(damaged: tuple[Path, Manifest]) -> None:
    folder, manifest = damaged
    data = json.loads((folder / MANIFEST).read_text())
    assert data["generator"] == "traceconv fixtures"
    assert (data["events"], data["seed"]) == (160, 0)
    assert data["kinds"] == [kind.name.lower() for kind in GROUPS["all"]]
    listed = {MANIFEST}
    for fixture in data["fixtures"]:
        listed |= {fixture["canonical"], fixture["losses"], *fixture["files"]}
    for copy in data["damaged"]:
        listed |= copy["files"].keys()
    found = files_of(folder)
    assert listed == found.keys()
    for entry in data["fixtures"] + data["damaged"]:
        for name, file in entry["files"].items():
            assert file["size"] == len(found[name])
            assert file["sha256"] == hashlib.sha256(found[name]).hexdigest()
    assert manifest.to_json() == (folder / MANIFEST).read_text()


def test_reading_gives_what_is_written_beside(damaged: tuple[Path, Manifest]) -> None:
    folder, manifest = damaged
    for fixture in manifest.fixtures:
        trace = converter.read(folder / fixture.path)
        assert not trace.warnings
        # The representation says what the trace was, where it is not a canonical form.
        assert trace.format == ("synthetic" if fixture.name == "ir" else fixture.format)
        assert sum(map(len, trace.batches())) == fixture.events
        expected = load((folder / fixture.canonical).read_text())
        assert difference(expected, trace) is None, fixture.name
        losses = json.loads((folder / fixture.losses).read_text())["losses"]
        assert all(loss.keys() == {"kind", "what", "count", "first_ts"} for loss in losses)
        assert losses or fixture.format in ("aix", "ctf", "ir"), "these hold all there is"


def test_each_machine_writes_the_same(tmp_path: Path) -> None:
    """Whatever hashes of texts are, wherever it is, and whatever the time."""
    for number, home in (("1", "/"), ("2", str(tmp_path))):
        environment = {**os.environ, "PYTHONHASHSEED": number, "HOME": home, "TZ": f"UTC-{number}"}
        command = [sys.executable, "-m", "converter", "fixtures", str(tmp_path / number)]
        subprocess.run([*command, "--events", "90", "-q"], env=environment, check=True, timeout=120)
    first, second = files_of(tmp_path / "1"), files_of(tmp_path / "2")
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_the_committed_files_are_made_so(tmp_path: Path) -> None:
    generate(tmp_path / "new", COMMITTED.split(","), COMMITTED_KINDS, events=COMMITTED_EVENTS)
    new, committed = files_of(tmp_path / "new"), files_of(GENERATED)
    assert new.keys() == committed.keys(), REGENERATE
    changed = [name for name in new if new[name] != committed[name]]
    assert not changed, f"{changed}: {REGENERATE}"
    assert sum(map(len, committed.values())) < 600_000


def test_a_directory_is_replaced_only_when_told(tmp_path: Path) -> None:
    generate(tmp_path / "out", ["fxt+be"], events=5)
    with pytest.raises(OutputError, match="exists"):
        generate(tmp_path / "out", ["fxt"], events=5)
    generate(tmp_path / "out", ["fxt"], events=5, force=True)
    assert sorted(path.name for path in (tmp_path / "out").glob("*.fxt")) == [
        "fxt-be.fxt",
        "fxt-large.fxt",
        "fxt.fxt",
    ]


def test_nothing_is_left_of_what_failed(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormatError):
        generate(tmp_path / "out", ["fxt", "nonsense"])
    with pytest.raises(UnsupportedError):
        generate(tmp_path / "out", kinds="nonsense")
    assert not list(tmp_path.iterdir())


# Damage

#: What reading gives, by format and defect; the variants of a format agree.
READINGS = {
    "aix": """bad_magic:error empty:error truncated_in_first_entry:error truncated_in_entry:warning
        truncated_in_last_entry:warning length_of_entry:warning flipped_byte_in_entry:other""",
    "chrome": """bad_magic:error empty:error truncated_in_first_event:warning truncated_in_event:warning
        truncated_in_last_event:warning length_of_event:warning flipped_byte_in_event:other unclosed_array:warning""",
    "ctf": """empty_metadata:error syntax_of_metadata:error packet_magic:warning uuid:warning
        truncated_in_packet_header:warning truncated_in_event:warning content_size:warning packet_size:other
        flipped_byte_in_event:other""",
    "fxt": """bad_magic:error empty:error truncated_in_first_record:error truncated_in_record:warning
        truncated_in_last_record:warning length_of_record:warning flipped_byte_in_record:other""",
    "ir": """bad_magic:error empty:error truncated_in_first_record:error truncated_in_record:warning
        truncated_in_last_record:warning length_of_record:warning flipped_byte_in_record:error""",
    "lttng_legacy": """bad_magic:warning truncated_in_header:warning version:error length_of_block:warning
        truncated_in_event:warning flipped_byte_in_event:other""",
    "perfetto": """bad_magic:error empty:error truncated_in_first_packet:error truncated_in_packet:warning
        truncated_in_last_packet:warning length_of_packet:warning flipped_byte_in_packet:other""",
    "trace_cmd": """bad_magic:error empty:error truncated_in_header:error version:error length_of_header_page:error
        truncated_in_header_page:error length_of_page:warning length_of_page_in_first_cpu:warning
        truncated_in_page:warning length_of_event:warning type_of_event:other""",
    "uftrace": """bad_magic:error empty:error truncated_in_header:error version:error truncated_task_txt:warning
        truncated_in_record:warning magic_of_record:warning""",
}
#: Those that are no defect of the events, or not the same in each variant.
ANY_READING = {
    "flipped_byte",
    "truncated",
    "truncated_metadata",
    "magic_of_metadata",
    "truncated_in_header_of_metadata",
}


def test_each_defect_is_read_as_it_must_be(damaged: tuple[Path, Manifest]) -> None:
    _, manifest = damaged
    formats = {fixture.name: fixture for fixture in manifest.fixtures}
    seen: dict[str, set[str]] = {}
    for copy in manifest.damaged:
        intact = formats[copy.of]
        readings = dict(pair.split(":") for pair in READINGS[intact.format].split())
        seen.setdefault(intact.format, set()).add(copy.defect)
        if copy.defect not in ANY_READING:
            assert copy.reading == readings[copy.defect], copy.name
        assert (copy.events == 0) == (copy.reading == "error") or copy.events == 0, copy.name
    for name, text in READINGS.items():
        assert {pair.partition(":")[0] for pair in text.split()} <= seen[name] | ANY_READING


def test_a_damaged_file_has_one_defect(damaged: tuple[Path, Manifest]) -> None:
    folder, manifest = damaged
    intact = {fixture.name: fixture for fixture in manifest.fixtures}
    for copy in manifest.damaged:
        before = {
            copy.path + name.removeprefix(intact[copy.of].path): (folder / name).read_bytes()
            for name in intact[copy.of].files
        }
        changed = [name for name, data in before.items() if (folder / name).read_bytes() != data]
        assert changed == [copy.file], copy.name
        old, new = before[copy.file], (folder / copy.file).read_bytes()
        places = [i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
        if len(new) < len(old):
            assert not places and len(new) == copy.offset
        else:
            assert len(new) == len(old)
            assert copy.offset <= places[0] and places[-1] < copy.offset + 8


def test_damaged_files_are_read_from_disk_as_the_manifest_says(
    damaged: tuple[Path, Manifest],
) -> None:
    folder, manifest = damaged
    for copy in manifest.damaged:
        try:
            trace = converter.read(folder / copy.path)
        except TraceError:
            assert copy.reading == "error", copy.name
        else:
            assert copy.reading == ("warning" if trace.warnings else "other"), copy.name
            assert sum(map(len, trace.batches())) == copy.events


def test_what_is_damaged_last_leaves_what_is_before(damaged: tuple[Path, Manifest]) -> None:
    folder, manifest = damaged
    intact = {fixture.name: fixture for fixture in manifest.fixtures}
    cut = [copy for copy in manifest.damaged if copy.defect.startswith("truncated_in_last_")]
    assert len(cut) > 5
    for copy in cut:
        whole = intact[copy.of].events
        # The last entry may be one that has no event.
        assert whole - 2 <= copy.events <= whole, copy.name
        times = [
            [t for b in converter.read(p).batches() for t in b.ts.tolist()]
            for p in (folder / intact[copy.of].path, folder / copy.path)
        ]
        assert times[1] == times[0][: len(times[1])], copy.name


# The command


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    arguments = ["fixtures", out, "--formats", "chrome,fxt+be", "--kinds", "sched", "--events", "9"]
    assert main([*arguments, "--seed", "7", "--corrupt"]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"traceconv: {out}: 2 fixtures, 15 damaged copies\n"
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert [fixture["name"] for fixture in manifest["fixtures"]] == ["chrome", "fxt-be"]
    assert (manifest["seed"], manifest["events"]) == (7, 9)
    assert main([*arguments, "-q"]) == 1
    assert "exists already" in capsys.readouterr().err
    assert main([*arguments, "-q", "--force"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "wrong",
    [
        ["-"],
        ["out", "--formats", "nonsense"],
        ["out", "--formats", "fxt+nonsense"],
        ["out", "--kinds", "nonsense"],
        ["out", "--events", "0"],
        ["out", "--seed", "x"],
        [],
    ],
)
def test_wrong_usage(
    wrong: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["fixtures", *wrong]) == 2
    assert capsys.readouterr().err.startswith("traceconv fixtures: ")
    assert not list(tmp_path.iterdir())


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fixtures", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Examples:" in shown
    for group in GROUPS:
        assert group in shown

"""What is wrong with a trace, and what can be saved of it."""

import io
import json
import os
import struct
import tarfile
from pathlib import Path

import pytest

import converter
from converter.analysis.building.builder import TraceBuilder
from converter.cli import main
from converter.errors import TraceWarning, note
from converter.ir.kinds import Kind
from converter.jobs import reading

FIXTURES = Path(__file__).parents[3] / "roundtrip_fixtures"
SMALL = FIXTURES / "trace_cmd" / "small.dat"
LOST = FIXTURES / "trace_cmd" / "lost.dat"


@pytest.fixture(autouse=True)
def _inside(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def damaged():
    """An FXT file whose last record is cut."""
    assert main([str(SMALL), "-o", "whole.fxt", "-q"]) == 0
    data = Path("whole.fxt").read_bytes()
    os.unlink("whole.fxt")
    Path("cut.fxt").write_bytes(data[: len(data) // 2 // 8 * 8 + 4])
    return "cut.fxt"


def run(capfd, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return code, out, err


def test_a_sound_trace(capfd):
    code, out, err = run(capfd, "check", SMALL)
    assert (code, err) == (0, "")
    (line,) = out.splitlines()
    assert line.startswith(f"{SMALL}: trace_cmd: sound: 338 events, from ")
    assert run(capfd, "check", SMALL, "-q") == (0, "", "")


def test_a_damaged_trace(capfd, damaged):
    code, out, _ = run(capfd, "check", damaged)
    assert code == 1
    first, heading, row, hint = out.splitlines()
    assert "cut.fxt: fxt: damaged: " in first
    assert heading.split() == ["AFTER", "WHERE", "WHAT", "IS", "MISSING"]
    assert "cut.fxt, byte " in row
    assert hint == "traceconv recover cut.fxt -o OUT writes what can be read"
    code, out, _ = run(capfd, "check", damaged, "--json")
    report = json.loads(out)
    assert (code, report["sound"], report["discarded"]) == (1, False, [])
    (gap,) = report["damage"]
    assert report["first_ts"] < gap["behind_ts"] == report["last_ts"]


def test_what_can_be_saved_is(capfd, damaged):
    code, out, err = run(capfd, "recover", damaged, "-o", "saved.json")
    assert code == 0
    assert "cut.fxt, byte " in out
    assert err.startswith("traceconv: saved.json: ")
    saved = converter.read("saved.json")
    assert 0 < sum(len(batch) for batch in saved.batches()) < 338
    assert run(capfd, "check", "saved.json")[0] == 0
    # What replays its own records warns as others do.
    assert run(capfd, "recover", damaged, "-o", "saved.fxt")[1] == out
    assert run(capfd, "check", "saved.fxt")[0] == 0


def test_nothing_can_be_saved(capfd):
    Path("bad.dat").write_bytes(b"nothing")
    for arguments in (["check", "bad.dat"], ["recover", "bad.dat", "-o", "out.fxt"]):
        code, out, err = run(capfd, *arguments)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "not recognised" in err
    assert os.listdir() == ["bad.dat"]


def test_what_the_recorder_lost_is_no_damage(capfd):
    trace = converter.read(LOST)
    expected = sum(
        len(table)
        for batch in trace.batches()
        for number, table in batch.tables.items()
        if trace.event_classes[number].kind is Kind.DISCARDED
    )
    code, out, _ = run(capfd, "check", LOST, "--json")
    report = json.loads(out)
    assert (code, report["damage"]) == (0, [])
    assert len(report["discarded"]) == expected > 0
    assert all("that the recorder lost" in gap["what"] for gap in report["discarded"])
    _, out, _ = run(capfd, "check", LOST)
    assert "CPU " in out


def test_damage_that_a_reader_comes_to_twice_is_told_once(tmp_path, capsys):
    damaged = tmp_path / "trace.dat"
    damaged.write_bytes(SMALL.read_bytes()[:100_000])
    assert main(["check", str(damaged), "--json"]) == 4
    found = [(one["where"], one["what"]) for one in json.loads(capsys.readouterr().out)["damage"]]
    assert len(found) == len(set(found)) > 0


NOTHING = {
    "text.json": b'{"traceEvents": "[]"}',
    "null.json": b'{"traceEvents": null}',
    "number.json": b'{"traceEvents":5,"otherData":{}}',
    "object.json": b'{"traceEvents": {"ph": "i"}}',
    "cut.json": b'[{"ph":"i","ts":1,"pid":1,"tid":1,"name":',
    "head.dat": SMALL.read_bytes()[:2000] if SMALL.exists() else b"",
}


@pytest.mark.parametrize("name", NOTHING)
def test_damage_that_leaves_no_event(capfd, name):
    """The exit code is one of its own, and nothing is written."""
    Path(name).write_bytes(NOTHING[name])
    for arguments in (
        ["check", name],
        ["check", name, "--json"],
        [name, "-o", "out.fxt"],
        [name, "-o", f"out{Path(name).suffix}"],
        [name, "-o", "out.pftrace", "--lossless"],
        ["recover", name, "-o", "out.json"],
        ["info", name],
    ):
        code, out, err = run(capfd, *arguments)
        assert code == 4, arguments
        assert err.count("\n") == (arguments[0] != "check")
        assert out.startswith(f"{name}: ") or arguments[0] != "check" or "--json" in arguments
    assert os.listdir() == [name]
    with pytest.raises(converter.NothingLeftError), converter.open_trace(name) as trace:
        list(trace.batches())


def test_an_event_that_is_left_is_enough(capfd):
    event = '{"ph":"i","ts":1,"pid":1,"tid":1,"name":"a"}'
    Path("one.json").write_text(f"[{event},{event[:-1]}")
    assert run(capfd, "one.json", "-o", "one.fxt")[0] == 0
    assert run(capfd, "check", "one.json")[0] == 1
    # What was not asked for is not lost.
    code, _, err = run(capfd, "one.json", "-o", "part.fxt", "--event", "nothing")
    assert (code, "kept 0 of 1 events" in err) == (0, True)
    # Nor is an empty trace damaged.
    Path("empty.json").write_text('{"traceEvents": []}')
    assert run(capfd, "empty.json", "-o", "empty.fxt")[0] == 0


@pytest.mark.parametrize("is_damage", [False, True])
@pytest.mark.parametrize("parts", [{}, {"offset": 0}, {"expected": "x"}])
def test_a_remark_about_a_trace_without_events_is_no_damage(parts, is_damage):
    """A warning says itself whether it tells of damage, whatever else is in it."""
    trace = TraceBuilder().trace()
    warning = TraceWarning(message="its clock is not exact", is_damage=is_damage, **parts)
    note(trace.warnings, warning)
    reading._refuse_nothing(trace)
    if is_damage:
        with pytest.raises(converter.NothingLeftError):
            list(trace.batches())
    else:
        assert sum(map(len, trace.batches())) == 0


def empty_fxt():
    """A trace of which only the date cannot be kept: the remark has an offset and an expectation."""
    return struct.pack("<5Q", 0x0016547846040010, 4 << 4 | 1, 10**9, 0, (1 << 64) - 1)


def empty_tar():
    """An archive of an empty trace and of a link, which is left out."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        link = tarfile.TarInfo("link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        member = tarfile.TarInfo("trace.json")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"[]"))
    return made.getvalue()


SOUND = {"date.fxt": empty_fxt, "link.tar": empty_tar}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_trace_without_events_has_remarks(capfd, name):
    os.mkdir("in")
    Path(f"in/{name}").write_bytes(SOUND[name]())
    code, out, _ = run(capfd, "check", f"in/{name}")
    assert (code, ": sound: 0 events" in out, "remark: " in out) == (0, True, True)
    code, out, _ = run(capfd, "check", f"in/{name}", "--json")
    found = json.loads(out)
    assert (code, found["sound"], found["damage"], len(found["remarks"])) == (0, True, [], 1)
    for arguments in (
        [f"in/{name}", "-o", "out.json"],
        [f"in/{name}", "-o", "out.tcir"],
        ["recover", f"in/{name}", "-o", "recovered.json"],
        ["info", f"in/{name}"],
        # The mark travels.
        ["check", "out.tcir"],
    ):
        assert run(capfd, *arguments)[0] == 0, arguments
    code, out, _ = run(capfd, "batch", "in/*", "-t", "json", "-o", "all", "-j", "1", "-q")
    assert (code, "damaged" in out) == (0, False)


def test_a_damaged_empty_trace_is_lost_in_every_command(capfd):
    os.mkdir("in")
    Path("in/a.fxt").write_bytes(empty_fxt()[:-4])
    Path("in/b.json").write_bytes(NOTHING["number.json"])
    for name in os.listdir("in"):
        for arguments in (
            ["check", f"in/{name}"],
            ["recover", f"in/{name}", "-o", "out.json"],
            [f"in/{name}", "-o", "out.json"],
        ):
            assert run(capfd, *arguments)[0] == 4, arguments
    assert run(capfd, "batch", "in/*", "-t", "json", "-o", "all", "-j", "1", "-q")[0] == 4


def test_a_folder_keeps_what_is_left(capfd):
    """Only if nothing is left of all its traces it is an error."""
    os.mkdir("folder")
    Path("folder/a.json").write_bytes(NOTHING["null.json"])
    Path("folder/b.json").write_text('[{"ph":"i","ts":1,"pid":1,"tid":1,"name":"a"}]')
    assert run(capfd, "folder", "-o", "out.fxt")[0] == 0
    Path("folder/b.json").write_bytes(NOTHING["text.json"])
    assert run(capfd, "folder", "-o", "out.json")[0] == 4
    # Files that are none are left out, with a warning; the rest may be empty.
    Path("folder/a.json").write_text("[]")
    Path("folder/b.json").write_text("no trace")
    assert run(capfd, "folder", "-o", "out.json")[0] == 0


@pytest.mark.parametrize(("left", "status"), [("null.json", 4), ("none", 1)])
def test_a_batch_in_which_nothing_is_left(capfd, left, status):
    os.mkdir("in")
    Path("in/a.json").write_bytes(NOTHING["null.json"])
    Path(f"in/{left}").write_bytes(NOTHING.get(left, b"none"))
    code, out, _ = run(capfd, "batch", "in/*", "-t", "fxt", "-o", "out", "-j", "1", "-q")
    assert code == status
    assert out.splitlines()[1].startswith("lost ")


def test_files_that_are_copied_are_not_said_to_have_no_events(capfd):
    """Nobody has counted them: that is what is said, or they are counted."""
    code, _, err = run(capfd, str(SMALL), "-o", "copy.dat", "-v")
    assert (code, "trace_cmd: copied unchanged, " in err) == (0, True)
    code, _, err = run(capfd, "recover", str(SMALL), "-o", "recovered.dat")
    assert (code, ": 338 events, from " in err) == (0, True)
    code, out, _ = run(capfd, "batch", str(SMALL), "-t", "trace_cmd", "-o", "out", "-j", "1", "-q")
    row = out.splitlines()[1]
    assert (code, row.startswith("done "), "copied unchanged" in row) == (0, True, True)

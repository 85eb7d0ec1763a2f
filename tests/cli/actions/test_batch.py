"""Many conversions by one command."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

import converter
from converter.cli import main
from converter.cli.actions import batching
from converter.cli.actions.batch_record import NAME, BatchRecord

ROOT = Path(__file__).parents[3]
SMALL = ROOT / "roundtrip_fixtures" / "trace_cmd" / "small.dat"
MARKERS = ROOT / "roundtrip_fixtures" / "trace_cmd" / "markers.dat"


@pytest.fixture(autouse=True)
def _inputs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    os.makedirs("in/deep")
    shutil.copy(SMALL, "in/a.dat")
    shutil.copy(MARKERS, "in/deep/b.dat")


def run(capfd, *arguments):
    code = main(["batch", *map(str, arguments)])
    out, err = capfd.readouterr()
    *rows, counts = out.splitlines()
    return code, [row.split() for row in rows[1:]], counts, err


def files():
    return sorted(
        str(path) for path in Path("out").rglob("*") if path.is_file() and path.name != NAME
    )


def test_all_of_a_pattern(capfd):
    code, rows, counts, err = run(
        capfd, "in/**/*.dat", "-t", "fxt", "-o", "out/", "--jobs", 2, "--compress", "gz"
    )
    assert (code, counts) == (0, "2 done")
    assert files() == ["out/a.fxt.gz", "out/deep/b.fxt.gz"]
    assert [row[:4] for row in rows] == [
        ["done", "in/a.dat", "out/a.fxt.gz", "338"],
        ["done", "in/deep/b.dat", "out/deep/b.fxt.gz", rows[1][3]],
    ]
    assert sorted(line.split(": ", 2)[2] for line in err.splitlines()) == [
        "in/a.dat: done",
        "in/deep/b.dat: done",
    ]
    assert converter.read("out/a.fxt.gz").format == "fxt"


def test_what_is_done_is_not_done_again(capfd):
    options = ("in/*.dat", "-t", "fxt", "-o", "out", "-q")
    assert run(capfd, *options)[2] == "1 done"
    before = os.stat("out/a.fxt").st_mtime_ns
    code, rows, counts, err = run(capfd, *options)
    assert (code, counts, err) == (0, "1 skipped", "")
    assert " ".join(rows[0]).endswith("the output is newer than the input")
    assert os.stat("out/a.fxt").st_mtime_ns == before
    os.utime("out/a.fxt", ns=(0, 0))
    code, _, counts, _ = run(capfd, *options)
    assert (code, counts) == (1, "1 failed")
    assert run(capfd, *options, "-y")[2] == "1 done"


def test_one_failure_does_not_stop_the_others(capfd):
    Path("in/bad.dat").write_bytes(b"nothing of the kind")
    code, rows, counts, _ = run(capfd, "in/*.dat", "-t", "json", "-o", "out", "-j", 1)
    assert (code, counts) == (1, "1 done, 1 failed")
    assert "not recognised" in " ".join(rows[1])
    assert files() == ["out/a.json"]


def test_a_refusal_has_its_own_exit_code(capfd):
    code, _, counts, _ = run(capfd, "in/*.dat", "-t", "json", "-o", "out", "--strict")
    assert (code, counts) == (3, "1 refused")
    assert files() == []


def test_inputs_of_one_name_do_not_become_one_output(capfd):
    assert main(["in/a.dat", "-o", "in/a.fxt", "-q"]) == 0
    assert run(capfd, "in/a.*", "-t", "json", "-o", "out")[2] == "2 done"
    assert files() == ["out/a.dat.json", "out/a.fxt.json"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none*", "-t", "json", "-o", "out"], "'none*' matches nothing"),
        (["in/a.dat", "-t", "jsno", "-o", "out"], "did you mean 'json'"),
    ],
)
def test_usage(capfd, arguments, said):
    assert main(["batch", *arguments]) == 2
    _, err = capfd.readouterr()
    assert said in err
    assert not Path("out").exists()


def killed(job):
    """What a crash of a worker is."""
    if job.source.endswith("a.dat"):
        os.kill(os.getpid(), signal.SIGKILL)
    return batching.Outcome(job, "done", "")


@pytest.mark.skipif(sys.platform != "linux", reason="the workers of this test are forked")
def test_a_process_that_dies_is_one_failure(capfd, monkeypatch):
    get_context = batching.multiprocessing.get_context
    monkeypatch.setattr(batching.multiprocessing, "get_context", lambda _: get_context("fork"))
    monkeypatch.setattr(batching, "_outcome", killed)
    code, rows, counts, _ = run(capfd, "in/**/*.dat", "-t", "fxt", "-o", "out", "-j", 1)
    assert (code, counts) == (1, "1 failed, 1 done")
    assert "its process ended by SIGKILL" in " ".join(rows[0])


def test_what_a_crash_left_incomplete_is_done_again(capfd):
    options = ("in/**/*.dat", "-t", "fxt", "-o", "out", "-q")
    assert run(capfd, *options)[2] == "2 done"
    whole = Path("out/a.fxt").read_bytes()
    # A system that had not written it yet: the name is there, with a part of the data or none.
    for size in (0, 100):
        modified = os.stat("out/a.fxt").st_mtime_ns
        os.truncate("out/a.fxt", size)
        os.utime("out/a.fxt", ns=(modified, modified))
        code, _, counts, _ = run(capfd, *options)
        assert (code, counts) == (0, "1 done, 1 skipped")
        assert Path("out/a.fxt").read_bytes() == whole
    # One that was being written.
    BatchRecord("out").start("out/deep/b.fxt")
    assert run(capfd, *options)[2] == "1 skipped, 1 done"
    assert run(capfd, *options)[2] == "2 skipped"


def test_what_others_wrote_is_left_alone(capfd):
    Path("in/bad.dat").write_bytes(b"nothing of the kind")
    options = ("in/*.dat", "-t", "fxt", "-o", "out", "-q")
    assert run(capfd, *options)[2] == "1 done, 1 failed"
    Path("out/bad.fxt").write_bytes(b"somebody's")
    Path("out/a.fxt").write_bytes(b"edited")
    assert run(capfd, *options)[2] == "2 skipped"
    assert Path("out/a.fxt").read_bytes() == b"edited"


def test_a_damaged_record_says_nothing_wrong(capfd):
    options = ("in/*.dat", "-t", "fxt", "-o", "out", "-q")
    assert run(capfd, *options)[2] == "1 done"
    record = Path("out", NAME)
    for data in (
        b"\xff\x00",
        b"[]\n1\n{}\n",
        b'{"state": "finished", "output": "a.fxt", "size": "many"}\n{"sta',
    ):
        record.write_bytes(data)
        assert run(capfd, *options)[2] == "1 skipped"
        Path("out/a.fxt").unlink()
        assert run(capfd, *options)[2] == "1 done"

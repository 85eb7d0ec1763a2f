"""Several inputs on the command line."""

import json
import shutil

import pytest
from support.traces.small_traces import event_class, trace_of

import converter
from converter.cli import main
from converter.ir.field_classes import StringClass
from converter.ir.kinds import Kind, Role
from converter.ir.trace import ClockDomain

NAMED = event_class(Kind.INSTANT, name=(StringClass(), Role.NAME))


@pytest.fixture
def files(tmp_path):
    """Two files of clocks that 1970 relates."""
    paths = []
    for name, epoch in (("a.fxt", 1000), ("b.json", 1600)):
        events = [(0, 100, -1, 1, [b"start"]), (0, 300, -1, 1, [b"end"])]
        trace = trace_of([NAMED], events, clock=ClockDomain("ns", epoch_ns=epoch))
        paths.append(str(tmp_path / name))
        converter.write(trace, paths[-1])
    return paths


def times(path):
    return [ts for batch in converter.read(path).batches() for ts in batch.ts.tolist()]


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "all.fxt")


def test_several_inputs_are_one_output(files, out, capsys):
    assert main([*files, "-o", out]) == 0
    assert times(out) == [100, 300, 700, 900]
    said = capsys.readouterr().err.splitlines()
    assert said[:2] == [
        "traceconv: a.fxt: its clock 'ns' is that of all, +0 s",
        "traceconv: b.json: by epoch, +0.0000006 s",
    ]


def test_an_offset_moves_one(files, out):
    assert main([*files, "-o", out, "-q", "--offset", "b.json=-500ns", "--offset", "1=0"]) == 0
    assert times(out) == [100, 200, 300, 400]


def test_an_event_aligns(files, out):
    assert main([*files, "-o", out, "-q", "--align", "start"]) == 0
    assert times(out) == [100, 100, 300, 300]


def test_machines_are_told(files, out, capsys):
    assert main([*files, "-o", out, "--machine", "m=a.fxt", "--machine", "n=b.json"]) == 0
    said = capsys.readouterr().err
    assert "b.json: by epoch, +0.0000006 s, machine n" in said
    assert "are higher, to tell them from others: n by 10,000,000" in " ".join(said.split())


def test_quiet_says_nothing(files, out, capsys):
    assert main([*files, "-o", out, "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_losses_of_merging_are_in_the_report_and_strict(files, out, tmp_path):
    told = ["--machine", "m=1", "--machine", "n=2", "-q"]
    losses = tmp_path / "losses.json"
    assert main([*files, "-o", out, *told, "--losses", str(losses)]) == 0
    codes = [loss["code"] for loss in json.loads(losses.read_text())["losses"]]
    assert "merge-ids-moved" in codes
    for more in ([], ["--lossless"]):
        assert main([*files, "-o", str(tmp_path / "strict.fxt"), *told, "--strict", *more]) == 3


def test_what_was_merged_without_loss_comes_back(files, tmp_path):
    out, again = str(tmp_path / "all.json"), str(tmp_path / "all.tcir")
    assert main([*files, "-o", out, "-q", "--lossless"]) == 0
    assert main([*files, "-o", again, "-q"]) == 0
    assert converter.difference(converter.read(out), converter.read(again)) is None


@pytest.mark.parametrize(
    ("told", "code", "words"),
    [
        (["--offset", "b.json"], 2, "is not NAME=TIME"),
        (["--offset", "b.json=soon"], 2, "'soon' is no offset: write +1.5s"),
        (["--offset", "c.json=1s"], 2, "there is no input 'c.json': --offset"),
        (["--machine", "m"], 2, "is not NAME=IN"),
        (["--align", "never"], 2, "no event 'never' to align by in a.fxt, b.json"),
    ],
)
def test_what_is_wrong_is_said(files, out, capsys, told, code, words):
    assert main([*files, "-o", out, *told]) == code
    assert words in capsys.readouterr().err
    with pytest.raises(converter.TraceError):
        converter.read(out)


def test_no_input_is_replaced(files, capsys):
    assert main([*files, "-o", files[1], "--force"]) == 1
    assert "the output is the input" in capsys.readouterr().err


def test_a_damaged_input_is_named(files, out, tmp_path, capsys):
    bad = tmp_path / "bad.fxt"
    bad.write_bytes(b"no trace at all")
    assert main([*files, str(bad), "-o", out]) == 1
    assert "bad.fxt" in capsys.readouterr().err


def test_what_is_no_trace_in_a_folder_is_left_out(files, tmp_path, out, capsys):
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, path in enumerate(files):
        shutil.copy(path, folder / f"{number}")
    (folder / "notes.txt").write_text("of no format")
    assert main([str(folder), "-o", out]) == 0
    assert "notes.txt: no trace, left out" in capsys.readouterr().err
    for command in ("info", "report"):
        assert main([command, str(folder)]) == 0
        assert "traceconv: 1: by epoch, +0.0000006 s" in capsys.readouterr().err
    assert times(out) == [100, 300, 700, 900]


def test_a_name_that_two_inputs_have_is_told_apart_by_its_folder(files, tmp_path, out, capsys):
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(files[0], folder / "a.fxt")
    assert main([files[0], str(folder / "a.fxt"), "-o", out]) == 0
    said = capsys.readouterr().err
    assert f"{folder}/a.fxt: by " in said

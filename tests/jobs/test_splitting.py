"""One trace to several files: each a whole trace, with what was so at its cut, as viewers show it."""

import os
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from support.traces.small_traces import event_class, trace_of
from support.viewers.trace_processor import answer, errors, needs_trace_processor

import converter
from converter.cli import main
from converter.fixtures import synthetic_trace
from converter.ir.field_classes import IntegerClass, StringClass
from converter.ir.kinds import Kind, Role
from converter.jobs import splitting
from converter.jobs.splitting import without_suffixes

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "roundtrip_fixtures" / "trace_cmd" / "small.dat"
TEXT, I64 = StringClass(), IntegerClass(64, True)
BEGIN = event_class(Kind.SLICE_BEGIN, name=(TEXT, Role.NAME))
END = event_class(Kind.SLICE_END)
SWITCH = event_class(
    Kind.SCHED_SWITCH, "switch", "sched", prev=(I64, Role.PREV_TID), next=(I64, Role.NEXT_TID)
)
WAKING = event_class(Kind.SCHED_WAKING, "waking", "sched", tid=(I64, Role.TID))


def run(capfd, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capfd.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("path", "format", "parts"),
    [
        ("out/trace.json.gz", "chrome", ("out/trace", ".json.gz")),
        ("trace.ctf.tar.zst", "ctf", ("trace", ".ctf.tar.zst")),
        ("a.b/trace", "ctf", ("a.b/trace", "")),
        ("trace.dat/", "ctf", ("trace.dat", "")),
        ("my.PFTRACE", "perfetto", ("my", ".PFTRACE")),
        (".dat", "trace_cmd", (".dat", "")),
    ],
)
def test_labels_stand_in_front_of_suffixes(path, format, parts):
    (found,) = (one for one in converter.FORMATS if one.name == format)
    assert without_suffixes(path, found) == parts


@needs_trace_processor
def test_a_part_shows_what_was_so_at_its_cut(tmp_path):
    events = [
        (0, 1_000, 0, 1, (b"outer",)),
        (0, 2_000, 0, 1, (b"inner",)),
        (2, 3_000, 0, 0, (0, 10)),
        (1, 12_000, 0, 1, ()),
        (2, 15_000, 0, 1, (10, 11)),
        (1, 31_000, 0, 1, ()),
        (2, 32_000, 0, 2, (11, 0)),
    ]
    converter.write(trace_of([BEGIN, END, SWITCH], events), tmp_path / "all.json", "ir+json")
    parts = converter.split(tmp_path / "all.json", tmp_path / "part.pftrace", "10us")
    assert [(part.events, part.first) for part in parts] == [(3, 1_000), (2, 11_000), (2, 31_000)]
    # All of the second part: what began before begins with it, what goes on ends with it.
    second = tmp_path / "part-0002.pftrace"
    assert errors(second) == {}
    slices = answer(second, "select ts, dur, name from slice order by depth")
    assert slices == [["11000", "9999", "outer"], ["11000", "1000", "inner"]]
    running = answer(second, "select ts, dur, tid from sched join thread using(utid) order by ts")
    assert running[0] == ["11000", "4000", "10"]
    assert [row[2] for row in running] == ["10", "11"]
    third = answer(tmp_path / "part-0003.pftrace", "select ts, dur, name from slice")
    assert third == [["31000", "0", "outer"]]


@pytest.mark.parametrize("target", ["parts.dat", "parts.ctf", "parts.json.gz"])
def test_parts_by_time_have_all_events(tmp_path, target):
    parts = converter.split(SMALL, tmp_path / target, "10ms")
    assert [os.path.basename(part.path) for part in parts] == [
        target.replace(".", f"-000{number}.", 1) for number in (1, 2, 3, 4)
    ]
    assert sum(part.events for part in parts) == 338
    for part in parts:
        with converter.open_trace(part.path) as trace:
            times = [ts for batch in trace.batches() for ts in batch.ts.tolist()]
        assert min(times) >= part.first
        assert max(times) <= part.last
        assert len(times) >= part.events


def test_parts_by_size_are_as_large_as_is_said(tmp_path):
    trace = synthetic_trace(["timeline", "sched"], 20_000)
    converter.write(trace, tmp_path / "all.fxt")
    parts = converter.split(tmp_path / "all.fxt", tmp_path / "part.fxt", "200KB")
    sizes = [os.path.getsize(part.path) for part in parts]
    assert len(sizes) > 3
    assert all(200_000 <= size < 250_000 for size in sizes[:-1])
    # Parts follow each other in time.
    assert all(one.last < other.first for one, other in pairwise(parts))
    with converter.open_trace(tmp_path / "all.fxt") as whole:
        assert sum(part.events for part in parts) == sum(map(len, whole.batches()))


def test_the_same_parts_come_again(tmp_path):
    trace = synthetic_trace(["timeline", "sched", "interrupts"], 1_000)
    converter.write(trace, tmp_path / "all.fxt")
    for by in ("50us", "20kB", "cpu"):
        found = []
        for name in ("a", "b"):
            parts = converter.split(
                tmp_path / "all.fxt", tmp_path / f"{name}.pftrace", by, force=True
            )
            found.append([Path(part.path).read_bytes() for part in parts])
        assert found[0] == found[1]


def test_by_process(tmp_path, capfd):
    code, out, _ = run(capfd, SMALL, tmp_path / "a.json", "--split", "process", "--pid", "1*")
    assert code == 0
    *rows, count = out.splitlines()[1:]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert (len(rows), count) == (len(names), f"{len(names)} parts")
    assert "a-pid10799.json" in names


def test_what_was_written_before_an_error_stays(tmp_path, capfd):
    (tmp_path / "part-0003.fxt").write_text("mine")
    code, _, err = run(capfd, SMALL, tmp_path / "part.fxt", "--split", "10ms")
    assert (code, "part-0003.fxt: exists already" in err) == (1, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "part-0001.fxt",
        "part-0002.fxt",
        "part-0003.fxt",
    ]
    assert (tmp_path / "part-0003.fxt").read_text() == "mine"


@pytest.mark.parametrize("by", ["5ms", "cpu", "20KB"])
def test_a_program_hears_of_damage(tmp_path, by):
    whole = SMALL.read_bytes()
    (tmp_path / "cut.dat").write_bytes(whole[: len(whole) - 3000])
    with converter.open_trace(tmp_path / "cut.dat") as trace:
        for _ in trace.batches():
            pass
        expected = list(trace.warnings)
    assert expected
    heard, also = [], []
    converter.split(tmp_path / "cut.dat", tmp_path / "part.fxt", by, on_warning=heard.append)
    converter.convert(tmp_path / "cut.dat", tmp_path / "all.fxt", on_warning=also.append)
    assert heard == also == expected


def test_a_program_hears_of_damage_also_where_it_is_refused(tmp_path):
    (tmp_path / "cut.json").write_bytes(b'[{"ph":"i","ts":1,"name":"a","pid":1,"tid":1},\n{"ph":')
    heard = []
    with pytest.raises(converter.TraceError) as refused:
        converter.split(
            tmp_path / "cut.json", tmp_path / "p.fxt", "1s", strict="all", on_warning=heard.append
        )
    assert str(heard[0]) == str(refused.value)


@pytest.mark.parametrize("strict", ["some", ""])
def test_a_strictness_that_does_not_exist(tmp_path, strict):
    with pytest.raises(ValueError, match="there are shown, kept, all"):
        converter.split(SMALL, tmp_path / "x.json", "1s", strict=strict)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("failing", ["cpu0", "cpu1"])
def test_none_of_what_is_written_side_by_side_is_half(tmp_path, capfd, failing):
    (tmp_path / f"part-{failing}.fxt").write_text("mine")
    before = threading.active_count()
    code, _, err = run(capfd, SMALL, tmp_path / "part.fxt", "--split", "cpu")
    assert (code, f"part-{failing}.fxt: exists already" in err) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == [f"part-{failing}.fxt"]
    assert threading.active_count() == before


def test_more_parts_than_fit_side_by_side_are_refused(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(splitting, "MOST_BESIDE", 3)
    code, _, err = run(capfd, SMALL, tmp_path / "part.fxt", "--split", "process")
    assert (code, "more than 3 parts" in err, list(tmp_path.iterdir())) == (1, True, [])


def test_the_table_of_parts(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capfd, SMALL, "a.fxt", "--split", "20ms", "--losses", "lost.json")
    assert code == 0
    assert [line.split()[:4] for line in out.splitlines()] == [
        ["OUTPUT", "FROM", "TO", "EVENTS"],
        ["a-0001.fxt", "827.282959756", "827.302959755", "284"],
        ["a-0002.fxt", "827.302959756", "827.321238037", "54"],
        ["2", "parts"],
    ]
    assert "338 of 338 events" in err
    assert Path("lost.json").stat().st_size > 100


@pytest.mark.parametrize(
    "arguments",
    [
        ("-", "-t", "json", "--split", "1s"),
        ("a.json", "--split", "3f"),
        ("a.json", "--split", "1s", "-n"),
        ("a.json", "--split", "1s", "--losses", "-"),
        ("-t", "json", "--dry-run", "--split", "1s"),
    ],
)
def test_what_cannot_be_split(tmp_path, monkeypatch, capfd, arguments):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capfd, SMALL, *arguments)
    assert (code, out, list(tmp_path.iterdir())) == (2, "", [])


def test_batches_of_parts_are_there_or_not(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.dat").write_bytes(b"no trace")
    arguments = ("batch", SMALL, "bad.dat", "-t", "fxt", "-o", "out", "--split", "20ms", "-j", 1)
    code, out, _ = run(capfd, *arguments, "--compress", "gz")
    assert (code, out.splitlines()[-1]) == (1, "1 done, 1 failed")
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.gz"))
    assert [os.path.basename(path) for path in found] == ["small-0001.fxt.gz", "small-0002.fxt.gz"]
    assert not list(tmp_path.rglob(".traceconv-*.tmp"))
    code, out, _ = run(capfd, *arguments, "--compress", "gz", "-q")
    assert out.splitlines()[-1] == "1 skipped, 1 failed"


@pytest.mark.parametrize(
    ("target", "by"),
    [("part.parquet", "20ms"), ("part.arrow", "20ms"), ("part+dataset.parquet", "cpu")],
)
def test_parts_in_formats_of_two_passes_are_those_of_ours(target, by, tmp_path):
    pytest.importorskip("pyarrow")
    format = "parquet+dataset" if "+" in target else None
    expected = converter.split(SMALL, tmp_path / "ours.tcir", by)
    parts = converter.split(SMALL, tmp_path / target, by, target_format=format)
    assert len(parts) == len(expected) > 1
    for part, ours in zip(parts, expected, strict=True):
        assert (part.first, part.last, part.events) == (ours.first, ours.last, ours.events)
        assert not converter.difference(converter.read(part.path), converter.read(ours.path))


@pytest.mark.parametrize("target", ["part.parquet", "part.arrow"])
def test_a_format_of_two_passes_has_no_parts_of_a_size(target, tmp_path, capfd):
    pytest.importorskip("pyarrow")
    code, _, err = run(capfd, SMALL, tmp_path / target, "--split", "20kB")
    assert code == 1
    assert "how large a part is shows when all of it is written" in err
    assert list(tmp_path.iterdir()) == []

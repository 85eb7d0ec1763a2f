"""The options for a part of a trace, at every command that reads one."""

import csv
import io
import json
from pathlib import Path

import pytest

import converter
from converter.cli import main

ROOT = Path(__file__).parents[3]
SMALL = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"
WINDOW = ("--from", "+10ms", "--to", "+20ms")


def run(capfd, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_a_part_is_converted(tmp_path, capfd):
    path = tmp_path / "part.fxt"
    code, _, err = run(capfd, SMALL, "-o", path, *WINDOW, "--event", "sched_switch")
    assert code == 0
    assert f"{SMALL}: kept 35 of 338 events" in err
    with converter.open_trace(path) as trace:
        times = [ts for batch in trace.batches() for ts in batch.ts.tolist()]
    assert min(times) >= 827_292_959_756
    assert max(times) <= 827_302_959_756


def test_quiet_says_nothing(tmp_path, capfd):
    assert run(capfd, SMALL, "-o", tmp_path / "part.fxt", "-q", *WINDOW) == (0, "", "")


def test_info_is_about_the_part(capfd):
    code, out, err = run(capfd, "info", SMALL, "--json", "--event", "irq:*")
    assert code == 0
    assert {name.partition(":")[0] for name in json.loads(out)["event_classes"]} == {"irq"}
    assert "kept 54 of 338 events" in err


def test_the_same_part_of_two_traces_is_compared(tmp_path, capfd):
    path = tmp_path / "part.dat"
    run(capfd, SMALL, "-o", path, "--event", "irq:*", "-q")
    assert run(capfd, "diff", SMALL, path, "--ignore", "native,names", "-q")[0] == 1
    options = ("--ignore", "native,names", "--event", "irq:*")
    code, out, err = run(capfd, "diff", SMALL, path, *options)
    assert (code, out) == (0, "equal: 54 events\n")
    assert err.count("kept 54") == 2


def test_strict_is_about_what_is_wanted(tmp_path, capfd):
    arguments = (SMALL, "-o", tmp_path / "part.pftrace", "--event", "sched_switch", "--strict")
    assert run(capfd, *arguments)[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--since", "noon"), "'noon' is not a time"),
        (("--last", "soon"), "is not a duration"),
        (("--last", "5s", "--since", "+1s"), "both say where the part starts"),
        (("--cpu", "a"), "is not a CPU"),
        (("--cpu", "3-1"), "is not a range of CPUs"),
        (("--cpu", "0-9999999"), "is not a range of CPUs"),
        (("--event", "!"), "names no event"),
        (("--children",), "--pid, --tid or --comm"),
        (("--read-all",), "--from or --last"),
        (("--since", "2024-05-01"), f"{SMALL}: the clock 'local' does not say"),
    ],
)
def test_what_is_wrong_is_said(options, message, capfd):
    code, out, err = run(capfd, "report", SMALL, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_a_condition_is_pointed_at(capfd):
    code, _, err = run(capfd, "info", SMALL, "--where", "sched_switch: prev_pid == && x")
    assert code == 2
    assert err.splitlines()[1:] == ["  sched_switch: prev_pid == && x", " " * 28 + "^"]


def test_a_name_that_no_event_has_is_told(capfd):
    code, _, err = run(capfd, "info", SMALL, "--where", "prev_pidd == 1")
    assert code == 0
    assert "no event has a field prev_pidd; the nearest is prev_pid" in err


def test_lists_of_cpus(capfd):
    for text, cpus in (("0", {"0"}), ("0-1", {"0", "1"}), ("1,3-5", {"1"})):
        _, out, _ = run(capfd, "report", SMALL, "--csv", "--cpu", text)
        assert {row["cpu"] for row in csv.DictReader(io.StringIO(out))} == cpus


def test_a_report_for_programs(capfd):
    _, text, _ = run(capfd, "report", SMALL)
    _, lines, _ = run(capfd, "report", SMALL, "--json")
    _, table, _ = run(capfd, "report", SMALL, "--csv")
    events = [json.loads(line) for line in lines.splitlines()]
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(events) == len(rows) == len(text.splitlines()) - 1 == 338
    for event, row in zip(events, rows, strict=True):
        assert int(row["ts"]) == event["ts"]
        assert json.loads(row["fields"]) == event["fields"]
        assert (row["text"], row["comm"]) == (event["text"], event["comm"])
        assert float(row["seconds"]) == pytest.approx(event["ts"] / 1e9)


def test_a_report_without_events_has_names(capfd):
    _, out, _ = run(capfd, "report", SMALL, "--csv", "--event", "nothing", "-q")
    assert out.startswith("ts,seconds,cpu,pid,tid,comm,track,class,kind,fields,text\n")
    assert run(capfd, "report", SMALL, "--json", "--event", "nothing", "-q")[1] == ""


def test_statistics(capfd):
    code, out, _ = run(capfd, "info", SMALL, "--json", "--stats")
    assert code == 0
    found = json.loads(out)["statistics"]
    assert found["events"] == 338
    assert found["cpu_time"][0] == {"tid": 23211, "name": "clang++", "ticks": 34_500_533}
    assert {one["name"] for one in found["slices"]} >= {"RCU", "SCHED"}
    assert all(0 <= one["self"] <= one["total"] for one in found["slices"])
    code, out, _ = run(capfd, "info", SMALL, "--stats", "--comm", "nobody")
    assert code == 0


def test_a_format_may_stand_where_a_time_does(tmp_path, capfd):
    out = tmp_path / "a"
    assert main([str(SMALL), str(out), "--from", "ftrace", "--to", "fxt+be", "-q"]) == 0
    assert converter.detect(out).name == "fxt"
    assert main([str(SMALL), str(out), "--from", "+1s", "--to", "json", "-q", "-y"]) == 0
    assert converter.detect(out).name == "chrome"

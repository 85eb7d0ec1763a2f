"""The text of perf script that is written: what other programs read of it, and what comes back."""

import re
from collections import Counter
from pathlib import Path

import pytest
from support.traces.losses import codes_of
from support.viewers import speedscope
from support.viewers.trace_processor import answer, needs_trace_processor

import converter
from converter.testing import assert_same, assert_what_fits_survives

ROOT = Path(__file__).parents[4]
FIXTURES = ROOT / "roundtrip_fixtures"
TEXTS = sorted((FIXTURES / "perf_script").glob("*.script"))


def collapsed(text):
    """Folded stacks, as FlameGraph's stackcollapse-perf.pl makes them: by its rules for lines."""
    found = Counter()
    task, stack = "", []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if not line.strip():
            if stack:
                found[";".join([task, *stack])] += 1
            stack = []
        elif frame := re.match(r"^\s*(\w+)\s*(.+) \((.*)\)", line):
            name = re.sub(r"\+0x[\da-f]+$", "", frame[2])
            if name == "[unknown]" and frame[3] != "[unknown]":
                name = "[" + frame[3].rpartition("/")[2] + "]"
            stack.insert(0, name)
        elif head := re.match(r"^(\S.+?)\s+(\d+)/*(\d+)*\s+", line):
            task = head[1]
        else:
            raise AssertionError(f"Unrecognized line: {line}")
    return found


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_texts_are_copied_as_they_are(path, tmp_path):
    copy = tmp_path / "copy.script"
    converter.convert(path, copy)
    assert copy.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
@pytest.mark.parametrize("variant", ["perf_script", "perf_script+ns"])
def test_changed_texts_survive(path, variant, tmp_path):
    trace = converter.read(path)
    trace.format = "ir"
    trace.sidecar = {}
    assert_what_fits_survives(trace, tmp_path / "x.script", variant)


@pytest.mark.parametrize("name", ["trace_cmd/small.dat", "trace_cmd/markers.dat", "uftrace/rich"])
def test_recordings_survive(name, tmp_path):
    trace = converter.read(FIXTURES / name)
    assert_what_fits_survives(trace, tmp_path / "x.script", "perf_script+ns")


def test_lines_are_those_of_perf(tmp_path):
    path = tmp_path / "x.script"
    converter.convert(FIXTURES / "trace_cmd/small.dat", path)
    lines = path.read_text().splitlines()
    assert lines[2] == (
        "git 23217/23217 [000]   827.282964: sched:sched_switch: prev_comm=git prev_pid=23217 prev_prio=120"
        " prev_state=R ==> next_comm=grep next_pid=23218 next_prio=120"
    )
    assert lines[3] == ""
    # Perfetto's importer refuses remarks, and lines of nine digits; it does not read a last line without an end.
    assert not any(line.startswith("#") for line in lines[:-1])
    assert lines[-1].startswith("# traceconv.tables ")
    assert not path.read_bytes().endswith(b"\n")


def test_samples_are_printed_as_perf_does(tmp_path):
    source, path = FIXTURES / "perf_script/dwarf.script", tmp_path / "x.script"
    trace = converter.read(source)
    trace.sidecar = {}
    trace.format = "ir"
    converter.write(trace, path)
    written = path.read_text()
    head = written.splitlines()[0]
    assert head == "beta 31010/31010  4544.335488:    5025125 cpu-clock: "
    stacks = [line for line in source.read_text().splitlines() if line.startswith("\t")]
    assert [line for line in written.splitlines() if line.startswith("\t")] == stacks
    assert collapsed(written) == collapsed(source.read_text())


def test_times_are_microseconds_unless_asked_otherwise(tmp_path):
    source = FIXTURES / "trace_cmd/small.dat"
    rounded = converter.convert(source, tmp_path / "a.script")
    assert [loss.count for loss in rounded if loss.code == "times-between-units"] == [338]
    exact = converter.convert(source, tmp_path / "b.script", target_format="perf_script+ns")
    assert not [loss for loss in exact if loss.code == "times-between-units"]
    assert "  827.282964583: " in (tmp_path / "b.script").read_text()


def test_lossless_texts_give_the_recording_back(tmp_path):
    source = FIXTURES / "trace_cmd/small.dat"
    converter.convert(source, tmp_path / "a.script", lossless=True)
    converter.convert(tmp_path / "a.script", tmp_path / "b.dat")
    assert (tmp_path / "b.dat").read_bytes() == source.read_bytes()
    assert_same(converter.read(tmp_path / "a.script"), converter.read(source))


SAMPLES = """
    select ts, thread.tid, thread.name as task, depth, frame.name, mapping.name as mapping
    from cpu_profile_stack_sample as sample join thread using (utid)
    join stack_profile_callsite as site on site.id = sample.callsite_id
    join stack_profile_frame as frame on frame.id = site.frame_id
    join stack_profile_mapping as mapping on mapping.id = frame.mapping order by ts, tid
"""


def rewritten(source, path):
    """The events of a text, written anew."""
    trace = converter.read(source)
    trace.format, trace.sidecar = "ir", {}
    converter.write(trace, path)
    return path


@needs_trace_processor
def test_perfetto_shows_what_it_shows_of_the_text_of_perf(tmp_path):
    source = FIXTURES / "perf_script/dwarf.script"
    written = rewritten(source, tmp_path / "x.script")
    # What it shows of the text of perf itself: the leaf of each stack of five frames.
    binary = "/usr/local/bin/twothreads"
    # Its times are floating-point numbers before they are nanoseconds.
    found = [[str(round(int(ts), -3)), *rest] for ts, *rest in answer(written, SAMPLES)]
    assert found == [
        [ts, tid, task, "5", "leaf", binary]
        for ts, tid, task in (
            ("4544335488000", "31010", "beta"),
            ("4544335774000", "31009", "alpha"),
            ("4544345992000", "31010", "beta"),
            ("4544346371000", "31009", "alpha"),
            ("4544356898000", "31010", "beta"),
            ("4544357813000", "31009", "alpha"),
        )
    ]


@speedscope.needs_speedscope
def test_speedscope_shows_what_it_shows_of_the_text_of_perf(tmp_path):
    source = FIXTURES / "perf_script/dwarf.script"
    written = rewritten(source, tmp_path / "x.script")
    before, after = speedscope.imported_all([source, written])
    assert before.error is after.error is None
    shown = [(one.calls, one.depth, round(one.weight)) for one in before.profiles]
    assert shown
    assert [(one.calls, one.depth, round(one.weight)) for one in after.profiles] == shown


STACKS_OF_TRACEPOINTS = """\
app    10 [001]     1.000001: sched:sched_wakeup: comm=b pid=11 prio=120 target_cpu=000
\tffffffff81000010 try_to_wake_up+0x10 ([kernel.kallsyms])
\t            1234 main+0x4 (/bin/app)

app    10 [001]     1.000002: sched:sched_wakeup: comm=b pid=11 prio=120 target_cpu=000
\t            1250 [unknown] (/bin/app)

app    10 [001]     1.000003:       7 cycles:
\t            1250 other+0x0 (/bin/app)

"""


def written_as(text, tmp_path, name):
    source = tmp_path / "x.script"
    source.write_text(text)
    converter.convert(source, tmp_path / name)
    return tmp_path / name


def test_stacks_of_tracepoints_are_stacks_of_profiles(tmp_path):
    text = STACKS_OF_TRACEPOINTS.partition("app    10 [001]     1.000003")[0]
    folded = written_as(text, tmp_path, "x.folded").read_text()
    found = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in folded.splitlines()}
    assert found == collapsed(text)
    losses = converter.convert(tmp_path / "x.script", tmp_path / "copy.script")
    assert "call-stacks-added" not in codes_of(losses)


@needs_trace_processor
def test_stacks_of_tracepoints_are_samples_of_perfetto(tmp_path):
    path = written_as(STACKS_OF_TRACEPOINTS, tmp_path, "x.pftrace")
    query = (
        "select s.ts as ts, f.name as name,"
        " (select count(*) from ftrace_event where name = 'sched_wakeup') as wakeups"
        " from perf_sample s join stack_profile_callsite c on c.id = s.callsite_id"
        " join stack_profile_frame f on f.id = c.frame_id order by s.ts"
    )
    rows = [
        [str(one) for one in (row.values() if isinstance(row, dict) else row)]
        for row in answer(path, query)
    ]
    assert [row[0] for row in rows] == ["1000001000", "1000002000", "1000003000"]
    assert (rows[0][1], rows[2][1]) == ("try_to_wake_up", "other")
    assert {row[2] for row in rows} == {"2"}

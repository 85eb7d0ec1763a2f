"""Ftrace text that is written: what other programs read of it, and what comes back."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import converter
from converter.errors import TraceError
from converter.fixtures import synthetic_trace
from converter.formats.ftrace.lines.text_formats import escaper
from converter.formats.ftrace.lines.text_mapping import is_exact
from converter.testing import assert_same, assert_what_fits_survives

ROOT = Path(__file__).parents[4]
FIXTURES = ROOT / "roundtrip_fixtures"
HAND_WRITTEN = sorted((FIXTURES / "ftrace_text").glob("*.t*"))


@pytest.mark.parametrize("variant", ["ftrace_text", "ftrace_text+report"])
@pytest.mark.parametrize("name", ["small.dat", "markers.dat", "lost.dat", "instances.dat"])
def test_recordings_survive(name, variant, tmp_path):
    trace = converter.read(FIXTURES / "trace_cmd" / name)
    assert_what_fits_survives(trace, tmp_path / "x.ftrace", variant)


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=lambda path: path.name)
def test_texts_are_copied_line_by_line(path, tmp_path):
    copy = tmp_path / "copy.ftrace"
    converter.convert(path, copy, target_format="ftrace_text")
    events = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    written = copy.read_text().splitlines()
    assert [line for line in written if not line.startswith("#")] == events
    assert_same(converter.read(path), converter.read(copy))


def test_a_part_has_the_lines_of_its_events(tmp_path):
    source = FIXTURES / "ftrace_text/probes.trace"
    part = tmp_path / "part.ftrace"
    converter.convert(
        source, part, target_format="ftrace_text", selection=converter.Selection(since="+0.1s")
    )
    whole = [line for line in source.read_text().splitlines() if not line.startswith("#")]
    lines = [line for line in part.read_text().splitlines() if not line.startswith("#")]
    assert 0 < len(lines) < len(whole)
    assert any("sched_switch: prev_comm=" in line for line in lines)


def test_the_lines_are_those_of_the_kernel(tmp_path):
    path = tmp_path / "x.ftrace"
    converter.convert(FIXTURES / "trace_cmd/small.dat", path, target_format="ftrace_text")
    lines = path.read_text().splitlines()
    assert lines[0] == "# tracer: nop"
    switch = next(line for line in lines if "sched_switch: prev" in line)
    assert switch == (
        "             git-23217   [000] d..2.   827.282964583: sched_switch: prev_comm=git"
        " prev_pid=23217 prev_prio=120 prev_state=R ==> next_comm=grep next_pid=23218 next_prio=120"
    )


@pytest.mark.skipif(shutil.which("trace-cmd-3.4") is None, reason="needs trace-cmd 3.4")
def test_the_report_is_that_of_trace_cmd(tmp_path):
    """But for events whose texts do not say all, which are written field by field: 4 of 338."""
    source, path = FIXTURES / "trace_cmd/small.dat", tmp_path / "x.txt"
    converter.convert(source, path, target_format="ftrace_text+report")
    command = ["trace-cmd-3.4", "report", "-t", "-N", source]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    differ = {
        line.split(": ")[1].strip(" :").partition(":")[0]
        for line, other in zip(lines, printed.splitlines(), strict=True)
        if line != other
    }
    assert differ == {"irq_handler_exit", "sched_process_exit"}


def test_names_that_two_classes_share_are_told_apart(tmp_path):
    text = " a-1 [000] ..... 1.000000: e: x=1\n a-1 [000] ..... 2.000000: e: x=one\n"
    middle, path = tmp_path / "x.dat", tmp_path / "x.ftrace"
    converter.write(converter.read(text.encode(), "ftrace_text"), middle, "trace_cmd")
    assert_what_fits_survives(converter.read(middle), path, "ftrace_text")
    lines = [line.split(": ", 1)[1] for line in path.read_text().splitlines() if "..." in line]
    assert lines == ["e: x=1", 'e.2: x="one"']


def test_texts_are_escaped():
    escape = escaper(b'"')
    assert escape(b'a "b"\\\n c ') == b"a \\x22b\\x22\\x5c\\x0a c\\x20"
    assert escape(b" ") == b"\\x20"
    assert escape("ü".encode()) == "ü".encode()


def test_which_events_of_the_kernel_are_exact():
    for point in (("sched", "sched_switch"), ("irq", "softirq_entry"), ("power", "cpu_idle")):
        assert is_exact(point), point
    # A boolean, functions by name, an array.
    for point in (
        ("sched", "sched_process_exit"),
        ("workqueue", "workqueue_execute_start"),
        ("raw_syscalls", "sys_enter"),
        ("no", "such_event"),
    ):
        assert not is_exact(point), point


def written(tmp_path):
    path = tmp_path / "x.ftrace"
    converter.write(synthetic_trace("sched", 40), path, "ftrace_text")
    return path.read_bytes()


def test_a_damaged_table_is_an_error(tmp_path):
    data = written(tmp_path)
    damaged = data.replace(b'{"processes"', b'["processes"')
    with pytest.raises(TraceError, match="tables"):
        converter.read(damaged, "ftrace_text")
    damaged = re.sub(rb"(traceconv\.event \S+ )\[", rb"\1{", data, count=1)
    with pytest.raises(TraceError, match="declares no event"):
        converter.read(damaged, "ftrace_text")


def test_without_its_table_a_text_has_the_tasks_of_its_lines(tmp_path):
    data = written(tmp_path)
    trace = converter.read(data[: data.index(b"# traceconv.tables")], "ftrace_text")
    assert {thread.tid for thread in trace.threads} > {0}


engine = shutil.which("trace_processor_v52")
needs_engine = pytest.mark.skipif(engine is None, reason="needs trace_processor v52")
#: What Perfetto makes of text: no other events than these are interpreted or kept.
QUERIES = (
    "select ts, dur, cpu, end_state, priority, tid from sched join thread using (utid) order by ts, cpu",
    (
        "select s.ts, s.dur, s.name, s.depth, tid from slice s join thread_track t on t.id = track_id"
        " join thread using (utid) order by s.ts, s.depth"
    ),
    "select c.ts, c.value, t.name from counter c join track t on t.id = track_id order by c.ts, t.name",
    "select ts, dur, state, tid from thread_state join thread using (utid) order by ts, tid, state",
)


def shown(path):
    found = subprocess.run(
        [engine, "query", path, "; ".join(f"select '@'; {query}" for query in QUERIES)],
        capture_output=True,
        check=True,
        text=True,
    )
    return [part.splitlines()[1:] for part in found.stdout.split('"@"')]


@needs_engine
@pytest.mark.parametrize("name", ["small.dat", "markers.dat"])
def test_perfetto_shows_of_a_text_what_it_shows_of_the_recording(name, tmp_path):
    """Scheduling, and slices and counters of markers; it does not interpret other events of texts."""
    text, reference = tmp_path / "x.ftrace", tmp_path / "x.pftrace"
    converter.convert(FIXTURES / "trace_cmd" / name, text, target_format="ftrace_text")
    converter.convert(FIXTURES / "trace_cmd" / name, reference, target_format="perfetto")
    found, expected = shown(text), shown(reference)
    assert found[1] == expected[1]
    assert found[2] == expected[2]
    # Tasks that were made before they were woken up are an exception.
    assert set(found[4]) <= set(expected[4])
    assert len(expected[4]) - len(found[4]) <= 3


@needs_engine
def test_perfetto_shows_of_the_output_what_it_shows_of_a_text(tmp_path):
    """The other way round: a text, and the Perfetto trace that was made of it."""
    text, output = tmp_path / "x.ftrace", tmp_path / "x.pftrace"
    converter.convert(FIXTURES / "trace_cmd/markers.dat", text, target_format="ftrace_text")
    # As the kernel prints it: without what only this converter reads.
    kept = [line for line in text.read_bytes().splitlines() if not line.startswith(b"# traceconv")]
    text.write_bytes(b"\n".join(kept) + b"\n")
    converter.convert(text, output, target_format="perfetto")
    found, expected = shown(text), shown(output)
    # Without a release the engine takes numbers of states for those of old kernels, and letters for what they are.
    letters = re.compile(r'"(I|R\+|K|W)"')
    for one, other in zip(found, expected, strict=True):
        assert [letters.sub("", row) for row in one] == [letters.sub("", row) for row in other]

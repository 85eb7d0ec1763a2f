"""The report of a data directory: what `uftrace replay` prints of it."""

from __future__ import annotations

import shutil

import pytest
from support.command.reports import reported
from support.trace_cmd.files import Kernel
from support.uftrace.files import (
    BAR,
    BAZ,
    ENTRY,
    EXIT,
    FIXTURES,
    FOO,
    LOST,
    MAIN,
    TID,
    Directory,
    calls,
    flawed,
    kernel_header,
    opened,
)
from support.uftrace.kernel_files import SYMBOLS, in_the_kernel, info
from support.uftrace.oracle import VERSIONS
from support.uftrace.recordings import comparable, recording, replayed

import converter
from converter.cli.output.selected_part import part_of
from converter.formats.uftrace.layout import Feature
from converter.formats.uftrace.report.lines import print_report
from converter.ir.kinds import Kind
from converter.selection.selection import Selection

RICH = FIXTURES / "uftrace" / "rich"
HEADING = "# DURATION TID FUNCTION\n"


def report_of(path) -> str:
    with converter.open_trace(str(path)) as trace:
        text = reported(print_report, trace)
    assert text is not None
    return comparable(text)


def report(directory, tmp_path) -> str:
    text = reported(print_report, opened(directory, tmp_path))
    assert text is not None
    found = comparable(text)
    assert found.startswith(HEADING)
    return found.removeprefix(HEADING)


def same(found: str, replay: str) -> bool:
    """Whether two reports are alike.

    Of functions that were jumped back into replay has addresses at its end, and its hours have 24 minutes.
    """
    pairs = list(zip(found.split("\n"), replay.split("\n"), strict=True))
    return all(
        a == b or (b.startswith("[") and b.endswith(">")) or b[9:12] == " h " for a, b in pairs
    )


def test_calls_and_leaves(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    assert report(directory, tmp_path) == (
        "            [100] | main() {\n"
        "   0.001 us [100] |   foo();\n"
        "   0.001 us [100] |   baz();\n"
        "   0.005 us [100] | } /* main */\n"
    )


@pytest.mark.parametrize(
    ("duration", "shown"),
    [
        (0, "          "),
        (999, "  0.999 us"),
        (1_000_000, "  1.000 ms"),
        (999_999_999, "999.999 ms"),
        (1_500_000_000, "  1.500  s"),
        (90_000_000_000, "  1.030  m"),
        (7_260_000_000_000, "  2.001  h"),
        (90_000_000_000_000, " 25.000  h"),
    ],
)
def test_durations(tmp_path, duration, shown):
    directory = Directory()
    directory.tasks[TID] = directory.record(10, ENTRY, 0, FOO)
    directory.tasks[TID] += directory.record(10 + duration, EXIT, 0, FOO)
    assert report(directory, tmp_path) == f" {shown} [100] | foo();\n"


def test_losses_and_what_is_not_finished(tmp_path):
    directory = Directory()
    directory.tasks[TID] = b"".join(
        [
            directory.record(10, ENTRY, 0, MAIN),
            directory.record(11, LOST, 0, 3),
            directory.record(12, ENTRY, 1, FOO),
            directory.record(13, ENTRY, 2, BAR),
        ]
    )
    # Of a task in no function nothing is said.
    directory.tasks[101] = directory.record(12, LOST, 0, 7)
    assert report(directory, tmp_path) == (
        "            [100] | main() {\n"
        "            [100] |     /* LOST 3 records!! */\n"
        "            [100] |   foo() {\n"
        "            [100] |     ns::bar() {\n"
        "\n"
        "uftrace stopped tracing with remaining functions\n"
        "================================================\n"
        "task: 100\n"
        "[2] ns::bar\n"
        "[1] foo\n"
        "[0] main\n"
        "\n"
    )


def test_values(tmp_path):
    directory = Directory(
        argspec="foo@arg1/o,arg2/S,arg3/i32,arg4/d32,arg5/s", retspec="foo@retval/u32"
    )
    payload = directory.pack("Q", 8) + directory.text(b'a "b"\n')
    payload += directory.pack("ii", -200_000, -200_000) + directory.text(b"\x1b[0m")
    directory.tasks[TID] = directory.record(1, ENTRY, 0, FOO, payload)
    directory.tasks[TID] += directory.record(2, EXIT, 0, FOO, directory.pack("I", 100_001))
    # What acts upon a terminal is escaped.
    assert report(directory, tmp_path) == (
        '   0.001 us [100] | foo(010, "a "b"\\n"s, -200000, 0xfffcf2c0, "\\x1b[0m") = 0x186a1;\n'
    )


def test_events_of_the_kernel(tmp_path):
    kernel = Kernel()
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    directory.files["kernel_header"] = kernel_header(kernel)
    directory.files["kernel-cpu1.dat"] = kernel.page(
        11, kernel.record(0, kernel.switch(TID, b"app", 300, b"other"))
    ) + kernel.page(50, kernel.record(1, kernel.slice(TID, 5)))
    found = report(directory, tmp_path).split("\n")
    assert found[2] == "            [100] |     /* sched:sched_switch (prev_pid=100) */"
    # That outside of functions is left out, as replay does unless it is told otherwise.
    assert len(found) == 7
    directory.files["default.opts"] = b"--kernel-full --event-full\n"
    (tmp_path / "full").mkdir()
    assert "slice" in report(directory, tmp_path / "full")


def test_a_depth_from_the_options(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    directory.files["default.opts"] = b"-D 1\n"
    assert report(directory, tmp_path) == "   0.005 us [100] | main();\n"


def test_records_that_wait_go_on_from_batch_to_batch(tmp_path, monkeypatch):
    directory = Directory()
    directory.tasks[TID] = b"".join(calls(directory, 10 * i) for i in range(1, 9))
    whole = report(directory, tmp_path / "whole")
    monkeypatch.setattr("converter.formats.uftrace.reading.batches.BATCH_SIZE", 1)
    assert report(directory, tmp_path / "parts") == whole


def test_a_part_of_a_recording(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    with converter.open_trace(str(directory.write(tmp_path / "data"))) as whole:
        part, _ = part_of(whole, Selection(since="+0.000000002s"))
        text = reported(print_report, part)
    assert text is not None
    assert "baz();" in text.decode()


def test_other_traces_have_none(tmp_path):
    with converter.open_trace(str(RICH)) as trace:
        trace.sidecar.clear()
        assert reported(print_report, trace) is None


def test_hostile_depths(tmp_path):
    directory = Directory()
    directory.tasks[TID] = b"".join(
        directory.record(10 + i, i & 1, 1023 - i, FOO) for i in range(20)
    )
    directory.tasks[TID] += directory.record(40, LOST, 0, (1 << 48) - 1)
    directory.tasks[TID] += directory.record(41, EXIT, 1000, BAZ)
    assert "baz" in report(directory, tmp_path)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", range(6))
def test_it_is_what_replay_prints(tmp_path, version, seed):
    if shutil.which(version) is None:
        pytest.skip(f"{version} is not installed")
    path = recording(tmp_path / "data", seed)
    assert same(report_of(path), replayed(path, version))


def estimated(path):
    """A directory with exits that the recorder has put halfway between entries, and switches behind them."""
    directory = Directory()
    directory.files["info"] = info(Feature.ESTIMATE_RETURN | Feature.PERF_EVENT)
    directory.tasks[TID] = b"".join(
        directory.record(*one)
        for one in (
            (1000, ENTRY, 0, MAIN), (2000, ENTRY, 1, FOO), (3000, ENTRY, 2, BAZ),
            (5000, EXIT, 2, BAZ), (5001, EXIT, 1, FOO), (7000, ENTRY, 1, BAZ),
            (7500, EXIT, 1, BAZ), (7501, EXIT, 0, MAIN),
        )
    )  # fmt: skip
    switches = ((4000, 0x2000), (4500, 0), (4600, 0x6000), (6000, 0))
    directory.files["perf-cpu0.dat"] = b"".join(
        directory.perf(14, misc, directory.pack("iiQ", TID, TID, ts)) for ts, misc in switches
    )
    return directory.write(path)


def test_exits_that_are_estimated_are_behind_the_switches(tmp_path):
    path = estimated(tmp_path / "data")
    # Halfway from 6000 to 7000, where the next entry was, which is as far behind the exit as its entry is in front.
    shown = HEADING + (
        "            [100] | main() {\n"
        "            [100] |   foo() {\n"
        "            [100] |     baz() {\n"
        "   0.500 us [100] |       /* linux:schedule */\n"
        "   1.400 us [100] |       /* linux:schedule (pre-empted) */\n"
        "   3.501 us [100] |     } /* baz */\n"
        "   4.502 us [100] |   } /* foo */\n"
        "   0.500 us [100] |   baz();\n"
        "   6.501 us [100] | } /* main */\n"
    )
    assert report_of(path) == shown
    for version in filter(shutil.which, VERSIONS):
        assert replayed(path, version) == shown


def test_exits_that_are_estimated_are_in_the_trace_where_uftrace_shows_them(tmp_path):
    with converter.open_trace(str(estimated(tmp_path / "data"))) as trace:
        assert reported(print_report, trace) is not None
        found = [
            ts
            for batch in trace.batches()
            for ts, number in zip(batch.ts.tolist(), batch.class_id.tolist(), strict=True)
            if trace.event_classes[number].kind is Kind.SLICE_END
        ]
    assert found == [6501, 6502, 7500, 7501]


@pytest.mark.parametrize("room", [1 << 17, 1])
@pytest.mark.parametrize("seed", range(3))
def test_estimated_exits_are_put_where_replay_puts_them(tmp_path, monkeypatch, seed, room):
    path = recording(tmp_path / "data", seed, estimated=True)
    monkeypatch.setattr("converter.formats.uftrace.reading.batches.BATCH_SIZE", room)
    found = report_of(path)
    for version in filter(shutil.which, VERSIONS):
        shown = replayed(path, version).split("\n")
        # Exits that follow each other may be behind what is next.
        assert found.split("\n") == [line for line in shown if "/* inverted time" not in line]


@pytest.mark.parametrize("version", VERSIONS)
def test_recordings_are_replayed_alike(tmp_path, version):
    if shutil.which(version) is None:
        pytest.skip(f"{version} is not installed")
    for path in (
        RICH,
        flawed(tmp_path / "unfinished", unfinished=True, preempted=True),
        flawed(tmp_path / "lost", lost=True, longjmp=True),
    ):
        assert report_of(path) == replayed(path, version)


NESTED = """            [100] | main() {
            [100] |   foo() {
            [100] |     sys_a() {
            [100] |       do_b() {
   0.100 us [100] |         leaf_c();
   0.300 us [100] |       } /* do_b */
            [100] |       /* sched:sched_switch (prev_pid=100) */
   1.000 us [100] |     } /* sys_a */
   0.100 us [100] |     do_b();
   7.000 us [100] |   } /* foo */
  11.000 us [100] | } /* main */
"""
OUTSIDE = "   0.100 us [100] | {}();\n"
CUT = """            [100] | main() {
            [100] |   foo() {
            [100] |     sys_a() {
   1.000 us [100] |     } /* sys_a */
   0.100 us [100] |     do_b();
   7.000 us [100] |   } /* foo */
  11.000 us [100] | } /* main */
"""


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("", NESTED),
        ("--kernel-full\n", OUTSIDE.format("sys_a") + NESTED + OUTSIDE.format("leaf_c")),
        ("-D 3\n", CUT),
    ],
)
def test_functions_of_the_kernel_are_nested_in_those_of_the_program(tmp_path, options, shown):
    path = in_the_kernel(options).write(tmp_path / "data")
    assert report_of(path) == HEADING + shown
    for version in filter(shutil.which, VERSIONS):
        assert replayed(path, version) == HEADING + shown


@pytest.mark.parametrize("options", ["", "--kernel-full\n"])
def test_names_of_the_kernel_need_not_be_utf_8(tmp_path, options):
    path = in_the_kernel(options).write(tmp_path / "data")
    (path / "kallsyms").write_bytes(SYMBOLS.encode().replace(b"leaf_c", b"leaf_\xff"))
    assert r"leaf_\xff();" in report_of(path)

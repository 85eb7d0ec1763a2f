"""uftrace shows parts of recordings as it shows the recordings: the same lines by every command."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from support.reports import reported
from support.uftrace_files import (
    BAR,
    BAZ,
    ENTRY,
    EXIT,
    FOO,
    MAIN,
    RICH,
    TID,
    Directory,
    calls,
    events,
)
from support.uftrace_kernel_files import info
from support.uftrace_oracle import VERSIONS, needs_uftrace
from support.uftrace_recordings import comparable, recording, replayed

import converter
from converter.formats.uftrace.layout import Feature
from converter.formats.uftrace.report.lines import print_report
from converter.selection.select import select
from converter.selection.selection import Selection

COMMANDS = (("replay",), ("report",), ("graph",), ("dump", "--chrome"))
CHILD = 101


def part(path, target, **window):
    """The part of a recording in a window, in a directory; and the report of the selection."""
    with converter.open_trace(str(path)) as trace:
        found = reported(print_report, select(trace, Selection(**window)))
        converter.write(select(trace, Selection(**window)), target, "uftrace")
    assert found is not None
    return comparable(found)


def lines(path, command, program):
    """What a command prints, but for the date of a file, and whether it failed."""
    done = subprocess.run(
        [program, *command, "--no-pager", "-d", str(path)], capture_output=True, check=False
    )
    shown = done.stdout.decode("utf-8", "replace").split("\n")
    return [line for line in shown if '"recorded_time"' not in line], done.returncode


def check_alike(path, other):
    for program in filter(shutil.which, VERSIONS):
        for command in COMMANDS:
            assert lines(other, command, program) == lines(path, command, program), (
                program,
                command,
            )


def forked(path, name="fork"):
    """A task that forks another, which leaves the functions that it was forked in."""
    directory = Directory()
    directory.symbols["app"] = (
        f"{MAIN:016x} T main\n{FOO:016x} T {name}\n{BAZ:016x} T child\n{BAZ + 16:016x} ? __sym_end\n"
    )
    directory.task_txt += f"FORK timestamp=0.000000015 pid={CHILD} ppid={TID}\n"
    own = ((10, ENTRY, 0, MAIN), (15, ENTRY, 1, FOO), (17, EXIT, 1, FOO), (100, EXIT, 0, MAIN))
    childs = ((20, EXIT, 1, FOO), (30, ENTRY, 1, BAZ), (40, EXIT, 1, BAZ), (55, EXIT, 0, MAIN))
    directory.tasks[TID] = b"".join(directory.record(*one) for one in own)
    directory.tasks[CHILD] = b"".join(directory.record(*one) for one in childs)
    directory.files["info"] = info(Feature(0), TID, CHILD)
    return directory.write(path)


SHOWN = """# DURATION TID FUNCTION
            [100] | main() {
   0.002 us [100] |   {name}();
            [101] |   }} /* {name} */
   0.010 us [101] |   child();
   0.035 us [101] | }} /* main */
   0.090 us [100] | }} /* main */
"""


@pytest.mark.parametrize("name", ["fork", "vfork", "daemon"])
def test_a_part_has_what_a_forked_task_leaves(tmp_path, name):
    path = forked(tmp_path / "data", name)
    shown = SHOWN.replace("() {\n", "() {{\n").format(name=name)
    assert part(path, tmp_path / "part", since="+0s") == shown
    assert events(converter.read(tmp_path / "part")) == events(converter.read(path))
    for version in filter(shutil.which, VERSIONS):
        assert replayed(tmp_path / "part", version) == shown


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("name == 'main'", [10, 55, 100]),
        ("name == 'child'", [30, 40]),
        ("tid == 100", [10, 15, 17, 100]),
    ],
)
def test_an_end_without_a_begin_is_wanted_by_its_own_name(tmp_path, condition, kept):
    path = forked(tmp_path / "data")
    part(path, tmp_path / "part", where=(condition,))
    assert [ts for ts, *_ in events(converter.read(tmp_path / "part"))] == kept


JUMPS = (
    (10, ENTRY, 0, MAIN), (11, ENTRY, 1, BAZ), (12, EXIT, 1, BAZ), (13, ENTRY, 1, FOO),
    (14, ENTRY, 2, BAR), (20, EXIT, 1, BAZ), (25, EXIT, 0, MAIN),
)  # fmt: skip


@pytest.mark.parametrize("leaver", ["longjmp", "siglongjmp", "__longjmp_chk", "execve"])
def test_a_part_that_ends_in_a_function_that_is_never_left(tmp_path, leaver):
    directory = Directory()
    directory.symbols["app"] = (
        f"{MAIN:016x} T main\n{FOO:016x} T foo\n{BAR:016x} T {leaver}\n{BAZ:016x} T _setjmp\n"
        f"{BAZ + 16:016x} ? __sym_end\n"
    )
    directory.files["info"] = info(Feature(0))
    directory.tasks[TID] = b"".join(directory.record(*one) for one in JUMPS)
    path = directory.write(tmp_path / "data")
    part(path, tmp_path / "whole", since="+0s")
    part(path, tmp_path / "part", until="+6ns")
    assert (tmp_path / "whole" / f"{TID}.dat").read_bytes() == directory.tasks[TID]
    # No exits are made up.
    assert (tmp_path / "part" / f"{TID}.dat").read_bytes() == directory.tasks[TID][: 5 * 16]


def test_a_part_ends_what_is_open(tmp_path):
    directory = Directory()
    directory.tasks[TID] = calls(directory)
    path = directory.write(tmp_path / "data")
    part(path, tmp_path / "part", since="+1ns", until="+1ns")
    expected = [
        (11, ENTRY, 0, MAIN + 4),
        (11, ENTRY, 1, FOO + 8),
        (11, EXIT, 1, FOO + 8),
        (11, EXIT, 0, MAIN + 4),
    ]
    found = (tmp_path / "part" / f"{TID}.dat").read_bytes()
    assert found == b"".join(directory.record(*one) for one in expected)
    for name in ("info", "app.sym", "task.txt"):
        assert (tmp_path / "part" / name).read_bytes() == (path / name).read_bytes()


@needs_uftrace
@pytest.mark.parametrize("seed", range(3))
def test_a_part_of_all_time_is_shown_as_the_recording(tmp_path, seed):
    path = recording(tmp_path / "data", seed)
    part(path, tmp_path / "part", since="+0s")
    check_alike(path, tmp_path / "part")


@needs_uftrace
def test_a_part_of_a_recording_with_values_is_shown_as_the_recording(tmp_path):
    shutil.copytree(RICH, tmp_path / "data")
    part(tmp_path / "data", tmp_path / "part", since="+0s")
    check_alike(tmp_path / "data", tmp_path / "part")

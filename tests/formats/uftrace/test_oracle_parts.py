"""uftrace shows parts of recordings as it shows the recordings: the same lines by every command."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from support.command.reports import reported
from support.uftrace.files import (
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
    flawed,
)
from support.uftrace.kernel_files import in_the_kernel, info
from support.uftrace.oracle import VERSIONS, needs_uftrace, run
from support.uftrace.recordings import comparable, recording, replayed

import converter
from converter.formats.uftrace.layout import Feature
from converter.formats.uftrace.report.lines import print_report
from converter.ir.kinds import Kind
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


def check_alike(path, other, programs=VERSIONS):
    for program in filter(shutil.which, programs):
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


@pytest.mark.parametrize("rest", [1 << 17, 1])
@pytest.mark.parametrize(
    ("condition", "left"),
    [
        # Nothing in the part says that the task is elsewhere.
        ("name == 'foo'", [(20, EXIT, 1, FOO)]),
        ("name == 'main' || name == 'foo'", [(20, EXIT, 1, FOO)]),
        ("name == 'foo' || name == 'longjmp'", []),
    ],
)
def test_functions_are_left_unless_what_leaves_them_is_in_the_part(
    tmp_path, monkeypatch, condition, left, rest
):
    monkeypatch.setattr("converter.formats.uftrace.reading.batches.BATCH_SIZE", rest)
    directory = Directory()
    directory.symbols["app"] = (
        f"{MAIN:016x} T main\n{FOO:016x} T foo\n{BAR:016x} T longjmp\n{BAZ:016x} T _setjmp\n"
        f"{BAZ + 16:016x} ? __sym_end\n"
    )
    # Deeper than where setjmp returns again.
    deeper = [one if one[3] != FOO else (one[0], one[1], 2, FOO) for one in JUMPS[:4]]
    directory.tasks[TID] = b"".join(
        directory.record(*one)
        for one in (
            *deeper[:3],
            (13, ENTRY, 1, BAZ + 4),
            *deeper[3:],
            (14, ENTRY, 3, BAR),
            *JUMPS[5:],
        )
    )
    part(directory.write(tmp_path / "data"), tmp_path / "part", where=(condition,))
    data = (tmp_path / "part" / f"{TID}.dat").read_bytes()
    exits = b"".join(directory.record(20, EXIT, 2, FOO) for _ in left)
    assert data.count(directory.record(13, ENTRY, 2, FOO)) == 1
    assert (exits in data) if exits else directory.record(20, EXIT, 2, FOO) not in data


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


#: Programs, and the options with which they are recorded.
RECORDED = {
    "jumps.c": (
        r"""
#include <setjmp.h>
#include <signal.h>
static sigjmp_buf env;
static jmp_buf other;
void handler(int s) { siglongjmp(env, s); }
void deep(int n) { if (n) deep(n - 1); else raise(SIGUSR1); }
void out(int v) { longjmp(other, v); }
int after(int a) { return a + 1; }
int main(void) {
  signal(SIGUSR1, handler);
  if (sigsetjmp(env, 1) == 0) deep(3);
  if (setjmp(other) == 0) out(after(2));
  return after(-1);
}
""",
        (),
    ),
    "forks.c": (
        r"""
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
void child(void) { getpid(); }
int split(void) { int p = fork(); if (p == 0) { child(); exit(0); } waitpid(p, 0, 0); return p; }
int run(char *path) {
  int p = vfork();
  if (p == 0) { execl(path, path, "again", (char *)0); _exit(1); }
  waitpid(p, 0, 0);
  return p;
}
int main(int argc, char **argv) { if (argc > 1) { child(); return 0; } split(); run(argv[0]); return 0; }
""",
        (),
    ),
    "tasks.c": (
        r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int work(int n) { return n ? work(n - 1) + 1 : 0; }
void *start(void *p) { work(5); return p; }
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, start, 0);
  pthread_join(t, 0);
  if (daemon(1, 0)) abort();
  return work(2) - 2;
}
""",
        ("-D", "4"),
    ),
    "values.c": (
        r"""
#include <stdio.h>
enum color { RED, GREEN = 5 };
struct pair { int a, b; };
enum color next(enum color c) { return c + 5; }
long sum(char c, unsigned u, const char *t, double d, long *p) { return c + u + (t ? 1 : 0) + (p != 0); }
struct pair swap(struct pair p) { struct pair q = {p.b, p.a}; return q; }
int (*find(int (*f)(int, char **)))(int, char **) { return f; }
int main(int argc, char **argv) {
  long x = 1L << 40; struct pair p = {1, 2};
  next(RED); sum('x', ~0u, "with \"quotes\" \xc3\xa9", 1e30, &x); sum(-1, 3, NULL, -0.5, NULL);
  swap(p); find(main); return 0;
}
""",
        ("-a",),
    ),
    "throws.cc": (
        r"""
struct Guard { ~Guard() { touch(); } void touch() { volatile int x = 1; x = 2; } };
int thrower(int n) { Guard g; if (n == 0) throw 1; return thrower(n - 1); }
int main() { try { thrower(2); } catch (int) { } Guard g; return 0; }
""",
        ("--estimate-return",),
    ),
}


@needs_uftrace
@pytest.mark.parametrize("name", RECORDED)
def test_a_part_of_what_is_recorded_here_is_shown_as_the_recording(tmp_path, name):
    text, options = RECORDED[name]
    compiler = "g++" if name.endswith(".cc") else "gcc"
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / name).write_text(text)
    run(compiler, "-pg", "-g", "-O0", "-w", "-o", "app", name, cwd=tmp_path)
    run("uftrace", "record", "-d", "data", *options, "./app", cwd=tmp_path)
    part(tmp_path / "data", tmp_path / "part", since="+0s")
    check_alike(tmp_path / "data", tmp_path / "part", ("uftrace",))


@needs_uftrace
@pytest.mark.parametrize("target", ["perfetto", "chrome", "fxt", "ctf"])
def test_a_recording_that_has_come_through_another_format_is_shown_as_before(tmp_path, target):
    path = forked(tmp_path / "data")
    converter.convert(path, tmp_path / "between", target_format=target)
    converter.convert(tmp_path / "between", tmp_path / "back", target_format="uftrace")
    for version in filter(shutil.which, VERSIONS):
        shown = [
            line
            for line in replayed(tmp_path / "back", version).split("\n")
            if "/* linux:" not in line
        ]
        assert "\n".join(shown) == SHOWN.replace("() {\n", "() {{\n").format(name="fork")


def test_each_process_has_the_records_that_it_has_in_the_recording(tmp_path):
    path = forked(tmp_path / "data")
    converter.split(path, tmp_path / "part.uftrace", "process", target_format="uftrace")
    for tid in (TID, CHILD):
        name = f"{tid}.dat"
        assert (tmp_path / f"part-pid{tid}.uftrace" / name).read_bytes() == (
            path / name
        ).read_bytes()


def test_a_part_has_the_names_that_tasks_were_given_before_it(tmp_path):
    path = flawed(tmp_path / "data")
    for since, expected in (("+11ns", 1), ("+13ns", 1)):
        part(path, tmp_path / since, since=since)
        again = converter.read(tmp_path / since)
        told = [held["comm"] for _, kind, *_, held in events(again) if kind is Kind.TASK_RENAME]
        assert told == [b"worker"] * expected
        assert [thread.name for thread in again.threads] == ["app", "worker"]


def test_cpus_without_events_of_perf_keep_their_empty_files(tmp_path):
    """`uftrace dump` names them, and counts those that there are."""
    path = flawed(tmp_path / "data")
    names = {f"perf-cpu{number}.dat" for number in (7, 12)}
    for name in names:
        (path / name).touch()
    names |= {one.name for one in path.glob("perf-cpu*.dat")}
    part(path, tmp_path / "part", since="+0s")
    written = {one.name: one.stat().st_size for one in (tmp_path / "part").glob("perf-cpu*.dat")}
    assert written == {name: (path / name).stat().st_size for name in names}


@needs_uftrace
def test_a_part_with_functions_of_the_kernel_is_shown_as_the_recording(tmp_path):
    path = in_the_kernel("--kernel-full\n").write(tmp_path / "data")
    part(path, tmp_path / "part", since="+0s")
    check_alike(path, tmp_path / "part")

"""uftrace shows recordings that were read and written as it shows the originals."""

from __future__ import annotations

import re
import shutil

import pytest
from support.uftrace.files import (
    FIXTURES,
    RICH,
    flawed,
)
from support.uftrace.oracle import VERSIONS, check_commands, convert, needs_uftrace, run, uftrace

import converter
from converter.formats.uftrace.writing.writer import write
from converter.ir.kinds import Kind
from converter.storage.outputs import open_sink

pytestmark = needs_uftrace

PROGRAMS = {
    "calls.c": r"""
#include <setjmp.h>
#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>
static jmp_buf env;
long mixed(char c, unsigned u, const char *t, double d) { return c + u; }
void deep(int n) { if (n) deep(n - 1); }
void leave(int v) { longjmp(env, v); }
int jump(void) { if (setjmp(env) == 0) leave(3); return 1; }
void *work(void *p) { mixed('x', 3, "text", 2.5); return 0; }
int main(int argc, char **argv) {
  pthread_t t;
  if (argc > 1) { deep(3); return 0; }
  pthread_create(&t, 0, work, &t);
  jump(); deep(1500); mixed('\n', ~0u, "with \"quotes\" \xc3\xa9", 1e300);
  pthread_join(t, 0);
  if (fork() == 0) { deep(2); execl(argv[0], argv[0], "again", (char *)0); }
  wait(0);
  return 0;
}
""",
    "throws.cc": r"""
#include <string>
#include <stdexcept>
struct Guard { std::string s; ~Guard() { touch(); } void touch() { s += "x"; } };
template <class T> T thrower(T n) { Guard g; if (n == 0) throw std::runtime_error("end"); return thrower<T>(n - 1); }
int main() { try { thrower<int>(3); } catch (std::exception &) { } return 0; }
""",
}


def recorded(path, name):
    (path / name).write_text(PROGRAMS[name])
    compiler = "g++" if name.endswith(".cc") else "gcc"
    run(compiler, "-pg", "-O0", "-g", "-o", "app", name, "-lpthread", cwd=path)
    specification = "mixed@arg1/c,arg2/u32,arg3/s,fparg1/64"
    run("uftrace", "record", "-d", "data", "--max-stack=3000", "-A", specification, "-R", "mixed@retval",
        "./app", cwd=path)  # fmt: skip
    return path / "data"


SHOWN = (
    ("info",),
    ("dump",),
    ("replay", "-f", "time,tid,duration"),
    ("report",),
    ("graph",),
    ("dump", "--chrome"),
    ("graph", "--task"),
)
#: More than the stacks that uftrace shows by itself; where a recording has none, its graph crashes with this.
DEEP = ("-D", "5000")


@pytest.mark.parametrize("name", [*PROGRAMS, "rich"])
def test_a_copied_recording_is_shown_as_the_original(tmp_path, name):
    data = RICH if name == "rich" else recorded(tmp_path, name)
    check_copy(data, tmp_path, *(DEEP if name == "calls.c" else ()))


def test_a_copied_directory_with_lost_records_is_shown_as_the_original(tmp_path):
    data = flawed(tmp_path / "data", lost=True, preempted=True)
    assert any("LOST 5 records" in line for line in uftrace(data, "replay"))
    check_copy(data, tmp_path)


@pytest.mark.parametrize("way", ["ctf", "aix"])
def test_switches_of_one_task_come_back_as_records_of_perf(tmp_path, way):
    data = flawed(tmp_path / "data", preempted=True)
    converter.convert(data, tmp_path / f"a.{way}", force=True)
    converter.convert(tmp_path / f"a.{way}", tmp_path / "b.uftrace", force=True)
    switches, back = (
        [line for line in uftrace(one, "dump") if "linux:sched" in line]
        for one in (data, tmp_path / "b.uftrace")
    )
    assert switches
    assert back == switches


def test_a_copied_directory_with_kernel_files_is_shown_as_the_original(tmp_path):
    data = tmp_path / "data"
    convert(FIXTURES / "trace_cmd" / "small.dat", data)
    (data / "traceconv.json").unlink()
    assert any("sched:sched_switch" in line for line in uftrace(data, "dump"))
    check_copy(data, tmp_path)
    kinds = {one.kind for one in converter.read(tmp_path / "copy").event_classes}
    assert Kind.SCHED_SWITCH in kinds


def check_copy(data, tmp_path, *more):
    """All versions show the copy as the original."""
    convert(data, tmp_path / "copy")
    for program in filter(shutil.which, VERSIONS):
        for command in SHOWN:
            shown = uftrace(data, *command, *more, program=program)
            assert len(shown) > 2
            copied = uftrace(tmp_path / "copy", *command, *more, program=program)
            assert without_date(copied) == without_date(shown)


def without_date(lines):
    """What is shown, but for the date of a file in it."""
    dates = ('"recorded_time"', "# recorded on")
    return [line for line in lines if not line.startswith(dates)]


def shown_calls(path):
    """Times, durations, tasks and functions of a replay, without their values."""
    calls = []
    for line in uftrace(path, "replay", "-f", "time,tid,duration", "-D", "5000"):
        if "|" in line and "/* linux:" not in line:
            bare = re.sub(r"\(.*\)( \{| = .*;|;)$", r"()\1", line)
            calls.append(re.sub(r" = .*;", ";", bare))
    return calls


def test_a_recording_encoded_anew_has_the_calls_of_the_original(tmp_path):
    data = recorded(tmp_path, "throws.cc")
    with open_sink(tmp_path / "anew", directory=True) as sink:
        write(converter.read(str(data)), sink, "")
    check_commands(tmp_path / "anew")
    calls = shown_calls(data)
    assert len(calls) > 20
    assert shown_calls(tmp_path / "anew") == calls

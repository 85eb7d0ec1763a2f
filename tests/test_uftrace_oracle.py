"""What uftrace makes of the directories that are written, and what its own exports of a recording lack."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from strategies import batch_of, with_batches
from uftrace_files import BAR, ENTRY, EXIT, FOO, LOST, MAIN, SECOND, TID, Directory
from uftrace_oracle import needs_uftrace, run

import converter
from converter.formats.uftrace.capabilities import capabilities
from converter.formats.uftrace.layout import Feature, Header, InfoBit, build_header
from converter.formats.uftrace.writer import write
from converter.ir.events import EventClass, Field
from converter.ir.field_classes import (
    BooleanClass,
    FloatClass,
    IntegerClass,
    Label,
    StringClass,
    Style,
)
from converter.ir.kinds import Kind, Role
from converter.ir.trace import Process, Thread, Trace
from converter.projection import project
from converter.sink import open_sink

pytestmark = needs_uftrace

FIXTURES = Path(__file__).parent.parent / "roundtrip_fixtures"
RICH = FIXTURES / "uftrace" / "rich"
NAME = Field("name", StringClass(), Role.NAME)
CATEGORY = Field("category", StringClass(), Role.CATEGORY)

#: All commands that read a directory, and need no terminal.
COMMANDS = (
    ("info",),
    ("info", "--task"),
    ("dump",),
    ("dump", "--chrome"),
    ("dump", "--flame-graph"),
    ("dump", "--graphviz"),
    ("replay",),
    ("replay", "-f", "time,tid,duration,task,module"),
    ("report",),
    ("report", "--task"),
    ("graph",),
    ("graph", "--task"),
)


def uftrace(path, *command):
    """The lines that a command prints."""
    return (
        run("uftrace", *command, "--no-pager", "-d", str(path))
        .decode("utf-8", "replace")
        .split("\n")
    )


def check_commands(path, *, lost=False):
    """All commands take a directory, and its Chrome export is JSON."""
    for command in COMMANDS:
        lines = uftrace(path, *command)
        if command == ("dump", "--chrome") and not lost:
            json.loads("\n".join(lines))


def convert(source, path):
    with converter.open_trace(str(source)) as trace:
        return converter.write(trace, path, "uftrace")


# Recordings that were read and written


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


def test_a_copied_directory_with_kernel_files_is_shown_as_the_original(tmp_path):
    data = tmp_path / "data"
    convert(FIXTURES / "trace_cmd" / "small.dat", data)
    (data / "traceconv.json").unlink()
    assert any("sched:sched_switch" in line for line in uftrace(data, "dump"))
    check_copy(data, tmp_path)
    kinds = {one.kind for one in converter.read(tmp_path / "copy").event_classes}
    assert Kind.SCHED_SWITCH in kinds


def check_copy(data, tmp_path, *more):
    convert(data, tmp_path / "copy")
    for command in SHOWN:
        shown = uftrace(data, *command, *more)
        assert len(shown) > 2
        assert without_date(uftrace(tmp_path / "copy", *command, *more)) == without_date(shown)


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


# Traces of other formats


@pytest.mark.parametrize(
    "name",
    [
        "trace_cmd",
        "fxt",
        "chrome",
        "perfetto",
    ],
)
def test_fixtures_of_other_formats_are_taken_by_all_commands(tmp_path, name):
    files = [path for path in sorted((FIXTURES / name).iterdir()) if path.is_file()]
    done = 0
    for number, file in enumerate(files):
        try:
            convert(file, tmp_path / str(number))
        except converter.TraceError:
            continue
        trace = converter.read(tmp_path / str(number))
        lost = any(one.kind is Kind.DISCARDED for one in trace.event_classes)
        check_commands(tmp_path / str(number), lost=lost)
        done += 1
        if done == 3:
            break
    assert done


def written(path, events, threads=None, **more):
    """A directory of events: (class, ts, thread, values)."""
    trace = Trace(
        "none",
        processes=[Process(7, "process"), Process(8, "child", 7), Process(9, "grandchild", 8)],
        threads=threads
        or [Thread(7, 0, "main"), Thread(70, 0, ""), Thread(8, 1, ""), Thread(9, 2, "")],
        **more,
    )
    rows = []
    for event_class, ts, thread, values in events:
        if event_class not in trace.event_classes:
            trace.event_classes.append(event_class)
        rows.append((trace.event_classes.index(event_class), ts, -1, thread, -1, values))
    trace = with_batches(trace, [batch_of(trace, rows)])
    projected, losses = project(trace, capabilities(""), "uftrace")
    with open_sink(path, directory=True) as sink:
        write(projected, sink, "")
    return list(losses)


def begin(*fields):
    return EventClass(Kind.SLICE_BEGIN, fields=(NAME, CATEGORY, *fields))


END = EventClass(Kind.SLICE_END)


def test_values_of_every_type_are_shown(tmp_path):
    fields = (
        Field("i8", IntegerClass(8, True)),
        Field("u16", IntegerClass(16)),
        Field("i32", IntegerClass(32, True)),
        Field("u64", IntegerClass(64)),
        Field("hex", IntegerClass(32, style=Style.HEXADECIMAL)),
        Field("pointer", IntegerClass(64, style=Style.POINTER)),
        Field("character", IntegerClass(8, True, Style.CHARACTER)),
        Field("f32", FloatClass(32)),
        Field("flag", BooleanClass()),
        Field("text", StringClass()),
        Field("f64", FloatClass(64)),
        Field("enum", IntegerClass(16, True, labels=(Label(1, 1, "one"),))),
    )
    values = (
        -5,
        65535,
        -(2**31),
        77,
        0xABC,
        0xDEADBEEF,
        ord("x"),
        1.5,
        True,
        b"a text",
        -0.25,
        1,
    )
    returned = EventClass(Kind.SLICE_END, fields=(Field("result", IntegerClass(32, True)),))
    losses = written(
        tmp_path / "data",
        [(begin(*fields), 10, 0, (b"f", b"", *values)), (returned, 20, 0, (-3,))],
    )
    assert losses == []
    (line,) = [line for line in uftrace(tmp_path / "data", "replay", "-f", "none") if " = " in line]
    assert line.split() == [
        "f(-5,",
        "65535,",
        "-2147483648,",
        "77,",
        "0xabc,",
        "0xdeadbeef,",
        "'x',",
        "1.500000,",
        "1,",
        '"a',
        'text",',
        "-0.250000,",
        "1)",
        "=",
        "-3;",
    ]
    check_commands(tmp_path / "data")


def test_functions_of_one_name_may_differ_in_their_values(tmp_path):
    number, text = Field("a", IntegerClass(32, True)), Field("a", StringClass())
    one = EventClass(Kind.SLICE_END, fields=(number,))
    other = EventClass(Kind.SLICE_END, fields=(text,))
    events = [
        (begin(number), 1, 0, (b"f", b"x", 1)),
        (begin(text), 2, 0, (b"f", b"x", b"inner")),
        (begin(), 3, 0, (b"f", b"x")),
        (one, 4, 0, (5,)),
        (other, 5, 0, (b"back",)),
        (END, 6, 0, ()),
        (begin(number), 7, 0, (b"f", b"x", 2)),
        (one, 8, 0, (6,)),
        (begin(number), 9, 0, (b"f", b"x", 3)),
        (other, 10, 0, (b"text",)),
    ]
    assert written(tmp_path / "data", events) == []
    shown = [
        line.strip()
        for line in uftrace(tmp_path / "data", "replay", "-f", "none")
        if "f(" in line or "}" in line
    ]
    assert shown == [
        "f(1) {",
        'f("inner") {',
        "f() = 5;",
        '} = "back"; /* f */',
        "} /* f */",
        "f(2) = 6;",
        'f(3) = "text";',
    ]
    (line,) = [line for line in uftrace(tmp_path / "data", "report") if line.endswith(" f")]
    assert line.split()[4] == "5"


def test_unbalanced_slices_stay_as_they_are(tmp_path):
    named = EventClass(Kind.SLICE_END, fields=(NAME, CATEGORY))
    events = [
        (END, 1, 0, ()),
        (named, 2, 0, (b"before", b"")),
        (begin(), 3, 0, (b"open", b"")),
        (begin(), 4, 0, (b"inner", b"")),
        (named, 5, 0, (b"", b"")),
        (named, 6, 0, (b"other", b"")),
        (begin(), 7, 0, (b"left", b"")),
    ]
    assert written(tmp_path / "data", events) == []
    shown = [
        re.sub(r".*\[(entry|exit ?)\] (.*)\([0-9a-f]+\) depth", r"\1 \2", line)
        for line in uftrace(tmp_path / "data", "dump")
        if "[entry]" in line or "[exit" in line
    ]
    assert shown == [
        "exit  (no function): 0",
        "exit  before: 0",
        "entry open: 0",
        "entry inner: 1",
        "exit  inner: 1",
        "exit  other: 0",
        "entry left: 0",
    ]
    check_commands(tmp_path / "data")


def test_stacks_deeper_than_the_bits_for_them(tmp_path):
    count = 2100
    events = [(begin(), i, 0, (b"f", b"")) for i in range(count)]
    events += [(END, count + i, 0, ()) for i in range(count)]
    assert written(tmp_path / "data", events) == []
    (line,) = [line for line in uftrace(tmp_path / "data", "report") if line.endswith(" f")]
    assert line.split()[-2] == str(count)
    addresses = Counter(
        re.findall(
            r"f\((4[0-9a-f]+)\)", "\n".join(uftrace(tmp_path / "data", "dump", "-D", "5000"))
        )
    )
    assert addresses == {"401000": 2 * count}


def test_names_of_tasks_and_their_tree(tmp_path):
    threads = [
        Thread(7, 0, "main"),
        Thread(70, 0, "worker"),
        Thread(8, 1, ""),
        Thread(9, 2, "last"),
        Thread(1 << 40, 2, "far"),
    ]
    events = [(begin(), 10 + i, i, (b"f", b"")) for i in range(len(threads))]
    events += [(END, 20 + i, i, ()) for i in range(len(threads))]
    assert written(tmp_path / "data", events, threads) == []
    tree = [line.split() for line in uftrace(tmp_path / "data", "info", "--task")[1:-1]]
    assert [(words[-4].strip("[]"), words[-3]) for words in tree] == [
        ("7", "main"),
        ("8", "child"),
        ("9", "last"),
        ("70", "worker"),
        ("10000000", "far"),
    ]


def test_events_that_are_no_functions(tmp_path):
    events = [
        (EventClass(Kind.INSTANT, fields=(NAME, CATEGORY)), 11, 0, (b"ready: now", b"a:b")),
        (EventClass(Kind.INSTANT, fields=(NAME, Field("x", IntegerClass(32)))), 12, 0, (b"one", 5)),
        (EventClass(Kind.INSTANT, fields=(NAME, Field("x", StringClass()))), 13, 0, (b"two", b"v")),
        (
            EventClass(Kind.COUNTER, fields=(NAME, Field("v", IntegerClass(32), Role.VALUE))),
            14,
            -1,
            (b"load", 9),
        ),
        (
            EventClass(Kind.DISCARDED, fields=(Field("count", IntegerClass(48), Role.COUNT),)),
            15,
            1,
            (3,),
        ),
    ]
    written(tmp_path / "data", events)
    lines = uftrace(tmp_path / "data", "replay", "-f", "tid")
    shown = [re.sub(r".*\| +", "", line) for line in lines if "/*" in line]
    assert "/* a_b:ready:_now */" in shown
    assert "/* traceconv:instant (name=one x=5) */" in shown
    assert "/* traceconv:instant__2 (name=two x=v) */" in shown
    assert "/* traceconv:counter (name=load v=9) */" in shown
    assert any("LOST 3 records" in line for line in lines)
    check_commands(tmp_path / "data", lost=True)
    back = converter.read(tmp_path / "data")
    assert {(one.category, one.name) for one in back.event_classes if one.kind is Kind.TYPED} == {
        ("traceconv", "instant"),
        ("traceconv", "counter"),
    }


def test_texts_that_uftrace_cannot_print_are_cut(tmp_path):
    text = Field("t", StringClass())
    losses = written(
        tmp_path / "data",
        [(begin(text, text), 10, 0, (b"f", b"", b"\n" * 3000, b"x" * 600)), (END, 20, 0, ())],
    )
    assert [str(loss) for loss in losses] == ["truncated: 't' of slice_begin to 488 bytes (2)"]
    check_commands(tmp_path / "data")


def test_a_trace_without_events_is_a_directory_that_uftrace_takes(tmp_path):
    assert written(tmp_path / "data", []) == []
    check_commands(tmp_path / "data")
    assert not any(len(batch) for batch in converter.read(tmp_path / "data").batches())


@pytest.mark.skipif(shutil.which("script") is None, reason="script is not installed")
def test_the_terminal_interface_takes_it(tmp_path):
    written(tmp_path / "data", [(begin(), 10, 0, (b"a_function", b"")), (END, 20, 0, ())])
    command = f"uftrace tui -d {tmp_path / 'data'}"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"], input=b"q", capture_output=True, timeout=30,
        check=True, env={"TERM": "xterm", "PATH": "/usr/bin:/bin", "COLUMNS": "100", "LINES": "30"},
    )  # fmt: skip
    assert b"a_function" in done.stdout


# What dump --chrome gets wrong, and the same recording as this converter's Chrome JSON


def nesting(events):
    """How many ends have no begin, and how many begins no end."""
    depth = defaultdict(int)
    orphans = 0
    for event in events:
        place = event["pid"], event.get("tid", event["pid"])
        if event["ph"] == "B":
            depth[place] += 1
        elif event["ph"] == "E":
            orphans += depth[place] == 0
            depth[place] = max(0, depth[place] - 1)
    return orphans, sum(depth.values())


def ours(path, tmp_path):
    convert_to = tmp_path / "ours.json"
    with converter.open_trace(str(path)) as trace:
        converter.write(trace, convert_to, "chrome", force=True)
    return json.loads(convert_to.read_text())["traceEvents"]


def flawed(
    path,
    *,
    cmdline=True,
    lost=False,
    preempted=False,
    longjmp=False,
    unfinished=False,
    long_double=False,
    date=None,
):
    """A small recording of a process with a thread, which uftrace takes."""
    directory = Directory(
        task_txt=f'SESS timestamp=0.000000001 pid={TID} sid=0123456789abcdef exename="/usr/bin/app"\n'
        f"TASK timestamp=0.000000002 tid={TID} pid={TID}\n"
        f"TASK timestamp=0.000000002 tid=101 pid={TID}\n",
    )
    values = directory.text('say "é"'.encode()) + directory.pack("i", -5)
    specification = "foo@arg1/s,arg2/i32"
    if long_double:
        values = struct.pack("<QHxx", 5 << 61, 0xC000)
        specification = "foo@fparg1/80"
    inner = [
        directory.record(SECOND + 20, EXIT, 1, FOO),
    ]
    if lost:
        inner.append(directory.record(SECOND + 25, LOST, 1, 5))
    if longjmp:
        # The function that called longjmp is never left: the one around both is.
        inner = []
    directory.tasks[TID] = b"".join(
        [
            directory.record(SECOND, ENTRY, 0, MAIN),
            directory.record(SECOND + 10, ENTRY, 1, FOO, values),
            directory.event(SECOND + 15, 1_000_000, depth=2),
            *inner,
            b"" if unfinished else directory.record(SECOND + 30, EXIT, 0, MAIN),
        ]
    )
    directory.tasks[101] = directory.record(SECOND + 12, ENTRY, 0, BAR)
    directory.tasks[101] += directory.record(SECOND + (40 if unfinished else 18), EXIT, 0, BAR)
    directory.files["events.txt"] = b"EVENT: 1000000 prov:one\n"
    perf = directory.perf(
        3, 0, directory.pack("ii8siiQ", TID, 101, b"worker", TID, 101, SECOND + 11)
    )
    if preempted:
        for misc, at in ((0x6000, 13), (0, 14)):
            perf += directory.perf(14, misc, directory.pack("iiQ", TID, 101, SECOND + at))
    directory.files["perf-cpu0.dat"] = perf
    lines = {
        InfoBit.EXE_NAME: "exename:/usr/bin/app\n",
        InfoBit.CMDLINE: "cmdline:app\n",
        InfoBit.TASKINFO: f"taskinfo:lines=2\ntaskinfo:nr_tid=2\ntaskinfo:tids={TID},101\n",
        InfoBit.ARG_SPEC: f"argspec:lines=1\nargspec:{specification}\n",
        InfoBit.PATTERN_TYPE: "pattern_type:regex\n",
    }
    if date is not None:
        lines[InfoBit.UTC_OFFSET] = f"utc_offset:{date}\n"
    if not cmdline:
        del lines[InfoBit.CMDLINE]
    features = directory.features | Feature.EVENT | Feature.PERF_EVENT
    header = Header(features=int(features), info_mask=sum(1 << bit for bit in lines))
    directory.files["info"] = build_header(header) + "".join(lines.values()).encode()
    return directory.write(path)


def exported(path):
    return "\n".join(uftrace(path, "dump", "--chrome"))


def test_preempted_tasks_unbalance_uftraces_export(tmp_path):
    data = flawed(tmp_path / "data", preempted=True)
    orphans, _ = nesting(json.loads(exported(data))["traceEvents"])
    assert orphans == 1
    assert nesting(ours(data, tmp_path)) == (0, 0)
    switches = [event for event in ours(data, tmp_path) if event.get("name") == "Running"]
    assert len(switches) == 2


def test_lost_records_break_uftraces_export(tmp_path):
    data = flawed(tmp_path / "data", lost=True)
    with pytest.raises(json.JSONDecodeError):
        json.loads(exported(data))
    (lost,) = [event for event in ours(data, tmp_path) if event.get("name") == "discarded"]
    assert lost["args"]["count"] == 5


def test_a_missing_command_line_breaks_uftraces_export(tmp_path):
    data = flawed(tmp_path / "data", cmdline=False)
    with pytest.raises(json.JSONDecodeError):
        json.loads(exported(data))
    assert nesting(ours(data, tmp_path)) == (0, 0)


def test_uftraces_export_names_threads_under_other_ids(tmp_path):
    def threads(events):
        named = {
            (event["pid"], event.get("tid", event["pid"])): event["args"]["name"]
            for event in events
            if event["ph"] == "M" and event["name"] == "thread_name"
        }
        used = {
            (event["pid"], event.get("tid", event["pid"]))
            for event in events
            if event["ph"] in "BE"
        }
        return named, used

    data = flawed(tmp_path / "data")
    text = exported(data)
    first = [line for line in text.split("\n") if '"M"' in line and '"tid"' not in line]
    assert any('"pid":101' in line for line in first)
    named, used = threads(ours(data, tmp_path))
    assert used == {(TID, TID), (TID, 101)}
    assert named[TID, 101] == "worker"
    assert used <= named.keys()


def test_uftraces_export_leaves_out_events(tmp_path):
    data = flawed(tmp_path / "data")
    assert "one" not in [event["name"] for event in json.loads(exported(data))["traceEvents"]]
    (event,) = [event for event in ours(data, tmp_path) if event.get("name") == "one"]
    assert (event["ph"], event["cat"], event["tid"]) == ("i", "prov", TID)


def test_uftraces_export_has_arguments_as_one_text(tmp_path):
    data = flawed(tmp_path / "data")
    (theirs,) = [
        event
        for event in json.loads(exported(data))["traceEvents"]
        if event["ph"] == "B" and event["name"] == "foo"
    ]
    assert theirs["args"]["arguments"].startswith('("say "')
    assert "é" not in theirs["args"]["arguments"]
    (event,) = [
        event for event in ours(data, tmp_path) if event["ph"] == "B" and event["name"] == "foo"
    ]
    assert event["args"] == {"arg1": 'say "é"', "arg2": -5}


def test_uftraces_export_closes_open_functions_behind_later_events(tmp_path):
    def times(events):
        return [event["ts"] for event in events if event["ph"] in "BE"]

    data = flawed(tmp_path / "data", unfinished=True)
    theirs = times(json.loads(exported(data))["traceEvents"])
    assert theirs != sorted(theirs)
    assert times(ours(data, tmp_path)) == sorted(times(ours(data, tmp_path)))


def test_uftrace_aborts_at_long_doubles(tmp_path):
    data = flawed(tmp_path / "data", long_double=True)
    with pytest.raises(subprocess.CalledProcessError) as raised:
        uftrace(data, "dump")
    assert raised.value.returncode < 0
    (event,) = [event for event in ours(data, tmp_path) if event.get("name") == "foo"]
    assert event["args"] == {"fparg1": -2.5}


def test_a_date_costs_no_precision(tmp_path):
    """Later versions add the date to the times, which as numbers of JSON are then exact to 250 ns."""
    data = flawed(tmp_path / "data", date=1_795_170_000)
    times = [event["ts"] for event in ours(data, tmp_path) if event["ph"] in "BE"]
    assert times == [
        1_000_000.0,
        1_000_000.01,
        1_000_000.012,
        1_000_000.018,
        1_000_000.02,
        1_000_000.03,
    ]


def test_functions_left_by_longjmp_are_closed(tmp_path):
    data = flawed(tmp_path / "data", longjmp=True)
    assert nesting(ours(data, tmp_path)) == (0, 0)


def test_every_argument_of_a_recording_is_typed_and_every_slice_has_its_own_end(tmp_path):
    events = ours(RICH, tmp_path)
    stacks = defaultdict(list)
    unmatched = []
    renamed = []
    for event in events:
        if event["ph"] not in "BE":
            continue
        stack = stacks[event["pid"], event["tid"]]
        if event["ph"] == "B":
            stack.append(event["name"])
        elif event["ph"] == "E" and stack:
            closed = stack.pop()
            if event.get("name", closed) != closed:
                renamed.append(event["name"])
        elif event["ph"] == "E":
            unmatched.append(event["name"])
    # A child returns from the fork that its parent entered; setjmp returns again, from where longjmp was called.
    assert unmatched == ["fork"]
    assert renamed == ["_setjmp"]
    assert not any(stacks.values())
    named = {
        (event["pid"], event["tid"])
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    assert stacks.keys() <= named
    assert not any("arguments" in event.get("args", {}) for event in events)

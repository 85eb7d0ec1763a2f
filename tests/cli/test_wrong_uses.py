"""Wrong uses of all commands: each ends in its exit code, with a message that says what is wrong and what to do."""

import shlex
from pathlib import Path

import pytest

from converter.cli import main

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"

#: A command line, its exit code, and a part of its message.
WRONG = """
trace.dat                                      | 2 | Missing OUT: traceconv IN OUT, or -o OUT
trace.dat out                                  | 2 | 'out' has no suffix that says the format: -t names one
trace.dat out.foo                              | 2 | no format has the suffix '.foo': -t names one
trace.dat out.ftx                              | 2 | did you mean '.fxt'?
trace.dat x.txt                                | 2 | 'traceconv report IN -o x.txt' writes the events as text
trace.dat x.csv                                | 2 | 'traceconv report IN --csv -o x.csv'
trace.dat x.html                               | 2 | 'traceconv view IN -o x.html'
trace.dat x.svg                                | 2 | 'traceconv plot IN -o x.svg'
trace.dat x.fxt.rar                            | 2 | outputs are compressed as .gz
trace.dat -o -                                 | 2 | standard output has no suffix: -t names the format
trace.dat ''                                   | 2 | the name is empty
'' x.fxt                                       | 2 | the name is empty
trace.dat x.fxt --losses ''                    | 2 | the name is empty
trace.dat -t perfeto -o x                      | 2 | did you mean 'perfetto'?
trace.dat -t '' -o x                           | 2 | the name of a format is empty
trace.dat -t trace_cmd+v8 -o x                 | 2 | there are trace_cmd+v7, trace_cmd+v6
trace.dat -t perfetto+x -o x                   | 2 | perfetto has no variants
trace.dat -o                                   | 2 | Option '-o' requires an argument
-o x.fxt                                       | 2 | Missing argument 'IN'
trace.dta x.fxt                                | 1 | trace.dta: No such file or directory (did you mean trace.dat?)
empty x.fxt                                    | 1 | the directory is empty
text.txt x.fxt                                 | 1 | it begins with 'hello\\n'; -f names the format
zero.dat x.fxt                                 | 1 | the file is empty
cut.dat x.fxt                                  | 4 | no event of it can be read
trace.dat there.fxt                            | 1 | exists already (--force replaces it)
trace.dat trace.dat                            | 1 | the output is the input: name another
trace.dat nodir/x.fxt                          | 1 | there is no folder nodir
trace.dat x.ctf.gz                             | 2 | is packed as .tar, .tar.gz
trace.dat x.fxt.tar                            | 2 | compress it as .gz or .zst
trace.dat -o - -t ctf                          | 2 | a directory cannot be written to it
trace.dat x.fxt --nosuch                       | 2 | No such option '--nosuch'
trace.dat x.fxt --strict=foo                   | 2 | 'shown', 'kept', 'all'
trace.dat x.fxt --strict                       | 3 | --dry-run -v lists all, --lossless keeps all
trace.dat x.fxt -q -v                          | 2 | -q and -v exclude each other
trace.dat x.fxt -y -n                          | 2 | --force and --no-clobber exclude each other
trace.dat x.fxt --jobs 0                       | 2 | x>=1
trace.dat x.fxt --jobs two                     | 2 | 'two' is not a valid integer.
trace.dat x.fxt --from yesterday               | 2 | 'yesterday' is not a time: write seconds as reports print them
trace.dat x.fxt --from 2024-13-01              | 2 | month must be in 1..12
trace.dat x.fxt --from 2024-05-01              | 2 | does not say what time of day it is
trace.dat x.fxt --last five                    | 2 | 'five' is not a duration: write "5s"
trace.dat x.fxt --last -5s                     | 2 | is not a duration
trace.dat x.fxt --from +5s --to +1s            | 2 | --from (+5s) is after --to (+1s)
trace.dat x.fxt --from 827.5 --to +1ms         | 2 | --from (827.5) is after --to (+1ms) in this trace
trace.dat x.fxt --from 1 --last 1ms            | 2 | --from and --last both say where the part starts
trace.dat x.fxt --cpu x                        | 2 | 'x' is not a CPU: write numbers and ranges
trace.dat x.fxt --cpu 3-1                      | 2 | '3-1' is not a range of CPUs
trace.dat x.fxt --pid git                      | 2 | 'git' is not a process id (--comm selects by name)
trace.dat x.fxt --tid 1e9                      | 2 | '1e9' is not a thread id
trace.dat x.fxt --event ''                     | 2 | '' names no event: write NAME
trace.dat x.fxt --where 'a = 0'                | 2 | use == to compare
trace.dat x.fxt --where 'a | b'                | 2 | use || for or
trace.dat x.fxt --where 'comm == "git'         | 2 | the text has no closing quote
trace.dat x.fxt --where 'a =='                 | 2 | a value is expected
trace.dat x.fxt --where ''                     | 2 | a condition is empty
trace.dat x.fxt --children                     | 2 | --children needs --pid, --tid or --comm
trace.dat x.fxt --read-all                     | 2 | --read-all needs --from or --last
trace.dat x.fxt --split 0s                     | 2 | '0s' is nothing to split by: write "10s"
trace.dat x.fxt --split 1B                     | 2 | the least is 1kB
trace.dat -o - -t fxt --split 1s               | 2 | --split writes several files
trace.dat x.fxt --split 1s --losses -          | 2 | --losses writes to a file
trace.dat x.fxt --split 1s -n                  | 2 | --split and --no-clobber exclude each other
trace.dat x.fxt --scheduler local --dry-run    | 2 | --scheduler and --dry-run exclude each other
trace.dat x.fxt --scheduler local --split cpu  | 2 | parts of a length of time
trace.dat x.fxt --limit holes                  | 2 | 'holes' is not NAME=VALUE
trace.dat x.fxt --limit hole=3                 | 2 | did you mean 'holes'?
trace.dat x.fxt --limit holes=0                | 2 | expected at least 1
trace.dat x.fxt -O foo=bar                     | 2 | there is no option 'foo' for reading trace_cmd; known: samples
trace.dat x.fxt -O foo                         | 2 | 'foo' is not NAME=VALUE
trace.dat x.fxt -f fxt                         | 2 | but is recognised as trace_cmd: leave the format out
trace.dat x.fxt -f nosuch                      | 2 | unknown format 'nosuch'
trace.dat x.fxt -f trace_cmd+v6                | 2 | the variant of an input is detected; use 'trace_cmd'
trace.dat x.fxt --offset 1s                    | 2 | is not NAME=TIME, such as app.json=+1.5s
trace.dat x.fxt --offset trace.dat=soon        | 2 | 'soon' is no offset: write +1.5s
trace.dat b.dat x.fxt --offset nosuch=+1s      | 2 | there is no input 'nosuch': --offset and --machine name inputs
trace.dat b.dat x.fxt --align nosuch           | 2 | no event 'nosuch' to align by
trace.dat b.dat x.fxt --machine m              | 2 | 'm' is not NAME=IN[,IN]
trace.dat -o - -t fxt --losses -               | 2 | cannot both be standard output
inof trace.dat                                 | 2 | did you mean 'traceconv info'?
help nosuch                                    | 2 | no command 'nosuch'; there are convert, batch
info                                           | 2 | Missing argument 'IN'
info trace.dat extra                           | 2 | unexpected extra argument (extra)
info nosuch                                    | 1 | nosuch: No such file or directory
info trace.dat --events -1                     | 2 | x>=0
report trace.dat --json --csv                  | 2 | --json and --csv exclude each other
report trace.dat -o x.csv                      | 2 | add --csv
report trace.dat -o x.json                     | 2 | add --json
report trace.dat -o x.pftrace                  | 2 | 'traceconv IN -o x.pftrace' converts
report trace.dat -o x.html                     | 2 | 'traceconv view IN -o x.html' writes
report trace.dat -o there.fxt                  | 2 | report writes text
view trace.dat -o x.pdf                        | 2 | 'traceconv plot IN -o x.pdf' writes
view trace.dat -o x                            | 2 | the name ends in .html
view trace.dat --max-size 0                    | 2 | x>=1
plot trace.dat                                 | 2 | Missing option '-o'
plot trace.dat -o x.gif                        | 2 | the name ends in .svg or .png or .pdf
plot trace.dat -o x.svg --show bars            | 2 | 'timeline', 'cpu', 'wakeups'
plot trace.dat -o x.svg --field prio           | 2 | is not EVENT.FIELD
plot trace.dat -o x.svg --show cpu --field a.b | 2 | --show and --field both say what is drawn
open trace.dat --port 99999                    | 2 | 0<=x<=65535
open trace.dat --ui ftp://x                    | 2 | is no address such as https://ui.perfetto.dev
check text.txt                                 | 1 | not recognised as any of
check trace.dat -q --json                      | 2 | --json and -q exclude each other
recover trace.dat                              | 2 | Missing option '-o'
recover trace.dat -o x.txt                     | 2 | no format has the suffix .txt
diff trace.dat                                 | 2 | Missing argument 'B'
diff trace.dat trace.dat --ignore foo          | 2 | there are clock-offset
diff trace.dat trace.dat --format-a fxt        | 2 | leave the format out
roundtrip trace.dat --via foo                  | 2 | unknown format 'foo'
roundtrip trace.dat --via fxt,                 | 2 | the name of a format is empty
formats extra                                  | 2 | unexpected extra argument
fixtures -                                     | 2 | standard output is not
fixtures fx --formats nosuch                   | 2 | unknown format 'nosuch'
fixtures fx --kinds schde                      | 2 | did you mean 'sched'?
fixtures fx --events 9999999                   | 2 | 1<=x<=1000000
fixtures empty                                 | 1 | exists already (--force replaces it)
new-format 'My Format'                         | 2 | use lower-case letters, digits and _
new-format fxt                                 | 2 | there is a format called fxt
batch '*.dat'                                  | 2 | Missing option '-o'
batch 'nosuch*' -t fxt -o out                  | 2 | 'nosuch*' matches nothing
batch trace.dat -t nosuch -o out               | 2 | unknown format 'nosuch'
batch trace.dat -t fxt -o text.txt             | 2 | Directory 'text.txt' is a file
batch trace.dat -t fxt -o out --compress rar   | 2 | 'gz', 'zst'
batch trace.dat -t fxt -o o --scheduler local --jobs 2 | 2 | a scheduler has workers of its own
"""
CASES = [line.split(" | ") for line in WRONG.strip().split("\n")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Some inputs, and what an output may meet."""
    path = tmp_path_factory.mktemp("wrong")
    data = SMALL.read_bytes()
    for name in ("trace.dat", "b.dat", "there.fxt"):
        (path / name).write_bytes(data)
    (path / "cut.dat").write_bytes(data[:2000])
    (path / "zero.dat").write_bytes(b"")
    (path / "text.txt").write_text("hello\n")
    (path / "empty").mkdir()
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].strip())
def test_a_wrong_use_is_explained(case, folder, monkeypatch, capfd):
    line, (code, message) = " | ".join(case[:-2]), case[-2:]
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert main(shlex.split(line)) == int(code)
    out, err = capfd.readouterr()
    assert message in err
    assert "Traceback" not in err
    assert "internal error" not in err
    assert out == "" or line.startswith("check")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--event sched_swich", "no event is called sched_swich; the nearest is sched_switch"),
        ("--event 'shced:*'", "no event is called shced:*; the nearest is sched:*"),
        ("--event '!sched_swich'", "no event is called sched_swich; the nearest is sched_switch"),
        ("--event nothing_like_it", "no event is called nothing_like_it ('traceconv info' lists"),
        ("--cpu 99", "no event is on CPU 99; the last CPU is 1"),
        ("--cpu 0,2-9", "no event is on CPU 2, 3, 4, 5, 6, 7, 8, 9; the last CPU is 1"),
        ("--pid 4711", "no process has the id 4711"),
        ("--tid 4711", "no thread has the id 4711"),
        ("--comm gti", "no thread or process is called gti; the nearest is git"),
        ("--where 'prev_pdi == 0'", "no event has a field prev_pdi; the nearest is prev_pid"),
        ("--where 'sched_swich: prev_pid == 0'", "no event is called sched_swich"),
        ("--from 900", "no event is in this time: the trace is from 827.282960 to 827.321238 s"),
        ("--cpu 1 --where 'cpu == 0'", "no event matches the selection"),
    ],
)
@pytest.mark.parametrize("command", ["report {} -o x.out", "{} -o x.pftrace --dry-run", "info {}"])
def test_a_selection_that_names_nothing_has_a_warning(
    command, options, message, folder, monkeypatch, tmp_path, capfd
):
    monkeypatch.chdir(tmp_path)
    source = shlex.quote(str(folder / "trace.dat"))
    assert main(shlex.split(f"{command.format(source)} {options}")) == 0
    err = capfd.readouterr().err
    assert f"traceconv: warning: {folder / 'trace.dat'}: {message}" in err


@pytest.mark.parametrize(
    "options",
    ["--event sched_switch", "--cpu 0-63", "--pid '*'", "--comm 'g*'", "--where 'prev_pid > 0'"],
)
def test_a_selection_that_names_something_has_none(options, folder, capfd):
    source = shlex.quote(str(folder / "trace.dat"))
    assert main(shlex.split(f"report {source} {options}")) == 0
    err = capfd.readouterr().err
    assert ("warning" in err) == ("0-63" in options)


@pytest.mark.parametrize(
    ("arguments", "begin"),
    [
        (["help"], "Usage: traceconv IN OUT"),
        (["help", "info"], "Usage: traceconv info"),
        (["help", "help"], "Usage: traceconv IN OUT"),
        (["-V"], "traceconv "),
        (["--version"], "traceconv "),
    ],
)
def test_help_and_version_are_shown(arguments, begin, capfd):
    assert main(arguments) == 0
    assert capfd.readouterr().out.startswith(begin)

"""Every command that README, all pages of the documentation, and help print is run as it is printed."""

import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command.printed_commands import ROOT, commands
from support.viewers.viewer import Viewer

from converter.analysis.viewing import perfetto_ui
from converter.cli import main
from converter.cli.actions import opening
from converter.cli.commands.table import COMMANDS

FIXTURES = ROOT / "roundtrip_fixtures"
SMALL = FIXTURES / "trace_cmd" / "small.dat"
#: Commands whose exit code 1 says what they found.
ANSWERING = {"diff", "roundtrip", "check"}


#: What is printed and not run here, and where it is, or why it is nowhere.
ELSEWHERE = {
    r"python3 -m venv|\.venv/bin/pip|pip install (-e )?'?\.|ruff|bash \.ci/run": ".ci/run, which it is",
    r"pip wheel|python -m build": "tests/test_package.py builds both",
    r"pip install 'traceconv\[": "it takes what an index has of a release",
    r"pip install -e traceconv-tally": "tests/test_adding_a_format.py has it found as installed",
    r"source .*completions": "tests/cli/test_shell_files.py completes with each shell that is here",
    r"python -m tests\.": "they take minutes; tests/formats and tests/storage run a second of each",
    r"python -m benchmarks": "tests/cli/test_benchmarks.py runs one; all of them take long",
    r"python -m converter$": "what tests of the command start",
    r"bash \.ci/gallery": "it makes what is committed",
    r"bash \.ci/machines": "it takes packages of others, and minutes",
    r"bash \.ci/viewers": ".ci/run runs it: it takes packages of others",
    r"mypy --strict": "tests/library/test_library.py",
    r"ssh |.*(s3|https|tcp)://": "it takes another machine; tests/storage and tests/cli have servers",
    r".*\| python consumer\.py$": "a program of somebody's own",
    r"\$ traceconv ": "tests/cli/test_documented.py, with what it prints",
    r"traceconv residual$": "a name",
    r"traceconv - ": "tests/cli/test_streams.py writes to its standard input",
    r".*&& (flamegraph\.pl|go tool|speedscope|perf) ": "programs of others show what is written",
    r"(trace-cmd|uftrace|perf|trcrpt|babeltrace2|trace_processor) (?!.*-d )": (
        "programs of others, which record, or which tests compare ours with"
    ),
}


def printed():
    """The commands that are run here."""
    return [
        command
        for command in commands()
        if not any(re.match(elsewhere, command) for elsewhere in ELSEWHERE)
    ]


def made(path, *arguments):
    assert main([*map(str, arguments), "-o", str(path), "-q"]) == 0


def cut(path, *arguments):
    """A file that is damaged: its end is missing."""
    whole = path.with_name(f"whole{''.join(path.suffixes).removesuffix('.gz')}")
    made(whole, *arguments)
    data = whole.read_bytes()
    whole.unlink()
    path.write_bytes(gzip.compress(data)[:-20] if path.suffix == ".gz" else data[:-20])


def with_a_start(path):
    """A recording with an event that others have, too; its contents say what it is, not its name."""
    path.write_text('[{"ph": "i", "name": "start", "ts": 5, "pid": 1, "tid": 1, "s": "t"}]')


def aix(path):
    made(path, SMALL, "-t", "aix")
    path.with_name("aixtrace.trcfmt").rename(path.with_name("trace.fmt"))


def recording_of_perf(path):
    shutil.copy(FIXTURES / "perf" / "pipe.data", path)
    path.with_name("kallsyms.txt").write_text("ffffffff81000000 T _text\n")


#: What makes the files and directories that commands read.
INPUTS = {
    "trace.dat": lambda path: shutil.copy(SMALL, path),
    "before.dat": lambda path: shutil.copy(SMALL, path),
    "trace.dat.gz": lambda path: path.write_bytes(gzip.compress(SMALL.read_bytes())),
    "trace.pftrace": lambda path: made(path, SMALL),
    "trace.fxt": lambda path: made(path, SMALL),
    "kernel.dat": lambda path: shutil.copy(SMALL, path),
    "app.json": lambda path: made(path, SMALL),
    "boot.ftrace": lambda path: made(path, SMALL),
    "after.pftrace": lambda path: made(path, SMALL),
    "damaged.dat": lambda path: cut(path, SMALL),
    "damaged.pftrace.gz": lambda path: cut(path, SMALL),
    "aixtrace": aix,
    "a.dat": with_a_start,
    "b.json": with_a_start,
    "calls.uftrace/": lambda path: shutil.copytree(FIXTURES / "uftrace" / "rich", path),
    "recordings/": lambda path: (
        path.mkdir(),
        shutil.copy(SMALL, path),
        with_a_start(path / "b.json"),
    ),
    "in/*.dat": lambda path: (path.parent.mkdir(), shutil.copy(SMALL, path.parent / "a.dat")),
    "in/**/*.dat": lambda path: (
        (path.parents[1] / "deep").mkdir(parents=True),
        shutil.copy(SMALL, path.parents[1] / "deep" / "a.dat"),
    ),
    "runs/*.dat": lambda path: (path.parent.mkdir(), shutil.copy(SMALL, path.parent / "a.dat")),
    "fleet/run7.parquet": lambda path: (path.parent.mkdir(), made(path, SMALL)),
    "kernel.uftrace": lambda path: made(path, SMALL),
    "trace": lambda path: shutil.copy(SMALL, path),
    "perf.data": recording_of_perf,
    "profile.script": lambda path: shutil.copy(
        FIXTURES / "perf_script" / "callchains.script", path
    ),
    "app.simpleperf": lambda path: shutil.copy(
        FIXTURES / "simpleperf" / "every-record.simpleperf", path
    ),
    "out.folded": lambda path: shutil.copy(FIXTURES / "folded" / "uftrace.folded", path),
    "cpu.pb.gz": lambda path: shutil.copy(FIXTURES / "pprof" / "cpu.pb.gz", path),
    "out.speedscope.json": lambda path: shutil.copy(
        FIXTURES / "speedscope" / "mixed.speedscope.json", path
    ),
    "results/": lambda path: path.mkdir(),
    **dict.fromkeys(
        ("uftrace.data/", "uftrace.data"),
        lambda path: shutil.copytree(FIXTURES / "uftrace" / "rich", path),
    ),
    "magic-trace.fxt": lambda path: shutil.copy(FIXTURES / "fxt" / "magic-trace.fxt", path),
    "node.cpuprofile": lambda path: shutil.copy(FIXTURES / "cpuprofile" / "node.cpuprofile", path),
    "trace.json": lambda path: made(path, SMALL),
    "lttng-trace": lambda path: shutil.copytree(FIXTURES / "ctf" / "ctf_small", path),
    **dict.fromkeys(
        ("recording/", "ust/", "lttng-traces/auto-1/", "before/", "after/"),
        lambda path: shutil.copytree(FIXTURES / "ctf" / "ctf_small", path),
    ),
}


def opens(monkeypatch):
    """What is opened is fetched at once; several tests may serve at a time."""

    class Fetched(opening.FileServer):
        def wait(self, seconds):
            Viewer().fetch(self.address)
            return super().wait(seconds)

    monkeypatch.setattr(opening, "FileServer", Fetched)
    monkeypatch.setattr("webbrowser.open_new_tab", lambda _: True)
    monkeypatch.setattr(perfetto_ui, "PORT", 0)


def outputs(words):
    """Which of the words are written."""
    if "--dry-run" in words:
        return set()
    written = {words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-o", ">")}
    if words[0] != "traceconv":
        return written
    if not written and words[1] not in COMMANDS:
        written.add(words[2])
    return written - {"results/"}


#: What commands with some word need.
LIBRARIES = {" plot ": "matplotlib", "parquet": "pyarrow", "--scheduler": "distributed"}


def test_they_are_found():
    found = printed()
    assert len(found) > 80
    for name in COMMANDS:
        assert name == "convert" or any(one.startswith(f"traceconv {name}") for one in found)


@pytest.mark.parametrize("elsewhere", ELSEWHERE)
def test_what_is_not_run_here_is_printed(elsewhere):
    assert any(re.match(elsewhere, command) for command in commands())


@pytest.mark.parametrize("command", printed())
def test_a_printed_command_does_what_it_says(command, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    if words[0] != "traceconv" and not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    for word, library in LIBRARIES.items():
        if word in command:
            pytest.importorskip(library)
    if words[1] in ("open", "view"):
        opens(monkeypatch)
    for word in words:
        if word in INPUTS and word not in outputs(words):
            INPUTS[word](tmp_path / word)
    capfd.readouterr()
    if words[0] != "traceconv" or {"|", "||", "&&", ">"} & set(words):
        program = tmp_path / "bin" / "traceconv"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m converter "$@"\n')
        program.chmod(0o755)
        path = f"{program.parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
        code = subprocess.run(["bash", "-c", command], env=environment, check=False).returncode
    else:
        code = main(words[1:])
    _, err = capfd.readouterr()
    assert code in ((0, 1) if words[1] in ANSWERING else (0,)), err
    assert "Traceback" not in err
    for output in outputs(words) - {"-"}:
        stem, dot, suffixes = output.partition(".")
        is_split = "--split" in words and words[1] not in COMMANDS
        assert list(Path().glob(f"{stem}-*{dot}{suffixes}" if is_split else output)), output

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
from support.viewer import Viewer

from converter.cli import main, opening
from converter.cli.commands import COMMANDS
from converter.viewing import perfetto_ui

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "roundtrip_fixtures"
SMALL = FIXTURES / "trace_cmd" / "small.dat"
#: Commands whose exit code 1 says what they found.
ANSWERING = {"diff", "roundtrip", "check"}


def printed():
    """The commands, without their comments."""
    readme = (ROOT / "README.md").read_text()
    lines = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        lines += re.findall(r"^    (.*)$", page.read_text(), re.MULTILINE)
    for command in COMMANDS.values():
        lines += (command.epilog or "").splitlines()
    lines += (ROOT / "converter" / "cli" / "help" / "traceconv.txt").read_text().splitlines()
    found = {}
    for line in lines:
        text = re.split(r"  +[#a-z]", line.strip(), maxsplit=1)[0].strip()
        is_form = re.search(r"\b(IN|OUT|OUTDIR|COMMAND|A B)\b|\[", text)
        if re.match(r"(zcat .*\| *)?traceconv ", text) and not is_form:
            found[text] = None
    return list(found)


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


#: What makes the files and directories that commands read.
INPUTS = {
    "trace.dat": lambda path: shutil.copy(SMALL, path),
    "before.dat": lambda path: shutil.copy(SMALL, path),
    "trace.dat.gz": lambda path: path.write_bytes(gzip.compress(SMALL.read_bytes())),
    "trace.pftrace": lambda path: made(path, SMALL),
    "trace.fxt": lambda path: made(path, SMALL),
    "kernel.dat": lambda path: shutil.copy(SMALL, path),
    "app.json": lambda path: made(path, SMALL),
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
    "results/": lambda path: path.mkdir(),
    "uftrace.data/": lambda path: shutil.copytree(FIXTURES / "uftrace" / "rich", path),
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
    if not written and words[1] not in COMMANDS:
        written.add(words[2])
    return written - {"results/"}


def test_they_are_found():
    commands = printed()
    assert len(commands) > 30
    for name in COMMANDS:
        assert name == "convert" or any(c.startswith(f"traceconv {name}") for c in commands)


@pytest.mark.parametrize("command", printed())
def test_a_printed_command_does_what_it_says(command, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    if words[1] == "plot":
        pytest.importorskip("matplotlib")
    if words[1] in ("open", "view"):
        opens(monkeypatch)
    for word in words:
        if word in INPUTS and word not in outputs(words):
            INPUTS[word](tmp_path / word)
    capfd.readouterr()
    if {"|", "||", ">"} & set(words):
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

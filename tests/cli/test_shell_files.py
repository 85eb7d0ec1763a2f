"""What is installed for shells beside the command: completions and the manual page.

``TRACECONV_WRITE_HELP=1 pytest tests/cli/test_shell_files.py`` writes them anew after the commands have changed.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from support.command.man_page import man_page

from converter.cli import main
from converter.cli.commands.table import COMMANDS
from converter.cli.completion import script

ROOT = Path(__file__).parents[2]
SHARE = ROOT / "share"
SCRIPTS = {
    "bash": SHARE / "bash-completion" / "completions" / "traceconv",
    "zsh": SHARE / "zsh" / "site-functions" / "_traceconv",
    "fish": SHARE / "fish" / "vendor_completions.d" / "traceconv.fish",
}
MANUAL = SHARE / "man" / "man1" / "traceconv.1"


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_ask_the_command(shell):
    path = SCRIPTS[shell]
    if os.environ.get("TRACECONV_WRITE_HELP"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script(shell).strip() + "\n")
    # Which words they ask with is click's business, and differs by version.
    assert f"_TRACECONV_COMPLETE={shell}_complete" in path.read_text()


def test_the_manual_page_is_that_of_the_commands():
    if os.environ.get("TRACECONV_WRITE_HELP"):
        MANUAL.parent.mkdir(parents=True, exist_ok=True)
        MANUAL.write_text(man_page())
    assert MANUAL.read_text() == man_page()
    for name, command in {"": COMMANDS["convert"], **COMMANDS}.items():
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.opts[0].replace("-", "\\-") in MANUAL.read_text(), name


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man")
def test_man_understands_the_manual_page():
    shown = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", str(MANUAL)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MANWIDTH": "80"},
    )
    assert shown.stderr == ""
    assert "convert between trace formats" in shown.stdout


def test_all_of_them_are_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    files = project["tool"]["setuptools"]["data-files"]
    listed = {(folder, name) for folder, names in files.items() for name in names}
    found = {path.relative_to(ROOT) for path in SHARE.rglob("*") if path.is_file()}
    assert listed == {(str(path.parent), str(path)) for path in found}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["rep"], "plain,report"),
        (["in.dat", "-t", "perf"], "plain,perfetto"),
        (["in.dat", "-t", "trace_cmd+v7_z"], "plain,trace_cmd+v7_zlib"),
        (["batch", "--jo"], "plain,--jobs"),
        (["in.dat", "--los"], "plain,--lossless"),
        (["info", "in"], "file,in"),
        (["a.dat", "ou"], "file,ou"),
        (["in"], "plain,in.dat"),
    ],
)
def test_what_is_offered(capfd, monkeypatch, tmp_path, words, offered):
    monkeypatch.chdir(tmp_path)
    Path("in.dat").touch()
    monkeypatch.setenv("_TRACECONV_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["traceconv", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    assert main([]) == 0
    assert offered in capfd.readouterr().out.splitlines()


def test_what_no_shell_asks(monkeypatch):
    monkeypatch.setenv("_TRACECONV_COMPLETE", "nonsense")
    assert main([]) == 2


#: How each shell is asked for what may follow "traceconv roundt"; zsh where nobody types.
ASKING = {
    "bash": """
source {script}
COMP_WORDS=(traceconv roundt)
COMP_CWORD=1
_traceconv_completion traceconv
echo "${{COMPREPLY[*]}}"
""",
    "fish": """
source {script}
complete --do-complete "traceconv roundt"
""",
    "zsh": """
compdef() {{ :; }}
compadd() {{ print -r -- $completions; }}
words=(traceconv roundt)
CURRENT=2
source {script}
_traceconv_completion
""",
}


@pytest.mark.parametrize("shell", ASKING)
def test_shells_complete(shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    command = tmp_path / "traceconv"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m converter "$@"\n')
    command.chmod(0o755)
    shown = subprocess.run(
        [shell, "-c", ASKING[shell].format(script=SCRIPTS[shell])],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(tmp_path),
        },
        cwd=tmp_path,
    )
    assert re.match(r"roundtrip\b", shown.stdout), shown.stdout + shown.stderr

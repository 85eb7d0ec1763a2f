"""On a terminal of 40 columns nothing is cut off: lines are wrapped, by the command or by the terminal."""

import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from converter.cli import main
from converter.cli.commands.table import COMMANDS

ROOT = Path(__file__).parents[3]
SMALL = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"
#: Longer than a line.
NAME = "a-recording-whose-name-is-longer-than-a-line.dat"

#: Commands that print tables and verdicts.
SHOWN = {
    "check": ["check", f"damaged-{NAME}"],
    "formats": ["formats"],
    "info": ["info", NAME, "--stats", "--events", "2"],
    "batch": ["batch", NAME, "nothing.dat", "-t", "fxt", "-o", "out", "--force"],
    "losses": [NAME, "out.fxt", "--force", "-v"],
}


def shown(columns, arguments, folder):
    """What a command writes to a terminal."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (24, columns))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb", "PAGER": "cat"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-P", "-m", "converter", *arguments]
    process = subprocess.Popen(
        command, stdin=its, stdout=its, stderr=its, cwd=folder, env=environment
    )
    os.close(its)
    written = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:
            break  # it is over
        if not piece:
            break
        written += piece
    process.wait()
    os.close(ours)
    return written.decode()


def words(text):
    """A text without what depends on how wide it is: blanks, line breaks, lines of tables, and how long it took."""
    return re.sub(r"[\s─]+", "", re.sub(r"\b\d+\.\d( |$)|in \d+\.\d+ s\b", "", text))


@pytest.mark.parametrize("what", SHOWN)
def test_nothing_is_cut_off(what, tmp_path):
    data = SMALL.read_bytes()
    (tmp_path / NAME).write_bytes(data)
    (tmp_path / f"damaged-{NAME}").write_bytes(data[:100_000])
    narrow, wide = (shown(columns, SHOWN[what], tmp_path) for columns in (40, 200))
    assert words(narrow) == words(wide)
    assert "…" not in narrow


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_has_all_that_it_says(arguments, monkeypatch, capfd):
    said = []
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(arguments) == 0
        said.append(words(capfd.readouterr().out))
    assert said[0] == said[1]

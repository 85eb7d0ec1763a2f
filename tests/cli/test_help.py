"""Help that is prepared is what click would make of the commands.

``TRACECONV_WRITE_HELP=1 pytest tests/cli/test_help.py`` writes it anew after the commands have changed.
"""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import converter.cli
from converter.cli.commands.table import COMMANDS
from converter.cli.prepared_help import prepared_help

FOLDER = Path(converter.cli.__file__).parent / "help"
FIRST_PAGE = FOLDER / "traceconv.txt"


def made(name: str) -> str:
    command = COMMANDS[name]
    context = click.Context(
        command, info_name=f"traceconv {name}", terminal_width=78, **command.context_settings
    )
    return command.get_help(context) + "\n"


def test_the_first_page_fits_a_screen_and_has_every_command():
    lines = FIRST_PAGE.read_text().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    named = [line.split()[0] for line in lines[lines.index("") :] if line.startswith("  ")]
    assert [name for name in named if name != "traceconv"] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples(name):
    assert f"  traceconv {'' if name == 'convert' else name}" in (COMMANDS[name].epilog or "")


@pytest.mark.parametrize("name", COMMANDS)
def test_prepared_help_is_that_of_the_command(name):
    path = FOLDER / f"{name}.txt"
    if os.environ.get("TRACECONV_WRITE_HELP"):
        path.write_text(made(name))
    assert path.read_text() == made(name)


def test_there_is_no_other():
    assert {path.stem for path in FOLDER.iterdir()} == {"traceconv", *COMMANDS}


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["info", "--help"], ["diff", "-h"]])
@pytest.mark.parametrize("columns", [None, "80", "60", "200"])
def test_the_command_prints_it_as_wide_as_it_may_be(arguments, columns):
    environment = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    if columns is not None:
        environment["COLUMNS"] = columns
    shown = subprocess.run(
        [sys.executable, "-m", "converter", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    ).stdout
    is_first = len(arguments) == 1
    expected = FIRST_PAGE.read_text() if is_first else made(arguments[0])
    assert (shown == expected) == (columns != "60" or is_first)
    assert shown.startswith("Usage: traceconv")


@pytest.mark.parametrize(
    "arguments",
    [[], ["info"], ["--help", "-v"], ["in", "-o", "--help"], ["../x", "-h"], ["nothing", "--help"]],
)
def test_other_arguments_are_for_the_command(arguments, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert prepared_help(arguments) is None


def test_nothing_shows_the_first_page(capfd):
    assert converter.cli.main([]) == 2
    out, err = capfd.readouterr()
    assert (out, err) == ("", FIRST_PAGE.read_text())

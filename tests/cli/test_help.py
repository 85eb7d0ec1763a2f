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
from converter.cli.commands import COMMANDS, convert
from converter.cli.prepared_help import prepared_help

FOLDER = Path(converter.cli.__file__).parent / "help"
ALL = {"traceconv": convert, **COMMANDS}


def made(name: str) -> str:
    shown = "traceconv" if name == "traceconv" else f"traceconv {name}"
    context = click.Context(
        ALL[name], info_name=shown, terminal_width=78, **ALL[name].context_settings
    )
    return ALL[name].get_help(context) + "\n"


@pytest.mark.parametrize("name", ALL)
def test_prepared_help_is_that_of_the_command(name):
    path = FOLDER / f"{name}.txt"
    if os.environ.get("TRACECONV_WRITE_HELP"):
        path.write_text(made(name))
    assert path.read_text() == made(name)


def test_there_is_no_other():
    assert {path.stem for path in FOLDER.iterdir()} == set(ALL)


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
    expected = made(arguments[0] if len(arguments) == 2 else "traceconv")
    assert (shown == expected) == (columns != "60")
    assert shown.startswith("Usage: traceconv")


@pytest.mark.parametrize(
    "arguments",
    [[], ["info"], ["--help", "-v"], ["in", "-o", "--help"], ["../x", "-h"], ["nothing", "--help"]],
)
def test_other_arguments_are_for_the_command(arguments, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert prepared_help(arguments) is None

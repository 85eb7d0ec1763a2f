"""Shell completion of ``traceconv``: the shell runs the command with an environment variable set."""

from __future__ import annotations

import glob

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from converter.cli.commands.table import COMMANDS

#: The environment variable through which click's scripts query the command, and its name in those scripts.
VARIABLE = "_TRACECONV_COMPLETE"
NAME = "traceconv"


def script(shell: str) -> str:
    """Return the script that "bash", "zsh" or "fish" loads."""
    return _asking(shell, COMMANDS["convert"]).source()


def answer(instruction: str) -> str | None:
    """Return the answer to an instruction of the shell, such as "bash_complete"; None if it is unknown."""
    shell, _, what = instruction.partition("_")
    if what not in ("complete", "source") or get_completion_class(shell) is None:
        return None
    if what == "source":
        return script(shell)
    arguments, incomplete = _asking(shell, COMMANDS["convert"]).get_completion_args()
    command = COMMANDS["convert"]
    names = [name for name in (*COMMANDS, "help") if name.startswith(incomplete)]
    if arguments and arguments != ["help"]:
        names = []
    if arguments and arguments[0] in COMMANDS:
        command = COMMANDS[arguments.pop(0)]
    asking = _asking(shell, command)
    if arguments == ["help"]:
        found = [CompletionItem(word) for word in names]
    elif incomplete and names:
        # Shells complete file names themselves only if they get no other completions.
        found = [
            CompletionItem(word) for word in (*names, *glob.glob(f"{glob.escape(incomplete)}*"))
        ]
    else:
        found = asking.get_completions(arguments, incomplete)
    return "".join(f"{asking.format_completion(item)}\n" for item in found)


def _asking(shell: str, command: click.Command) -> ShellComplete:
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(command, {}, NAME, VARIABLE)

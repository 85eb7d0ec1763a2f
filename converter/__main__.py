"""``python -m converter``: the command."""

from converter.cli import command

command()

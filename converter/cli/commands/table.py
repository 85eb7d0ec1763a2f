"""The commands by name. The module that declares a command is imported when the command is looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import click

#: The commands in the order of the first page of help. Each is a function of its name in a module of its name, with
#: underscores for hyphens, except where that name is a builtin.
_NAMES = (
    "convert",
    "batch",
    "info",
    "report",
    "open",
    "view",
    "plot",
    "check",
    "recover",
    "diff",
    "roundtrip",
    "formats",
    "fixtures",
    "new-format",
)
_FUNCTIONS = {"open": "open_in_browser"}


class _Commands(Mapping[str, "click.Command"]):
    def __getitem__(self, name: str) -> click.Command:
        if name not in _NAMES:
            raise KeyError(name)
        module = name.replace("-", "_")
        declared = import_module(f"converter.cli.commands.{module}")
        return cast("click.Command", getattr(declared, _FUNCTIONS.get(name, module)))

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


COMMANDS = _Commands()

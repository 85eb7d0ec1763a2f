"""The commands by name. The module that declares a command is imported when the command is looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import click

#: The module of each command and its name there, in the order of the first page of help.
_PLACES = {
    "convert": ("conversion", "convert"),
    "batch": ("batch", "batch"),
    "info": ("reading", "info"),
    "report": ("reading", "report"),
    "open": ("viewing", "open_in_browser"),
    "view": ("viewing", "view"),
    "plot": ("viewing", "plot"),
    "check": ("rescue", "check"),
    "recover": ("rescue", "recover"),
    "diff": ("comparison", "diff"),
    "roundtrip": ("comparison", "roundtrip"),
    "formats": ("reading", "formats"),
    "fixtures": ("fixtures", "fixtures"),
    "new-format": ("plugins", "new_format"),
}


class _Commands(Mapping[str, "click.Command"]):
    def __getitem__(self, name: str) -> click.Command:
        module, attribute = _PLACES[name]
        return cast(
            "click.Command", getattr(import_module(f"converter.cli.commands.{module}"), attribute)
        )

    def __contains__(self, name: object) -> bool:
        return name in _PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


COMMANDS = _Commands()

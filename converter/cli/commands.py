"""The commands by name. Each is declared in a module of its own kind, which is imported when the command is meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import click

#: The module of each, and its name there, as the first page of help lists them.
_PLACES = {
    "convert": ("conversion_command", "convert"),
    "batch": ("batch_command", "batch"),
    "info": ("reading_commands", "info"),
    "report": ("reading_commands", "report"),
    "open": ("viewing_commands", "open_in_browser"),
    "view": ("viewing_commands", "view"),
    "plot": ("viewing_commands", "plot"),
    "check": ("rescue_commands", "check"),
    "recover": ("rescue_commands", "recover"),
    "diff": ("comparison_commands", "diff"),
    "roundtrip": ("comparison_commands", "roundtrip"),
    "formats": ("reading_commands", "formats"),
    "fixtures": ("fixture_command", "fixtures"),
    "new-format": ("plugin_commands", "new_format"),
}


class _Commands(Mapping[str, "click.Command"]):
    def __getitem__(self, name: str) -> click.Command:
        module, attribute = _PLACES[name]
        return cast("click.Command", getattr(import_module(f"converter.cli.{module}"), attribute))

    def __contains__(self, name: object) -> bool:
        return name in _PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


COMMANDS = _Commands()

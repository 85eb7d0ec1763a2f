"""``traceconv formats``."""

from __future__ import annotations

from converter import registry
from converter.cli.tables import table


def run(*, as_json: bool) -> None:
    """Print the table of formats."""
    rows = [
        {
            "name": format.name,
            "title": format.title,
            "variants": [variant for variant in format.variants if variant],
            "suffixes": list(format.suffixes),
            "aliases": [alias.partition("+")[0] for alias in format.aliases],
            "directory": format.directory,
            "readable": format.readable,
            "writable": format.writable,
            "spec": format.spec,
        }
        for format in registry.FORMATS
    ]
    if as_json:
        import json

        print(json.dumps({"formats": rows}, indent=2))
        return
    shown = [("NAME", "VARIANTS", "SUFFIXES", "", "")]
    for format in registry.FORMATS:
        ways = ("read" if format.readable else "", "write" if format.writable else "")
        shown.append(
            (
                format.name,
                " ".join(f"+{variant}" for variant in format.variants if variant) or "-",
                " ".join(format.suffixes) + ("/" if format.directory else "") or "-",
                " ".join(way for way in ways if way),
                format.title,
            )
        )
    for line in table(shown):
        print(line)

"""``traceconv formats``."""

from __future__ import annotations

from converter import registry


def run(*, as_json: bool) -> None:
    """Print the table of formats."""
    rows = [
        {
            "name": format.name,
            "title": format.title,
            "variants": [variant for variant in format.variants if variant],
            "suffixes": list(format.suffixes),
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
    table = [("NAME", "VARIANTS", "SUFFIXES", "", "")]
    for format in registry.FORMATS:
        ways = ("read" if format.readable else "", "write" if format.writable else "")
        table.append(
            (
                format.name,
                " ".join(f"+{variant}" for variant in format.variants if variant) or "-",
                " ".join(format.suffixes) + ("/" if format.directory else "") or "-",
                " ".join(way for way in ways if way),
                format.title,
            )
        )
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())

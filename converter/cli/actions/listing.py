"""``traceconv formats``."""

from __future__ import annotations

from converter import registry
from converter.cli.output.tables import table
from converter.formats.descriptor import Format


def run(*, as_json: bool) -> None:
    """Print the table of formats."""
    rows = [
        {
            "name": format.name,
            "title": format.title,
            "variants": [variant for variant in format.variants if variant],
            "suffixes": list(format.suffixes),
            "aliases": [alias.partition("+")[0] for alias in format.aliases],
            "directory": format.is_directory(format.default_variant),
            "directories": [one for one in format.variants if one and format.is_directory(one)],
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
                " ".join(_variants(format)) or "-",
                " ".join(format.suffixes) + _slash(format, format.default_variant) or "-",
                " ".join(way for way in ways if way),
                format.title,
            )
        )
    for line in table(shown):
        print(line)


def _variants(format: Format) -> list[str]:
    """Return the variants; a variant that is a directory, unlike the others, is marked."""
    default = _slash(format, format.default_variant)
    slashes = {one: _slash(format, one) for one in format.variants if one}
    return [f"+{one}{'' if slash == default else slash}" for one, slash in slashes.items()]


def _slash(format: Format, variant: str) -> str:
    return "/" if format.is_directory(variant) else ""

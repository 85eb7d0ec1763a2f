"""Options of the commands that compare traces."""

from __future__ import annotations

import click

from converter.cli.options import completing

_ASPECTS = ("clock-offset", "native", "names", "environment", "types", "places")


def _as_aspects(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> list[str]:
    names = [name.strip() for name in given.split(",")] if given else []
    for name in names:
        if name not in _ASPECTS:
            raise click.BadParameter(f"unknown {name!r}; there are {', '.join(_ASPECTS)}")
    return names


ignore = click.option(
    "--ignore",
    metavar="ASPECT[,ASPECT]",
    callback=_as_aspects,
    shell_complete=completing.offered(lambda: _ASPECTS, listed=True),
    help=f"Do not compare these: {', '.join(_ASPECTS)}.",
)
quiet = click.option("-q", "--quiet", is_flag=True, help="Print nothing; only set the exit code.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

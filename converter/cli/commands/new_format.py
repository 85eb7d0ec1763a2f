"""The declaration of ``traceconv new-format``."""

from __future__ import annotations

import click

from converter.cli.options.shared import NAME, SETTINGS

_EPILOG = """\b
Examples:
  traceconv new-format tally
  traceconv new-format tally -o tally-format
"""


@click.command("new-format", context_settings=SETTINGS, epilog=_EPILOG)
@click.argument("name", metavar="NAME")
@click.option(
    "-o",
    "--output",
    "directory",
    metavar="OUTDIR",
    type=NAME,
    help="Folder to write to; traceconv-NAME by default.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def new_format(name: str, directory: str | None, quiet: bool) -> None:
    """Make a Python package for the format NAME, which traceconv finds once it is installed.

    It contains a complete small format, to be changed into yours, and the tests that every format
    has to pass.
    """
    from converter.cli.new_format import generate
    from converter.cli.output import messages
    from converter.errors import UnsupportedError

    try:
        place = generate(name, directory)
    except UnsupportedError as error:
        raise click.UsageError(error.detail) from None
    if not quiet:
        messages.note(f"{place}: pip install -e {place} && pytest {place}")

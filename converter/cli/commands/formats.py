"""The declaration of ``traceconv formats``."""

from __future__ import annotations

import click

from converter.cli.options.shared import SETTINGS

_EPILOG = """\b
Examples:
  traceconv formats
  traceconv formats --json
"""


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def formats(as_json: bool) -> None:
    """List the formats: names, variants, suffixes, and which can be read and written."""
    from converter.cli.actions.listing import run

    run(as_json=as_json)

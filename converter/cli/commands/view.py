"""The declaration of ``traceconv view``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.cli.options.merging import Relations, relating
from converter.cli.options.selecting import EXAMPLES, selects
from converter.cli.options.shared import (
    NAME,
    SETTINGS,
    inputs_argument,
    no_sync,
    reader_options,
    source_format,
)

if TYPE_CHECKING:
    from typing import Unpack

    from converter.selection.selection import Selection

_EPILOG = f"""\b
Examples:
  traceconv view trace.dat
  traceconv view trace.dat -o page.html --last 1s
  traceconv view kernel.dat ust/ -o page.html

{EXAMPLES}"""


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@inputs_argument
@source_format
@reader_options
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=NAME,
    help="Output. By default the page is named like IN and opened in a browser; - prints it.",
)
@click.option(
    "--max-size",
    "megabytes",
    metavar="MB",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Maximum size of the page; short slices are merged when needed.",
)
@click.option("--no-browser", is_flag=True, help="Do not start a browser.")
@selects
@relating
@click.option("-y", "--force", is_flag=True, help="Replace the page if it exists.")
@no_sync
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def view(
    sources: tuple[str, ...],
    source_format: str | None,
    reader_options: dict[str, str],
    target: str | None,
    megabytes: int,
    no_browser: bool,
    force: bool,
    quiet: bool,
    selection: Selection | None,
    **relations: Unpack[Relations],
) -> None:
    """Write a page that shows the trace IN in any browser, without a network.

    It has a timeline of CPUs, threads and tracks that can be searched and zoomed to the nanosecond,
    with all fields of each event. Several IN become one trace, as with convert.
    """
    from converter.cli.actions.paging import run
    from converter.cli.options.paths import PAGES, check_output

    if target is not None:
        check_output("view writes an HTML page", target, PAGES)

    run(
        sources,
        source_format,
        reader_options,
        selection,
        relations,
        target=target,
        megabytes=megabytes,
        browser=not no_browser,
        force=force,
        quiet=quiet,
    )

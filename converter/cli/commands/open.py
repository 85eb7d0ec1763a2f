"""The declaration of ``traceconv open``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.analysis.viewing import perfetto_ui
from converter.cli.options.merging import Relations, relating
from converter.cli.options.selecting import EXAMPLES, selects
from converter.cli.options.shared import SETTINGS, inputs_argument, reader_options, source_format

if TYPE_CHECKING:
    from typing import Unpack

    from converter.selection.selection import Selection

_EPILOG = f"""\b
Examples:
  traceconv open trace.dat
  traceconv open trace.dat --last 1s --no-browser
  traceconv open kernel.dat ust/

{EXAMPLES}"""


def _as_viewer(_context: click.Context, _parameter: click.Parameter, given: str) -> str:
    try:
        perfetto_ui.origin_of(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return given


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@inputs_argument
@source_format
@reader_options
@click.option(
    "--no-browser", is_flag=True, help="Print the address to open instead of starting a browser."
)
@click.option(
    "--ui",
    metavar="ADDRESS",
    default=perfetto_ui.ADDRESS,
    show_default=True,
    callback=_as_viewer,
    help="Address of the UI.",
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help=f"Port of 127.0.0.1 that the UI loads the trace from; {perfetto_ui.PORT} by default, the only one that "
    f"{perfetto_ui.ADDRESS} may use. 0 is any free port.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.IntRange(min=1),
    default=600,
    show_default=True,
    help="Time to wait for the UI to load the trace.",
)
@selects
@relating
@click.option("-q", "--quiet", is_flag=True, help="Print errors only, and the address.")
def open_in_browser(
    sources: tuple[str, ...],
    source_format: str | None,
    reader_options: dict[str, str],
    no_browser: bool,
    ui: str,
    port: int | None,
    timeout: int,
    quiet: bool,
    selection: Selection | None,
    **relations: Unpack[Relations],
) -> None:
    """Show the trace IN in ui.perfetto.dev, in a browser.

    IN is converted to a temporary file in Perfetto's format, unless it is one, and the UI loads it
    from this machine: nothing is uploaded. The command ends when the UI has loaded it. Several IN
    become one trace, as with convert.
    """
    from converter.cli.actions.opening import run

    run(
        sources,
        source_format,
        reader_options,
        selection,
        relations,
        viewer=ui,
        port=port,
        timeout=timeout,
        browser=not no_browser,
        quiet=quiet,
    )

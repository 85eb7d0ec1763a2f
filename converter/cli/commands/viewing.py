"""The declarations of the commands that show a trace: ``traceconv open``, ``view`` and ``plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.cli.options.merging import Relations, relating
from converter.cli.options.selecting import EXAMPLES, selects
from converter.cli.options.shared import SETTINGS, no_sync, reader_options, source_format
from converter.viewing import perfetto_ui

if TYPE_CHECKING:
    from typing import Unpack

    from converter.selection.selection import Selection

_inputs = click.argument("sources", metavar="IN...", nargs=-1, required=True, type=click.Path())

_OPEN_EPILOG = f"""\b
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


@click.command(context_settings=SETTINGS, epilog=_OPEN_EPILOG)
@_inputs
@source_format
@reader_options
@click.option("--no-browser", is_flag=True, help="Print the address to open, and start no browser.")
@click.option(
    "--ui",
    metavar="ADDRESS",
    default=perfetto_ui.ADDRESS,
    show_default=True,
    callback=_as_viewer,
    help="Where Perfetto's UI is.",
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    help=f"Of 127.0.0.1, where the UI gets the trace; {perfetto_ui.PORT}, which is all that {perfetto_ui.ADDRESS} may "
    "ask. 0 is any that is free.",
)
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.IntRange(min=1),
    default=600,
    show_default=True,
    help="How long to wait for the UI to get the trace.",
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

    IN is converted to a temporary file in Perfetto's format, unless it is one, and the UI gets it
    from this machine: nothing is uploaded. The command ends when the UI has it. Several IN become
    one trace, as with convert.
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


_VIEW_EPILOG = f"""\b
Examples:
  traceconv view trace.dat
  traceconv view trace.dat -o page.html --last 1s
  traceconv view kernel.dat ust/ -o page.html

{EXAMPLES}"""


@click.command(context_settings=SETTINGS, epilog=_VIEW_EPILOG)
@_inputs
@source_format
@reader_options
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(),
    help="The page; without this it is named like IN, and opened in a browser. - prints it.",
)
@click.option(
    "--max-size",
    "megabytes",
    metavar="MB",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How large the page may be: what is short is drawn together where it has to be.",
)
@click.option("--no-browser", is_flag=True, help="Start no browser.")
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
    """Write a page that shows the trace IN, and works anywhere: in any browser, without a network.

    It has a timeline of CPUs, threads and tracks that can be zoomed to the nanosecond and searched,
    and says of each event all that the trace says. Several IN become one trace, as with convert.
    """
    from converter.cli.actions.paging import run

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


_PLOT_EPILOG = f"""\b
Examples:
  traceconv plot trace.dat -o timeline.svg
  traceconv plot trace.dat -o cpu.png --show cpu
  traceconv plot trace.dat -o wakeups.svg --show wakeups
  traceconv plot trace.dat -o prio.svg --field sched_switch.prev_prio

{EXAMPLES}"""


def _as_field(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> str | None:
    if given is not None and not all(given.rpartition(".")[::2]):
        raise click.BadParameter(f"{given!r} is not EVENT.FIELD, such as sched_switch.prev_prio")
    return given


@click.command(context_settings=SETTINGS, epilog=_PLOT_EPILOG)
@_inputs
@source_format
@reader_options
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    required=True,
    type=click.Path(),
    help="The figure: .svg, .png or .pdf. - prints SVG.",
)
@click.option(
    "--show",
    type=click.Choice(["timeline", "cpu", "wakeups"]),
    default="timeline",
    show_default=True,
    help="How busy CPUs and the busiest threads are when; how busy all CPUs are together; how long threads wait for a "
    "CPU.",
)
@click.option(
    "--field",
    metavar="EVENT.FIELD",
    callback=_as_field,
    help="Show how the values of a field are distributed instead.",
)
@selects
@relating
@click.option("-y", "--force", is_flag=True, help="Replace the figure if it exists.")
@no_sync
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def plot(
    sources: tuple[str, ...],
    source_format: str | None,
    reader_options: dict[str, str],
    target: str,
    show: str,
    field: str | None,
    force: bool,
    quiet: bool,
    selection: Selection | None,
    **relations: Unpack[Relations],
) -> None:
    """Draw a figure of the trace IN, for a report: a timeline, CPU use, wakeups, or a field.

    Matplotlib draws it (pip install 'traceconv[plot]'). Several IN become one trace, as with
    convert.
    """
    from converter.cli.actions.plotting import run

    run(
        sources,
        source_format,
        reader_options,
        selection,
        relations,
        target=target,
        show=show,
        field=field,
        force=force,
        quiet=quiet,
    )

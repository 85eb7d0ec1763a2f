"""The declaration of ``traceconv plot``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

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


@click.command(context_settings=SETTINGS, epilog=_EPILOG)
@click.pass_context
@inputs_argument
@source_format
@reader_options
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    required=True,
    type=NAME,
    help="Output: .svg, .png or .pdf; - prints SVG.",
)
@click.option(
    "--show",
    type=click.Choice(["timeline", "cpu", "wakeups"]),
    default="timeline",
    show_default=True,
    help="timeline: how busy CPUs and threads are over time; cpu: all CPUs together; wakeups: how long threads "
    "wait for a CPU.",
)
@click.option(
    "--field",
    metavar="EVENT.FIELD",
    callback=_as_field,
    help="Show the distribution of a field's values instead.",
)
@selects
@relating
@click.option("-y", "--force", is_flag=True, help="Replace the figure if it exists.")
@no_sync
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def plot(
    context: click.Context,
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
    from converter.cli.options.paths import FIGURES, check_output

    check_output("plot draws a figure", target, FIGURES)
    if field is not None and context.get_parameter_source("show") is not ParameterSource.DEFAULT:
        raise click.UsageError("--show and --field both say what is drawn: give one")

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

"""The declaration of ``traceconv fixtures``, which writes small files of every format."""

from __future__ import annotations

import click

from converter.cli.options import completing
from converter.cli.options.shared import NAME, SETTINGS, no_sync

_FIXTURES_EPILOG = """\b
Examples:
  traceconv fixtures samples/
  traceconv fixtures samples/ --formats fxt,trace_cmd+v6 --kinds sched,interrupts --events 1000
  traceconv fixtures samples/ --formats perfetto --seed 7 --corrupt

\b
Groups of kinds:
  all, typed, timeline, kernel, sched, interrupts, calls, power, tasks, text, messages, objects,
  recording
"""


def _as_names(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",")]


@click.command(context_settings=SETTINGS, epilog=_FIXTURES_EPILOG)
@click.argument("directory", metavar="OUTDIR", type=NAME)
@click.option(
    "--formats",
    metavar="FORMAT[,FORMAT]",
    shell_complete=completing.offered(completing.formats, listed=True),
    callback=_as_names,
    help="NAME for all variants of a format, or NAME+VARIANT; all formats by default.",
)
@click.option(
    "--kinds",
    metavar="KIND[,KIND]",
    shell_complete=completing.offered(completing.kinds, listed=True),
    default="all",
    show_default=True,
    callback=_as_names,
    help="Kinds of events, or groups of them.",
)
@click.option(
    "--events",
    metavar="N",
    type=click.IntRange(min=1, max=1_000_000),
    default=128,
    show_default=True,
    help="Number of events in the trace.",
)
@click.option(
    "--seed",
    metavar="S",
    type=int,
    default=0,
    show_default=True,
    help="Seed for values and times.",
)
@click.option("--corrupt", is_flag=True, help="Also write copies with one defect each.")
@click.option("--force", is_flag=True, help="Replace OUTDIR with everything in it.")
@no_sync
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def fixtures(
    directory: str,
    formats: list[str] | None,
    kinds: list[str],
    events: int,
    seed: int,
    corrupt: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Write small, valid trace files of every format and variant to the directory OUTDIR.

    All hold the same synthetic trace. Next to each is the result of reading it, in canonical form,
    and the losses; manifest.json lists them with checksums. The same arguments give the same bytes
    on every machine.
    """
    from converter.cli.actions.generating import run

    run(directory, formats, kinds, events, seed, corrupt=corrupt, force=force, quiet=quiet)

"""The declaration of ``traceconv IN -o OUT``. Its action is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.cli.options import completing
from converter.cli.options.merging import Relations, relating
from converter.cli.options.selecting import EXAMPLES, selects
from converter.cli.options.shared import NAME, Strict, WithStrictness
from converter.cli.options.shared import SETTINGS as _SETTINGS
from converter.cli.options.shared import no_sync as _no_sync
from converter.cli.options.shared import reader_options as _reader_options
from converter.cli.options.shared import source_format as _source_format
from converter.cli.options.shared import split as _split
from converter.cli.options.shared import strict as _strict
from converter.cli.options.shared import target_format as _target_format

if TYPE_CHECKING:
    from typing import Unpack

    from converter.selection.parts import Division, TimeLength
    from converter.selection.selection import Selection

_EPILOG = f"""\b
Examples:
  traceconv trace.dat trace.fxt
  traceconv trace.dat old.dat -t trace_cmd+v6
  traceconv trace.dat -o results/ -t json
  traceconv recording/ -o trace.pftrace --losses lost.json
  traceconv kernel.dat ust/ app.json -o all.pftrace --offset app.json=+1.5s
  zcat trace.dat.gz | traceconv - -o - -t fxt > trace.fxt
  traceconv trace.dat -o part.pftrace --from +10s --to +12s --event "sched:*"
  traceconv trace.dat part.pftrace --split 10ms

{EXAMPLES}
\b
Exit codes:
  0 done     1 the input is bad, or cannot be converted
  2 usage    3 refused by --strict: something would be lost
             4 the input is damaged, and nothing can be read
"""


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"traceconv {version('traceconv')}")
        context.exit()


@click.command(cls=WithStrictness, context_settings=_SETTINGS, epilog=_EPILOG)
@click.argument("paths", metavar="IN... [OUT]", nargs=-1, type=NAME)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="OUT",
    type=NAME,
    help="Output; in DIR/ it is named like IN.",
)
@_source_format
@_reader_options
@_target_format("Format of OUT, as NAME or NAME+VARIANT; by default that of its suffix.")
@_strict
@click.option(
    "--lossless",
    is_flag=True,
    help="Also embed IN in OUT: converting OUT back gives IN.",
)
@click.option(
    "--losses",
    metavar="FILE",
    type=NAME,
    help="Write the losses to FILE as JSON; - prints them.",
)
@click.option("--dry-run", is_flag=True, help="Report what would be lost, and write nothing.")
@_split
@click.option(
    "--scheduler",
    metavar="local[:N]|ADDRESS",
    shell_complete=completing.offered(lambda: ("local", "local:")),
    help="Let Dask workers write OUT, or the parts of --split: N local ones, or those of a scheduler.",
)
@selects
@relating
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Threads for each step that can use several; by default one for each CPU.",
)
@click.option("-y", "--force", "--yes", is_flag=True, help="Replace OUT if it exists.")
@_no_sync
@click.option("-n", "--no-clobber", is_flag=True, help="Leave OUT alone if it exists, and succeed.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("-v", "--verbose", is_flag=True, help="List every loss, with sizes and times.")
@click.option(
    "-V",
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Print the version.",
)
def convert(
    paths: tuple[str, ...],
    target: str | None,
    source_format: str | None,
    reader_options: dict[str, str],
    target_format: str | None,
    strict: Strict | None,
    lossless: bool,
    losses: str | None,
    dry_run: bool,
    jobs: int | None,
    force: bool,
    no_clobber: bool,
    quiet: bool,
    verbose: bool,
    split: TimeLength | int | Division | None,
    scheduler: str | None,
    selection: Selection | None,
    **relations: Unpack[Relations],
) -> None:
    """Convert the trace IN to another format.

    IN is a file, a directory, or - for standard input, and may be compressed or an archive.
    Several, or a folder of several, become one trace on one clock. OUT is a file, a directory, or -
    for standard output; a suffix like .gz or .tar.zst compresses it. It appears whole or not at
    all. What its format cannot hold is reported on standard error.
    """
    if quiet and verbose:
        raise click.UsageError("-q and -v exclude each other")
    if force and no_clobber:
        raise click.UsageError("--force and --no-clobber exclude each other")
    from converter.cli.options.paths import inputs_and_output

    inputs, target = inputs_and_output(paths, target, needed=not dry_run or target_format is None)
    if target == "-" and losses == "-" and not dry_run:
        raise click.UsageError("OUT and --losses cannot both be standard output")
    if split is not None:
        _check_split(target, no_clobber=no_clobber, losses=losses)
    if scheduler is not None:
        several = len(inputs) > 1 or any(relations.values())
        _check_scheduler(several, split, dry_run=dry_run, lossless=lossless)
    if target == "-" and target_format is None:
        raise click.UsageError("standard output has no suffix: -t names the format")
    from converter.cli.actions.converting import Options, run
    from converter.storage.pool.workers import use_workers

    use_workers(jobs)
    run(
        Options(
            sources=tuple(inputs),
            relations=relations,
            target=target,
            source_format=source_format,
            reader_options=reader_options,
            target_format=target_format,
            strict=strict or False,
            lossless=lossless,
            losses=losses,
            force=force,
            no_clobber=no_clobber,
            quiet=quiet,
            verbose=verbose,
            selection=selection,
            dry_run=dry_run,
            split=split,
            scheduler=scheduler,
        )
    )


def _check_split(target: str | None, *, no_clobber: bool, losses: str | None) -> None:
    if target in ("-", None):
        raise click.UsageError("--split writes several files, named after OUT: name one")
    if no_clobber:
        raise click.UsageError("--split and --no-clobber exclude each other")
    if losses == "-":
        raise click.UsageError("--split: --losses writes to a file, not to standard output")


def _check_scheduler(
    several: bool, split: TimeLength | int | Division | None, *, dry_run: bool, lossless: bool
) -> None:
    if several:
        raise click.UsageError("--scheduler: workers convert one IN, not several")
    if dry_run:
        raise click.UsageError("--scheduler and --dry-run exclude each other")
    if lossless and split is None:
        raise click.UsageError("--scheduler: workers write --lossless outputs with --split only")
    if not isinstance(split, tuple | None):
        raise click.UsageError("--scheduler: workers write parts of a length of time (--split 10s)")

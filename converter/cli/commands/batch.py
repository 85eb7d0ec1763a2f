"""The declaration of ``traceconv batch``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from converter.cli.options import completing
from converter.cli.options.shared import (
    FOLDER,
    NAME,
    SETTINGS,
    Strict,
    WithStrictness,
    no_sync,
    reader_options,
    source_format,
    split,
    strict,
    target_format,
)

if TYPE_CHECKING:
    from converter.selection.parts import Division, TimeLength

_EPILOG = """\b
Examples:
  traceconv batch 'in/*.dat' -t perfetto -o out/
  traceconv batch 'in/**/*.dat' -t json -o out/ --jobs 4 --compress gz
  traceconv batch 'in/*.dat' -t perfetto -o out/ --split 20ms
"""


@click.command(cls=WithStrictness, context_settings=SETTINGS, epilog=_EPILOG)
@click.argument("patterns", metavar="IN...", nargs=-1, required=True, type=NAME)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    required=True,
    type=FOLDER,
    help="Folder to write to.",
)
@target_format("Format of the outputs.", required=True)
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Conversions at a time; by default one for each CPU.",
)
@click.option(
    "--scheduler",
    metavar="local[:N]|ADDRESS",
    shell_complete=completing.offered(lambda: ("local", "local:")),
    help="Let Dask workers convert: N local ones, or those of a running scheduler.",
)
@click.option(
    "--compress",
    type=click.Choice(["gz", "zst", "xz", "bz2", "lz4"]),
    help="Compress each output.",
)
@source_format
@reader_options
@strict
@click.option("--lossless", is_flag=True, help="Also embed the inputs in the outputs.")
@split
@click.option("-y", "--force", "--yes", is_flag=True, help="Replace outputs older than their IN.")
@no_sync
@click.option("-q", "--quiet", is_flag=True, help="Print only the table.")
def batch(
    patterns: tuple[str, ...],
    folder: str,
    target_format: str,
    jobs: int | None,
    scheduler: str | None,
    compress: str | None,
    source_format: str | None,
    reader_options: dict[str, str],
    strict: Strict | None,
    lossless: bool,
    split: TimeLength | int | Division | None,
    force: bool,
    quiet: bool,
) -> None:
    """Convert many traces to one format, several at a time.

    IN is a trace or a pattern like 'in/**/*.dat'. Outputs are named like their inputs, in the same
    folders below DIR. Outputs that are newer than their inputs are skipped, so an interrupted batch
    continues where it stopped. A failure does not stop the others; the table at the end and the
    exit code report it. With --split the parts of an input are in their own folder, which appears
    when all of them are written.
    """
    from converter.cli.actions.batching import Wanted, run

    if scheduler is not None and jobs is not None:
        raise click.UsageError("--jobs: a scheduler has workers of its own (local:N)")

    code = run(
        patterns,
        folder,
        Wanted(
            target_format=target_format,
            suffix=f".{compress}" if compress else "",
            source_format=source_format,
            reader_options=reader_options,
            strict=strict or False,
            lossless=lossless,
            split=split,
            force=force,
        ),
        jobs=jobs,
        scheduler=scheduler,
        quiet=quiet,
    )
    if code:
        raise click.exceptions.Exit(code)

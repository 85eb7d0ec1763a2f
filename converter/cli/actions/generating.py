"""``traceconv fixtures OUTDIR``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from converter.cli.output import messages
from converter.cli.output.progress import Progress
from converter.errors import UnknownFormatError, UnsupportedError
from converter.fixtures.generation import generate, variants
from converter.fixtures.kinds import kinds_named
from converter.ir.trace import Trace
from converter.storage.interrupts import expect_last


def run(
    directory: str,
    formats: Sequence[str] | None,
    kinds: Sequence[str],
    events: int,
    seed: int,
    *,
    corrupt: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Generate the files, and print their number.

    Raises:
        TraceError: for any failure; the caller prints it.

    """
    if directory == "-":
        raise click.UsageError("fixtures are a directory, which standard output is not")
    try:
        variants(formats)
        kinds_named(kinds)
    except (UnknownFormatError, UnsupportedError) as error:
        raise click.UsageError(error.detail) from None

    expect_last()

    def watch(trace: Trace) -> Progress:
        progress = Progress(shown=not quiet)
        progress.watch(trace)
        return progress

    manifest = generate(
        directory,
        formats,
        kinds,
        events=events,
        seed=seed,
        corrupt=corrupt,
        force=force,
        watch=watch,
    )
    if not quiet:
        damaged = f", {len(manifest.damaged)} damaged copies" if corrupt else ""
        messages.note(f"{directory}: {len(manifest.fixtures)} fixtures{damaged}")

"""What the command takes. What it does is imported when it is done, so that help is quick."""

from __future__ import annotations

import click

_EPILOG = """\b
Examples:
  traceconv trace.dat -o trace.fxt
  traceconv trace.dat -o old.dat -t trace_cmd+v6
  traceconv recording/ -o trace.pftrace --losses lost.json
  zcat trace.dat.gz | traceconv - -o - -t fxt > trace.fxt

\b
Other commands:
  traceconv info IN     what a trace contains
  traceconv formats     the formats and their names

\b
Exit codes:
  0 done     1 the input is bad, or cannot be represented
  2 usage    3 something would be lost, and --strict
"""


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"traceconv {version('traceconv')}")
        context.exit()


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_input = click.argument("source", metavar="IN")
_source_format = click.option(
    "-f", "--from", "source_format", metavar="FORMAT", help="Format of IN, where not recognised."
)


@click.command(context_settings=_SETTINGS, epilog=_EPILOG)
@_input
@click.option("-o", "--output", "target", metavar="OUT", required=True, help="File to write.")
@_source_format
@click.option(
    "-t",
    "--to",
    "target_format",
    metavar="FORMAT",
    help="Format of OUT, as NAME or NAME+VARIANT; by default that of its suffix.",
)
@click.option("--strict", is_flag=True, help="Refuse to lose anything, or to read damaged input.")
@click.option("--losses", metavar="FILE", help="Write what did not fit to FILE, as JSON.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option("-v", "--verbose", is_flag=True, help="List every loss, and what was done.")
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version)
def convert(
    source: str,
    target: str,
    source_format: str | None,
    target_format: str | None,
    strict: bool,
    losses: str | None,
    force: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Convert the trace IN to another format.

    IN is a file, a directory, or - for standard input, and may be compressed with gzip or zstd.
    OUT is a file, a directory, or - for standard output. It appears whole or not at all. What does
    not fit in the format of OUT is summed up on standard error.
    """
    if quiet and verbose:
        raise click.UsageError("-q and -v exclude each other")
    if target == "-" and target_format is None:
        raise click.UsageError("standard output has no suffix: -t names the format")
    from converter.cli.converting import Options, run

    run(
        Options(
            source=source,
            target=target,
            source_format=source_format,
            target_format=target_format,
            strict=strict,
            losses=losses,
            force=force,
            quiet=quiet,
            verbose=verbose,
        )
    )


@click.command(context_settings=_SETTINGS)
@_input
@_source_format
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--events", metavar="N", type=click.IntRange(min=0), help="Print the first N events, too."
)
def info(source: str, source_format: str | None, as_json: bool, events: int | None) -> None:
    """Say what the trace IN contains: clock, CPUs, processes, threads, events."""
    from converter.cli.inspecting import run

    run(source, source_format, as_json=as_json, events=events)


@click.command(context_settings=_SETTINGS)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def formats(as_json: bool) -> None:
    """List the formats: names, variants, suffixes, and which can be read and written."""
    from converter.cli.listing import run

    run(as_json=as_json)


COMMANDS = {"info": info, "formats": formats}

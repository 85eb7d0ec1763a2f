"""``traceconv view IN``."""

from __future__ import annotations

from pathlib import Path

from converter.analysis.viewing.contents import Contents
from converter.analysis.viewing.page import page
from converter.cli.actions.browsers import started
from converter.cli.actions.converting import print_warnings, reporting
from converter.cli.options.merging import Relations
from converter.cli.options.paths import output_stem
from converter.cli.output import messages
from converter.cli.output.loss_summary import Converted, summary
from converter.cli.output.progress import Progress
from converter.cli.output.selected_part import part_of
from converter.jobs.reading import open_merged
from converter.selection.selection import Selection
from converter.storage.interrupts import expect_last
from converter.storage.locations import name_of, shown_input, shown_output
from converter.storage.outputs import open_sink


def run(
    sources: tuple[str, ...],
    source_format: str | None,
    reader_options: dict[str, str],
    selection: Selection | None,
    relations: Relations,
    *,
    target: str | None,
    megabytes: int,
    browser: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Write the page that shows a trace; open it in a browser if no output name was given.

    Raises:
        TraceError: the trace cannot be read, or the page cannot be written.

    """
    name = shown_input(sources[0]) if len(sources) == 1 else shown_output(target or "-")
    output = target if target is not None else f"{output_stem(sources[0])}.html"
    titles = [name_of(one) if one != "-" else "trace" for one in sources]
    expect_last()
    with (
        open_merged(sources, source_format, reader_options, **relations) as whole,
        Progress(shown=not quiet) as progress,
        open_sink(output, force=force, avoid=sources) as sink,
    ):
        trace, say = part_of(whole, selection)
        progress.watch(trace)
        contents = Contents(trace, ", ".join(titles), megabytes * 1_000_000)
        for part in page(contents):
            sink.write(part)
        size = sink.tell()
    if not quiet:
        print_warnings(trace, name)
        say(name)
        for note in contents.notes:
            messages.warning(f"{name}: {note}")
        if contents.losses.events_not_shown:
            done = Converted(name, shown_output(output), trace.format, "html", contents.events)
            first, *others = summary(contents.losses, done)
            messages.warning(first)
            messages.lines(others)
        if output != "-":
            messages.note(f"{shown_output(output)}: {contents.events:,} events, {size:,} bytes")
    if target is None and browser:
        address = Path(output).absolute().as_uri()
        if not started(address):
            with reporting():
                print(address)

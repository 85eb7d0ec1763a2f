"""``traceconv open IN``."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack

from converter.analysis.viewing import perfetto_ui
from converter.analysis.viewing.serving import FileServer
from converter.cli.actions import converting
from converter.cli.actions.browsers import started
from converter.cli.options.merging import Relations
from converter.cli.options.paths import output_name
from converter.cli.output import messages
from converter.errors import TraceError
from converter.formats.descriptor import Format
from converter.jobs.reading import detect
from converter.registry import target_format
from converter.selection.selection import Selection
from converter.storage.opening import compression_of

#: Longer than a browser needs to start and load a page.
_PATIENCE = 20
#: Advice if the UI cannot be loaded.
_OFFLINE = "without the internet, 'traceconv view' makes a page that needs none"


def run(
    sources: tuple[str, ...],
    source_format: str | None,
    reader_options: dict[str, str],
    selection: Selection | None,
    relations: Relations,
    *,
    viewer: str,
    port: int | None,
    timeout: int,
    browser: bool,
    quiet: bool,
) -> None:
    """Convert, serve the result to a viewer in a browser, and wait until it has fetched it.

    Raises:
        TraceError: for any failure; the viewer has not requested the trace in time.

    """
    target, _ = target_format("-", "perfetto")
    with ExitStack() as stack:
        plain = selection is None and source_format is None and not reader_options
        if len(sources) == 1 and plain and not any(relations.values()) and _is(target, sources[0]):
            path, name = sources[0], os.path.basename(sources[0])
        else:
            name = output_name(sources[0], target)
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="traceconv-"))
            path = os.path.join(folder, name)
            converting.run(
                converting.Options(
                    sources=sources,
                    relations=relations,
                    target=path,
                    source_format=source_format,
                    reader_options=reader_options,
                    target_format=target.name,
                    strict=False,
                    lossless=False,
                    force=False,
                    quiet=quiet,
                    selection=selection,
                ),
                is_last=False,
            )
        server = stack.enter_context(_serving(path, name, viewer, port))
        if not browser or not started(server.address):
            print(server.address, flush=True)
        elif not quiet:
            messages.note(f"opening {server.address}")
        _wait(server, timeout, viewer, quiet=quiet)


def _is(target: Format, path: str) -> bool:
    """Return True if a file is already of a format, and not compressed."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            if compression_of(file.read(6)) is not None:
                return False
    except OSError as error:
        raise TraceError(error.strerror or str(error), path=path) from error
    return detect(path) is target


def _serving(path: str, name: str, viewer: str, port: int | None) -> FileServer:
    try:
        return FileServer(path, name, viewer, perfetto_ui.PORT if port is None else port)
    except TraceError as error:
        raise TraceError(
            f"{error.message}; end what uses it (another 'traceconv open', 'trace_processor "
            "--httpd'), or convert with -o trace.pftrace and open that in the UI by hand",
            path=error.path,
        ) from error


def _wait(server: FileServer, timeout: int, viewer: str, *, quiet: bool) -> None:
    soon = min(timeout, _PATIENCE)
    if server.wait(soon):
        return
    if timeout > soon:
        if not quiet:
            messages.note(
                f"waiting for {viewer} to get the trace: where the browser asks whether it may reach "
                f"this device, allow it; {_OFFLINE}; Ctrl-C ends this"
            )
        if server.wait(timeout - soon):
            return
    raise TraceError(f"{viewer} has not asked for the trace within {timeout} s; {_OFFLINE}")

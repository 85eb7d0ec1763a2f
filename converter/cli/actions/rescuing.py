"""``traceconv check IN`` and ``traceconv recover IN -o OUT``: list the damage, and save what can be read."""

from __future__ import annotations

from converter.cli.actions.converting import Options, checked_formats, converted, reporting
from converter.cli.actions.diagnosis import Diagnosis
from converter.cli.exit_codes import FAILED, NOTHING
from converter.cli.output import messages
from converter.cli.output.progress import Progress
from converter.errors import NothingLeftError
from converter.errors.terminal import printable
from converter.ir.trace import Trace
from converter.jobs.reading import open_trace
from converter.storage.locations import shown, shown_input, shown_output


def run_check(
    source: str,
    source_format: str | None,
    reader_options: dict[str, str],
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    """Read the trace and print its damage; return the exit code.

    Raises:
        TraceError: nothing of it can be read.

    """
    with (
        open_trace(source, source_format, reader_options) as trace,
        Progress(shown=not quiet) as progress,
    ):
        progress.watch(trace)
        diagnosis = Diagnosis(trace, shown_input(source))
        diagnosis.watch()
        try:
            for _ in trace.batches():
                pass
        except NothingLeftError:
            diagnosis.is_lost = True
            diagnosis.note_warnings()
    if as_json:
        import json

        print(json.dumps(diagnosis.as_json(), indent=2))
    elif not quiet:
        state = "damaged" if diagnosis.damage else "sound"
        print(
            printable(
                f"{shown_input(source)}: {trace.format}: {state}: {diagnosis.kept()} can be read"
            )
        )
        for line in diagnosis.lines():
            print(f"  {line}")
        if diagnosis.damage and not diagnosis.is_lost:
            print(printable(f"traceconv recover {shown(source)} -o OUT writes what can be read"))
    if diagnosis.is_lost:
        return NOTHING
    return FAILED if diagnosis.damage else 0


def run_recover(
    source: str,
    target: str,
    source_format: str | None,
    reader_options: dict[str, str],
    target_format: str | None,
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Convert what can be read, and print what was lost.

    Raises:
        TraceError: nothing of it can be read, or the output cannot be written.

    """
    options = Options(
        sources=(source,),
        target=target,
        source_format=source_format,
        reader_options=reader_options,
        target_format=target_format,
        strict=False,
        lossless=False,
        force=force,
        quiet=quiet,
    )
    format, variant = checked_formats(options)
    diagnoses: list[Diagnosis] = []

    def watch(trace: Trace) -> None:
        diagnoses.append(Diagnosis(trace, shown_input(source)))
        diagnoses[0].watch()

    converted(options, target, format, variant, watch, is_last=True, reads_all=True)
    if quiet:
        return
    with reporting():
        (diagnosis,) = diagnoses
        for line in diagnosis.lines():
            print(line)
        nothing = "" if diagnosis.damage else "; nothing was damaged"
        messages.note(printable(f"{shown_output(target)}: {diagnosis.kept()}{nothing}"))

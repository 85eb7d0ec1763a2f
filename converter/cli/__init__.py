"""The command: arguments, exit codes and printing. Nothing outside this package prints."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from converter.cli.exit_codes import BROKEN_PIPE, FAILED, INTERRUPTED, LOSS, USAGE
from converter.cli.prepared_help import prepared_help
from converter.cli.signals import end_quietly, handled

if TYPE_CHECKING:
    import click

    from converter.errors import TraceError

#: New objects after which the command looks for garbage: more than those of all its modules.
_OBJECTS = 200_000


def command() -> NoReturn:
    """Run the command as the process that it is alone in."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the user's encoding has no letters for must not end it: names in traces can be anything.
        sys.stdout.reconfigure(errors="backslashreplace")
    end_quietly()
    _allow_more_files()
    code = main()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # Of standard output that was said already; a standard error that is full changes nothing.
            with suppress(OSError):
                stream.flush()
    # Files are closed and threads have ended. Taking the interpreter apart first takes 10 ms.
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (of the process when None); the exit code."""
    # Starting the threads of a linear algebra library that nothing here uses takes 20 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    whole = arguments is None
    if whole:
        # Modules live until the end: looking for garbage while they load takes 20 ms.
        gc.set_threshold(_OBJECTS)
    try:
        with handled():
            return _run(list(sys.argv[1:] if arguments is None else arguments))
    except SystemExit as request:
        _remove_temporary()
        return request.code if isinstance(request.code, int) else FAILED
    except KeyboardInterrupt:
        _remove_temporary()
        return INTERRUPTED


def _run(arguments: list[str]) -> int:
    text = prepared_help(arguments)
    if text is not None and sys.stdout is not None:
        return _help(text)
    if "_TRACECONV_COMPLETE" in os.environ:
        from converter.cli.completion import answer

        told = answer(os.environ["_TRACECONV_COMPLETE"])
        return _help(told) if told is not None else USAGE
    if not arguments:
        print(prepared_help(["--help"]), end="", file=sys.stderr)
        return USAGE
    import click

    from converter.cli.commands.table import COMMANDS
    from converter.errors import TraceError

    _check_command(arguments, COMMANDS)
    called, name = "convert", "traceconv"
    if arguments[0] in COMMANDS:
        called = arguments.pop(0)
        name = f"traceconv {called}"
    command = COMMANDS[called]
    try:
        with command.make_context(name, arguments) as context:
            command.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.UsageError as error:
        return _usage(error, name)
    except BrokenPipeError:
        return _broken_pipe()
    except TraceError as error:
        return _failed(error)
    except OSError as error:
        # Inputs and outputs raise errors of their own.
        return _failed_by_system(error)
    return 0


def _allow_more_files() -> None:
    """Have as many open files as the system may allow: this process is the command's own."""
    from converter.storage.descriptors import allow_more

    allow_more()


def _check_command(arguments: list[str], commands: Collection[str]) -> None:
    """Ask whether a command was meant where the first word is nearly one, and no file."""
    word = arguments[0] if arguments else "-"
    if not word.isalpha() or word in commands or os.path.lexists(word):
        return
    from difflib import get_close_matches

    close = get_close_matches(word, commands, 1)
    if close:
        from converter.cli.output import messages

        messages.error(
            f"no command {word!r}, and no such file: did you mean 'traceconv {close[0]}'?"
            " (traceconv --help says more)"
        )
        raise SystemExit(USAGE)


def _help(text: str) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        return _broken_pipe()
    except OSError as error:
        return _unwritable(error)
    return 0


def _usage(error: click.UsageError, command: str) -> int:
    from converter.cli.output import messages

    messages.error(f"{error.format_message()} ({command} --help says more)", name=command)
    return USAGE


def _failed(error: TraceError) -> int:
    from converter.cli.output import messages
    from converter.errors import OutputError, SelectionError, StrictLossError

    if isinstance(error, OutputError) and isinstance(error.__cause__, BrokenPipeError):
        return _broken_pipe()
    standard = "standard output" if isinstance(error, OutputError) else "standard input"
    path = standard if error.path == "-" else error.path
    messages.error(f"{path}: {error.detail}" if path is not None else error.detail)
    if isinstance(error, SelectionError):
        if error.pointer:
            print(*(f"  {line}" for line in error.pointer.split("\n")), sep="\n", file=sys.stderr)
        return USAGE
    return LOSS if isinstance(error, StrictLossError) else FAILED


def _broken_pipe() -> int:
    """The reader of standard output has gone."""
    _abandon_standard_output()
    return BROKEN_PIPE


def _unwritable(error: OSError) -> int:
    """Standard output cannot be written."""
    from converter.cli.output import messages

    _abandon_standard_output()
    messages.error(f"standard output: {error.strerror}")
    return FAILED


def _failed_by_system(error: OSError) -> int:
    """Something failed that no input or output says of itself: a file that the error names, or standard output."""
    from converter.cli.output import messages
    from converter.errors import OpenFilesError
    from converter.storage.descriptors import TOO_MANY

    if error.errno in TOO_MANY:
        return _failed(OpenFilesError(path=error.filename))
    if error.filename is not None:
        messages.error(f"{os.fsdecode(error.filename)}: {error.strerror}")
        return FAILED
    return _unwritable(error)


def _abandon_standard_output() -> None:
    """What it still holds shall not be written at the exit either."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # too many files are open
        return
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass  # standard output is not a file, and nothing will be flushed into it
    finally:
        os.close(nowhere)


def _remove_temporary() -> None:
    """A signal can come between making a file and the block that closes it."""
    from converter.storage.writing.placing import remove_temporary

    remove_temporary()

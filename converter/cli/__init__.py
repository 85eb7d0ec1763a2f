"""The command: arguments, exit codes and printing. No other package prints."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

from converter.cli.exit_codes import BROKEN_PIPE, FAILED, INTERRUPTED, LOSS, NOTHING, USAGE
from converter.cli.prepared_help import prepared_help
from converter.cli.signals import end_quietly, handled

if TYPE_CHECKING:
    import click

    from converter.errors import TraceError

#: The number of new objects after which the command collects garbage: more than all its modules create.
_OBJECTS = 200_000
#: Enough to end the threads of a conversion and to import the modules that print an error.
_RESERVED: Final = 16 << 20


#: Errors that writing to an open stream does not have.
_NOT_OF_STREAMS: Final = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EROFS, errno.EEXIST}
)


def command() -> NoReturn:
    """Run the command as the only code of its process."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Characters that the user's encoding lacks must not end the command: names in traces can be anything.
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stdout is None:
        from converter.cli.output.streams import ClosedOutput

        sys.stdout = ClosedOutput()
    end_quietly()
    code = FAILED
    try:
        _set_memory_aside()
        _allow_more_files()
        code = main()
    except MemoryError:
        # There is not even enough to say it nicely.
        os.write(2, b"traceconv: not enough memory\n")
        _remove_temporary()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            # Errors of standard output have been reported already; a full standard error changes nothing.
            with suppress(OSError, MemoryError):
                stream.flush()
    # Files are closed and threads have ended. Shutting down the interpreter first would take 10 ms.
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (None: those of the process) and return the exit code."""
    # Starting the threads of a linear algebra library that nothing here uses takes 20 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    is_own_process = arguments is None
    if is_own_process:
        # Modules live until the end: collecting garbage while they load takes 20 ms.
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
    if arguments[:1] == ["help"] and not os.path.lexists("help"):
        # As other commands have it: help, help COMMAND.
        arguments = [*arguments[1:2], "--help"]
        if arguments[0] in ("help", "--help", "-h"):
            arguments = ["--help"]
        elif prepared_help(arguments) is None:
            _check_help(arguments[0])
    text = prepared_help(arguments)
    if text is not None and sys.stdout is not None:
        return _help(text)
    if "_TRACECONV_COMPLETE" in os.environ:
        from converter.cli.completion import answer

        completions = answer(os.environ["_TRACECONV_COMPLETE"])
        return _help(completions) if completions is not None else USAGE
    if not arguments:
        print(prepared_help(["--help"]), end="", file=sys.stderr)
        return USAGE
    from converter.errors.advice import for_the_command

    with for_the_command():
        return _done(arguments)


def _done(arguments: list[str]) -> int:
    """Do what a command line says, and return the exit code."""
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
        # Inputs and outputs raise their own errors.
        return _failed_by_system(error)
    except Exception as error:  # noqa: BLE001 - readers and writers raise TraceErrors only
        return _failed_unexpectedly(error)
    return 0


def _set_memory_aside() -> None:
    """Keep some memory for errors, where the system limits that of the process."""
    try:
        import resource
    except ModuleNotFoundError:  # not a Unix
        return
    limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    if any(limit != resource.RLIM_INFINITY for limit in limits):
        from converter.kernels.io.reserve import set_aside

        set_aside(_RESERVED)


def _give_back() -> None:
    """Use the memory that was set aside: an error is being reported."""
    reserve = sys.modules.get("converter.kernels.io.reserve")
    if reserve is not None:
        reserve.give_back()


def _allow_more_files() -> None:
    """Raise the limit of open files as far as the system allows: this process belongs to the command."""
    from converter.storage.descriptors import allow_more

    allow_more()


def _check_command(arguments: list[str], commands: Collection[str]) -> None:
    """Suggest a command if the first word is nearly the name of one, and not a file."""
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


def _check_help(name: str) -> None:
    """Refuse help on what is no command."""
    from converter.cli.commands.table import COMMANDS

    if name not in COMMANDS:
        from converter.cli.output import messages

        messages.error(f"no command {name!r}; there are {', '.join(COMMANDS)}")
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

    said = " ".join(error.format_message().split()).replace("integer range", "integer")
    messages.error(f"{said} ({command} --help says more)", name=command)
    return USAGE


def _is_usage(error: TraceError) -> bool:
    """Return True if an error is about an argument of the command rather than about a trace."""
    from converter.errors import ArgumentError, SelectionError

    return isinstance(error, ArgumentError | SelectionError)


def _failed(error: TraceError) -> int:
    from converter.cli.output import messages
    from converter.errors import (
        MemoryLimitError,
        NothingLeftError,
        OutputError,
        SelectionError,
        StrictLossError,
    )

    if isinstance(error, MemoryLimitError):
        _give_back()
    if isinstance(error, OutputError) and isinstance(error.__cause__, BrokenPipeError):
        return _broken_pipe()
    _print_traceback(error)
    messages.error(f"{error}{_meant(error)}")
    if isinstance(error, SelectionError) and error.pointer:
        messages.lines(f"  {line}" for line in error.pointer.split("\n"))
    if _is_usage(error):
        return USAGE
    if isinstance(error, NothingLeftError):
        return NOTHING
    return LOSS if isinstance(error, StrictLossError) else FAILED


def _meant(error: TraceError) -> str:
    """Return a question that suggests a file with a similar name; empty if there is none, or the error is another."""
    from converter.errors import MissingFileError

    if not isinstance(error, MissingFileError) or error.path is None:
        return ""
    from difflib import get_close_matches

    folder, name = os.path.split(error.path)
    try:
        close = get_close_matches(name, os.listdir(folder or "."), 1, 0.8)
    except OSError:
        return ""
    return f" (did you mean {os.path.join(folder, close[0])}?)" if close else ""


def _broken_pipe() -> int:
    """Handle a closed standard output: its reader has gone."""
    from converter.cli.output.streams import abandon_standard_output

    abandon_standard_output()
    return BROKEN_PIPE


def _unwritable(error: OSError) -> int:
    """Report that standard output cannot be written."""
    from converter.cli.output import messages
    from converter.cli.output.streams import abandon_standard_output

    abandon_standard_output()
    messages.error(f"standard output: {error.strerror}")
    return FAILED


def _failed_by_system(error: OSError) -> int:
    """Report a system error that no input or output has reported itself: of a file that it names, or of standard
    output.
    """
    from converter.cli.output import messages
    from converter.errors import OpenFilesError
    from converter.storage.descriptors import TOO_MANY

    if error.errno in TOO_MANY:
        return _failed(OpenFilesError(path=error.filename))
    if error.filename is not None:
        messages.error(f"{os.fsdecode(error.filename)}: {error.strerror}")
        return FAILED
    if error.errno in _NOT_OF_STREAMS:
        # Of temporary files: there is no place for them.
        messages.error(error.strerror or str(error))
        return FAILED
    return _unwritable(error)


def _failed_unexpectedly(error: Exception) -> int:
    """Report memory that the system refuses, or a defect, in one line."""
    _give_back()
    from converter.errors.guarding import as_trace_error

    return _failed(as_trace_error(error))


def _print_traceback(error: Exception) -> None:
    """Print where an error was raised, for reports of defects, if the environment asks for it."""
    if os.environ.get("TRACECONV_TRACEBACK"):
        import traceback

        traceback.print_exception(error)


def _remove_temporary() -> None:
    """Remove temporary files: a signal can arrive between making a file and the block that closes it."""
    from converter.storage.writing.placing import remove_temporary

    remove_temporary()

"""What Perfetto's trace_processor shows of a file, where it is installed."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = "trace_processor_shell"
_SHELL = shutil.which(PROGRAM)

needs_trace_processor = pytest.mark.skipif(_SHELL is None, reason=f"{PROGRAM} is not installed")

#: What it rejected, by name.
_ERRORS = "select name, sum(value) from stats where severity in ('error', 'data_loss') and value > 0 group by 1"


def printed(path: Path, query: str, *options: str) -> list[list[str]]:
    """What queries print: of each its heading, then its rows.

    Raises:
        AssertionError: trace_processor does not take the file.

    """
    assert _SHELL is not None
    command = [_SHELL, "query", *options, str(path), query]
    ran = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr.decode("utf-8", "replace")
    # Texts of traces may be any bytes.
    return list(csv.reader(io.StringIO(ran.stdout.decode("utf-8", "backslashreplace"))))


def answer(path: Path, query: str) -> list[list[str]]:
    """The rows of a query."""
    return printed(path, query)[1:]


def number(path: Path, query: str) -> int:
    """The one number that a query gives."""
    ((value,),) = answer(path, query)
    return int(value)


def errors(path: Path) -> dict[str, int]:
    """What the importer counts as errors and lost data."""
    return {name: int(value) for name, value in answer(path, _ERRORS)}

"""Answers of Perfetto's trace_processor about a file, where it is installed (see trace_processor_engines)."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest
from support.viewers.trace_processor_engines import Rows, Version, engine

needs_trace_processor = pytest.mark.skipif(
    engine() is None, reason="trace_processor is not installed"
)

#: What it rejected, by name.
_ERRORS = "select name, sum(value) from stats where severity in ('error', 'data_loss') and value > 0 group by 1"


def printed(path: Path, query: str, *options: str) -> Rows:
    """Return what queries print: of each its heading, then its rows.

    The same query of the same contents is answered once in a test run.

    Raises:
        AssertionError: trace_processor does not take the file.

    """
    asked = engine()
    assert asked is not None
    place = _answers() / _digest(path, query, options)
    if place.exists():
        rows: Rows = json.loads(place.read_text())
        return rows
    rows = asked.printed(path, query, options)
    # Another process or thread may write the same answer: the later one replaces an equal file.
    written = place.with_name(f"{place.name}.{os.getpid()}.{threading.get_ident()}")
    written.write_text(json.dumps(rows))
    written.replace(place)
    return rows


def rows_once(path: Path, query: str) -> Rows:
    """Return the rows of one statement about a small file that nothing else is asked about.

    Raises:
        AssertionError: trace_processor does not take the file.

    """
    asked = engine()
    assert asked is not None
    return asked.rows(path, query)


def version() -> Version:
    """Return the version of the engine that is asked."""
    asked = engine()
    assert asked is not None
    return asked.version


def answer(path: Path, query: str) -> Rows:
    """The rows of a query."""
    return printed(path, query)[1:]


def number(path: Path, query: str) -> int:
    """The one number that a query gives."""
    ((value,),) = answer(path, query)
    return int(value)


def errors(path: Path) -> dict[str, int]:
    """What the importer counts as errors and lost data."""
    return {name: int(value) for name, value in answer(path, _ERRORS)}


def keep_answers(folder: Path) -> None:
    """Keep answers in a folder, which processes of a test run may share."""
    folder.mkdir(exist_ok=True)
    _KEPT.append(folder)


#: Where answers are kept; the last one counts.
_KEPT: list[Path] = []


def _answers() -> Path:
    if not _KEPT:
        # Not in a test run: for as long as this process lives.
        folder = tempfile.mkdtemp(prefix="traceconv-answers-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _KEPT.append(Path(folder))
    return _KEPT[-1]


def _digest(path: Path, query: str, options: tuple[str, ...]) -> str:
    """Name an answer by what was asked of which contents."""
    asked = hashlib.sha256(json.dumps([query, options]).encode())
    asked.update(path.read_bytes())
    return asked.hexdigest()

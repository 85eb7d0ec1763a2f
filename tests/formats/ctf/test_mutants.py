"""Mutants of whole traces: each ends in a trace or a TraceError."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest
from support.ctf.files import open_trace
from support.ctf.mutants import mutant
from support.ctf.random_traces import random_trace

from converter.errors import TraceError
from converter.formats.ctf.metadata.ctf2.printer import print_sequence
from converter.formats.ctf.metadata.files import parse_metadata
from converter.formats.ctf.metadata.other_version import metadata_in
from converter.formats.ctf.metadata.tsdl.printer import print_tsdl

_SOURCES = 6
_MUTANTS = 40


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("seed", range(_SOURCES))
def test_mutants_of_random_traces(version: int, seed: int, tmp_path: Path) -> None:
    trace, files = random_trace(seed, version)
    metadata = print_tsdl(trace).encode() if version == 1 else print_sequence(trace)
    source = random.Random(f"{version} {seed}")
    name, stream = next(iter(files.items()))
    for number in range(_MUTANTS):
        folder = tmp_path / str(number)
        folder.mkdir()
        changed, data = mutant(source, metadata, stream)
        (folder / "metadata").write_bytes(changed)
        (folder / name).write_bytes(data)
        with contextlib.suppress(TraceError):
            declared = parse_metadata(changed)
            if declared.version[0] == version:
                with contextlib.suppress(TraceError):
                    metadata_in(declared, 3 - version)
            opened = open_trace(folder)
            for batch in opened.batches():
                for table in batch.tables.values():
                    for index in range(table.width):
                        table.column(index)

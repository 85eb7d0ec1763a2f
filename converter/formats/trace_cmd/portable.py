"""A trace.dat file embedded in another format: complete or, if its events were changed, without its pages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converter.errors import TraceError
from converter.formats.ftrace.symbols import kernel_symbols
from converter.formats.lossless.travelling import compressed
from converter.formats.trace_cmd.writing.native_contents import WHOLE, embedded_file, source_file
from converter.formats.trace_cmd.writing.writer import write
from converter.ir.symbols import SymbolTable
from converter.ir.trace import Trace
from converter.storage.sink import BufferSink
from converter.storage.source_files import SourceFiles, parts_of, single_file


def portable(trace: Trace) -> dict[str, Any]:
    """Return the sidecar of a trace as JSON-like values and bytes, which the writer accepts like the reader's.

    Raises:
        TraceError: the file that the trace was read from is damaged.

    """
    file = source_file(trace)
    if file is None:
        return {}
    sink = BufferSink()
    empty = dataclasses.replace(trace, make_batches=lambda: iter(()), warnings=[])
    write(empty, sink, "")
    return {"skeleton": sink.getvalue()}


def whole(trace: Trace) -> dict[str, Any]:
    """Return the file that a trace was read from, compressed; nothing if it is too large to embed.

    Raises:
        TraceError: it cannot be read.

    """
    sidecar = trace.sidecar["trace_cmd"]
    file = source_file(trace)
    if WHOLE in sidecar or file is None:
        return sidecar
    return compressed([(WHOLE, file.source.size, parts_of(file.source))]) or {}


def source_files(trace: Trace) -> SourceFiles | None:
    """Return the file that a trace was read from."""
    file = source_file(trace)
    return None if file is None else single_file(file.source)


def symbols(sidecar: dict[str, Any]) -> SymbolTable:
    """Return the kernel's symbols of an embedded file, which is opened when they are requested."""

    def load() -> tuple[NDArray[np.uint64], Sequence[bytes]]:
        found = None
        with suppress(TraceError):
            file = embedded_file(sidecar)
            found = None if file is None else kernel_symbols(file)
        return (np.zeros(0, np.uint64), []) if found is None else found.entries()

    return SymbolTable(load)

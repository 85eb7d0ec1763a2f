"""Perfetto's trace_processor by its RPC: a process that opens a file after another, for many queries of each."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.resources
import os
import re
import sqlite3
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

#: Bytes of a file that one request has.
PART = 16 << 20
#: Frames that ask for no answer: keep the memory of the engine under a number, and put it back.
KEEP, PUT_BACK = 0x80000000, 0xC0000000
#: Bytes with which all files of a suffix begin: what FXT is known by, and the tag of a packet.
BEGINNINGS = {".fxt": 8, ".pftrace": 1}
_NOTHING = "[NULL]"


@cache
def messages() -> Any:
    """Return the classes of all messages of the RPC by their full names."""
    folder = importlib.resources.files("perfetto") / "trace_processor"
    files = descriptor_pb2.FileDescriptorSet()
    files.ParseFromString((folder / "trace_processor.descriptor").read_bytes())
    for file in files.file:
        for message in file.message_type:
            for nested in message.nested_type:
                for field in nested.field:
                    # Texts of traces may be any bytes.
                    if field.name == "string_cells":
                        field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClassesForFiles([file.name for file in files.file], pool)


def statements(text: str) -> Iterator[str]:
    """Yield the statements of a text, which end in semicolons outside of quotes and comments."""
    statement = ""
    for part in re.findall(r"[^;]*;|[^;]+$", text):
        statement += part
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


class CrashedError(AssertionError):
    """The engine ended by itself."""


class Server:
    """A process that speaks the RPC in frames of a length and a stream of messages."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes]
        #: The process that started it: one that is forked from that leaves it alone.
        self._owner = 0
        self._number = 0
        #: What of a file is open: its digest, and the options.
        self._open: tuple[bytes, tuple[str, ...]] | None = None
        #: By options, views and how files begin: the number of the last request before the engine was kept.
        self._empty: dict[tuple[tuple[str, ...], str, bytes], int] = {}
        #: The views of an engine that has read a file, as the statements that make them.
        self._views: dict[str, str] = {}
        self._lock = threading.Lock()
        atexit.register(self.close)

    def status(self) -> str:
        """Return the version as people read it."""
        with self._lock:
            (response,) = self._call("TPM_GET_STATUS")
        return str(response.status.human_readable_version)

    def printed(
        self, path: Path, query: str, options: Sequence[str], timeout: float
    ) -> list[list[str]]:
        """Return the heading and the rows of each statement, one after another.

        Raises:
            AssertionError: The engine does not open the file, or refuses a statement.
            CrashedError: It ends; the next call starts another.
            subprocess.TimeoutExpired: It has no answer after `timeout` seconds; the process is ended.

        """
        with self._lock, self._limited(timeout):
            self._load(path, tuple(options))
            rows = []
            for statement in statements(query):
                if not re.match(r"\s*(select|with)\b", statement, re.IGNORECASE):
                    # What it makes would be there for the next query of the file.
                    self._open = None
                rows += self._table(statement)
            return rows

    def rows(self, path: Path, query: str, timeout: float) -> list[list[str]]:
        """Return the rows of one statement about a small file that is asked nothing else.

        The engine makes only the views that the statement reads: to make all takes most of the time of such a file.

        Raises:
            AssertionError: As for `printed`; tables that the engine makes of other ones are missing.

        """
        with self._lock, self._limited(timeout):
            self._open = None
            data = path.read_bytes()
            beginning = _beginning(path, data)
            self._make_empty((), self._made_views(query), beginning)
            responses = self._calls(
                ("TPM_APPEND_TRACE_DATA", {"append_trace_data": data[len(beginning) :]}),
                ("TPM_FINALIZE_TRACE_DATA", {}),
                ("TPM_QUERY_STREAMING", {"query_args": {"sql_query": query}}),
            )
            return _table(responses)[1:]

    def close(self) -> str:
        """End the process, and return what it complained of."""
        process, self._process, self._open = self._process, None, None
        self._empty.clear()
        if process is None or self._owner != os.getpid():
            return ""
        assert process.stdin is not None
        assert process.stdout is not None
        process.kill()
        process.wait()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        with self._complaints as complaints:
            complaints.seek(0)
            return complaints.read().decode(errors="replace")[-2000:]

    @contextlib.contextmanager
    def _limited(self, timeout: float) -> Iterator[None]:
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            if self._process is not None:
                self._process.kill()

        timer = threading.Timer(timeout, end)
        timer.start()
        try:
            yield
        except AssertionError:
            if is_late.is_set():
                raise subprocess.TimeoutExpired(self._command, timeout) from None
            raise
        except BaseException:
            # What is in the pipe answers no later request.
            self.close()
            raise
        finally:
            timer.cancel()
            timer.join()

    def _load(self, path: Path, options: tuple[str, ...]) -> None:
        data = path.read_bytes()
        wanted = (hashlib.sha256(data).digest(), options)
        if wanted == self._open:
            return
        self._open = None
        beginning = _beginning(path, data)
        self._make_empty(options, "", beginning)
        for i in range(len(beginning), len(data), PART):
            self._call("TPM_APPEND_TRACE_DATA", append_trace_data=data[i : i + PART])
        self._call("TPM_FINALIZE_TRACE_DATA")
        self._open = wanted

    def _make_empty(self, options: tuple[str, ...], views: str, beginning: bytes) -> None:
        """Have an engine without a file: to put the memory of one back is faster than to make one.

        Args:
            options: of the native program.
            views: the statements that make all views that there will be, "" for those of the engine.
            beginning: the first bytes of the file, after which the engine has made what reads the format.

        """
        wanted = (options, views, beginning)
        kept = list(self._empty)
        if wanted in self._empty:
            self._send(struct.pack("<I", PUT_BACK + kept.index(wanted)))
            self._number = self._empty[wanted]
            return
        # Events before the range of interest of track events are dropped only where that is asked for.
        self._call(
            "TPM_RESET_TRACE_PROCESSOR",
            reset_trace_processor_args={
                "analyze_trace_proto_content": "--analyze-trace-proto-content" in options,
                "drop_track_event_data_before": int("--crop-track-events" in options),
            },
        )
        # The first data, even none, make another engine.
        self._call("TPM_APPEND_TRACE_DATA", append_trace_data=b"")
        if views:
            module = {"name": "prelude.after_eof.views", "sql": views}
            package = {"package_name": "prelude", "modules": [module], "allow_override": True}
            self._call("TPM_REGISTER_SQL_PACKAGE", register_sql_package_args=package)
        if beginning:
            self._call("TPM_APPEND_TRACE_DATA", append_trace_data=beginning)
        self._send(struct.pack("<I", KEEP + len(kept)))
        self._empty[wanted] = self._number

    def _made_views(self, query: str) -> str:
        """Return the statements that make the views that a query reads, in their order."""
        if not self._views:
            self._make_empty((), "", b"")
            self._call("TPM_FINALIZE_TRACE_DATA")
            select = "select name, sql from sqlite_schema where type = 'view'"
            self._views = dict(self._table(select)[1:])
        made: dict[str, str] = {}
        named = set[str]()

        def make(text: str) -> None:
            for name in re.findall(r"\w+", text):
                if name in self._views and name not in named:
                    named.add(name)
                    make(self._views[name])
                    made[name] = self._views[name]

        make(query)
        return ";\n".join(made.values())

    def _table(self, statement: str) -> list[list[str]]:
        return _table(self._call("TPM_QUERY_STREAMING", query_args={"sql_query": statement}))

    def _call(self, method: str, **arguments: Any) -> list[Any]:
        """Return the responses to a request."""
        return self._calls((method, arguments))

    def _calls(self, *requests: tuple[str, dict[str, Any]]) -> list[Any]:
        """Return the responses to requests that are sent together."""
        rpc = messages()["perfetto.protos.TraceProcessorRpc"]
        sent = []
        for method, arguments in requests:
            self._number += 1
            sent.append(rpc(seq=self._number, request=method, **arguments))
        stream = messages()["perfetto.protos.TraceProcessorRpcStream"]
        body = stream(msg=sent).SerializeToString()
        process = self._send(struct.pack("<I", len(body)) + body)
        assert process.stdout is not None
        head = process.stdout.read(4)
        size = struct.unpack("<I", head)[0] if len(head) == 4 else 1
        answer = process.stdout.read(size)
        if len(answer) < size:
            self._raise_of_end(process)
        responses = list(stream.FromString(answer).msg)
        for response in responses:
            assert not response.fatal_error, response.fatal_error
            for member in ("append_result", "finalize_data_result", "query_result"):
                error = getattr(response, member).error
                assert not error, error
        return responses

    def _send(self, frame: bytes) -> subprocess.Popen[bytes]:
        process = self._started()
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(frame)
            process.stdin.flush()
        return process

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # A file, as nobody reads a pipe while the process works.
            self._complaints = tempfile.TemporaryFile()
            self._owner = os.getpid()
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
            )
        return self._process

    def _raise_of_end(self, process: subprocess.Popen[bytes]) -> NoReturn:
        code = process.wait()
        msg = f"ended with {code}: {self.close()}"
        raise CrashedError(msg)


def _beginning(path: Path, data: bytes) -> bytes:
    """Return the bytes with which all files of a format begin."""
    return data[: BEGINNINGS.get(path.suffix, 0)]


def _table(responses: Iterable[Any]) -> list[list[str]]:
    """Return the heading and the rows of a statement; none of requests of another kind."""
    heading: list[str] = []
    rows: list[list[str]] = []
    row: list[str] = []
    for response in responses:
        result = response.query_result
        heading = heading or list(result.column_names)
        for batch in result.batch:
            for cell in _cells(batch):
                row.append(cell)
                if len(row) == len(heading):
                    rows.append(row)
                    row = []
    return [heading, *rows] if heading else []


def _cells(batch: Any) -> Iterator[str]:
    """Yield values as the native program prints them."""
    numbers, reals = iter(batch.varint_cells), iter(batch.float64_cells)
    blobs, texts = iter(batch.blob_cells), iter(batch.string_cells.split(b"\0"))
    kinds = type(batch)
    for kind in batch.cells:
        if kind == kinds.CELL_VARINT:
            yield str(next(numbers))
        elif kind == kinds.CELL_FLOAT64:
            yield f"{next(reals):f}"
        elif kind == kinds.CELL_STRING:
            yield next(texts).decode("utf-8", "backslashreplace")
        elif kind == kinds.CELL_BLOB:
            yield next(blobs).decode("utf-8", "backslashreplace")
        else:
            yield _NOTHING

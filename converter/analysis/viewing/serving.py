"""An HTTP server on this machine for a single file, requested by a viewer's page.

Any page that a browser shows may send requests to 127.0.0.1, so a request is answered only for a path that cannot be
guessed, from the viewer's origin, and for this host: a foreign name that resolves to this machine (DNS rebinding) is in
the Host header.
"""

from __future__ import annotations

import os
import secrets
import socketserver
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote

from converter.analysis.viewing.perfetto_ui import ADDRESS, PORT, link, origin_of
from converter.errors import TraceError

_HOST: Final = "127.0.0.1"
_METHODS: Final = "GET, HEAD, OPTIONS"
#: The timeout for a browser that opens a connection and requests nothing, or does not receive.
_IDLE_SECONDS: Final = 30
_CHUNK: Final = 1 << 20
#: As many connections as a browser opens in all; others are closed at once, as each takes a thread.
_MOST_CONNECTIONS: Final = 256


class FileServer:
    """Serves a file, under a name that people see, to a viewer; a context manager.

    Raises:
        TraceError: the port is taken, or the file cannot be read.

    """

    def __init__(self, path: str, name: str, viewer: str = ADDRESS, port: int = PORT) -> None:
        origin = origin_of(viewer)
        try:
            self._server = _Server(path, name, origin, port)
        except OSError as error:
            raise TraceError(f"{error.strerror}", path=f"{_HOST}:{port}") from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        file = f"http://{_HOST}:{self._server.server_port}{self._server.url_path}"
        #: The address for the browser to open.
        self.address = link(viewer, file)

    def wait(self, seconds: float) -> bool:
        """Wait until the file has been fetched completely; return False after `seconds`."""
        return self._server.fetched.wait(seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """Holds the file and the conditions for access. One thread per connection: browsers open some that they do
    not use.
    """

    daemon_threads = True

    def __init__(self, path: str, name: str, origin: str, port: int) -> None:
        with open(path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
        self.path = path
        self.origin = origin
        self.url_path = f"/{secrets.token_urlsafe(16)}/{quote(name, safe='')}"
        self.fetched = threading.Event()
        self._free = threading.Semaphore(_MOST_CONNECTIONS)
        super().__init__((_HOST, port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer's own method would ask the network for the name of this host.
        socketserver.TCPServer.server_bind(self)
        self.server_name = _HOST
        self.server_port = self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer on a thread, unless there are too many."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle a request; the main function of such a thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of a connection: a browser that hangs up asks again, or the caller reports that it never got
        the file.
        """


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS

    def do_GET(self) -> None:
        if self._begin(HTTPStatus.OK):
            self._send_file()

    def do_HEAD(self) -> None:
        self._begin(HTTPStatus.OK)

    def do_OPTIONS(self) -> None:
        self._begin(HTTPStatus.NO_CONTENT)

    def _begin(self, status: HTTPStatus) -> bool:
        """Send the headers of an answer; return True if the file follows."""
        refusal = self._refusal()
        is_given = refusal is None
        self.send_response(status if refusal is None else refusal)
        if refusal is None:
            self.send_header("Access-Control-Allow-Origin", self.server.origin)
            self.send_header("Vary", "Origin")
        if status is HTTPStatus.NO_CONTENT and is_given:
            self.send_header("Allow", _METHODS)
            self.send_header("Access-Control-Allow-Methods", _METHODS)
            # Browsers require this before a page of the internet may fetch from this machine.
            self.send_header("Access-Control-Allow-Private-Network", "true")
        else:
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(self.server.size if is_given else 0))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Connection", "close")
        self.end_headers()
        return is_given

    def _refusal(self) -> HTTPStatus | None:
        """Return the status that refuses the request, or None."""
        if self.headers.get_all("Host") != [f"{_HOST}:{self.server.server_port}"]:
            return HTTPStatus.MISDIRECTED_REQUEST
        if self.headers.get_all("Origin", [self.server.origin]) != [self.server.origin]:
            return HTTPStatus.FORBIDDEN
        if not secrets.compare_digest(self.path.encode(), self.server.url_path.encode()):
            return HTTPStatus.NOT_FOUND
        return None

    def _send_file(self) -> None:
        left = self.server.size
        with open(self.server.path, "rb") as file:
            while left and (chunk := file.read(min(_CHUNK, left))):
                self.wfile.write(chunk)
                left -= len(chunk)
        if not left:
            self.server.fetched.set()

    def version_string(self) -> str:
        return "traceconv"

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: only the command prints."""

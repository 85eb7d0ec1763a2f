"""A web server that tests make misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What a server has, by path, and how it answers."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    #: Path to an address elsewhere.
    moved: dict[str, str] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    etag: str = '"one"'
    ranges: bool = True
    #: So many bytes less than the answer says.
    missing: int = 0
    #: So many more than were asked for.
    more: int = 0
    #: What `Content-Range` says that there is in all.
    claimed: int | None = None
    #: Happens in front of the answer to a request, which it gets the number of.
    before: object = lambda number: None
    requests: int = 0
    sent: int = 0


@contextmanager
def serving() -> Iterator[Site]:
    """A site on a port of this machine."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            site.requests += 1
            site.before(site.requests)
            path = self.path.partition("?")[0]
            if path in site.moved:
                return self._answer(302, b"", Location=site.moved[path])
            if path in site.status:
                return self._answer(site.status[path], b"")
            if path.endswith("/"):
                links = sorted(
                    name for name in site.files if name.startswith(path) and name != path
                )
                page = "".join(f'<a href="{name}">{name}</a>\n' for name in links).encode()
                return self._answer(200, site.files.get(path, page))
            if path not in site.files:
                return self._answer(404, b"")
            data, given = site.files[path], self.headers.get("Range")
            if not site.ranges or given is None:
                return self._answer(200, data, ETag=site.etag)
            start, _, end = given.removeprefix("bytes=").partition("-")
            if int(start) >= len(data):
                return self._answer(416, b"")
            part = data[int(start) : int(end) + 1]
            whole = len(data) if site.claimed is None else site.claimed
            last = int(start) + len(part) - 1
            said = {"ETag": site.etag, "Content-Range": f"bytes {start}-{last}/{whole}"}
            return self._answer(206, part + bytes(site.more), **said)

        def _answer(self, status, data, **headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            sent = data[: max(len(data) - site.missing, 0)]
            site.sent += len(sent)
            self.wfile.write(sent)
            if len(sent) < len(data):
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    site.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()

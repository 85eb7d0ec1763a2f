import base64
import hashlib
import http.client
import socket
import threading
from contextlib import ExitStack, suppress
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from support.viewers.browser import Browser, needs_browser

from converter.analysis.viewing import serving
from converter.analysis.viewing.perfetto_ui import ADDRESS, link, origin_of
from converter.analysis.viewing.serving import FileServer
from converter.errors import TraceError

DATA = bytes(range(256)) * 20_000


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a file"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def server(path):
    with FileServer(str(path), "a <b>&c%.pftrace", port=0) as server:
        yield server


def asked(address):
    """The address that a viewer is to fetch, as it reads its own: behind #!/?url=."""
    fragment = urlsplit(address).fragment
    assert fragment.startswith("!/?url=")
    return urlsplit(parse_qs(fragment[3:])["url"][0])


def answer(server, method="GET", place=None, **headers):
    file = asked(server.address)
    connection = http.client.HTTPConnection("127.0.0.1", file.port, timeout=20)
    told = {"Host": file.netloc, "Origin": ADDRESS}
    told |= {name.replace("_", "-"): text for name, text in headers.items()}
    connection.putrequest(method, place or file.path, skip_host=True)
    for name, text in told.items():
        if text is not None:
            connection.putheader(name, text)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def test_the_address_is_as_the_viewer_documents_it():
    plain = link(ADDRESS, "http://127.0.0.1:9001/x.pftrace")
    assert plain == "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/x.pftrace"
    assert asked(link("http://ui/", "http://h/a%20&b=c")).path == "/a%20&b=c"


def test_the_viewer_gets_the_file_and_that_is_all(server):
    assert not server.wait(0)
    response, body = answer(server)
    assert response.status == 200
    assert body == DATA
    assert response.headers["Access-Control-Allow-Origin"] == ADDRESS
    assert response.headers["Content-Length"] == str(len(DATA))
    assert server.wait(20)


def test_the_last_part_of_its_name_is_what_people_see(server):
    token, _, name = asked(server.address).path[1:].partition("/")
    assert name == quote("a <b>&c%.pftrace", safe="")
    assert len(token) >= 20


def test_asking_what_may_be_asked_is_not_fetching(server):
    response, body = answer(server, "HEAD")
    assert (response.status, body) == (200, b"")
    assert response.headers["Content-Length"] == str(len(DATA))
    response, body = answer(
        server,
        "OPTIONS",
        Access_Control_Request_Method="GET",
        Access_Control_Request_Private_Network="true",
    )
    assert (response.status, body) == (204, b"")
    assert response.headers["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert response.headers["Access-Control-Allow-Private-Network"] == "true"
    assert not server.wait(0)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "https://ui.perfetto.dev.example"}, 403),
        ({"Origin": "null"}, 403),
        # A name that somebody made to lead to this machine.
        ({"Host": "elsewhere.example:9001"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": None}, 421),
        ({"place": "/"}, 404),
        ({"place": "/a%20%3Cb%3E%26c%25.pftrace"}, 404),
        ({"place": "/../../../../etc/passwd"}, 404),
        ({"method": "POST"}, 501),
        ({"method": "PUT"}, 501),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_others_get_nothing(server, given, status, method):
    response, body = answer(server, **{"method": method, **given})
    assert response.status == status
    assert response.headers["Access-Control-Allow-Origin"] is None
    assert DATA[:100] not in body
    assert not server.wait(0)


def sent(server, data):
    """What comes back for some bytes."""
    with socket.create_connection(("127.0.0.1", asked(server.address).port), timeout=20) as one:
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: one.recv(1 << 16), b""))


@pytest.mark.parametrize(
    "head",
    [
        "GET {place}\r\n",
        "GET http://{host}{place} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n",
        "GET {place} HTTP/1.1\r\nHost: {host}\r\nHost: elsewhere.example\r\n",
        "GET {place} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nOrigin: https://b.example\r\n",
        "GET /..{place} HTTP/1.1\r\nHost: {host}\r\n",
        "GET {place}\0 HTTP/1.1\r\nHost: {host}\r\n",
        "GET {place}?{long} HTTP/1.1\r\nHost: {host}\r\n",
        "GET {place} HTTP/1.1\r\nHost: {host}\r\nX: {long}\r\n",
        "GET {place} HTTP/1.1\r\nHost: {host}\r\n{many}",
        "GET {place} HTTP/9.9\r\nHost: {host}\r\n",
        "CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n",
        "\0\1\2",
    ],
)
def test_requests_that_mean_harm_get_nothing(server, head):
    file = asked(server.address)
    told = {"place": file.path, "host": file.netloc, "origin": ADDRESS}
    given = head.format(**told, long="a" * 200_000, many="X: a\r\n" * 200)
    # The server may hang up before all is sent.
    with suppress(OSError):
        assert DATA[:100] not in sent(server, f"{given}\r\n".encode())
    assert not server.wait(0)


def test_what_a_file_is_called_is_in_no_header(path):
    with FileServer(str(path), "a\r\nSet-Cookie: b=c.pftrace", port=0) as server:
        assert "\r" not in asked(server.address).path
        response, _ = answer(server)
        assert response.headers["Set-Cookie"] is None


def test_connections_are_only_so_many(path, monkeypatch):
    monkeypatch.setattr(serving, "_MOST_CONNECTIONS", 3)
    with FileServer(str(path), "a.pftrace", port=0) as server, ExitStack() as stack:
        place = ("127.0.0.1", asked(server.address).port)
        held = [stack.enter_context(socket.create_connection(place, timeout=20)) for _ in range(3)]
        with socket.create_connection(place, timeout=20) as one, suppress(ConnectionError):
            assert one.recv(1) == b""
        for one in held:
            one.close()
        # Their threads take a moment to end.
        while not server.wait(0.01):
            with suppress(ConnectionError):
                answer(server)


def test_it_is_there_for_this_machine_only(server):
    assert server._server.server_address[0] == "127.0.0.1"


def test_idle_connections_keep_nobody_waiting(server):
    file = asked(server.address)
    idle = [http.client.HTTPConnection("127.0.0.1", file.port) for _ in range(5)]
    for connection in idle:
        connection.connect()
    assert answer(server)[1] == DATA
    for connection in idle:
        connection.close()


def test_who_hangs_up_has_not_fetched_it(server, capfd):
    file = asked(server.address)
    connection = http.client.HTTPConnection("127.0.0.1", file.port)
    connection.request("GET", file.path)
    connection.sock.close()
    response, _ = answer(server, "HEAD")
    assert response.status == 200
    assert capfd.readouterr() == ("", "")


def test_a_file_that_has_become_shorter_was_not_fetched(server, path):
    path.write_bytes(b"short")
    with pytest.raises(http.client.IncompleteRead):
        answer(server)
    assert not server.wait(0)


def test_it_ends(path):
    before = threading.active_count()
    with FileServer(str(path), "x", port=0) as server:
        address = asked(server.address)
    assert threading.active_count() == before
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(address.hostname, address.port).connect()


def test_a_port_that_is_taken(server, path):
    port = asked(server.address).port
    with pytest.raises(TraceError, match=f"127.0.0.1:{port}: Address already in use"):
        FileServer(str(path), "x", port=port)


@pytest.mark.parametrize(
    ("viewer", "origin"),
    [
        ("https://ui.perfetto.dev/v50", "https://ui.perfetto.dev"),
        ("https://UI.example:443/", "https://ui.example"),
        ("http://localhost:10000", "http://localhost:10000"),
        ("http://[::1]:80/x", "http://[::1]"),
    ],
)
def test_the_origin_of_a_viewer(viewer, origin):
    assert origin_of(viewer) == origin


@pytest.mark.parametrize(
    "viewer", ["ui.perfetto.dev", "file:///x", "https://", "javascript:x", "https://a@b"]
)
def test_no_viewer(viewer):
    with pytest.raises(ValueError, match="is no address"):
        origin_of(viewer)


#: What the UI does with its address: its trace_url_handler fetches what is on this machine as a blob.
_PAGE = """<!DOCTYPE html><title>UI</title><script>
const given = new URLSearchParams(location.hash.slice(3)).get("url");
window.got = fetch(given).then((response) => response.blob()).then(async (blob) => {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
  return `${given.split("/").pop()} ${Array.from(digest, (b) => b.toString(16).padStart(2, "0")).join("")}`;
}, (error) => `${error}`);
</script>"""


#: Since Chromium 142 a page of the internet may fetch from this machine only if it is allowed to.
_ASKED_FOR = ["localNetwork", "loopbackNetwork"]


@needs_browser
def test_a_browser_lets_the_viewer_fetch_it(server):
    """The page is the viewer's own as far as the browser knows: by https, of its origin, with its policy."""
    port = asked(server.address).port
    policy = f"default-src 'self'; script-src 'unsafe-inline'; connect-src 'self' http://127.0.0.1:{port}"
    with Browser() as browser:
        # Without this, which people are asked for, fetching fails.
        browser.call("Browser.grantPermissions", permissions=_ASKED_FOR, origin=ADDRESS)
        browser.call("Fetch.enable", patterns=[{"urlPattern": f"{ADDRESS}/*"}])
        browser.send("Page.navigate", url=server.address)
        request = browser.event("Fetch.requestPaused")
        assert request["request"]["url"] == f"{ADDRESS}/"
        browser.call(
            "Fetch.fulfillRequest",
            requestId=request["requestId"],
            responseCode=200,
            responseHeaders=[
                {"name": "Content-Type", "value": "text/html"},
                {"name": "Content-Security-Policy", "value": policy},
            ],
            body=base64.b64encode(_PAGE.encode()).decode(),
        )
        browser.event("Page.loadEventFired")
        got = browser.value("window.got")
    assert got == f"{quote('a <b>&c%.pftrace', safe='')} {hashlib.sha256(DATA).hexdigest()}"
    assert server.wait(20)

"""A Chromium without a window, where one is installed, told what to do by the DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any, Self

import pytest

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed")

_SWITCHES = [
    "--headless=new",
    "--no-sandbox",  # tests run as root in containers
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    # Nothing leaves this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--remote-debugging-pipe",
    "--window-size=1200,800",
    "about:blank",
]
_SECONDS = 60


class Browser:
    """A browser with a page; a context manager."""

    def __init__(self) -> None:
        assert PROGRAM is not None
        self._folder = tempfile.mkdtemp(prefix="traceconv-browser-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The browser reads from 3 and writes to 4.
        start = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", start, "bash", PROGRAM, f"--user-data-dir={self._folder}", *_SWITCHES],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_read, to_write),
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: deque[dict[str, Any]] = deque()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """What a command answers."""
        number = self.send(method, **arguments)
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def send(self, method: str, **arguments: Any) -> int:
        """Give a command, and do not wait for what it answers; its number."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": arguments}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        return self._number

    def event(self, method: str) -> dict[str, Any]:
        """The next event of this name, which may have come already."""
        while True:
            while self.events:
                found = self.events.popleft()
                if found["method"] == method:
                    return found["params"]
            answer = self._receive()
            if "method" in answer:
                self.events.append(answer)

    def open(self, address: str | Path) -> None:
        """Open a page, and wait until it has loaded."""
        if isinstance(address, Path):
            address = address.as_uri()
        self.call("Page.navigate", url=address)
        self.event("Page.loadEventFired")

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript comes to in the page; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Wait until an expression is true; what it is then."""
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            found = self.value(expression)
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"never true: {expression}")

    def press(self, key: str, *, up: bool = True) -> None:
        """Press a key: a character, or a name such as Enter."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27}.get(key, ord(key.upper()) if len(key) == 1 else 0)
        self.call(
            "Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text
        )
        if up:
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def click(self, x: float, y: float) -> None:
        """Click at a place of the page."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path: Path) -> None:
        """Write what the page looks like, as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], _SECONDS)
            assert ready, "the browser does not answer"
            data = os.read(self._read, 1 << 20)
            assert data, "the browser has ended"
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

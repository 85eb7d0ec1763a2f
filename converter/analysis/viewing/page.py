"""A single page that shows a trace and needs nothing else: no network, no server, no other file.

Its parts are in the folder `page`: markup, style, and scripts, which are included unchanged. The data are included as
base64, which cannot contain markup or script. A content security policy allows the page's own scripts and style, by
their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from typing import Final

from converter.analysis.viewing.contents import Contents

#: In the order in which they build on each other.
SCRIPTS: Final = (
    "data.js",
    "arguments.js",
    "timeline.js",
    "states.js",
    "times.js",
    "rows.js",
    "search.js",
    "axis.js",
    "arrows.js",
    "drawing.js",
    "details.js",
    "hover.js",
    "sums.js",
    "flame.js",
    "range.js",
    "link.js",
    "page.js",
)
_FOLDER: Final = os.path.join(os.path.dirname(__file__), "page")


def page(contents: Contents) -> Iterator[bytes]:
    """Yield the page in chunks."""
    style = _part("page.css")
    scripts = [_part(name) for name in SCRIPTS]
    allowed = " ".join(_digest(script) for script in scripts)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    markup = _part("page.html").replace("{POLICY}", policy).replace("{STYLE}", style)
    before, between, after, end = markup.split("{DATA}")
    yield before.encode()
    yield contents.timeline
    yield between.encode()
    yield contents.arguments
    yield after.encode()
    for script in scripts:
        yield f"<script>{script}</script>\n".encode()
    yield end.encode()


def _part(name: str) -> str:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _digest(text: str) -> str:
    """Return the hash source of a script or style in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

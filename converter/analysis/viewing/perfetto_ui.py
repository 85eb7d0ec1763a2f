"""The address of Perfetto's UI, and links that make it open a file (its documentation: "Deep linking to the Perfetto
UI").
"""

from __future__ import annotations

from typing import Final

#: The public one; users may host their own.
ADDRESS: Final = "https://ui.perfetto.dev"
#: The only port of this machine that its content security policy lets it fetch from.
PORT: Final = 9001


def link(viewer: str, file: str) -> str:
    """Return the address to open in a browser for a viewer to fetch a file: both are addresses."""
    from urllib.parse import quote

    return f"{viewer.rstrip('/')}/#!/?url={quote(file, safe=':/')}"


def origin_of(viewer: str) -> str:
    """Return the origin of a viewer's address, as a browser writes it.

    Raises:
        ValueError: it is no address of a page.

    """
    from urllib.parse import urlsplit

    parts = urlsplit(viewer)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError(f"{viewer!r} is no address such as {ADDRESS}")
    usual = {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"

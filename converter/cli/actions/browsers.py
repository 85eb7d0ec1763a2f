"""The browser of whoever runs the command."""

from __future__ import annotations

import webbrowser

from converter.cli.output import messages


def started(address: str) -> bool:
    """Open an address in a browser; whether there is one. Where there is none, it is said that somebody has to."""
    try:
        if webbrowser.open_new_tab(address):
            return True
    except webbrowser.Error:
        pass
    messages.warning("no browser can be started: open this address in one")
    return False

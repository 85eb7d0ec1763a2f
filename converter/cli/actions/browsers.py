"""The browser of the user who runs the command."""

from __future__ import annotations

import webbrowser

from converter.cli.output import messages


def started(address: str) -> bool:
    """Open an address in a browser and return True; if there is no browser, ask the user to open it and return
    False.
    """
    try:
        if webbrowser.open_new_tab(address):
            return True
    except webbrowser.Error:
        pass
    messages.warning("no browser can be started: open this address in one")
    return False

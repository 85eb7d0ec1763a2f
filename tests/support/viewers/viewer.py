"""What a viewer in a browser does with the address that it is opened with, without either."""

import http.client
import threading
from urllib.parse import unquote, urlsplit

from converter.analysis.viewing import perfetto_ui


class Viewer:
    """In the place of a browser: fetches what the page at an address would."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self._got: dict[str, bytes] = {}
        self._fetching: list[threading.Thread] = []

    @property
    def got(self) -> dict[str, bytes]:
        """What was fetched; a server can be done before who asked has it all."""
        for thread in self._fetching:
            thread.join()
        return self._got

    def open(self, address: str) -> bool:
        """Begin to fetch; whether there is a browser."""
        self.opened.append(address)
        self._fetching.append(threading.Thread(target=self.fetch, args=[address]))
        self._fetching[-1].start()
        return True

    def fetch(self, address: str) -> None:
        """Fetch as a page of the viewer's origin does, and keep it by the last part of its name."""
        ui, _, file = address.partition("/#!/?url=")
        place = urlsplit(unquote(file))
        connection = http.client.HTTPConnection(place.netloc, timeout=20)
        connection.request("GET", place.path, headers={"Origin": perfetto_ui.origin_of(ui)})
        self._got[place.path.rpartition("/")[2]] = connection.getresponse().read()
        connection.close()

from collections.abc import Callable

class Directory:
    """Texts by numbers, such as the names of functions by their addresses; each is asked for once, when it is needed.

    `ask` returns the text of a key and a number that comes with it, None where there is none. Events may give a text
    for a key whose number is 0; the other function turns it into the entry that holds from then on.
    """

    def __init__(
        self,
        ask: Callable[[int], tuple[bytes, int] | None],
        told: Callable[[int, bytes], tuple[bytes, int]] | None = None,
    ) -> None: ...
    def __setitem__(self, key: int, entry: tuple[bytes, int] | None) -> None:
        """Set the entry of a key."""
    def forget(self) -> None:
        """Ask again for all keys."""

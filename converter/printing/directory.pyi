from collections.abc import Callable

class Directory:
    def __init__(
        self,
        ask: Callable[[int], tuple[bytes, int] | None],
        told: Callable[[int, bytes], tuple[bytes, int]] | None = None,
    ) -> None: ...
    def __setitem__(self, key: int, entry: tuple[bytes, int] | None) -> None: ...
    def forget(self) -> None: ...

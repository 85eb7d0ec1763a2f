class Survey:
    """The first look at a file: which clock rates and providers it has. Reads only headers and times."""

    too_many_rates: bool
    #: Offsets of the first metadata record of each provider.
    providers: list[int]
    #: Offset of the first initialization record of more than two words, or -1.
    extended_initialization: int
    #: (ticks per second, latest time in ticks or None where nothing happened), in the order of the file.
    rates: list[tuple[int, int | None]]

    def __init__(self, *, big_endian: bool) -> None: ...
    def feed(self, window: bytes | memoryview, offset: int) -> int:
        """Look at a window that stands at `offset` of the file and starts with a record.

        Gives how many bytes it passed: whole records; 0 where the first is larger than the window or of size zero.
        """

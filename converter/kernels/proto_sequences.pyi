from converter.kernels.strings import StringTable

class Sequences:
    """The state of packet sequences in one pass over a trace: interned data, defaults, clocks and counters."""

    def __init__(self, strings: StringTable, messages: StringTable, *_: object) -> None:
        """`messages` takes the interned messages that are no texts."""
    def set_clock(
        self, sequence: int, clock: int, value: int, multiplier: int, incremental: bool
    ) -> None:
        """A sequence's clock (0: all sequences'): its reading in ns, ns a unit, whether timestamps are increments."""
    def set_thread(self, sequence: int, pid: int, tid: int, reference_us: int) -> None:
        """What a ThreadDescriptor says: where a sequence's events without a track are, and when its times start."""
    def set_counter(self, uuid: int, multiplier: int, incremental: bool) -> None:
        """A counter track whose values are multiples of a unit, or increments."""
    def interned_text(self, scope: int, field: int, iid: int) -> int:
        """Id of an interned string in `strings`, or of another interned message in `messages`; -1 when unknown."""
    def prune(self) -> None:
        """Forget what sequences interned before their state was last cleared, once there is much of it."""

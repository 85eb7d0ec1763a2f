from collections.abc import Sequence

from converter.formats.lttng_legacy.reading.markers import MarkerTable

class RecordWalk:
    position: int
    damaged: int
    first_damage: int
    mismatches: int
    first_mismatch: int
    undeclared: int
    unclosed: int
    blocks: int
    given_up: int
    truncated: bool
    def __init__(
        self, table: MarkerTable, header: Sequence[int], geometry: Sequence[int], holes: int
    ) -> None: ...

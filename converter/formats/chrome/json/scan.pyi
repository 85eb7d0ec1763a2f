from numpy import int32, int64, uint8
from numpy.typing import NDArray

from converter.kernels.tables.strings import StringTable

class EventScanner:
    """Scans the elements of an array of event objects into columns (Trace Event Format, "JSON Array Format").

    Names of arguments, shapes of arguments, class keys and thread keys are interned into tables of the caller's, who
    works out what is new in them; the first shape must be ``{}``. `phases` has an entry for each byte: 0 the event
    stays text, 1 it needs a time, 2 it is metadata, 3 it needs a time and an id, 4 a time and an id or a duration.
    Times are in units of 10**-digits microseconds.

    A class key is 16 bytes: phase, place of the id (0 none, 1 id, 2 id2.local, 3 id2.global), type of the id and of
    bind_id (i number, x hexadecimal text, s text, 0 none), then in the host's order int32 optional members (`HAS_*`),
    name id of ``arg_types``, shape id. All zero is an event that stays text.

    A shape is ``{`` (``,`` name id (int32) shape)* ``}``, ``[`` shape of each element ``]``, or a letter: n null,
    b boolean, i int64, u uint64, x hexadecimal text as uint64, d double, s string id, j JSON text.

    The slots of an event are those that it has of: name, category, id, dur, tts, tdur, s, scope, bind_id, flow_in,
    flow_out, other members (offset and size of text); then of its arguments: nothing for null, offset and size for
    JSON text, length and elements for an array, else one. Of one that stays text: offset and size.

    A thread key is the texts of pid and tid with a NUL between them.
    """

    #: The number of times that were rounded to the unit.
    rounded: int
    #: The most decimals that a time had.
    places: int
    #: The greatest magnitude of a time.
    largest: int

    def __init__(
        self,
        strings: StringTable,
        names: StringTable,
        shapes: StringTable,
        keys: StringTable,
        threads: StringTable,
        phases: bytes,
        digits: int,
        records: bool = False,
    ) -> None:
        """With `records`, the text is this project's own: events that begin as `layout.SWITCH_RECORD` and
        `layout.NATIVE_RECORD` are not metadata.
        """
    def __len__(self) -> int:
        """The number of events scanned and not yet taken."""
    def scan(
        self, data: bytes | memoryview | NDArray[uint8], at: int, limit: int
    ) -> tuple[int, int]:
        """Scan from `at` until there are `limit` events: (where the next element begins, why it stopped).

        0: the data end, 1: the array is closed, 2: there are `limit` events or too much text, -1: this is no event
        object. Releases the GIL.
        """
    def take(
        self,
    ) -> tuple[
        NDArray[int64],
        NDArray[int32],
        NDArray[int32],
        NDArray[int32],
        NDArray[int64],
        NDArray[int64],
        NDArray[uint8],
    ]:
        """Give away what was scanned: times, class keys, thread keys (-1 none), CPUs (-1 none), first slot of each
        event; the slots; the text.
        """
    def take_metadata(self) -> bytes:
        """Give away the metadata events, each as compact text and a newline."""

from converter.formats.fxt.writing.emit_provider import Provider

#: Results of `Emitter.emit`: OK, or why the event that it stopped at cannot be written.
OK: int
TEXT_TOO_LONG: int
RECORD_TOO_LARGE: int
BAD_COLUMN: int
BAD_RECORD: int
#: The event refers to something that only an emission that follows all events before it can register.
MUST_FOLLOW: int

class Emitter:
    """Makes records of events, with the string and thread records that they need before them."""

    #: Bytes emitted and not yet taken.
    size: int

    def __init__(self, provider: Provider) -> None: ...
    def put(self, data: bytes) -> None:
        """Emit whole records as they are."""
    def take(self) -> memoryview:
        """Return the output since the last call: a block that nobody changes, reused when the caller releases it."""
    def name_process(self, koid: int, name: bytes) -> None:
        """A kernel object record that names a process."""
    def name_thread(self, thread: int, name: bytes) -> None:
        """A kernel object record that names a thread."""
    def declare_threads(self) -> None:
        """Thread records for all threads that no record has mentioned."""
    def emit(self, start: int, stop: int, follows: bool) -> tuple[int, int]:
        """Emit events of the batch from number `start` on until a MiB of output is ready: (status, number of the next).

        Only emitters with `follows`, which come after all events before, register strings; others stop with
        MUST_FOLLOW, and may run at the same time. Releases the GIL. Raises ValueError for events that the batch does
        not have.
        """

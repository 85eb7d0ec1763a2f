"""Files of profiles: what was read from one unchanged is copied, all else is encoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from converter.ir.events import Batch
from converter.ir.trace import Trace
from converter.storage.sink import Sink


class Encoder(Protocol):
    """Encodes the samples of a trace, which it may collect until the end."""

    def add(self, batch: Batch) -> None:
        """Add the events of a batch."""

    def write(self, sink: Sink) -> None:
        """Write what was added."""

    def close(self) -> None:
        """Release what was added."""


def copy_or_encode(
    trace: Trace, sink: Sink, format: str, make_encoder: Callable[[Trace], Encoder]
) -> None:
    """Write a trace: first the records of the format that batches were read from, then other batches encoded.

    A trace without any events is encoded.
    """
    encoder: Encoder | None = None
    try:
        for batch in trace.batches():
            if encoder is None and batch.native is not None and batch.native.format == format:
                sink.write(batch.native.data)
                continue
            encoder = encoder or make_encoder(trace)
            encoder.add(batch)
        if encoder is not None or not sink.tell():
            encoder = encoder or make_encoder(trace)
            encoder.write(sink)
    finally:
        if encoder is not None:
            encoder.close()

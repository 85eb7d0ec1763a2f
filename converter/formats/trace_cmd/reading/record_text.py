"""The text of an event as the kernel and `trace-cmd report -N` print it: its `print fmt` applied to its record."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from converter.formats.ftrace.event_format.messages import KernelTexts
from converter.formats.ftrace.event_format.record_tables import RecordTable
from converter.formats.ftrace.print_format.print_format import PrintFormat
from converter.formats.ftrace.print_format.text_sources import TextSources
from converter.formats.ftrace.ring_buffer.batches import Decoding
from converter.ir.events import Batch


class RecordTexts:
    """Texts of a file's records; each format is compiled when the text of one of its events is first requested."""

    def __init__(self, decoding: Decoding, texts: KernelTexts) -> None:
        self._decoding = decoding
        self._sources = TextSources(texts)
        of_type = decoding.classes.of_type
        self._type_of = {
            int(of_type[number]): number for number in np.flatnonzero(of_type >= 0).tolist()
        }
        self._compiled: dict[int, PrintFormat | None] = {}

    def texts_of(self, batch: Batch) -> Callable[[int], str | None]:
        """Return a function that returns the text of the event at a position of the batch.

        It returns None for events without a `print fmt`: lines of text buffers, lost events, unknown types. Newlines at
        the end are removed, as in trace-cmd.
        """
        # The batch alone does not keep its records once its columns are decoded.
        held = {
            id: table.records
            for id, table in batch.tables.items()
            if isinstance(table, RecordTable)
        }

        def text(position: int) -> str | None:
            id = int(batch.class_id[position])
            records = held.get(id)
            compiled = None if records is None else self._format(id)
            if records is None or compiled is None:
                return None
            return compiled.render(records.record(int(batch.row[position])))

        return text

    def _format(self, id: int) -> PrintFormat | None:
        """Return the compiled format of an event class."""
        if id not in self._compiled:
            decoding = self._decoding
            number = self._type_of.get(id)
            format = None if number is None else decoding.formats.get(number)
            self._compiled[id] = (
                None
                if format is None or not format.print_fmt
                else PrintFormat(
                    format,
                    self._sources,
                    "big" if decoding.big_endian else "little",
                    decoding.long_size,
                )
            )
        return self._compiled[id]

"""Events that stay text: unknown phases, memory dumps, contexts, and events that their phase does not describe.

Their payload is the object's compact text, empty for ``{}``. A payload that would not be read back unchanged (it
comes from elsewhere, or is not JSON) is written as base64 in the member ``native`` of an event with a phase that does
not exist: importers count an event without phase and time as an error. So is a payload whose duration or thread time is
not a number: Perfetto's importer rejects the whole file if that is an object (in an array it skips the event).
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from itertools import pairwise

import numpy as np

from converter.formats.chrome.json.scan import EventScanner
from converter.formats.chrome.layout import NATIVE_RECORD, ClassKey
from converter.formats.chrome.mapping import PHASE_TABLE
from converter.ir.columns import Column, ListColumn, list_of_bytes
from converter.ir.distinct_values import values_of
from converter.ir.events import Table
from converter.kernels.tables.strings import StringTable

_OPENING = NATIVE_RECORD + b'"native":"'
#: The start of such events, also as older versions wrote it.
_OPENINGS = (_OPENING, b'{"ph":"?","ts":0,"native":"')
_CLOSING = b'"}'
#: Members that importers want to be numbers, and that are not.
_NO_NUMBER = re.compile(
    rb'"(?:dur|tts|tdur)":(?!"?-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"?[,}])'
)


def unwrapped(table: Table) -> Table:
    """Return the table of native events with wrapped payloads restored."""

    def column() -> Column:
        payloads = table.column(0)
        assert isinstance(payloads, ListColumn)
        assert isinstance(payloads.values, np.ndarray)
        data = payloads.values.tobytes()
        if not any(opening in data for opening in _OPENINGS):
            return payloads
        return list_of_bytes([_unwrapped(text) for text in texts_of(payloads)])

    return Table(len(table), [column])


def wrapped(payloads: Column) -> ListColumn:
    """Return the payloads as objects that are read as the same payloads."""
    assert isinstance(payloads, ListColumn)
    texts = [text or b"{}" for text in texts_of(payloads)]
    if not _are_native(texts):
        texts = [text if _are_native([text]) else _wrapped(text) for text in texts]
    return list_of_bytes(texts)


def texts_of(column: ListColumn) -> list[bytes]:
    """Return the values of a column of bytes."""
    assert isinstance(column.values, np.ndarray)
    data = column.values.tobytes()
    return [data[start:end] for start, end in pairwise(column.offsets.tolist())]


def _wrapped(text: bytes) -> bytes:
    return _OPENING + b64encode(b"" if text == b"{}" else text) + _CLOSING


def _unwrapped(text: bytes) -> bytes:
    opening = next((one for one in _OPENINGS if text.startswith(one)), None)
    if opening is None or not text.endswith(_CLOSING):
        return text
    try:
        return b64decode(text[len(opening) : -len(_CLOSING)], validate=True)
    except ValueError:
        return text


def _are_native(texts: list[bytes]) -> bool:
    """Return True if these texts are read as native events with the same payloads."""
    if any(text.startswith(_OPENINGS) or _NO_NUMBER.search(text) for text in texts):
        return False
    keys, shapes = StringTable(), StringTable()
    shapes.intern(b"{}")
    scanner = EventScanner(
        StringTable(), StringTable(), shapes, keys, StringTable(), PHASE_TABLE, 0, records=True
    )
    _, status = scanner.scan(b",".join(texts) + b"]", 0, len(texts) + 1)
    if status != 1 or len(scanner) != len(texts):
        return False
    _, key, _, _, start, slots, text = scanner.take()
    if any(ClassKey.parse(keys[id]).phase for id in values_of(key).tolist()):
        return False
    sizes = slots[start + 1]
    return bool(
        (sizes == [len(item) if item != b"{}" else 0 for item in texts]).all()
    ) and text.tobytes() == b"".join(item for item in texts if item != b"{}")

"""Tables that grow keep what they had: at each size at which their memory moves, one below it and one above."""

from __future__ import annotations

import numpy as np
import pytest

from converter.formats.perfetto.reading.kernels.scan_sequences import KeyMap
from converter.kernels.tables.strings import StringTable
from converter.printing.code import Code
from converter.printing.directory import Directory
from converter.printing.printer import Printer

SIZES = (0, 1, 2, *(2**bits + more for bits in range(6, 14) for more in (-1, 0, 1)))


@pytest.mark.parametrize("count", SIZES)
def test_interned_strings_keep_their_ids(count: int) -> None:
    strings = StringTable()
    ids = [strings.intern(f"text {i}") for i in range(count)]
    assert ids == list(range(1, count + 1))
    assert [strings.intern(f"text {i}") for i in range(count)] == ids
    assert [strings[i] for i in ids] == [f"text {i}".encode() for i in range(count)]


@pytest.mark.parametrize("count", SIZES)
def test_keys_keep_their_values(count: int) -> None:
    keys = KeyMap()
    for i in range(count):
        keys.set(i, i % 3, 2 * i)
    for i in range(min(count, 3)):
        keys.set(i, i % 3, 2 * i)
    assert len(keys) == count
    assert [keys.get(i, i % 3, -1) for i in range(count)] == [2 * i for i in range(count)]
    assert keys.get(count, count % 3, -1) == -1
    keys.keep({0}, 0)
    assert [keys.get(i, i % 3, -1) for i in range(count)] == [
        -1 if i % 3 else 2 * i for i in range(count)
    ]


@pytest.mark.parametrize("count", SIZES)
def test_a_directory_asks_once_for_each_key(count: int) -> None:
    asked: list[int] = []

    def ask(key: int) -> tuple[bytes, int]:
        asked.append(key)
        return b"%d " % key, key

    code = Code()
    code.number_of("key", 1)
    code.name(Directory(ask))
    keys = np.concatenate([np.arange(count), np.arange(count)]).astype(np.int64)
    program = code.finish().bind(lambda key: keys, None)
    blocks: list[bytes] = []
    printer = Printer(StringTable())
    rows = np.arange(len(keys), dtype=np.int32)
    printer.print(
        [program], np.zeros(len(keys), np.int32), rows, lambda block: blocks.append(bytes(block))
    )
    printer.flush(lambda block: blocks.append(bytes(block)))
    assert b"".join(blocks) == b"".join(b"%d " % key for key in keys)
    assert asked == list(range(count))

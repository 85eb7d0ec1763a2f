"""Arrays of columns of a trace."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from converter.analysis.arrow.arrays import text_array
from converter.kernels.tables.strings import StringTable


@pytest.mark.parametrize("rows", [b"", b"a", b"aa", b"ba", b"cabbac", b"c-a-b"])
def test_a_dictionary_is_in_the_order_of_rows(rows):
    """Threads that decode columns intern texts in any order, which no output may show."""
    texts = [bytes([byte]) for byte in rows]
    arrays = []
    for interned in ([b"a", b"b", b"c"], [b"c", b"b", b"a"]):
        strings = StringTable()
        for text in interned:
            strings.intern(text)
        ids = [-1 if text == b"-" else strings.intern(text) for text in texts]
        arrays.append(text_array(np.array(ids, np.int32), strings))
    expected = [None if text == b"-" else text.decode() for text in texts]
    for array in arrays:
        assert array.to_pylist() == expected
        assert array.dictionary.to_pylist() == [*dict.fromkeys(filter(None, expected))]

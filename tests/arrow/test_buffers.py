"""Arrow arrays of NumPy's and back, without pandas."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from converter.analysis.arrow.buffers import array_of, numbers, text_array_of  # noqa: E402 - needs PyArrow

ROOT = Path(__file__).parents[2]

CONVERSIONS = """
import sys
import converter
source, folder = sys.argv[1:]
for name, target in (("a.parquet", None), ("a.arrow", None), ("a", "parquet+dataset")):
    converter.convert(source, f"{folder}/{name}", target_format=target)
    with converter.open_trace(f"{folder}/{name}") as trace:
        assert sum(map(len, trace.batches())) == 338
with converter.open_trace(source) as trace:
    assert len(trace.to_arrow()) == 338
"""


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f4", "f8", "?"])
def test_there_and_back(dtype):
    values = np.arange(100).astype(dtype)
    for column in (values, values[::3], values[:0], np.broadcast_to(values[7:8], 5)):
        valid = np.arange(len(column)) % 2 == 0
        array = array_of(column)
        assert array.equals(pa.array(column))
        assert array_of(column, valid=valid).equals(pa.array(column, mask=~valid))
        assert numbers(array).tolist() == column.tolist()
        assert numbers(array[1:]).tolist() == column[1:].tolist()
        assert not numbers(array).flags.writeable


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8"])
def test_nulls_are_a_number(dtype):
    values = np.arange(100).astype(dtype)
    array = array_of(values, valid=values % 2 == 0)[1:]
    expected = [value if value % 2 == 0 else 1000 for value in range(1, 100)]
    assert numbers(array, null=1000).tolist() == expected
    assert numbers(array_of(values), null=-1).tolist() == values.tolist()


def test_texts():
    texts = ["", "a", "\N{GREEK SMALL LETTER MU}s", "", "b" * 1000]
    assert text_array_of(texts).equals(pa.array(texts, pa.string()))
    assert text_array_of([]).equals(pa.array([], pa.string()))


def test_pandas_is_not_imported(tmp_path):
    (tmp_path / "pandas.py").write_text("raise RuntimeError('somebody imports pandas')")
    source = ROOT / "roundtrip_fixtures" / "trace_cmd" / "small.dat"
    subprocess.run(
        [sys.executable, "-c", CONVERSIONS, str(source), str(tmp_path)],
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
    )

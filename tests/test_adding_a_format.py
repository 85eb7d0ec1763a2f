"""The made-up format of docs/adding_a_format.md does what the page says."""

import re
import struct
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import converter
import converter.formats
from converter.errors import TraceError
from converter.fixtures.synthetic import synthetic_trace
from converter.formats import table
from converter.ir.canonical import difference
from converter.ir.collect import collect
from converter.ir.invariants import check
from converter.projection.project import project
from converter.registry import format_named

PAGE = Path(__file__).parents[1] / "docs" / "adding_a_format.md"
EXAMPLE = re.compile(
    r"^<!-- example: (\w+\.py) -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


@pytest.fixture
def tally(tmp_path, monkeypatch):
    """The format, in the table while the test runs."""
    room = tmp_path / "formats" / "tally"
    room.mkdir(parents=True)
    for name, text in EXAMPLE.findall(PAGE.read_text()):
        (room / name).write_text(text)
    monkeypatch.setattr(
        converter.formats, "__path__", [*converter.formats.__path__, str(room.parent)]
    )
    monkeypatch.setattr(table, "_NAMES", (*table._NAMES, "tally"))
    yield format_named("tally")[0]
    table.format_of.cache_clear()
    for name in [name for name in sys.modules if name.startswith("converter.formats.tally")]:
        del sys.modules[name]


def test_the_page_has_every_module_of_a_format_in_a_hundred_lines_or_so():
    modules = dict(EXAMPLE.findall(PAGE.read_text()))
    assert list(modules) == ["__init__.py", "layout.py", "reader.py", "writer.py"]
    code = [line for text in modules.values() for line in text.splitlines() if line.strip()]
    assert len(code) <= 120


@pytest.mark.parametrize("kinds", ["all", "sched", "text", "typed"])
def test_what_fits_survives_and_the_rest_is_reported(tally, kinds, tmp_path):
    path = tmp_path / "out.tally"
    trace = synthetic_trace(kinds, 200, seed=3)
    report = converter.write(trace, path)
    assert converter.detect(path).name == "tally"
    again = converter.read(path)
    expected = collect(project(trace, tally.capabilities(""), "tally")[0])
    assert difference(expected, again) is None
    assert len(report) > 0
    copy = tmp_path / "copy.tally"
    assert len(converter.convert(path, copy)) == 0
    assert copy.read_bytes() == path.read_bytes()


def test_a_recording_is_converted_to_it_and_on_to_another(tally, tmp_path):
    source = PAGE.parents[1] / "roundtrip_fixtures" / "trace_cmd" / "markers.dat"
    path = tmp_path / "markers.tally"
    converter.convert(source, path)
    converter.convert(path, tmp_path / "markers.json")
    assert (tmp_path / "markers.json").stat().st_size > 1000


@pytest.mark.parametrize("seed", range(60))
def test_damage_ends_in_a_sound_trace_or_an_error_of_it(tally, seed, tmp_path):
    path = tmp_path / "out.tally"
    converter.write(synthetic_trace("all", 50, seed=1), path)
    data = bytearray(path.read_bytes())
    draw = np.random.default_rng(seed)
    for _ in range(8):
        data[draw.integers(len(data))] = draw.integers(256)
    if seed % 3 == 0:
        del data[draw.integers(len(data)) :]
    if seed % 7 == 0:
        data[8:16] = struct.pack("<Q", int(draw.integers(1 << 63)))
    path.write_bytes(data)
    with suppress(TraceError):
        check(converter.read(path, "tally"))

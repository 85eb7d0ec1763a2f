"""Files that a piece was lost of: events that were in other pages are read, on their CPU, with a warning."""

from collections import Counter

import pytest
from prefixes import prefix
from support.inputs.damaged_inputs import FIXTURES, files_at, reading_of
from support.trace_cmd.files import PAGE, File, Kernel

from converter.formats.trace_cmd.reading.reader import read
from converter.storage.opening import open_source

K = Kernel()
#: Records of a page, which is nearly full.
RECORDS = 120


def page(ts, pid):
    return K.page(ts, *(K.record(1, K.slice(pid, n)) for n in range(RECORDS)))


PAGES = {cpu: [page(1000 * (2 * n + cpu + 1), cpu + 1) for n in range(4)] for cpu in (0, 1)}


def made(version):
    file = File(K, {cpu: b"".join(pages) for cpu, pages in PAGES.items()})
    return file.version_6() if version == "6" else file.version_7(version)


def events(data):
    trace = read(open_source(data))
    found = Counter()
    for batch in trace.batches():
        found.update(zip((batch.ts // 1000).tolist(), batch.cpu.tolist(), strict=True))
    return found, trace.warnings


WHOLE = {(2 * n + cpu + 1, cpu): RECORDS for cpu in (0, 1) for n in range(4)}


@pytest.mark.parametrize("version", ["6", "none", "zstd", "zlib"])
@pytest.mark.parametrize("size", [8, 60])
def test_a_piece_of_the_metadata_is_lost(version, size):
    data = made(version)
    assert events(data) == (WHOLE, [])
    start = 300
    found, warnings = events(data[:start] + data[start + size :])
    assert found == WHOLE
    assert warnings


@pytest.mark.parametrize("version", ["6", "none"])
@pytest.mark.parametrize("size", [68, PAGE + 68, PAGE])
@pytest.mark.parametrize("cpu", [0, 1])
@pytest.mark.parametrize("number", range(3))
def test_a_piece_of_the_pages_is_lost(version, size, cpu, number):
    data = made(version)
    start = data.index(PAGES[cpu][number]) + 1000
    found, warnings = events(data[:start] + data[start + size :])
    assert warnings
    touched = {(2 * n + cpu + 1, cpu) for n in range(number, number + 1 + -(-size // PAGE))}
    for place, count in WHOLE.items():
        if place not in touched:
            assert found[place] == count, place
    assert set(found) <= set(WHOLE)
    assert all(found[place] <= count for place, count in WHOLE.items())


@pytest.mark.parametrize("version", ["6", "none"])
@pytest.mark.parametrize("filling", [b"\0", b"\x9d"])
@pytest.mark.parametrize(("start", "size"), [(0, 16), (0, PAGE), (2000, 500), (2000, PAGE)])
def test_pages_are_overwritten(version, filling, start, size):
    data = made(version)
    start += data.index(PAGES[0][1])
    found, warnings = events(data[:start] + filling * size + data[start + size :])
    assert warnings
    touched = {(3, 0)} if size + (start % PAGE) <= PAGE else {(3, 0), (5, 0)}
    assert all(found[place] == count for place, count in WHOLE.items() if place not in touched)
    assert set(found) <= set(WHOLE)


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        # As much earlier as the file is short there are format texts, or another CPU's records, that could be a page.
        ("trace_cmd-v6.dat", 14102),
        ("trace_cmd-v6.dat", 19201),
        ("trace_cmd-v6.dat", 20492),
        ("trace_cmd-v6.dat", 21780),
        # Records end with what could be the header of a section of options, which leads to the end.
        ("trace_cmd-v7_none.dat", 16560),
        ("trace_cmd-v7_none.dat", 18076),
    ],
)
def test_a_file_that_is_cut_has_not_lost_a_piece_within(name, cut):
    files = files_at(FIXTURES / "generated" / name)
    whole = reading_of(files, "trace_cmd", cpus=False)
    before = reading_of(prefix(files, "", cut - 1), "trace_cmd", cpus=False)
    found = reading_of(prefix(files, "", cut), "trace_cmd", cpus=False)
    # Of what is cut before the first page no event can be read, which is an error.
    assert found is not None or before is None
    if found is not None:
        assert before is None or before.events <= found.events
        assert found.events <= whole.events
        assert found.warnings

"""What the pages of conformance say of each clause: no cell is empty, and the tests that they name are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs/formats").glob("*-conformance.md"))
#: A test, or a module of tests.
NAMED = re.compile(r"`((?:[\w/]+/)?test_\w+)(?:\.py)?(?:::(test_\w+))?`")


def rows(page):
    """The cells of each row of the page's tables, without headings."""
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        if cells and cells[0] != "clause" and not set(cells[0]) <= set("- :"):
            yield cells


def test_there_are_pages():
    assert PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_cell_is_empty(page):
    found = list(rows(page))
    assert len(found) > 10
    assert [cells for cells in found if not all(cells)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tests_that_are_named_are_there(page):
    room = ROOT / "tests/formats" / page.stem.removesuffix("-conformance")
    for cells in rows(page):
        for module, test in NAMED.findall(cells[-1]):
            path = ROOT / f"{module}.py" if "/" in module else room / f"{module}.py"
            assert path.is_file(), cells
            assert not test or re.search(rf"^def {test}\(", path.read_text(), re.MULTILINE), cells


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_not_tested_says_why(page):
    for cells in rows(page):
        assert NAMED.search(cells[-1]) or len(cells[-1].split()) > 1, cells


def test_a_name_that_is_not_there_is_noticed(tmp_path):
    page = tmp_path / "trace_cmd-conformance.md"
    page.write_text(
        "| clause | tested by |\n| --- | --- |\n| a | `test_reader.py::test_nothing` |\n"
    )
    with pytest.raises(AssertionError):
        test_tests_that_are_named_are_there(page)
    page.write_text("| clause | tested by |\n| --- | --- |\n| a | |\n")
    with pytest.raises(AssertionError):
        test_no_cell_is_empty(page)

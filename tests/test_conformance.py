"""What the pages of conformance say of each clause: no cell is empty, tests and cases that they name are there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs/formats").glob("*-conformance.md"))
#: A test, of those with cases perhaps one, or a module of tests.
NAMED = re.compile(r"`((?:[\w/]+/)?test_\w+)(?:\.py)?(?:::(test_\w+)(?:\[([^`]+)\])?)?`")
#: Pages on which every clause is tested, and of how many clauses at least.
TESTED = {"ctf-conformance": 50}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def tables(page):
    """The headings and the cells of each row of the page's tables; all rows are as wide as their heading."""
    headings = None
    for line in page.read_text().splitlines():
        cells = cells_of(line)
        if cells and cells[0] == "clause":
            headings = cells
        elif cells and not set(cells[0]) <= set("- :"):
            assert headings is None or len(cells) == len(headings), cells
            yield headings or cells, cells


def rows(page):
    """The cells of each row, without headings."""
    for _, cells in tables(page):
        yield cells


@cache
def tree_of(path):
    return ast.parse(path.read_text())


@cache
def functions(path):
    """The tests of a file."""
    return {one.name for one in tree_of(path).body if isinstance(one, ast.FunctionDef)}


@cache
def texts(path):
    """The texts in a file and in those that it shares with others, which name the cases of tests."""
    sources = [path, *sorted((ROOT / "tests/support").rglob("*_cases.py"))]
    return {
        node.value
        for source in sources
        for node in ast.walk(tree_of(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def inputs_of(path):
    """The modules that a module of tests has its cases from."""
    return [
        (ROOT / "tests" / node.module.replace(".", "/")).with_suffix(".py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("support.")
    ]


def test_there_are_pages():
    assert TESTED.keys() <= {page.stem for page in PAGES}


@each_page
def test_no_cell_is_empty(page):
    found = list(rows(page))
    assert len(found) > 10
    assert [cells for cells in found if not all(cells)] == []


@each_page
def test_tests_that_are_named_are_there(page):
    room = ROOT / "tests/formats" / page.stem.removesuffix("-conformance")
    for cells in rows(page):
        for module, test, case in NAMED.findall(cells[-1]):
            path = room / f"{module}.py"
            if not path.is_file():
                path = ROOT / f"{module}.py"
            assert path.is_file(), cells
            assert not test or test in functions(path), cells
            assert not case or case in texts(path).union(*map(texts, inputs_of(path))), cells


@each_page
def test_modules_that_are_named_are_there(page):
    room = ROOT / "converter/formats" / page.stem.removesuffix("-conformance")
    for headings, cells in tables(page):
        assert "where" in headings, headings
        found = []
        for inside, name in re.findall(
            r"(\(?)`([\w/]+)(?:\.\w+)?`", cells[headings.index("where")]
        ):
            if inside:
                # Something in the module before.
                assert any(name in path.read_text() for path in found), cells
                continue
            # Of the format's room, or of another one.
            paths = list(room.glob(f"{name}.p*")) or (ROOT / "converter").glob(f"{name}.p*")
            found = [path for path in paths if path.suffix != ".pyi"]
            assert found, cells
        assert found, cells


@each_page
def test_what_is_not_tested_says_why(page):
    for cells in rows(page):
        assert NAMED.search(cells[-1]) or len(cells[-1].split()) > 1, cells


@pytest.mark.parametrize("name", TESTED)
def test_every_clause_is_tested(name):
    found = list(rows(ROOT / f"docs/formats/{name}.md"))
    assert len(found) >= TESTED[name]
    for cells in found:
        # Nothing stands there but the names of tests.
        named = [match.group(0) for match in NAMED.finditer(cells[-1]) if match.group(2)]
        assert named and cells[-1] == ", ".join(named), cells


@pytest.mark.parametrize(
    "named",
    [
        "`test_reader.py::test_nothing`",
        "`test_layout.py::test_pages_of_every_geometry_read_back[no such case]`",
        "",
        "more | cells",
    ],
)
def test_tests_that_are_not_there_are_noticed(named, tmp_path):
    page = tmp_path / "trace_cmd-conformance.md"
    page.write_text(f"| clause | tested by |\n| --- | --- |\n| a | {named} |\n")
    with pytest.raises(AssertionError):
        test_tests_that_are_named_are_there(page)
        test_no_cell_is_empty(page)


@pytest.mark.parametrize("where", ["`no_such_module`", "`reader` (`no_such_thing`)", "reader"])
def test_modules_that_are_not_there_are_noticed(where, tmp_path):
    page = tmp_path / "trace_cmd-conformance.md"
    page.write_text(f"| clause | where |\n| --- | --- |\n| a | {where} |\n")
    with pytest.raises(AssertionError):
        test_modules_that_are_named_are_there(page)

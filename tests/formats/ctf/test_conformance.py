"""The table of clauses in docs/formats/ctf-conformance.md: each row is whole, and names tests that there are."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TABLE = HERE.parents[2] / "docs" / "formats" / "ctf-conformance.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TABLE.read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| clause", "| ---"))
]


@cache
def functions(file: str) -> frozenset[str]:
    """The tests of a file."""
    tree = ast.parse((HERE / f"{file}.py").read_text())
    return frozenset(one.name for one in tree.body if isinstance(one, ast.FunctionDef))


@cache
def cases(file: str) -> frozenset[str]:
    """The texts in a file and in the cases that several files share, which name the cases of tests."""
    sources = [HERE / f"{file}.py", HERE.parents[1] / "support" / "ctf_metadata_cases.py"]
    return frozenset(
        node.value
        for source in sources
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_both_versions_have_rows() -> None:
    assert len(ROWS) > 50


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_each_clause_names_the_tests_that_would_notice(row: list[str]) -> None:
    assert len(row) == 4 and all(row)
    named = re.findall(r"`([^`]+)`", row[3])
    assert named and row[3] == ", ".join(f"`{one}`" for one in named)
    for one in named:
        found = re.fullmatch(r"(test_\w+)::(test_\w+)(?:\[(.+)\])?", one)
        assert found is not None, one
        file, test, case = found.groups()
        assert test in functions(file), one
        assert case is None or case in cases(file), one

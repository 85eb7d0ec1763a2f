"""The notebooks of the documentation run, cell after cell."""

import ast
import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "roundtrip_fixtures"
RECIPES = sorted((ROOT / "docs/recipes").glob("*.ipynb"))


def cells_of(notebook):
    return json.loads(notebook.read_text())["cells"]


def shown_by(notebook):
    """The values of the last lines of its cells of code."""
    names = {}
    shown = []
    for cell in cells_of(notebook):
        if cell["cell_type"] == "code":
            *before, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(before, []), "<cell>", "exec"), names)
            shown.append(eval(compile(ast.Expression(last.value), "<cell>", "eval"), names))
    return shown


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the recordings are that notebooks open."""
    shutil.copy(FIXTURES / "trace_cmd/small.dat", tmp_path / "trace.dat")
    shutil.copytree(FIXTURES / "uftrace/rich", tmp_path / "calls")
    (tmp_path / "recordings").mkdir()
    for number in range(3):
        shutil.copy(tmp_path / "trace.dat", tmp_path / f"recordings/{number}.dat")
    monkeypatch.chdir(tmp_path)


def test_the_cells_of_the_notebook_run(folder):
    trace, counts, busiest, report, events = shown_by(ROOT / "docs/notebook.ipynb")
    assert "sched_waking" in report._repr_html_()
    assert "trace_cmd" in trace._repr_html_()
    assert counts[0] == ("sched_switch", 182)
    assert busiest[0][1] > 10
    assert 0 < events < 338


#: By recipe: what the last cell shows.
LAST = {
    "comparing": lambda changed: changed.keys() == {"load"} and 1.8 < changed["load"] < 2,
    "counters": lambda growth: {"name": "worker", "growth_max": 75016.0} in growth,
    "many_traces": lambda tasks: tasks[0] == {"next_comm": "git", "count_all": 3 * 75},
    "self_time": lambda rows: rows[0]["name"] == "waitpid" and rows[0]["dur_count"] == 1,
    "wakeups": lambda address: address.startswith("#t=827.") and address.count(",") == 1,
}


@pytest.mark.parametrize("name", [one.stem for one in RECIPES])
def test_the_cells_of_a_recipe_run(name, folder):
    pytest.importorskip("pyarrow")
    last = shown_by(ROOT / f"docs/recipes/{name}.ipynb")[-1]
    assert LAST[name](last), last


@pytest.mark.parametrize(
    "notebook", [ROOT / "docs/notebook.ipynb", *RECIPES], ids=lambda one: one.stem
)
def test_a_notebook_has_no_outputs(notebook):
    assert all(not cell.get("outputs") for cell in cells_of(notebook))

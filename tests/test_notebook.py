"""The notebook of the documentation runs, cell after cell."""

import ast
import json
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_cells_of_the_notebook_run(tmp_path, monkeypatch):
    notebook = json.loads((ROOT / "docs" / "notebook.ipynb").read_text())
    shutil.copy(ROOT / "roundtrip_fixtures" / "trace_cmd" / "small.dat", tmp_path / "trace.dat")
    monkeypatch.chdir(tmp_path)
    names = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        *before, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(before, []), "<cell>", "exec"), names)
        shown.append(eval(compile(ast.Expression(last.value), "<cell>", "eval"), names))
    trace, counts, busiest, report, events = shown
    assert "sched_waking" in report._repr_html_()
    assert "trace_cmd" in trace._repr_html_()
    assert counts[0] == ("sched_switch", 182)
    assert busiest[0][1] > 10
    assert 0 < events < 338


def test_the_notebook_has_no_outputs():
    notebook = json.loads((ROOT / "docs" / "notebook.ipynb").read_text())
    assert all(not cell.get("outputs") for cell in notebook["cells"])

"""The examples of docs/library.md do what the page says, as they stand there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import converter

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "library.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the page's files are."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "roundtrip_fixtures/trace_cmd/small.dat", "trace.dat")
    return tmp_path


def test_the_examples_run_one_after_the_other(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    names = {"__name__": "example"}
    for number, text in enumerate(EXAMPLES):
        exec(compile(text, f"{PAGE.name}, example {number}", "exec"), names)
    assert names["total"] > 0
    assert names["busiest"]
    written = parquet.read_table(folder / "sched.parquet")
    assert set(written["system"].to_pylist()) == {"sched"}
    for made in ("mine.pftrace", "jobs.dat", "jobs.fxt", "jobs-chrome.json", "jobs-ctf.ctf"):
        with converter.open_trace(folder / made) as trace:
            assert trace.events().count > 0
            assert not trace.warnings


def test_the_examples_are_typed(folder):
    pytest.importorskip("mypy", reason="mypy is not installed")
    example = folder / "example.py"
    example.write_text("\n".join(EXAMPLES))
    done = subprocess.run(
        # As the package itself is checked, so that what is known of it is used.
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(example)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

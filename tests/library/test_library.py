"""The Python of the pages does what they say, as it stands there."""

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import converter

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "library.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
#: Pages with examples that stand by themselves, and what these need besides.
OTHER_PAGES = {
    "README.md": "",
    "docs/arrow.md": "pandas",
    "docs/command/selections.md": "",
    "docs/command/split.md": "",
    "docs/fixtures.md": "",
    "docs/guides/tools.md": "",
    "docs/merging.md": "",
}


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


def typed_examples(folder):
    """The names of files with the examples of all pages but those of libraries without types."""
    texts = {"library": "\n".join(EXAMPLES)}
    for name, needs in OTHER_PAGES.items():
        for number, text in enumerate(examples_of(ROOT / name) if not needs else ()):
            has_import = "import converter\n" in text
            texts[f"{Path(name).stem}_{number}"] = (
                text if has_import else f"import converter\n{text}"
            )
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return [str(folder / f"{name}.py") for name in texts]


def test_the_examples_are_typed(folder):
    pytest.importorskip("mypy", reason="mypy is not installed")
    examples = typed_examples(folder)
    done = subprocess.run(
        # As the package itself is checked, so that what is known of it is used.
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", *examples],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_are_clean_for_pyright(folder):
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    typed_examples(folder)
    (folder / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT)]}))
    command = [pyright, "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_public_is_documented():
    rows = re.findall(r"^\| `(\w+)` \| \S", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(converter.__all__)


def examples_of(page):
    """The blocks of Python of a page, in either form."""
    text = page.read_text()
    found = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE):
        code = textwrap.dedent(block).strip() + "\n"
        if re.match(r"import |from |with converter", code):
            found.append(code)
    # Tests of somebody's own are for pytest: tests/fixtures/test_pytest_plugin.py has such.
    return [code for code in found if "def test_" not in code]


@pytest.mark.parametrize("name", OTHER_PAGES)
def test_examples_of_other_pages_run(name, folder):
    if OTHER_PAGES[name]:
        pytest.importorskip(OTHER_PAGES[name])
    shutil.copy("trace.dat", "kernel.dat")
    shutil.copytree(ROOT / "roundtrip_fixtures/ctf/ctf_small", "ust")
    (folder / "app.json").write_text('[{"ph": "i", "name": "start", "ts": 5, "pid": 1, "tid": 1}]')
    found = examples_of(ROOT / name)
    assert found
    for number, text in enumerate(found):
        exec(compile(text, f"{name}, example {number}", "exec"), {"converter": converter})


def test_no_page_has_examples_that_are_not_run():
    pages = {
        str(page.relative_to(ROOT))
        for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
        if examples_of(page)
    }
    # What one tells to write is tested by tests/test_adding_a_format.py, another needs workers.
    elsewhere = {"docs/adding_a_format.md", "docs/scale.md"}
    assert pages == {*OTHER_PAGES, "docs/library.md"} | elsewhere

"""Links of README and of all pages lead to files, and to headings, that are there."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "benchmarks/README.md")),
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
#: Outside code, whose brackets mean something else.
CODE = re.compile(r"^```.*?^```$|^    .*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(page):
    """What headings of a page are called in links: as GitHub makes it."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = CODE.sub("", page.read_text())
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        place = page.parent / path if path else page
        if not place.exists() or (anchor and anchor not in anchors(place)):
            broken.append(target)
    assert not broken


def test_every_page_is_in_the_site():
    named = set(
        re.findall(r"^ +- ([\w/.-]+)$", (ROOT / ".ci" / "mkdocs.yml").read_text(), re.MULTILINE)
    )
    pages = {
        str(page.relative_to(ROOT / "docs")) for page in PAGES if ROOT / "docs" in page.parents
    }
    assert pages <= named


@pytest.mark.skipif(
    not importlib.util.find_spec("mkdocs") or not importlib.util.find_spec("mkdocstrings"),
    reason="mkdocs is not installed: pip install 'traceconv[docs]'",
)
def test_the_site_is_built_without_a_warning(tmp_path):
    program = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q"]
    program += ["-f", ROOT / ".ci" / "mkdocs.yml", "-d", tmp_path / "site"]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "guides" / "kernel" / "index.html").exists()


def test_pictures_are_small():
    pictures = sorted((ROOT / "docs").rglob("*.png"))
    assert pictures
    assert [one.name for one in pictures if one.stat().st_size > 100_000] == []

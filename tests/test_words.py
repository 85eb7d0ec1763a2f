"""Docstrings and comments are plain English in standard terms (docs/glossary.md)."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: Words that a native engineer of the field does not write there, each with those to write instead.
WORDS = {
    r"behind": "after",
    r"in front of": "before",
    r"so many": "n, or count",
    r"likewise": "also",
    r"anew": "again",
    r"in small letters": "in lower case",
    r"begun": "started",
    r"told": "given, passed, reported",
    r"stands?|stood": "is, appears, is stored",
    r"rehears\w+": "tracing run",
    r"stretch\w*": "range, segment",
    r"takes? back|taken back": "cancels",
    r"whoever": "a caller that",
    r"lanes?": "stack, track",
    r"moments?": "timestamp, time",
}
_WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
#: For what users read: "at that moment" and lanes are plain English there.
WORD_OF_MESSAGES = re.compile(
    rf"\b(?:{'|'.join(word for word in WORDS if word not in (r'lanes?', r'moments?'))})\b",
    re.IGNORECASE,
)
#: A sentence that begins so has no subject: "Return True if", "The thread of".
_BEGIN = re.compile(r"\s*(?:What|Whether|Whoever|How|Where|Of)\b")
_BEGIN_OF_DOCSTRING = re.compile(rf'"""{_BEGIN.pattern}')
_KERNEL_PROSE = re.compile(r'"""(.*?)"""|#([^\n]*)', re.DOTALL)


def prose_of(text: str, *, python: bool) -> Iterator[tuple[str, bool]]:
    """Yield docstrings (True) and comments (False)."""
    if not python:
        for found in _KERNEL_PROSE.finditer(text):
            yield found[1] or found[2] or "", found[1] is not None
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string, False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield docstring, True


def faults(text: str, *, python: bool) -> list[str]:
    """Return the words and beginnings that do not belong into docstrings and comments."""
    # Parsing every file takes long; few have such a word anywhere.
    if not (_WORD.search(text) or _BEGIN_OF_DOCSTRING.search(text)):
        return []
    found = []
    for prose, is_docstring in prose_of(text, python=python):
        found += _WORD.findall(prose)
        if is_docstring and _BEGIN.match(prose):
            found.append(prose.strip().split("\n")[0])
    return found


SOURCES = sorted(
    path
    for path in (ROOT / "converter").rglob("*")
    if path.suffix in (".py", ".pyx", ".pxd", ".pyi") and "schemas" not in path.parts
)


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in SOURCES}), ids=lambda one: str(one.relative_to(ROOT))
)
def test_the_code_speaks_plain_english(folder):
    wrong = {
        path.name: found
        for path in SOURCES
        if path.parent == folder
        and (found := faults(path.read_text(), python=path.suffix in (".py", ".pyi")))
    }
    assert not wrong, wrong


def messages_of(text: str) -> Iterator[str]:
    """Yield the texts in code that are sentences rather than names or docstrings."""
    tree = ast.parse(text)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings and " " in node.value:
            yield node.value


def words_in_messages(text: str) -> list[str]:
    """Return the messages in code that have words which do not belong there."""
    if not WORD_OF_MESSAGES.search(text):
        return []
    return [message for message in messages_of(text) if WORD_OF_MESSAGES.search(message)]


def test_messages_speak_plain_english():
    wrong = {
        str(path.relative_to(ROOT)): found
        for path in SOURCES
        if path.suffix == ".py" and (found := words_in_messages(path.read_text()))
    }
    assert not wrong, wrong


def test_other_words_are_found():
    text = '"""Whether it is."""\n# behind it\nBEHIND = "behind"\ndef f():\n    """Return so many."""\n'
    assert faults(text, python=True) == ["behind", "Whether it is.", "so many"]
    assert faults('"""Of a kernel."""\n# In front of it\n', python=False) == [
        "Of a kernel.",
        "In front of",
    ]


def test_the_glossary_has_a_line_for_each_term():
    lines = (ROOT / "docs/glossary.md").read_text().splitlines()
    terms = [line.split("|")[1].strip() for line in lines if line.startswith("| ")][2:]
    assert len(terms) >= 30
    assert terms == sorted(terms)

"""Pages of documentation are short, in short sentences of plain words; so is the help of the command."""

import re
from pathlib import Path

import pytest
from test_words import WORD_OF_MESSAGES

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *((ROOT / name) for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
#: Words on a page that is read from its beginning to its end.
MOST_WORDS = 2500
#: Words in a sentence, on average.
MOST_IN_A_SENTENCE = 25
#: Pages that are looked things up in.
REFERENCES = {"api.md", "changelog_details.md", "losses.md", "perfetto_messages.md"}
#: Pages of formats that are to be cut, and whose words are to be mended.
LONG: set[str] = set()
UNMENDED: set[str] = set()

CODE = re.compile(r"^```.*?^```$|^    .*?$|<!--.*?-->", re.MULTILINE | re.DOTALL)


def ids(page):
    return str(page.relative_to(ROOT))


def sentences(text):
    """Return the sentences of a page's paragraphs and lists."""
    text = re.sub(r"^[|#].*$", "\n", CODE.sub("", text), flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", "x", re.sub(r"\]\([^)]*\)", "]", text))
    paragraphs = re.split(r"\n\s*\n|\n(?=[-*] )|\n(?=\d+\. )", text)
    found = [one for paragraph in paragraphs for one in re.split(r"(?<=[.!?:])\s+", paragraph)]
    return [one for one in found if len(one.split()) > 1]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_a_page_is_short(page):
    words = len(page.read_text().split())
    assert words <= MOST_WORDS or page.name in REFERENCES | LONG


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_sentences_are_short(page):
    lengths = [len(one.split()) for one in sentences(page.read_text())]
    average = sum(lengths) / max(len(lengths), 1)
    assert average <= MOST_IN_A_SENTENCE or page.name == "ctf-conformance.md"


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_words_are_plain(page):
    if page.name in UNMENDED:
        pytest.skip("to be mended")
    text = re.sub(
        r"`[^`]*`",
        "",
        re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL),
    )
    found = [line for line in text.splitlines() if WORD_OF_MESSAGES.search(line)]
    assert not found


def test_help_is_plain():
    for path in [*(ROOT / "converter/cli/help").iterdir(), ROOT / "share/man/man1/traceconv.1"]:
        assert not WORD_OF_MESSAGES.search(path.read_text()), path


def test_sentences_are_found():
    text = "# A title\n\nOne two three. Four five:\n\n    code that is long\n\n- six `a b c` seven\n| a | b |\n"
    assert [len(one.split()) for one in sentences(text)] == [3, 2, 4]

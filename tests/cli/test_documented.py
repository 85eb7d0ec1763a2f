"""The examples of all pages print what these say: ``$ traceconv ...``, then what appears, ``...`` for any lines.

``TRACECONV_WRITE_EXAMPLES=1 pytest tests/cli/test_documented.py`` writes the outputs into the pages.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest
from support.command.printed_commands import ROOT, Example, examples

from converter.cli import main

FIXTURES = ROOT / "roundtrip_fixtures"
#: The inputs of examples, in the folder where they run.
INPUTS = {
    "trace.dat": FIXTURES / "trace_cmd" / "small.dat",
    "app.json": FIXTURES / "chrome" / "features.json",
    "uftrace.data": FIXTURES / "uftrace" / "rich",
    "lttng-traces/auto-1": FIXTURES / "ctf" / "ctf_small",
}
WRITES = "TRACECONV_WRITE_EXAMPLES" in os.environ


@pytest.mark.parametrize(
    "example", examples(), ids=lambda example: f"{example.page.stem}: {example.command}"
)
def test_examples_print_what_the_page_says(example, tmp_path, monkeypatch, capfd):
    for name, source in INPUTS.items():
        if name in example.command:
            copy = shutil.copytree if source.is_dir() else shutil.copy
            (tmp_path / name).parent.mkdir(exist_ok=True)
            copy(source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    main(shlex.split(example.command)[1:])
    shown = capfd.readouterr()
    text = shown.out + shown.err
    if WRITES and not example.matches(text):
        write(example, text)
        return
    assert example.matches(text), text


def write(example: Example, text: str) -> None:
    """Write an output into its page, where earlier ones may have moved the command."""
    (now,) = [
        one for one in examples() if one.page == example.page and one.command == example.command
    ]
    now.page.write_text("\n".join(now.replaced(text)) + "\n")


def test_there_are_examples() -> None:
    assert len(examples()) >= 5


def test_an_output_may_have_blank_lines_and_be_cut(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    example = Example(page, 1, "traceconv info x", ("a", "", "b", "..."))
    page.write_text("text\n    $ traceconv info x\n    a\n\n    b\n    ...\n\nmore\n")
    assert example.matches("a\n\nb\nc\nd\n")
    assert example.matches("a\n\nb\n")
    assert not example.matches("a\nb\nc\n")
    assert example.replaced("1\n2\n\n4\n5\n") == [
        "text",
        "    $ traceconv info x",
        *("    1", "    2", "", "    ..."),
        "",
        "more",
    ]

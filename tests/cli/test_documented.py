"""The examples in docs/cli.md print what it says: ``$ traceconv ...``, then what appears, ``...`` for any lines."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from converter.cli import main

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"


def examples():
    """The commands, and what they print."""
    found = []
    lines = (ROOT / "docs/cli.md").read_text().splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("    $ traceconv "):
            continue
        printed = []
        for following in lines[number + 1 :]:
            if not following.startswith("    "):
                break
            printed.append(following[4:])
        found.append((line.removeprefix("    $ traceconv "), printed))
    return found


@pytest.mark.parametrize(("command", "printed"), examples(), ids=lambda value: str(value)[:40])
def test_examples_print_what_the_page_says(command, printed, tmp_path, monkeypatch, capfd):
    shutil.copy(TRACE, tmp_path / "trace.dat")
    monkeypatch.chdir(tmp_path)
    main(shlex.split(command))
    shown = capfd.readouterr()
    text = "\n".join(line.strip() for line in (shown.out + shown.err).splitlines())
    wanted = "\n".join(line.strip() for line in printed)
    pattern = "".join(
        r"(.*\n)*" if part == "...\n" else re.escape(part)
        for part in re.split(r"(^\.\.\.\n)", wanted, flags=re.MULTILINE)
    )
    assert re.fullmatch(pattern, text), text


def test_there_are_examples():
    assert len(examples()) >= 5

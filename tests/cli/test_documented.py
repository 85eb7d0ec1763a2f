"""The examples of all pages print what these say: ``$ traceconv ...``, then what appears, ``...`` for any lines."""

import re
import shlex
import shutil

import pytest
from support.printed_commands import ROOT, examples

from converter.cli import main

TRACE = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"


@pytest.mark.parametrize(("command", "printed"), examples(), ids=lambda value: str(value)[:40])
def test_examples_print_what_the_page_says(command, printed, tmp_path, monkeypatch, capfd):
    shutil.copy(TRACE, tmp_path / "trace.dat")
    monkeypatch.chdir(tmp_path)
    main(shlex.split(command)[1:])
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

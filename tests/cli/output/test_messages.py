"""Lines on standard error."""

import io
import sys

import pytest

from converter.cli.output import messages


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def printed(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    messages.error("a")
    messages.error("b", name="traceconv info")
    messages.warning("c")
    messages.note("d")
    return stream.getvalue()


PLAIN = "traceconv: a\ntraceconv info: b\ntraceconv: c\ntraceconv: d\n"


def test_on_a_terminal_they_are_coloured(monkeypatch):
    assert printed(monkeypatch, Terminal()) == (
        "\x1b[31mtraceconv:\x1b[0m a\n\x1b[31mtraceconv info:\x1b[0m b\n"
        "\x1b[33mtraceconv:\x1b[0m c\ntraceconv: d\n"
    )


def test_elsewhere_they_are_not(monkeypatch):
    assert printed(monkeypatch, io.StringIO()) == PLAIN


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_nor_where_nobody_wants_it(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert printed(monkeypatch, Terminal()) == PLAIN

"""Nothing from an input reaches a terminal unescaped, and passwords of URLs reach nobody: over all commands."""

from __future__ import annotations

import errno
import io
import json
import os
import pty
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from converter.cli import main
from converter.cli.commands.table import COMMANDS
from converter.errors.terminal import PrintableBytes, printable, printable_lines, without_secrets
from tests.support.samples import sampled
from tests.support.system.web_server import serving

ROOT = Path(__file__).parents[2]
#: What acts on terminals: a title, a colour, C1, other directions of text, line separators, deletion.
HOSTILE = "n\x1b]0;t\x07\x1b[31m\x9b2J\u202e\u2028\u2029\u200f\x7f\x85\ufeff"
NAME = HOSTILE.replace("\x85", "")
EVENTS = {
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": HOSTILE}},
        {"ph": "X", "name": HOSTILE, "cat": HOSTILE, "ts": 1, "dur": 2, "pid": 1, "tid": 1},
        {"ph": "i", "name": "a", "ts": 2, "pid": 1, "tid": 1, "args": {HOSTILE: HOSTILE}},
        {"ph": "C", "name": HOSTILE, "ts": 3, "pid": 1, "args": {HOSTILE: 1}},
        {"ph": HOSTILE, "name": HOSTILE, "ts": 4, "pid": HOSTILE, "tid": HOSTILE},
    ],
    HOSTILE: HOSTILE,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Traces of hostile texts under hostile names: sound ones, damaged ones, an archive, and what is none."""
    at = tmp_path_factory.mktemp("terminals")
    text = json.dumps(EVENTS, ensure_ascii=False).encode()
    (at / f"{NAME}.json").write_bytes(text)
    (at / f"cut{NAME}.json").write_bytes(text[:-60])
    (at / f"none{NAME}").write_bytes(b"\x1b[31m\xc2\x9b2J none")
    (at / f"empty{NAME}").write_bytes(b"")
    for suffix in ("fxt", "dat", "uftrace", "pftrace"):
        source, target = at / f"{NAME}.json", at / f"{NAME}.{suffix}"
        assert main([str(source), "-o", str(target), "-q"]) == 0
    with tarfile.open(at / "a.tar", "w") as archive:
        for name in (f"{NAME}/metadata", f"{NAME}/s"):
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"\x1b[3x"))
    # Children have the modules of what ran before: each would import them again.
    for command in ("info", "check", "report"):
        main([command, str(at / f"cut{NAME}.json"), "-q"])
    several = at / "several"
    several.mkdir()
    shutil.copy(at / f"{NAME}.json", several / f"{NAME}.json")
    shutil.copy(at / f"cut{NAME}.json", several / f"x{NAME}.json")
    shutil.copy(at / f"none{NAME}", several / f"y{NAME}")
    return at


def on_terminal(folder, arguments):
    """What a command writes to a terminal, and its exit status: in a child, which has all modules already."""
    child, terminal = pty.fork()
    if not child:
        status = 99
        try:
            os.chdir(folder)
            os.environ.update(NO_COLOR="1", COLUMNS="200")
            sys.stdout = open(1, "w", errors="backslashreplace", closefd=False)
            sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)
            status = main(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
    shown = b""
    try:
        while piece := os.read(terminal, 1 << 16):
            shown += piece
    except (
        OSError
    ) as error:  # Linux ends what is read of a terminal that nobody has open with an error
        if error.errno != errno.EIO:
            raise
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def acting(shown):
    """The characters in a text that act on a terminal, or turn its direction."""
    return {one for one in shown.replace("\r\n", "") if not one.isprintable() and one != "\t"}


#: What is printed to a terminal: of each command, and of each kind of input.
LINES = [
    *(
        [*command, f"{start}{NAME}.{suffix}"]
        for command in (["info"], ["info", "--events", "9", "--stats", "--timeline"], ["check"])
        for start, suffix in (("", "json"), ("cut", "json"), ("", "fxt"))
    ),
    *(["report", f"{NAME}.{suffix}"] for suffix in ("json", "fxt", "dat", "uftrace", "pftrace")),
    ["report", "--csv", f"{NAME}.json"],
    ["report", "--json", f"{NAME}.json"],
    ["report", "--csv", f"cut{NAME}.json"],
    ["info", "--json", f"cut{NAME}.json"],
    ["check", "--json", f"cut{NAME}.json"],
    [f"cut{NAME}.json", "-v", "-o", f"o{NAME}.fxt", "--force"],
    [f"{NAME}.json", "-o", "-", "-t", "json"],
    [f"{NAME}.json", "-o", "-", "-t", "perfetto"],
    [f"{NAME}.json", "-o", "/dev/stdout", "-t", "uftrace"],
    [f"{NAME}.json", "-o", "/dev/tty", "-t", "fxt"],
    [f"{NAME}.json", "-o", f"{NAME}.fxt"],
    [f"{NAME}.json", "-o", f"{NAME}.fxt", "--force", "--strict"],
    [f"{NAME}.json", f"{NAME}.fxt", "-o", f"m{NAME}.fxt", "--force", "-v"],
    [f"{NAME}.json", "-o", "-", "--losses", "-", "--dry-run", "-v", "-t", "dat"],
    [f"{NAME}.json", "-o", f"s{NAME}.json", "--split", "process", "--force"],
    ["several", "-o", f"f{NAME}.fxt", "--force", "-v"],
    ["info", "several"],
    ["check", "several"],
    ["info", "a.tar"],
    ["check", "a.tar"],
    ["a.tar", "-o", f"t{NAME}.fxt"],
    ["info", f"none{NAME}"],
    ["info", f"empty{NAME}"],
    ["info", f"missing{NAME}"],
    ["info", f"{NAME}.json", "-f", HOSTILE],
    ["info", f"{NAME}.json", "-O", f"{HOSTILE}=1"],
    ["info", f"{NAME}.json", "--where", f"{HOSTILE} == 1"],
    ["info", f"{NAME}.json", "--from", HOSTILE],
    [f"{NAME}.json", f"{NAME}.fxt", "-o", "x.fxt", "--offset", f"{HOSTILE}=+1s"],
    [f"{NAME}.json", "-o", f"o.{NAME}"],
    ["recover", f"cut{NAME}.json", "-o", f"r{NAME}.fxt", "--force"],
    ["batch", f"*{NAME}.json", "-t", "fxt", "-o", f"b{NAME}", "--scheduler", HOSTILE],
    ["diff", f"{NAME}.json", f"cut{NAME}.json"],
    ["diff", f"{NAME}.json", f"{NAME}.dat", "--json"],
    ["roundtrip", f"{NAME}.json", "--via", "dat"],
    ["view", f"{NAME}.json", "-o", f"v{NAME}.html", "--force", "--no-browser"],
    ["plot", f"{NAME}.json", "-o", f"p{NAME}.svg", "--force"],
    ["plot", f"{NAME}.json", "-o", f"p.{NAME}"],
    ["fixtures", f"x{NAME}", "--formats", "fxt", "--events", "4"],
    ["fixtures", "x", "--formats", HOSTILE],
    ["new-format", HOSTILE],
    ["formats"],
    [HOSTILE],
    ["open", f"none{NAME}", "--no-browser"],
]


def _tried() -> list[list[str]]:
    """The first line of each command, and some of the others."""
    first = {line[0]: line for line in reversed(LINES)}
    some = sampled(LINES, 3)
    return [
        line for line in LINES if line in some or line in (first.get(name) for name in COMMANDS)
    ]


@pytest.mark.parametrize(
    "arguments",
    _tried(),
    ids=lambda arguments: printable(" ".join(arguments)),
)
def test_terminals_get_no_characters_that_act(folder, arguments):
    shown, status = on_terminal(folder, arguments)
    assert acting(shown) == set()
    assert status in (0, 1, 2, 3)
    assert shown or status == 0


def test_every_command_is_among_them():
    assert set(COMMANDS) - {"convert"} <= {line[0] for line in _tried()}


def test_the_rows_of_a_batch(folder):
    """Its processes are started anew, so that once is enough."""
    shown, status = on_terminal(
        folder, ["batch", f"several/*{NAME}.json", "-t", "fxt", "-o", f"b{NAME}", "--force"]
    )
    assert (acting(shown), status) == (set(), 0)
    assert r"n\x1b]0;t\x07" in shown


def test_a_file_gets_what_a_terminal_does_not(folder, capfdbinary):
    """Only terminals are protected: files have what the trace has."""
    assert main(["report", "--csv", str(folder / f"{NAME}.json"), "-q"]) == 0
    assert "\u202e".encode() in capfdbinary.readouterr().out


@pytest.mark.parametrize("text", ["", "a", "a\tb\nc", HOSTILE, "\ud800", "é", "日本\n" + HOSTILE])
def test_escapes(text):
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)
    assert acting(printable_lines(text).replace("\n", "")) == set()
    assert printable_lines(text).count("\n") == text.count("\n")


def test_a_character_in_two_pieces():
    data = f"é{HOSTILE}日".encode() + b"\xff\xe6"
    whole = PrintableBytes()
    expected = whole.escape(data) + whole.finish()
    assert acting(expected.decode()) == set()
    assert expected.startswith("én".encode())
    assert expected.endswith("日\\xff\\xe6".encode())
    for at in range(len(data)):
        pieces = PrintableBytes()
        assert pieces.escape(data[:at]) + pieces.escape(data[at:]) + pieces.finish() == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://user:PW@host/a.json?sig=S", "http://host/a.json"),
        ("http://user@host/a", "http://host/a"),
        ("https://u:p@ss:w@h/a#token=S", "https://h/a"),
        ("http://u:p/w@h/a", "http://h/a"),
        ("http://u:p?w@h/a", "http://h/a"),
        ("http://h:8080/a/@x?s=S", "http://h:8080/a/@x"),
        ("http://h/@u/a:b@c", "http://h/@u/a:b@c"),
        ("s3://key:secret@bucket/a?b", "s3://bucket/a?b"),
        ("simplecache::https://u:p@h/a?sig=S", "simplecache::https://h/a"),
        ("404, url='https://u:p@h/a?sig=S' gone", "404, url='https://h/a' gone"),
        ("a://b, http://u:p@h/a?s", "a://b, http://h/a"),
        ("a@b:c?d", "a@b:c?d"),
    ],
)
def test_secrets_of_urls(text, shown):
    assert without_secrets(text) == shown


def test_no_command_says_what_is_secret_in_a_url(tmp_path, monkeypatch, capfd):
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    monkeypatch.chdir(tmp_path)
    with serving() as site:
        site.files["/a.json"] = json.dumps(EVENTS).encode()
        site.files["/cut.json"] = json.dumps(EVENTS).encode()[:-60]
        site.files["/none"] = b"none"
        host = site.address.replace("http://", "http://user:PASSW@")
        url, cut, none, gone = (
            f"{host}/{name}?sig=SECRET#SECRET" for name in ("a.json", "cut.json", "none", "gone")
        )
        lines = (
            ["info", url],
            ["info", cut, "--stats"],
            ["info", none],
            ["info", gone],
            ["info", url, "--json"],
            ["check", cut],
            ["check", cut, "--json"],
            ["report", cut],
            [url, "-o", "o.tcir", "--lossless", "--losses", "l.json", "-v"],
            [url, "-o", "o.pftrace", "--lossless", "-v"],
            [url, cut, "-o", "m.fxt", "-v", "--losses", "-"],
            [url, cut, "-o", "m.fxt", "--offset", f"{url}=x"],
            [url, "-o", url],
            [url, "-o", "s.fxt", "--split", "1ms"],
            ["recover", cut, "-o", "r.fxt"],
            ["batch", url, cut, "-t", "fxt", "-o", "b", "-j", "1"],
            ["diff", url, cut],
            ["roundtrip", url, "--via", "fxt"],
            ["view", url, "-o", "v.html", "--no-browser"],
        )
        # By number, as the port is another in each run.
        for number in sampled(range(len(lines)), 3):
            arguments = lines[number]
            main(arguments)
            said = "".join(capfd.readouterr())
            assert "PASSW" not in said, arguments
            assert "SECRET" not in said, arguments
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"PASSW" not in path.read_bytes(), path
            assert b"SECRET" not in path.read_bytes(), path

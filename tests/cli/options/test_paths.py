"""Where a conversion writes, and what formats, commands and options may be called."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from converter.cli import main
from converter.errors import UnknownFormatError
from converter.registry import FORMATS, format_named
from converter.storage.compression.wrapping import Wrapping, unwrapped_name

ROOT = Path(__file__).parents[3]
SMALL = ROOT / "roundtrip_fixtures" / "trace_cmd" / "small.dat"


@pytest.fixture(autouse=True)
def _inside(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def run(capfd, *arguments):
    code = main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return code, out, err


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The bytes of the conversion to FXT."""
    out = tmp_path_factory.mktemp("expected") / "out.fxt"
    assert main([str(SMALL), "-o", str(out), "-q"]) == 0
    return out.read_bytes()


def test_the_output_may_stand_behind_the_input(capfd, expected):
    assert run(capfd, SMALL, "out.fxt", "-q") == (0, "", "")
    assert Path("out.fxt").read_bytes() == expected
    code, _, err = run(capfd, SMALL, "a.fxt", "-o", "b.fxt")
    assert (code, err.count("\n")) == (1, 1), "with -o all are inputs"
    assert os.listdir() == ["out.fxt"]


@pytest.mark.parametrize("place", ["new/", "old", "old/"])
def test_in_a_directory_the_output_is_named_like_the_input(capfd, place):
    os.makedirs("old")
    code, _, _ = run(capfd, SMALL, "-o", place, "-t", "json", "-q")
    if place == "new/":
        assert code == 1, "directories are not made by a name"
    else:
        assert os.listdir("old") == ["small.json"]


@pytest.mark.parametrize("option", ["--force", "-y", "--yes"])
def test_what_replaces(capfd, option, expected):
    Path("out.fxt").write_bytes(b"mine")
    assert run(capfd, SMALL, "out.fxt", "-q", option)[0] == 0
    assert Path("out.fxt").read_bytes() == expected


@pytest.mark.parametrize("option", ["-n", "--no-clobber"])
def test_what_leaves_alone(capfd, option, expected):
    Path("out.fxt").write_bytes(b"mine")
    code, _, err = run(capfd, SMALL, "out.fxt", option)
    assert (code, err) == (0, "traceconv: out.fxt: exists already, and is left as it is\n")
    assert Path("out.fxt").read_bytes() == b"mine"
    assert run(capfd, SMALL, "out.fxt", option, "-y")[0] == 2
    assert run(capfd, SMALL, "new.fxt", option, "-q")[0] == 0
    assert Path("new.fxt").read_bytes() == expected


def shell(command):
    """Run a command of bash with `traceconv` in it."""
    return subprocess.run(
        ["bash", "-c", command.replace("traceconv", f"{sys.executable} -m converter")],
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ).stdout


@pytest.mark.parametrize(
    "command",
    [
        f"traceconv {SMALL} /dev/stdout -t fxt -q > out",
        f"traceconv {SMALL} /dev/stdout -t fxt -q | cat > out",
        f"traceconv {SMALL} /dev/fd/5 -t fxt -q 5> out",
        f"traceconv {SMALL} /proc/self/fd/5 -t fxt -q 5> out",
        f"traceconv {SMALL} >(cat > out) -t fxt -q; wait $!",
        f"mkfifo pipe; cat pipe > out & traceconv {SMALL} pipe -t fxt -q; wait",
        f"traceconv <(cat {SMALL}) out -t fxt -q",
        f"cat {SMALL} | traceconv /dev/stdin out -t fxt -q",
        f"traceconv /dev/stdin out -t fxt -q < {SMALL}",
        f"mkfifo pipe; cat {SMALL} > pipe & traceconv pipe out -t fxt -q",
    ],
)
@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc/self/fd")
def test_pipes_of_the_shell(command, expected):
    shell(command)
    assert Path("out").read_bytes() == expected


@pytest.mark.parametrize(
    ("name", "format", "variant"),
    [
        ("json", "chrome", ""),
        ("pftrace", "perfetto", ""),
        ("perfetto-trace", "perfetto", ""),
        (".pftrace", "perfetto", ""),
        ("trace-cmd", "trace_cmd", ""),
        ("ftrace", "trace_cmd", ""),
        ("lttng", "ctf", ""),
        ("CTF2", "ctf", "2"),
        ("fuchsia", "fxt", ""),
        ("ftrace+v6", "trace_cmd", "v6"),
    ],
)
def test_names_that_people_type(name, format, variant):
    found, of = format_named(name)
    assert (found.name, of) == (format, variant)


def test_no_name_is_that_of_two_formats():
    names = [n.partition("+")[0] for one in FORMATS for n in (one.name, *one.aliases)]
    assert len(names) == len(set(names))
    for one in FORMATS:
        for alias in one.aliases:
            _, plus, variant = alias.partition("+")
            assert not plus or variant in one.variants


@pytest.mark.parametrize(
    ("name", "meant"), [("perfeto", "perfetto"), ("jsn", "json"), ("trace-cmnd", "trace_cmd")]
)
def test_misspelt_formats(name, meant):
    with pytest.raises(UnknownFormatError, match=f"did you mean '{meant}'"):
        format_named(name)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["inof", "x.dat"], "did you mean 'traceconv info'?"),
        ([SMALL, "out.jsn"], "did you mean '.json'?"),
        ([SMALL, "out.fxt", "--loses", "x"], "--losses"),
    ],
)
def test_misspelt_words(capfd, arguments, said):
    code, _, err = run(capfd, *arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert said in err
    assert os.listdir() == []


def test_a_file_may_be_called_nearly_like_a_command(capfd):
    Path("inof").write_bytes(SMALL.read_bytes())
    assert run(capfd, "inof", "out.fxt", "-q")[0] == 0


@pytest.mark.parametrize(
    ("path", "name", "wrapping"),
    [
        ("a/Out.JSON", "out.json", None),
        ("out.json.gz", "out.json", Wrapping(False, "gzip")),
        ("out.fxt.zst", "out.fxt", Wrapping(False, "zstd")),
        ("out.ctf.tar.xz", "out.ctf", Wrapping(True, "xz")),
        ("out.ctf.tgz", "out.ctf", Wrapping(True, "gzip")),
        ("out.ctf.tar", "out.ctf", Wrapping(True, "")),
        ("out.ctf/", "out.ctf", None),
    ],
)
def test_suffixes_of_what_files_are_wrapped_in(path, name, wrapping):
    assert unwrapped_name(path) == (name, wrapping)

"""The table of formats, and the command between any two of them."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.samples import sampled

import converter
from converter.cli import main
from converter.ir.invariants import check
from converter.registry import FORMATS, format_named, target_format

ROOT = Path(__file__).parents[2]
FIXTURES = [
    path
    for format in FORMATS
    for path in sorted((ROOT / "roundtrip_fixtures" / format.name).glob("*"))
    if path.is_dir() or path.name.endswith((*format.suffixes, ".tar.gz"))
]
#: One fixture of each format, its smallest: what differs between fixtures of one format is the matter of its own tests.
SMALLEST = [
    min(
        (fixture for fixture in FIXTURES if fixture.parent.name == format.name),
        key=lambda path: sum(file.stat().st_size for file in (path, *path.rglob("*"))),
    )
    for format in FORMATS
    if any(fixture.parent.name == format.name for fixture in FIXTURES)
]
WRITABLE = [
    f"{format.name}+{variant}" if variant else format.name
    for format in FORMATS
    if format.writable
    for variant in format.variants or ("",)
]


def python(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, timeout=60, check=False, **options)


def test_every_format_is_in_the_table():
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "converter/formats").rglob("__init__.py")
        if "\nFORMAT = Format(" in path.read_text()
    }
    assert {format.modules for format in FORMATS} == packages
    assert len(FORMATS) == len(packages)


def test_what_is_a_directory_ends_in_a_slash(capfd):
    assert main(["formats"]) == 0
    rows = {line.split()[0]: line for line in capfd.readouterr().out.splitlines()[1:]}
    assert ".ctf/ " in rows["ctf"]
    assert "+1.8 +2 " in rows["ctf"]
    assert "+dataset/ " in rows["parquet"]
    assert ".parquet " in rows["parquet"]
    assert main(["formats", "--json"]) == 0
    found = {row["name"]: row for row in json.loads(capfd.readouterr().out)["formats"]}
    assert (found["parquet"]["directory"], found["parquet"]["directories"]) == (False, ["dataset"])
    assert (found["ctf"]["directory"], found["ctf"]["directories"]) == (True, ["1.8", "2"])


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_descriptors(format):
    assert format.title
    assert format.spec.startswith("https://")
    assert format.readable or format.writable
    assert all("." in suffix for suffix in format.suffixes)
    assert len(set(format.variants)) == len(format.variants)
    assert format_named(format.name) == (format, format.default_variant)
    if format.readable:
        assert callable(format.reader())
    if format.writable:
        assert callable(format.writer())
        for variant in () if format.holds_all else format.variants:
            assert format.capabilities(variant).kinds


def test_suffixes_lead_to_their_format():
    claimed = [suffix for format in FORMATS if format.writable for suffix in format.suffixes]
    for suffix in set(claimed):
        owner = next(format for format in FORMATS if suffix in format.suffixes and format.writable)
        assert target_format(f"some{suffix}", None)[0] is owner


def test_the_table_is_cheap():
    heavy = "{'numpy', 'construct', 'google.protobuf', 'perfetto', 'zstandard', 'rich'}"
    code = f"import sys; from converter.registry import FORMATS; print({heavy} & set(sys.modules))"
    assert python("-c", code, stdout=subprocess.PIPE).stdout == b"set()\n"


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixtures_are_recognised_and_sound(fixture):
    assert converter.detect(fixture).name == fixture.parent.name
    with converter.open_trace(fixture) as trace:
        check(trace)


@pytest.mark.parametrize(
    ("fixture", "target"),
    sampled(
        (
            (fixture.relative_to(ROOT).as_posix(), target)
            for fixture in SMALLEST
            for target in WRITABLE
        ),
        8,
    ),
)
def test_the_command_converts_everything_to_everything(fixture, target, tmp_path, capfd):
    output = tmp_path / "output"
    code = main([str(ROOT / fixture), "-o", str(output), "-t", target])
    out, err = capfd.readouterr()
    assert (code, out) == (0, ""), err
    # What is said goes on in lines that are indented.
    assert all(line.startswith(("traceconv: ", "  ")) for line in err.splitlines())
    # The templates of an AIX trace are beside it.
    assert {"output"} <= set(os.listdir(tmp_path)) <= {"output", "output.trcfmt"}
    name = target.partition("+")[0]
    # Of a trace without calls and samples, a file of collapsed stacks has no line.
    is_empty = name == "folded" and not output.stat().st_size
    assert is_empty or converter.detect(output).name == name
    with (
        converter.open_trace(ROOT / fixture) as source,
        converter.open_trace(output, name) as trace,
    ):
        check(source)
        check(trace)
        # What carries the whole input says of it what that says.
        said = {one.message for one in source.warnings}
        assert {one.message for one in trace.warnings} <= said


def test_a_small_conversion_is_quick(tmp_path):
    fixture = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"
    seconds = []
    for number in range(3):
        start = time.monotonic()
        result = python("-m", "converter", fixture, "-o", tmp_path / f"{number}.fxt", "-q")
        seconds.append(time.monotonic() - start)
        assert result.returncode == 0
    assert min(seconds) < 2.0  # 0.25 s on a machine with nothing else to do


def test_standard_input_and_output(tmp_path):
    fixture = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"
    command = ("-m", "converter", "-", "-o", "-", "-q", "-t")
    targets = [format.name for format in FORMATS if format.writable and not format.directory]
    for target in sampled(targets, 5):
        with fixture.open("rb") as file:
            piped = python(*command, target, stdin=file, stdout=subprocess.PIPE)
        assert piped.returncode == 0
        assert main([str(fixture), "-o", str(tmp_path / target), "-t", target, "-q"]) == 0
        assert piped.stdout == (tmp_path / target).read_bytes()


def test_a_pipe_that_closes_early_is_quiet():
    fixture = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        result = python(
            *("-m", "converter", fixture, "-o", "-", "-t", "fxt", "-q"),
            stdout=closed,
            stderr=subprocess.PIPE,
        )
    assert (result.returncode, result.stderr) == (141, b"")


def test_the_exit_code_of_a_loss(tmp_path):
    fixture = ROOT / "roundtrip_fixtures/trace_cmd/small.dat"
    result = python(
        "-m", "converter", fixture, "-o", tmp_path / "x.fxt", "--strict", stderr=subprocess.PIPE
    )
    assert result.returncode == 3
    assert b"not everything fits" in result.stderr
    assert os.listdir(tmp_path) == []

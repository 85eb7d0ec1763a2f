"""What `traceconv new-format` makes is a format as soon as it is installed, and does what every format has to."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

import converter
from converter.cli import main
from converter.cli.new_format import generate, modules
from converter.formats import table
from converter.formats.plugins import GROUP, PluginWarning, _may_be
from converter.registry import FORMATS, format_named

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "adding_a_format.md"
EXAMPLE = re.compile(
    r"^<!-- example: (\w+\.py) -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def install(folder, name, value):
    """What an installer leaves of an entry point."""
    place = folder / f"traceconv_{name}-1.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: traceconv-{name}\nVersion: 1\n")
    (place / "entry_points.txt").write_text(f"[traceconv.formats]\n{name} = {value}\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder that modules are imported from; what is known of formats is forgotten before and after."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    known = (table.format_of, table._elsewhere)
    for function in known:
        function.cache_clear()
    yield folder
    for function in known:
        function.cache_clear()
    for name in [name for name in sys.modules if name.startswith("traceconv_")]:
        del sys.modules[name]


@pytest.fixture
def tally(site):
    """A new format, installed."""
    project = generate("tally", site.parent / "project")
    declared = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    ((name, package),) = declared["entry-points"]["traceconv.formats"].items()
    install(site, name, package)
    (project / "src" / package).rename(site / package)
    return project


def test_the_page_has_what_is_generated_in_a_hundred_lines_or_so():
    examples = dict(EXAMPLE.findall(PAGE.read_text()))
    assert list(examples) == ["__init__.py", "layout.py", "reading.py", "writing.py"]
    assert examples == modules("tally", "converter.formats.tally")
    code = [line for text in examples.values() for line in text.splitlines() if line.strip()]
    assert len(code) <= 120


def test_the_new_package_is_typed(tally, site):
    pytest.importorskip("mypy", reason="mypy is not installed")
    # As the package itself is checked, so that what is known of it is used.
    checking = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--strict"]
    done = subprocess.run(
        [*checking, "-p", "traceconv_tally"],
        env={**os.environ, "MYPYPATH": str(site)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_new_package_passes_its_tests(tally, site):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tally / "tests")],
        env={"PYTHONPATH": f"{site}:{ROOT}", "PATH": ""},
        cwd=tally,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    # Each group of kinds, each damage, and the rest.
    assert re.search(r"3\d passed, 1 skipped", done.stdout), done.stdout


def test_it_is_a_format_like_any_other(tally, tmp_path, capsys):
    assert format_named("tally")[0] in list(table.formats())
    path = tmp_path / "markers.tally"
    report = converter.convert(ROOT / "roundtrip_fixtures/trace_cmd/markers.dat", path)
    assert len(report) > 0
    assert converter.detect(path).name == "tally"
    converter.convert(path, tmp_path / "markers.json")
    assert (tmp_path / "markers.json").stat().st_size > 1000
    # What only this format has travels in others.
    with converter.open_trace(path) as trace:
        converter.write(trace, tmp_path / "lossless.fxt", lossless=True)
    assert (
        converter.difference(converter.read(path), converter.read(tmp_path / "lossless.fxt"))
        is None
    )
    assert main(["formats"]) == 0
    assert "tally" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('no')", "ValueError: no"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("", "AttributeError"),
        ("FORMAT = 3", "its FORMAT is no converter.Format"),
        ("from converter.formats.fxt import FORMAT", "its FORMAT is called 'fxt'"),
    ],
)
def test_a_broken_one_is_a_warning(site, code, message, tmp_path):
    install(site, "broken", "traceconv_broken")
    (site / "traceconv_broken.py").write_text(code)
    with pytest.warns(PluginWarning, match=f"'broken' of traceconv_broken is left out: {message}"):
        names = [format.name for format in table.formats()]
    assert names == [format.name for format in FORMATS]


def test_no_other_takes_a_name_of_ours(site):
    install(site, "fxt", "converter.formats.fxt")
    with pytest.warns(PluginWarning, match="there is a format of this name"):
        list(table.formats())


def test_nothing_suffers_from_one_that_fails_to_recognise(site, tmp_path):
    install(site, "broken", "traceconv_broken")
    (site / "traceconv_broken.py").write_text(
        "from dataclasses import replace\n"
        "from converter.formats.fxt import FORMAT\n"
        "FORMAT = replace(FORMAT, name='broken', sniff=lambda head: head[1 << 40])\n"
    )
    path = tmp_path / "unknown"
    path.write_bytes(b"what is this?")
    with (
        pytest.warns(PluginWarning, match="recognising an input: IndexError"),
        pytest.raises(converter.UnknownFormatError),
    ):
        converter.detect(path)


@pytest.mark.parametrize("name", ["Tally", "3d", "a-b", "fxt", "", "../x"])
def test_what_is_no_name_is_refused(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-format", name]) == 2
    assert "format" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_to_do_and_replaces_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-format", "my_trace"]) == 0
    assert "pip install -e traceconv-my-trace" in capsys.readouterr().err
    made = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*"))
    assert made[0] == "traceconv-my-trace/pyproject.toml"
    assert "class TestMyTrace" in Path("traceconv-my-trace/tests/test_format.py").read_text()
    assert main(["new-format", "my_trace"]) != 0
    assert "exists" in capsys.readouterr().err


def _lies_in_a_folder(site):
    install(site, "tally", "traceconv_tally")


def _lies_in_an_egg(site):
    egg = site / "traceconv_tally.egg"
    install(egg, "tally", "traceconv_tally")
    (egg / "traceconv_tally-1.dist-info").rename(egg / "EGG-INFO")
    (egg / "EGG-INFO" / "METADATA").rename(egg / "EGG-INFO" / "PKG-INFO")
    sys.path.append(str(egg))


def _lies_in_an_archive(site):
    install(site / "inside", "tally", "traceconv_tally")
    archive = shutil.make_archive(str(site / "packages"), "zip", site / "inside")
    sys.path.append(archive)


def _is_found_by_others(site):
    install(site / "elsewhere", "tally", "traceconv_tally")

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return None

        @staticmethod
        def find_distributions(context=None):
            return [metadata.PathDistribution(site / "elsewhere" / "traceconv_tally-1.dist-info")]

    sys.meta_path.append(Finder)


@pytest.mark.parametrize(
    "lies",
    [_lies_in_a_folder, _lies_in_an_egg, _lies_in_an_archive, _is_found_by_others],
)
def test_packages_are_found_wherever_they_lie(lies, site, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(site)])
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    assert not _may_be()
    lies(site)
    assert [entry.name for entry in metadata.entry_points(group=GROUP)] == ["tally"]
    assert _may_be()

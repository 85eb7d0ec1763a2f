import re
import shutil
import tomllib
from importlib import import_module, metadata, resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def dotted(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


KERNELS = sorted((ROOT / "converter").rglob("*.pyx"))


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_installed_version_is_that_of_the_project(project):
    assert metadata.version("traceconv") == project["project"]["version"]


@pytest.mark.parametrize("kernel", KERNELS, ids=dotted)
def test_a_kernel_is_compiled_typed_and_declares_its_semantics(kernel):
    assert import_module(dotted(kernel)).__file__.endswith(".so")
    assert kernel.with_suffix(".pyi").exists()
    head = kernel.read_text().partition("\n")[0]
    assert head.startswith("# cython: language_level=3, boundscheck=False, wraparound=False")


def test_every_package_is_listed(project):
    found = {dotted(path.parent) for path in (ROOT / "converter").rglob("__init__.py")}
    listed = project["tool"]["setuptools"]["packages"]
    assert listed == sorted(found | {"converter.schemas"})
    folders = {dotted(path.parent) for path in (ROOT / "converter").rglob("*.py")}
    assert folders <= found, "a folder without __init__.py is not installed"


def test_schemas_are_installed():
    installed = resources.files("converter.schemas")
    for path in (ROOT / "schemas").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            inside = installed.joinpath(*path.relative_to(ROOT / "schemas").parts)
            assert inside.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("package", "folder"),
    [("cli", "help"), ("cli.new_format", "template"), ("analysis.viewing", "page")],
)
def test_what_modules_read_is_installed(package, folder):
    installed = resources.files(f"converter.{package}").joinpath(folder)
    for path in (ROOT / "converter" / package.replace(".", "/") / folder).iterdir():
        assert installed.joinpath(path.name).read_bytes() == path.read_bytes()


def test_the_package_is_marked_as_typed():
    assert resources.files("converter").joinpath("py.typed").is_file()


def test_the_command_is_installed():
    (script,) = metadata.entry_points(group="console_scripts", name="traceconv")
    assert script.value == "converter.cli:command"


@pytest.mark.parametrize("name", ["install", "test"])
def test_readme_has_the_commands_that_ci_runs(name):
    blocks = re.findall(
        rf"^<!-- ci:{name} -->\n```sh\n(.+)\n```$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    assert len(blocks) == 1, "one fenced block of one line"


def test_readme_has_one_place_for_the_table_of_formats():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert lines.count("<!-- formats:begin -->") == lines.count("<!-- formats:end -->") == 1
    assert lines.index("<!-- formats:begin -->") < lines.index("<!-- formats:end -->")


def test_a_missing_compiler_is_told_before_anything_is_translated(monkeypatch):
    pytest.importorskip("setuptools", minversion="77")
    build = import_module("converter.kernels.build")
    assert build._missing_tool() is None or not shutil.which("cc")
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    assert build._missing_tool() == "a C compiler, and there is no 'no-such-compiler'"
    monkeypatch.setattr(build, "_is_stale", lambda name: True)
    with pytest.raises(SystemExit, match="apt install gcc"):
        build._get_requires()
    monkeypatch.setattr(build, "_is_stale", lambda name: False)
    assert build._get_requires() == []

"""The fixture that other projects' tests get."""

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


def run(pytester, *arguments):
    # In a process of its own: this one has the plugins of this test.
    plugin = () if installed() else ("-p", "converter.pytest_plugin")
    return pytester.runpytest_subprocess(*plugin, *arguments)


def installed():
    """The entry point, none where the package was installed before it had one."""
    return [entry for entry in metadata.entry_points(group="pytest11") if entry.name == "traceconv"]


def test_the_files_are_valid_and_made_once(pytester):
    pytester.makepyfile(
        """
        import pytest
        import converter

        made = []

        @pytest.mark.parametrize("format", ["trace_cmd", "fxt+be", "uftrace", "aix", "chrome"])
        def test_reading(trace_file, format):
            path = trace_file(format, kinds="sched", events=40)
            trace = converter.read(path)
            assert trace.format == format.partition("+")[0]
            assert not trace.warnings
            assert sum(len(batch) for batch in trace.batches()) >= 40

        @pytest.mark.parametrize("number", range(2))
        def test_cache(trace_file, number):
            made.append(trace_file(format="trace_cmd", variant="v6", seed=3, events=8))
            assert made[0] == made[-1]
            assert trace_file("trace_cmd+v6", seed=3, events=8) == made[0]
            assert trace_file("trace_cmd+v6", seed=4, events=8) != made[0]

        def test_errors(trace_file):
            with pytest.raises(converter.TraceError, match="unknown format"):
                trace_file("nonsense")
            with pytest.raises(converter.TraceError, match="unknown variant"):
                trace_file("fxt", variant="nonsense")
            with pytest.raises(converter.TraceError, match="unknown kind"):
                trace_file(kinds="nonsense")
        """
    )
    run(pytester).assert_outcomes(passed=8)


def test_it_is_listed_among_the_fixtures(pytester):
    pytester.makepyfile("def test_nothing(): pass")
    result = run(pytester, "--fixtures")
    result.stdout.fnmatch_lines(["trace_file *", "*valid trace files of any format*"])


def test_loading_it_loads_nothing_else():
    """Every run of pytest on a machine with traceconv pays for it."""
    code = (
        "import sys, pytest, converter.pytest_plugin\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('numpy', 'construct', 'google')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_it_is_an_entry_point():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"traceconv": "converter.pytest_plugin"}
    if not installed():
        pytest.skip("the package was installed before it had the entry point")
    assert [entry.value for entry in installed()] == ["converter.pytest_plugin"]

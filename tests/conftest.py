"""Settings of all tests."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import (
    DirectoryBasedExampleDatabase,
    MultiplexedDatabase,
    ReadOnlyDatabase,
)
from support.viewers.trace_processor import keep_answers
from support.viewers.trace_processor_engines import engine

from converter.errors import UnsupportedError

#: What is drawn is the same for everybody; at night it is what the date says. Workers get it from here.
SEED = os.environ.setdefault("TRACECONV_SEED", "20261127")
# How slow drawing is, and how much of it is of use, measure how busy the machine is and what the day brings. Examples
# that fail are made simple when somebody asks for it, with the long profile, which is not for every change.
settings.register_profile(
    "ci",
    max_examples=12,
    deadline=None,
    # Failures that have been found once are tried first: a folder of `.hypothesis/examples` is copied there.
    database=MultiplexedDatabase(
        DirectoryBasedExampleDatabase(".hypothesis/examples"),
        ReadOnlyDatabase(DirectoryBasedExampleDatabase(Path(__file__).parent / "examples")),
    ),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
settings.register_profile("emulated", settings.get_profile("ci"), max_examples=2)
settings.register_profile("night", settings.get_profile("ci"), max_examples=50)
settings.register_profile("long", settings.get_profile("ci"), max_examples=5000, phases=list(Phase))
# What tests write is not worth waiting for the disk; those of durability switch it on again.
os.environ.setdefault("TRACECONV_NO_SYNC", "1")
# What is printed is as wide as where there is no terminal, whatever the terminal is that tests are started from.
os.environ.pop("COLUMNS", None)
settings.load_profile(os.environ.get("TRACECONV_HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Draw from the same seed each time, unless another is given to hypothesis itself."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = SEED


def pytest_report_header(config):
    return f"drawn from: TRACECONV_SEED={config.option.hypothesis_seed}"


def pytest_terminal_summary(terminalreporter, config):
    """Tell the seed with failures, too: -q leaves out the header."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(pytest_report_header(config))


@pytest.fixture(scope="session", autouse=True)
def answers_of_this_run(request, tmp_path_factory):
    """What trace_processor answers is kept for the run, in a folder that the workers of pytest-xdist share."""
    folder = tmp_path_factory.getbasetemp()
    is_worker = hasattr(request.config, "workerinput")
    keep_answers((folder.parent if is_worker else folder) / "trace_processor")
    yield
    asked = engine()
    if asked is not None:
        asked.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Skip what needs PyArrow where it is not installed, as on machines that it has no packages for.

    Tests of all formats meet it among others, and name no library themselves.
    """
    try:
        return (yield)
    except (UnsupportedError, ModuleNotFoundError) as error:
        if find_spec("pyarrow") is None and "pyarrow" in str(error):
            pytest.skip("PyArrow is not installed")
        raise


@pytest.fixture
def no_temporary_files(tmp_path):
    """No temporary file of an output stays behind, whatever the test does."""
    yield
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(".traceconv-")] == []


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable():
    """Workers of pytest-xdist send what a test says as UTF-8, which has no lone surrogates: traces have."""
    return without_surrogates((yield))


def without_surrogates(value: Any) -> Any:
    """Return a report, or part of one, with lone surrogates as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(without_surrogates, value))
    return value

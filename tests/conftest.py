"""Settings of all tests."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from support.trace_processor import keep_answers
from support.trace_processor_engines import engine

# Deadlines, and how slow drawing is, measure how busy the machine is. Examples are the same each time, so one that
# fails is made simple when somebody asks for it, with the long profile, which is for a night and not for every change.
settings.register_profile(
    "ci",
    max_examples=12,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "long", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
# What tests write is not worth waiting for the disk; those of durability switch it on again.
os.environ.setdefault("TRACECONV_NO_SYNC", "1")
# What is printed is as wide as where there is no terminal, whatever the terminal is that tests are started from.
os.environ.pop("COLUMNS", None)
settings.load_profile(os.environ.get("TRACECONV_HYPOTHESIS_PROFILE", "ci"))


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

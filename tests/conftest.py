"""Settings of all tests."""

import os

import pytest
from hypothesis import HealthCheck, settings

# Deadlines measure how busy the machine is. The long profile is for a night, not for every change.
settings.register_profile("ci", max_examples=30, deadline=None, derandomize=True)
settings.register_profile(
    "long", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("TRACECONV_HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture
def no_temporary_files(tmp_path):
    """No temporary file of an output stays behind, whatever the test does."""
    yield
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(".traceconv-")] == []

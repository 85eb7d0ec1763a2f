"""Beginnings of files; `python -m tests.prefixes` reads all of them."""

import pytest
from prefixes import faults
from support.inputs.damaged_inputs import FIXTURES, files_at


@pytest.mark.parametrize(
    ("format", "path", "name"),
    [
        ("fxt", "fxt/every-record-big.fxt", ""),
        ("perfetto", "perfetto/timeline.pftrace", ""),
        ("chrome", "chrome/nesting.json", ""),
        ("uftrace", "uftrace/rich", "718.dat"),
        ("ctf", "generated/ctf-1.8.ctf", "channel0_0"),
        ("lttng_legacy", "generated/lttng_legacy-2.6.lttng", "kernel_0"),
        ("aix", "aix/every-form-64.aix", ""),
        ("ir", "generated/aix-32.canonical.json", ""),
        ("trace_cmd", "generated/trace_cmd-v7_none.dat", ""),
    ],
)
def test_a_prefix_has_what_lies_before_the_cut(format, path, name):
    files = files_at(FIXTURES / path)
    step = max(1, len(files[name]) // 7) | 1
    assert [(cut, wrong) for cut, wrong in faults(format, files, name, step) if wrong] == []

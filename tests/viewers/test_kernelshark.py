"""What KernelShark lists of trace.dat files is what trace-cmd reports and what the projected trace says."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.samples import sampled
from support.viewers.kernelshark import Listing, is_absent, listing_of
from viewers import kernelshark_model as model
from viewers.conversions import RECORDINGS, SOURCES, Conversion, convert
from viewers.pending import reason_of
from viewers.test_trace_processor import assert_rows

import converter
from converter.fixtures import synthetic_trace
from converter.ir.collect import collect

pytestmark = pytest.mark.skipif(is_absent(), reason="libkshark is not installed")

Listed = tuple[Conversion, Listing]
#: Big-endian files, of which KernelShark 2 lists nothing.
BIG_ENDIAN = {"trace_cmd/scratch_v7_be32.dat", "trace_cmd/scratch_v7_be64.dat"}


@pytest.fixture(
    scope="module",
    params=sampled([source for source in SOURCES if source not in BIG_ENDIAN], 6),
    ids=lambda source: f"{source}-to-trace_cmd",
)
def listed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Listed:
    """A conversion and what KernelShark lists of it."""
    conversion = convert(request.param, "trace_cmd", tmp_path_factory.mktemp("kernelshark"))
    return conversion, listing_of(conversion.path)


@pytest.fixture(autouse=True)
def pending(request: pytest.FixtureRequest) -> None:
    """What is known to be shown otherwise; strict, so that what has become right is taken off the list."""
    reason = reason_of(request.node.name)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


def test_kernelshark_lists_what_is_projected(listed: Listed) -> None:
    """Each event of each CPU in order, with lost events where they were lost."""
    conversion, listing = listed
    expected, found = model.projected_rows(conversion), model.listed_rows(listing.entries)
    assert sorted(found) == sorted(expected)
    for cpu, rows in expected.items():
        assert_rows(rows, found[cpu])
        assert found[cpu] == rows


def test_kernelshark_and_trace_cmd_agree(listed: Listed) -> None:
    """In number, order and text."""
    if shutil.which("trace-cmd") is None:
        pytest.skip("trace-cmd is not installed")
    conversion, listing = listed
    expected = model.report_of("trace-cmd", conversion.path)
    found = model.report_like(listing.entries)
    assert_rows(expected, found)
    assert found == expected


def test_kernelshark_names_tasks(listed: Listed) -> None:
    conversion, listing = listed
    names = model.task_names(conversion)
    wrong = {
        (entry.pid, entry.task)
        for entry in listing.entries
        if entry.task not in model.possible_names(entry.pid, names)
    }
    assert wrong == set()


def test_switches_name_both_tasks_in_kernelshark(listed: Listed) -> None:
    """Tasks that the trace names; and a switch is shown as an event of a task that it is about."""
    conversion, listing = listed
    names = model.task_names(conversion)
    wrong = []
    for entry in listing.entries:
        tasks = model.switched(entry)
        if tasks is None:
            continue
        nameless = [
            pid for name, pid in tasks if not name and (pid == -1 or any(names.get(pid, ())))
        ]
        homeless = entry.pid == -1 and tasks[0][1] != -1
        if nameless or homeless:
            wrong.append(entry)
    assert wrong == []


def test_filters_of_kernelshark_add_up(listed: Listed) -> None:
    """By task, by event and by CPU: groups that are shown have the entries of their values."""
    _, listing = listed
    for counts in listing.filters.values():
        assert [shown for shown, _ in counts] == [count for _, count in counts]
        assert len(counts) == 0 or all(count for _, count in counts)


@pytest.mark.parametrize(
    "source", [one for one in SOURCES if one.startswith("trace_cmd/") and one not in BIG_ENDIAN]
)
def test_kernelshark_lists_a_copy_as_its_original(source: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.dat"
    converter.convert(RECORDINGS / source, copy)
    assert listing_of(copy) == listing_of(RECORDINGS / source)


@pytest.mark.parametrize(
    "late_ns", [0, 10**3, 2 * 10**3, 10**9, 2**62], ids="late_{}-to-trace_cmd".format
)
def test_times_in_kernelshark_are_not_negative(late_ns: int, tmp_path: Path) -> None:
    """A time of day that is past the largest that fits, from just before to long after."""
    trace = collect(synthetic_trace("timeline", 10, 0))
    last = max(batch.ts.max() for batch in trace.batches())
    trace.clock = replace(trace.clock, epoch_ns=2**63 - 1 - int(last) + late_ns)
    path = tmp_path / "late.dat"
    converter.write(trace, path)
    times = [entry.ts for entry in listing_of(path).entries]
    assert times == sorted(times)
    assert min(times) >= 0
    assert len(times) == sum(len(batch) for batch in trace.batches())

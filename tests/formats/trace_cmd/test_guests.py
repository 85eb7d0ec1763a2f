"""Recordings of a host and its guests: each by itself, and both in one view."""

import re
import shutil
import subprocess

import pytest
from support.trace_cmd.files import File, Kernel
from support.trace_cmd.reading import opened
from support.traces.small_traces import events_of

import converter
from converter.formats.trace_cmd.layout import OptionId
from converter.merging.merge import merge

K = Kernel()
HOST, GUEST = 111, 222
SECOND = 10**9
TRACECLOCK = (OptionId.TRACECLOCK, b"local [global]\0")
#: Of CPU 0: until 400 ms the guest's clock is 5 s behind, then 5.25 s, and it is slower by a 1024th.
SAMPLES = ([0, 4 * SECOND // 10], [5 * SECOND, 5_250_000_000], [1025, 1025], [10, 10])
#: Cycles of 2 ns.
TSC = [(OptionId.TRACECLOCK, b"local [x86-tsc]\0"), (OptionId.TSC2NSEC, K.pack("IIQ", 2, 0, 0))]


def recording(number, times, *options, uname=b"Linux box 6.18 x86_64\0"):
    pages = b"".join(K.page(at, K.record(0, K.slice(42, 1))) for at in times)
    own = [(OptionId.TRACEID, K.pack("Q", number)), (OptionId.UNAME, uname)]
    return File(K, {0: pages}, options=[*own, *options]).version_7()


def time_shift(peer=HOST, interpolate=0):
    counts = K.pack("QIII", peer, interpolate, 1, len(SAMPLES[0]))
    return OptionId.TIME_SHIFT, counts + b"".join(K.pack("2q", *column) for column in SAMPLES)


def guest(name, number, *tasks):
    cpus = b"".join(K.pack("II", cpu, task) for cpu, task in enumerate(tasks))
    return OptionId.GUEST, name + b"\0" + K.pack("QI", number, len(tasks)) + cpus


def host_and_guest(*clock, **options):
    host = recording(HOST, [5 * SECOND, 5_500_000_000], *clock, guest(b"vm", GUEST, 700, 701))
    other = recording(GUEST, [1, SECOND // 10, SECOND // 2], *clock, time_shift(**options))
    return host, other


def test_what_a_host_and_a_guest_know_of_each_other():
    host, other = (opened(data) for data in host_and_guest(TRACECLOCK))
    assert {key: host.environment[key] for key in host.environment if "guest" in key} == {
        "guest_1_name": "vm",
        "guest_1_trace_id": GUEST,
        "guest_1_cpu_tasks": "0:700 1:701",
    }
    assert other.environment["host_trace_id"] == HOST
    damaged = opened(recording(1, [1], (OptionId.GUEST, b"vm\0\1")))
    assert "options.GUEST" in str(damaged.warnings[0])
    assert not any("guest" in key for key in damaged.environment)


@pytest.mark.parametrize("program", ["trace-cmd", "trace-cmd-3.4"])
@pytest.mark.parametrize("interpolate", [0, 1])
@pytest.mark.parametrize("clock", [[TRACECLOCK], TSC], ids=["nanoseconds", "cycles"])
def test_both_are_at_the_times_at_which_trace_cmd_has_them(program, clock, interpolate, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    files = []
    for name, data in zip("hg", host_and_guest(*clock, interpolate=interpolate), strict=True):
        files.append(tmp_path / f"{name}.dat")
        files[-1].write_bytes(data)
    line = [program, "report", "-t", "-i", *(files[0], "-i", files[1])]
    told = subprocess.run(line, capture_output=True, check=True).stdout.decode()
    expected = re.findall(r"(\d+)\.(\d{9}): my_slice", told)
    with converter.open_merged([str(path) for path in files]) as merged:
        assert [ts for ts, *_ in events_of(merged)] == [int("".join(time)) for time in expected]
        assert {str(one).partition(": ")[2].partition(",")[0] for one in merged.inputs} == {
            "by the clock of the host",
            f"its clock {merged.clock.name!r} is that of all",
        }


@pytest.mark.parametrize(
    ("names", "machines"),
    [
        # Of one name: as the host calls it.
        ((b"box", b"box", b"box"), ["box", "vm", "guest 333"]),
        ((b"box", b"one", b"two"), ["box", "one", "two"]),
        ((b"box", b"same", b"same"), ["box", "vm", "guest 333"]),
    ],
)
def test_guests_are_machines_of_their_own(names, machines):
    options = [
        (HOST, guest(b"vm", GUEST)),
        (GUEST, time_shift()),
        (333, time_shift()),
    ]
    merged = merge(
        [
            opened(recording(number, [1], TRACECLOCK, own, uname=b"Linux %s 6 x86_64\0" % name))
            for (number, own), name in zip(options, names, strict=True)
        ]
    )
    assert [one.machine for one in merged.inputs] == machines
    assert len({thread.tid for thread in merged.threads}) == 3


def test_recordings_that_know_nothing_of_each_other_are_of_one_machine():
    merged = merge([opened(recording(number, [1], TRACECLOCK)) for number in (1, 2)])
    assert [one.machine for one in merged.inputs] == ["", ""]
    alone = merge([opened(host_and_guest(TRACECLOCK)[1]), opened(recording(5, [1], TRACECLOCK))])
    assert [one.machine for one in alone.inputs] == ["", ""]
    assert all("host" not in str(one) for one in alone.inputs)

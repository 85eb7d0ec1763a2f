"""What judges recordings of many tasks, on one that is there; to record, the command needs root and trace-cmd."""

import argparse
import hashlib
import sys
from pathlib import Path

import pytest
import recordings
from support.system import guest

SMALL = Path(__file__).parents[2] / "roundtrip_fixtures" / "trace_cmd" / "small.dat"


def test_conversions_that_are_the_same_each_time_are_no_finding():
    assert recordings.check(SMALL, ["fxt"], 2) == []


def test_conversions_that_fail_are_noticed(tmp_path):
    path = tmp_path / "none.dat"
    path.write_bytes(b"\x17\x08\x44tracing")
    (fault,) = recordings.conversion_faults(path, "fxt", 1)
    assert fault.startswith("fxt, time 1: ended with ")


def test_conversions_that_write_something_else_are_noticed(monkeypatch):
    code = "import sys, os; open(sys.argv[1], 'w').write(str(os.getpid()))"
    monkeypatch.setattr(
        recordings, "command", lambda *given: [sys.executable, "-c", code, str(given[2])]
    )
    (fault,) = recordings.conversion_faults(SMALL, "fxt", 2)
    assert fault == "fxt, time 2: other bytes than before"


def test_processes_that_are_killed_are_noticed(monkeypatch):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    monkeypatch.setattr(recordings, "command", lambda *_: [sys.executable, "-c", code])
    (fault,) = recordings.conversion_faults(SMALL, "fxt", 1)
    assert fault.startswith("fxt, time 1: ended with -11")


@pytest.mark.parametrize("ours", ["one\\nTWO\\n", "one\\n"])
def test_reports_that_differ_are_noticed(ours, monkeypatch, tmp_path):
    program = tmp_path / "trace-cmd-3.4"
    program.write_text("#!/bin/sh\necho one\necho two\n")
    program.chmod(0o755)
    monkeypatch.setattr(recordings, "reporter", lambda: str(program))
    code = f"print('{ours}', end='')"
    monkeypatch.setattr(recordings, "command", lambda *_: [sys.executable, "-c", code])
    (fault,) = recordings.report_faults(SMALL)
    assert "line 2 of the report is" in fault


@pytest.mark.parametrize("load", ["forks", "threads"])
def test_loads_end(load):
    recordings.LOADS[load](3)


def test_the_instance_is_not_compared_after_lost_events():
    lost = b"traceconv7: CPU:0 [EVENTS DROPPED]\n"
    shown = [
        [*recordings.without_instances(lost + instance + b"a-1\ntraceconv7: b-2\n")]
        for instance in (b"traceconv7: ", b"")
    ]
    assert shown[0] == shown[1] == [lost[:-1], b"a-1", b"traceconv7: b-2"]


def test_guests_are_skipped_where_a_program_is_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(guest.shutil, "which", lambda name: None if "qemu" in name else name)
    assert recordings.guests(tmp_path, argparse.Namespace()) == []
    told = "qemu-system-x86_64 not found (apt-get install qemu-system-x86)"
    assert capsys.readouterr().out == f"guests were skipped: {told}\n"


def test_guests_are_skipped_where_apt_knows_no_kernel(monkeypatch, tmp_path, capsys):
    for name in (*guest.PROGRAMS, "apt-cache", "apt-get", "dpkg-deb"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert recordings.guests(tmp_path, argparse.Namespace(kernel=None)) == []
    assert capsys.readouterr().out.startswith("guests were skipped: apt knows none of linux-image-")


@pytest.fixture
def qemu(monkeypatch, tmp_path):
    """Return a function that puts a program on PATH in place of qemu; it sends some bytes and prints a text."""

    def put(sent, printed):
        program = tmp_path / "qemu-system-x86_64"
        program.write_text(
            f"#!{sys.executable}\nimport sys, pathlib\n"
            f"pathlib.Path(sys.argv[-1].removeprefix('file:')).write_bytes({sent!r})\n"
            f"print({printed!r})\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(guest, "initial_ramdisk", lambda *_: None)
        return tmp_path / "guest.dat"

    return put


def recorded(path):
    guest.record(path, Path("vmlinuz"), "tcg", 2, 16, ("sched",), 64)


def test_what_a_guest_sends_is_kept(qemu):
    path = qemu(b"sent", f"traceconv: 4 bytes {hashlib.sha256(b'sent').hexdigest()}\r")
    recorded(path)
    assert path.read_bytes() == b"sent"


@pytest.mark.parametrize(
    ("printed", "fault"),
    [
        ("Kernel panic", "the guest recorded nothing: Kernel panic"),
        (f"traceconv: 5 bytes {'0' * 64}", "the guest recorded 5 bytes, and sent 4 others"),
    ],
)
def test_guests_that_fail_are_noticed(printed, fault, qemu):
    path = qemu(b"sent", printed)
    with pytest.raises(RuntimeError, match=fault):
        recorded(path)
    assert not path.exists()


def test_the_kernel_of_the_distribution_is_downloaded_once(monkeypatch, tmp_path):
    depends = "echo '  Depends: linux-image-6.8.0-31-generic'"
    scripts = {
        "apt-cache": f'[ "$2" != linux-image-virtual ] || {depends}',
        "apt-get": f'echo "$@" >>{tmp_path}/asked; : >kernel.deb',
        "dpkg-deb": '/bin/mkdir -p "$3/boot"; : >"$3/boot/vmlinuz-6.8.0-31-generic"',
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    kernels = {guest.downloaded_kernel(tmp_path / "kernels") for _ in range(2)}
    assert [kernel.name for kernel in kernels] == ["vmlinuz-6.8.0-31-generic"]
    assert (tmp_path / "asked").read_text() == "download linux-image-6.8.0-31-generic\n"

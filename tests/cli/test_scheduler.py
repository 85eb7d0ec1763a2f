"""`batch` on the workers of a Dask scheduler: the same outputs, also where a worker is killed.

Processes take their time to start: TRACECONV_DASK=1 asks for those tests.
"""

import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

import converter
from converter.cli import main

RECORDINGS = Path(__file__).parents[2] / "roundtrip_fixtures" / "trace_cmd"
long = pytest.mark.skipif(
    os.environ.get("TRACECONV_DASK") != "1", reason="takes long: TRACECONV_DASK=1 asks for it"
)


@pytest.fixture(autouse=True)
def _inputs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    os.mkdir("in")
    for number in range(8):
        shutil.copy(RECORDINGS / "small.dat", f"in/{number}.dat")


@pytest.fixture
def distributed():
    return pytest.importorskip("distributed", reason="Dask is not installed")


def outputs(folder):
    return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def expected():
    converter.convert("in/0.dat", "one.pftrace")
    data = Path("one.pftrace").read_bytes()
    return {f"{number}.pftrace": data for number in range(8)}


def test_without_dask_it_says_what_to_install(monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["batch", "in/*.dat", "-t", "perfetto", "-o", "out", "--scheduler", "local"]) == 1
    assert "pip install 'traceconv[dask]'" in capfd.readouterr().err


def test_workers_have_no_jobs(capfd):
    arguments = ["batch", "in/*.dat", "-t", "fxt", "-o", "out", "--scheduler", "local", "-j", "2"]
    assert main(arguments) == 2
    assert "a scheduler has workers of its own" in capfd.readouterr().err


@pytest.mark.filterwarnings("default")
def test_a_running_scheduler(distributed, capfd):
    Path("in/8.dat").write_bytes(b"nothing that anybody knows")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, protocol="tcp"
    )
    with cluster:
        arguments = ["batch", "in/*.dat", "-t", "perfetto", "-o", "out", "-q"]
        assert main([*arguments, "--scheduler", cluster.scheduler_address]) == 1
    out, _ = capfd.readouterr()
    assert outputs("out") == expected()
    assert out.splitlines()[-1] == "8 done, 1 failed"


@pytest.mark.filterwarnings("default")
def test_no_scheduler_there(distributed, monkeypatch, capfd):
    monkeypatch.setattr("converter.scheduling._CONNECTING", "0.3s")
    arguments = ["batch", "in/*.dat", "-t", "fxt", "-o", "out", "--scheduler", "tcp://127.0.0.1:9"]
    assert main(arguments) == 1
    assert "tcp://127.0.0.1:9: no scheduler" in capfd.readouterr().err


@long
@pytest.mark.filterwarnings("default")
def test_a_killed_worker(distributed, capfd):
    killed = []

    def kill():
        while not killed and threading.main_thread().is_alive():
            # Only processes of this one, which Dask has started for its workers.
            for pid in children(os.getpid()):
                if any(Path("out").glob("*.pftrace")) and b"spawn_main" in command(pid):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    arguments = ["batch", "in/*.dat", "-t", "perfetto", "-o", "out", "--scheduler", "local:2"]
    assert main(arguments) == 0
    thread.join(1)
    assert killed
    capfd.readouterr()
    made = {name: data for name, data in outputs("out").items() if not name.startswith(".")}
    assert made == expected()


def children(pid):
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(one) for task in tasks for one in (task / "children").read_text().split()]


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""

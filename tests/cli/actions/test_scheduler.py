"""`batch` on the workers of a Dask scheduler: the same outputs, also where a worker is killed.

Processes take their time to start: TRACECONV_DASK=1 asks for those tests.
"""

import os
import shutil
import signal
import sys
import threading
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import converter
from converter import scheduling
from converter.cli import main
from converter.cli.actions import batching
from converter.jobs.splitting_by_workers import Parts, written
from converter.selection.parts import parse_division

RECORDINGS = Path(__file__).parents[3] / "roundtrip_fixtures" / "trace_cmd"
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


@pytest.mark.parametrize("format", ["pftrace", "fxt", "ctf"])
def test_shares_are_the_parts(format):
    """What workers write of a trace, each for itself, is what one process writes."""
    os.mkdir("one")
    parts = converter.split("in/0.dat", f"one/t.{format}", "4ms")
    assert len(parts) > 5
    whole = Parts(
        source="in/0.dat", path="", target_format=None, division=parse_division("4ms"), count=3
    )
    shared = [
        part
        for number in range(3)
        for part in written(
            replace(whole, path=f"several/{number}/t.{format}", number=number)
        ).parts
    ]
    assert sorted(part.events for part in shared) == sorted(part.events for part in parts)
    made = {path.name: path for path in Path("several").glob("*/*")}
    assert sorted(made) == sorted(path.name for path in Path("one").iterdir())
    for path in Path("one").iterdir():
        here = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
        for file in here:
            assert (made[path.name] / file.relative_to(path)).read_bytes() == file.read_bytes()


@pytest.mark.filterwarnings("default")
def test_parts_of_a_trace_by_workers(distributed, capfd):
    converter.split("in/0.dat", "t.pftrace", "10ms")
    expected = {path.name: path.read_bytes() for path in Path().glob("t-*")}
    os.mkdir("out")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, protocol="tcp"
    )
    arguments = ["in/0.dat", "out/t.pftrace", "--split", "10ms", "--scheduler"]
    with cluster:
        assert main([*arguments, cluster.scheduler_address]) == 0
        assert capfd.readouterr().out.splitlines()[-1] == f"{len(expected)} parts"
        assert outputs("out") == expected
        Path("out/t-0001.pftrace").unlink()
        assert main([*arguments, cluster.scheduler_address]) == 1
        assert "t-0002.pftrace: exists already" in capfd.readouterr().err
        assert not Path("out/t-0001.pftrace").exists()
        assert sorted(path.name for path in Path("out").iterdir()) == sorted(expected)[1:]

        converter.convert("in/0.dat", "in/cut.json")
        data = Path("in/cut.json").read_bytes()
        Path("in/cut.json").write_bytes(data[: len(data) * 9 // 10])
        arguments[0] = "in/cut.json"
        assert main([*arguments, cluster.scheduler_address, "--force"]) == 0
    said = capfd.readouterr().err
    assert said.count("warning: in/cut.json: ") == 1
    assert main(["in/cut.json", "out/t.pftrace", "--split", "10ms", "--force"]) == 0
    assert capfd.readouterr().err == said


def test_what_a_lost_worker_has_written_is_done():
    wanted = batching.Wanted(
        target_format="perfetto",
        suffix="",
        source_format=None,
        reader_options={},
        strict=False,
        lossless=False,
        force=False,
    )
    job = batching.Job("in/0.dat", "out/0.pftrace", wanted)
    first, second = batching._retried_outcome(job), batching._retried_outcome(job)
    assert first.state == second.state == "done"
    assert second.says == "written by a worker that was lost"


def test_what_is_not_shared_out(capfd):
    for more in (["--split", "1MB"], ["--split", "cpu"], ["--lossless"], ["--dry-run"]):
        assert main(["in/0.dat", "t.fxt", "--scheduler", "local", *more]) == 2
        assert "--scheduler" in capfd.readouterr().err
    assert main(["in/0.dat", "t.ctf", "--scheduler", "local"]) == 1
    assert "--split LENGTH, which has them write parts" in capfd.readouterr().err


@pytest.mark.filterwarnings("default")
def test_one_output_of_several_workers(distributed, monkeypatch, capfd):
    monkeypatch.setattr("converter.jobs.joining_by_workers.RUN_EVENTS", 1)
    report = converter.convert("in/0.dat", "one.json")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, protocol="tcp"
    )
    with cluster:
        arguments = ["in/0.dat", "t.json", "--losses", "losses", "--scheduler"]
        assert main([*arguments, cluster.scheduler_address, "-v"]) == 0
        assert "338 events, " in capfd.readouterr().err
        assert main([*arguments, cluster.scheduler_address]) == 1
        assert "exists" in capfd.readouterr().err
    assert Path("t.json").read_bytes() == Path("one.json").read_bytes()
    assert Path("losses").read_text() == report.to_json()
    assert sorted(path.name for path in Path().iterdir()) == ["in", "losses", "one.json", "t.json"]


@long
@pytest.mark.filterwarnings("default")
def test_workers_here_are_ready_and_keep_their_memory(distributed, monkeypatch):
    # The process that they are forked off looks for packages as any new one does.
    monkeypatch.setenv("PYTHONPATH", str(RECORDINGS.parents[1]))
    with scheduling.scheduler("local:2") as workers:
        for _, result in workers.run(_what_there_is, range(4)):
            assert result == (None, True, False)


def _what_there_is(_):
    """On a worker: when it returns memory to the system, whether it could convert at once, whether it is profiled."""
    return (
        os.environ.get("MALLOC_TRIM_THRESHOLD_"),
        "converter.projection.project" in sys.modules,
        any(thread.name == "Profile" for thread in threading.enumerate()),
    )


def test_settings_of_workers_here_are_theirs(distributed):
    import dask

    place = "distributed.nanny.pre-spawn-environ"
    before = dask.config.get(place)
    profiled = dask.config.get("distributed.worker.profile.enabled")
    with scheduling._local_settings():
        now = dask.config.get(place)
        assert not dask.config.get("distributed.worker.profile.enabled")
        assert before.keys() - now.keys() <= {"MALLOC_TRIM_THRESHOLD_"}
        assert "MALLOC_TRIM_THRESHOLD_" not in now
    assert dask.config.get(place) == before
    assert dask.config.get("distributed.worker.profile.enabled") == profiled


@long
@pytest.mark.filterwarnings("default")
def test_a_killed_worker(distributed, capfd):
    killed = []

    def kill():
        while not killed and threading.main_thread().is_alive():
            for pid in worker_processes():
                if any(Path("out").glob("*.pftrace")):
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


@long
@pytest.mark.filterwarnings("default")
def test_a_worker_killed_while_several_write_one_output(distributed, capfd, monkeypatch):
    monkeypatch.syspath_prepend(RECORDINGS.parents[1])
    repeat_trace_dat = import_module("benchmarks.inputs").repeat_trace_dat
    repeat_trace_dat(Path("in/0.dat"), Path("large.dat"), 60)
    converter.convert("large.dat", "one.json")
    killed = []

    def kill():
        while not killed and threading.main_thread().is_alive():
            for pid in worker_processes():
                if any(path.stat().st_size for path in Path().glob(".traceconv-*/.*")):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    assert main(["large.dat", "t.json", "--scheduler", "local:3"]) == 0
    thread.join(1)
    assert killed
    capfd.readouterr()
    assert Path("t.json").read_bytes() == Path("one.json").read_bytes()
    assert sorted(path.name for path in Path().iterdir()) == [
        "in",
        "large.dat",
        "one.json",
        "t.json",
    ]


def worker_processes():
    """Only processes of this one: those that the server which Dask has started forks off as workers."""
    return [
        worker
        for server in children(os.getpid())
        for worker in children(server)
        if b"multiprocessing.forkserver" in command(worker)
    ]


def children(pid):
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""

"""An S3 server of this machine (moto's): what other programs see of an output, and when.

It takes its time, so it is asked for by TRACECONV_S3=1 (needs s3fs and moto[server]).
"""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import converter
from converter.cli import main
from converter.errors import TraceError
from converter.storage.opening import open_source
from converter.storage.outputs import open_sink

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(
        os.environ.get("TRACECONV_S3") != "1", reason="takes long: TRACECONV_S3=1 asks for it"
    ),
]
ROOT = Path(__file__).parents[3]
DAT = ROOT / "roundtrip_fixtures" / "trace_cmd" / "small.dat"
CTF = ROOT / "roundtrip_fixtures" / "ctf" / "ctf_small"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    log = tmp_path_factory.mktemp("moto") / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-p", "0"], stdout=output, stderr=output
        )
    try:
        for _ in range(300):
            found = re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text())
            if found and found[1] != "0":
                break
            time.sleep(0.1)
        else:
            pytest.skip(f"no server: {log.read_text()}")
        yield found[0]
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def bucket(server, monkeypatch):
    s3fs = pytest.importorskip("s3fs")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    urllib.request.urlopen(
        urllib.request.Request(f"{server}/moto-api/reset", method="POST")
    ).close()
    s3fs.S3FileSystem.clear_instance_cache()
    fs = s3fs.S3FileSystem()
    fs.mkdir("bucket")
    return fs


def test_files_and_folders(bucket, tmp_path):
    bucket.put_file(str(DAT), "bucket/in/a.dat")
    converter.convert("s3://bucket/in/a.dat", "s3://bucket/out/a.pftrace")
    converter.convert(DAT, tmp_path / "a.pftrace")
    bucket.invalidate_cache()
    assert bucket.cat("bucket/out/a.pftrace") == (tmp_path / "a.pftrace").read_bytes()
    converter.convert(CTF, "s3://bucket/out/trace", target_format="ctf")
    there = converter.read("s3://bucket/out/trace")
    assert converter.difference(there, converter.read(CTF)) is None
    with pytest.raises(TraceError, match="exists already"):
        converter.convert(DAT, "s3://bucket/out/a.pftrace")
    converter.convert(DAT, "s3://bucket/out/a.pftrace", force=True)


def test_errors(bucket, monkeypatch):
    for url in ("s3://bucket/none.dat", "s3://nobucket/none.dat"):
        with pytest.raises(TraceError, match="no such file"):
            converter.read(url)
    bucket.pipe("bucket/a", os.urandom(1 << 20))
    with open_source("s3://bucket/a") as source:
        source.read(0, 9)
        bucket.pipe("bucket/a", os.urandom(1 << 20))
        with pytest.raises(TraceError, match="has changed"):
            source.read(500_000, 9)


def test_many_parts(bucket):
    piece = os.urandom(1 << 20)
    with open_sink("s3://bucket/big") as sink:
        for _ in range(120):
            sink.write(piece)
    with open_source("s3://bucket/big") as source:
        assert source.size == 120 << 20
        assert source.read(119 << 20, 1 << 20) == piece


_WRITING = """
import sys
from converter.storage.outputs import open_sink
sink = open_sink("s3://bucket/killed")
for _ in range(300):
    sink.write(bytes(1 << 20))
print("written", flush=True)
sink.close()
"""


def test_a_kill_while_it_is_sent_leaves_nothing(bucket):
    command = [sys.executable, "-c", _WRITING]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"written\n"
        for _ in range(200):
            if bucket.list_multipart_uploads("bucket"):
                break
            time.sleep(0.02)
        else:
            pytest.fail("nothing was sent")
        process.send_signal(signal.SIGKILL)
    bucket.invalidate_cache()
    assert bucket.ls("bucket") == []


def test_many_by_workers(bucket, capfd):
    pytest.importorskip("distributed")
    for number in range(4):
        bucket.put_file(str(DAT), f"bucket/in/deep{number % 2}/{number}.dat")
    arguments = ["batch", "s3://bucket/in/**/*.dat", "-t", "perfetto", "-o", "s3://bucket/out/"]
    assert main([*arguments, "--scheduler", "local:2"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "4 done"
    bucket.invalidate_cache()
    names = [f"bucket/out/deep{number % 2}/{number}.pftrace" for number in range(4)]
    assert bucket.find("bucket/out") == sorted(names)
    assert len({bucket.cat(name) for name in names}) == 1
    assert main([*arguments, "--jobs", "2"]) == 0
    assert capfd.readouterr().out.splitlines()[-1] == "4 skipped"

"""Outputs survive a power failure that comes after they were reported complete, and batches go on after one."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from support.system.power_cut import Disk, contents, needs_mounts

from converter.cli import main
from converter.cli.actions.batch_record import NAME
from converter.storage.writing.durability import SWITCH

ROOT = Path(__file__).parents[3]
SMALL = ROOT / "roundtrip_fixtures" / "trace_cmd" / "small.dat"
MARKERS = ROOT / "roundtrip_fixtures" / "trace_cmd" / "markers.dat"
#: Files, folders, files that come in pairs, archives, compressed files, parts.
OUTPUTS = (
    ("o.json",),
    ("o.fxt.gz",),
    ("o.ctf", "-t", "ctf"),
    ("o.uftrace",),
    ("o.aix",),
    ("o.ctf.tar", "-t", "ctf"),
    ("parts/o.json", "--split", "100ms"),
)
#: Systems write names to the disk within this many seconds, and data of files long after.
_JOURNAL = 2.5

pytestmark = [needs_mounts, pytest.mark.skipif(not SMALL.exists(), reason="needs the fixtures")]


@pytest.fixture(autouse=True)
def _synced(monkeypatch):
    monkeypatch.delenv(SWITCH, raising=False)


def _convert(source: Path, folder: Path, *options: str) -> None:
    for name, *more in OUTPUTS:
        output = folder / name
        output.parent.mkdir(exist_ok=True)
        assert main(["convert", str(source), "-o", str(output), "-q", *more, *options]) == 0, name


def test_what_was_reported_complete_is_there_after_a_power_cut(tmp_path):
    disk = Disk(tmp_path)
    with disk.mounted() as folder:
        for source, options in ((SMALL, ()), (MARKERS, ("--force",))):
            _convert(source, folder, *options)
            expected = contents(folder)
            with disk.after_power_cut() as found:
                assert contents(found) == expected
        time.sleep(_JOURNAL)
        with disk.after_power_cut() as found:
            assert contents(found) == expected


def test_without_sync_the_test_sees_what_is_lost(tmp_path, monkeypatch):
    disk = Disk(tmp_path)
    with disk.mounted() as folder:
        monkeypatch.setenv(SWITCH, "1")
        _convert(SMALL, folder)
        time.sleep(_JOURNAL)
        with disk.after_power_cut() as found:
            assert contents(found) != contents(folder)


def test_a_batch_goes_on_after_a_power_cut(tmp_path):
    disk = Disk(tmp_path)
    sources = tmp_path / "in"
    sources.mkdir()
    for number in range(4):
        shutil.copy(SMALL, sources / f"{number}.dat")
    arguments = ["batch", f"{sources}/*.dat", "-t", "json", "-q", "-j", "1", "-o"]
    with disk.mounted() as folder:
        assert main([*arguments, str(folder / "out")]) == 0
        expected = contents(folder)
        with disk.after_power_cut() as found:
            assert contents(found) == expected
            assert main([*arguments, str(found / "out")]) == 0
        # The power is cut while outputs are not on the disk: those that are empty are written again.
        shutil.rmtree(folder / "out")
        assert main([*arguments, str(folder / "out"), "--no-sync"]) == 0
        time.sleep(_JOURNAL)
        with disk.after_power_cut() as found:
            assert main([*arguments, str(found / "out")]) == 0
            done = contents(found)
    assert {name for name in done if not name.endswith(NAME)} == {f"out/{n}.json" for n in range(4)}
    assert len({done[f"out/{number}.json"] for number in range(4)}) == 1
    assert done["out/0.json"] == expected["out/0.json"]

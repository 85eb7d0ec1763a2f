"""Cuts the power after conversions: ``python -m tests.power --count 200`` (root, loop devices, mkfs.ext4).

Outputs are written to an ext4 file system in an image. At a random time after a conversion was reported complete the
image is copied as the disk has it, and mounted: the journal is replayed. Every output that was reported complete is
whole in it, whether or not it has replaced another.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

os.environ.pop("TRACECONV_NO_SYNC", None)

import pytest  # noqa: E402
from faults import SOURCE, Contents, Conversion, contents, conversions, run  # noqa: E402
from support.system.power_cut import Disk  # noqa: E402

#: Seconds within which the power is cut; names reach the disk within 1 s in any case, data after 30 s.
LATEST = 3.0
#: How often it is cut at once: that is when most is still in memory.
AT_ONCE = 0.5
#: The conversions of one file system.
ROUND = 20


def cut(disk: Disk, conversion: Conversion, rng: random.Random) -> list[str]:
    """Convert into a folder of the disk, cut the power, and return what is wrong with the output."""
    folder = disk.folder / f"{rng.getrandbits(48):012x}"
    folder.mkdir()
    other = replace(conversion, source=SOURCE)
    if conversion.replaces and run(folder, other, ("--event", "sched:sched_switch")):
        return ["nothing to replace"]
    if run(folder, conversion):
        return ["it fails"]
    expected = contents(folder)
    if rng.random() > AT_ONCE:
        time.sleep(rng.random() * LATEST)
    with disk.after_power_cut() as found:
        there: Contents = contents(found / folder.name) if (found / folder.name).is_dir() else {}
    shutil.rmtree(folder)
    return [
        f"{name} is {'not whole' if name in there else 'not there'}"
        for name, data in expected.items()
        if there.get(name) != data
    ]


def cut_often(count: int, number: int) -> int:
    """Cut the power in the order that a number gives, and say what was lost; how many times."""
    rng = random.Random(number)
    every = list(conversions())
    failed = tried = 0
    while tried < count:
        with tempfile.TemporaryDirectory(prefix="traceconv-power-") as place:
            disk = Disk(Path(place))
            with disk.mounted():
                for _ in range(min(ROUND, count - tried)):
                    conversion = rng.choice(every)
                    wrong = cut(disk, conversion, rng)
                    tried += 1
                    failed += bool(wrong)
                    if wrong:
                        sys.stdout.write(f"{conversion}: {', '.join(wrong)}\n")
                        sys.stdout.flush()
    sys.stdout.write(f"{tried} power cuts, {failed} lost something\n")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the order of the cuts")
    options = parser.parse_args()
    try:
        sys.exit(bool(cut_often(options.count, options.first)))
    except pytest.skip.Exception as reason:
        sys.exit(f"this system does not allow it: {reason}")

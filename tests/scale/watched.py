"""Conversions of traces of many tasks under valgrind, which also sees memory that is read before it has a value.

Python and the libraries of others are not judged: of what valgrind reports only that counts which passes through a
compiled module of this package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import converter  # noqa: E402 - the path is set above

#: How many tasks the traces have.
SIZE = 1000
_SECONDS = 7200
_OPTIONS = (
    "--error-exitcode=0",
    "--num-callers=40",
    "--undef-value-errors=yes",
    "--child-silent-after-fork=yes",
)


def reports(text: bytes) -> Iterator[str]:
    """What valgrind's XML reports that passes through a compiled module of this package, a line each."""
    for error in ET.fromstring(text).iter("error"):
        frames = error.findall("stack/frame")
        modules = [frame.findtext("obj", "") for frame in frames]
        ours = [place for place, module in enumerate(modules) if is_ours(module)]
        if ours and not error.findtext("kind", "").startswith("Leak"):
            frame = frames[ours[0]]
            function = frame.findtext("fn", "?")
            where = f"{frame.findtext('file', '')}:{frame.findtext('line', '')}"
            what = error.findtext("what") or error.findtext("xwhat/text", "")
            yield f"{error.findtext('kind')}: {what}: {Path(modules[ours[0]]).name} {function} {where}"


def is_ours(module: str) -> bool:
    """Whether a library is a compiled module of this package."""
    return module.startswith(str(ROOT / "converter")) and module.endswith(".so")


def convert_all(folder: Path, names: list[str]) -> None:
    """Convert the file of each format to the format after it."""
    for source, target in zip(names, (*names[1:], names[0]), strict=True):
        converter.convert(folder / source, folder / f"{source} to {target}", target_format=target)


def main(formats: list[str] | None, size: int) -> int:
    """Have each format read once and written once; 1 if anything was reported."""
    # The process that is watched does without them.
    from scale.built import tasks
    from scale.checks import USUAL

    if shutil.which("valgrind") is None:
        sys.stdout.write("valgrind is not installed\n")
        return 2
    names = [name for name in USUAL if not formats or name.partition("+")[0] in formats]
    with tempfile.TemporaryDirectory(prefix="traceconv-valgrind-") as name:
        folder = Path(name)
        for one in names:
            converter.write(tasks(size).source, folder / one, one)  # type: ignore[arg-type]
        log = folder / "reports.xml"
        watch = ["valgrind", *_OPTIONS, "--xml=yes", f"--xml-file={log}", sys.executable]
        line = [*watch, "-m", "tests.scale.watched", name, *names]
        environment = {**os.environ, "PYTHONMALLOC": "malloc"}
        done = subprocess.run(line, cwd=ROOT, env=environment, timeout=_SECONDS, check=False)
        found = [*dict.fromkeys(reports(log.read_bytes()))]
    sys.stdout.writelines(f"{one}\n" for one in found)
    sys.stdout.write(
        f"{len(names)} conversions of {size} tasks: ended with {done.returncode}, {len(found)} reports\n"
    )
    return int(bool(found or done.returncode))


if __name__ == "__main__":
    convert_all(Path(sys.argv[1]), sys.argv[2:])

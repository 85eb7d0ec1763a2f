"""That distributions have what they are to have: `contents.py WHEEL SDIST`, in the tree that they were built from."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

#: What runs, builds and environments leave in a tree; `.gitignore` says the same of a checkout.
LEFT = (".git", ".venv", "build", "dist", "__pycache__", ".hypothesis", ".mypy_cache")
LEFT_TOO = (".pytest_cache", ".ruff_cache", "traceconv.egg-info", "small.fxt")
#: What setuptools adds.
ADDED = ("PKG-INFO", "setup.cfg", "traceconv.egg-info/")


def tree() -> set[str]:
    """What is kept of the project, as far as it is there; the link to the schemas is one file."""
    files = set()
    for path in Path().rglob("*"):
        is_left = not {*LEFT, *LEFT_TOO}.isdisjoint(path.parts) or path.suffix == ".so"
        if not is_left and (path.is_symlink() or path.is_file()):
            files.add(path.as_posix())
    return {each for each in files if not each.startswith("converter/schemas/")}


#: What is installed of the package as it stands in the tree.
INSTALLED = {".py", ".pyi", ".typed", ".txt", ".html", ".css", ".js"}


def compare(what: str, found: list[str], expected: set[str]) -> None:
    """Exit with what is missing, too much, or there twice."""
    missing, extra = sorted(expected - set(found)), sorted(set(found) - expected)
    twice = sorted({each for each in found if found.count(each) > 1})
    if missing or extra or twice:
        sys.exit(f"{what}: {missing=} {extra=} {twice=}")
    print(f"{what}: {len(found)} files")


def in_wheel(files: set[str]) -> set[str]:
    """What a wheel has of a tree, without the suffix of compiled modules."""
    kept = {"converter/kernels/shared.so"}
    for name in files:
        path = PurePosixPath(name)
        if path.parts[0] == "converter" and path.suffix in INSTALLED:
            kept.add(name)
        elif path.parts[0] == "converter" and path.suffix == ".pyx":
            kept.add(str(path.with_suffix(".so")))
        elif path.parts[0] == "schemas":
            kept.add(f"converter/{name}")
        elif path.parts[0] == "share":
            kept.add(name)
    return kept - {"converter/kernels/build.py"}


def main() -> None:
    """Compare both with the tree."""
    wheel, sdist = sys.argv[1:]
    files = tree()
    with zipfile.ZipFile(wheel) as opened:
        names = [each for each in opened.namelist() if ".dist-info/" not in each]
    plain = [f"{each.partition('.')[0]}.so" if each.endswith(".so") else each for each in names]
    # What is installed outside the package is below the name of the distribution.
    plain = [each.partition(".data/data/")[2] or each for each in plain]
    compare("wheel", plain, in_wheel(files))
    with tarfile.open(sdist) as opened:
        members = [each.name.partition("/")[2] for each in opened if not each.isdir()]
    compare("sdist", [each for each in members if not each.startswith(ADDED)], files)


if __name__ == "__main__":
    main()

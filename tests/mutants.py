"""Changes the code a little, one change at a time, and shows which changes no test notices.

    python -m tests.mutants --module converter/ir/canonical.py
    python -m tests.mutants --sample 100 --seed 7 [--package projection]
    python -m tests.mutants --changed main
    python -m tests.mutants --kernels --sample 20

Works on a copy of the tree. A mutant is run against the tests of its module: those in the folder of the same name,
those that import it, nearest first, then the tests of the laws. The first failure ends a run. A mutant that no test
notices survives, and is printed with its line. A run that takes ten times as long as without the change counts as
noticed.
Kernels are compiled again for each change, which takes Cython and setuptools.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from support.mutations import Mutation, kernel_mutations, mutations  # noqa: E402 - the path is set above

#: Tests of what must hold whatever a module does: round trips, viewers against viewers, the representation.
LAWS = (
    "tests/ir",
    "tests/projection/test_project.py",
    "tests/selection",
    "tests/test_diff.py",
    "tests/viewers/test_pairs.py",
)
#: The most test files of one mutant before the laws; those that import a module may be very many.
NEAREST = 12
#: Seconds that a run may take at least.
LEAST = 60
_LEFT = shutil.ignore_patterns(
    ".git", ".venv", "build", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"
)


@dataclass(frozen=True)
class Mutant:
    """A mutation of a module, whose path is relative to the tree."""

    path: str
    mutation: Mutation

    def __str__(self) -> str:
        return f"{self.path}:{self.mutation.line}: {self.mutation.what}"


def modules(suffix: str) -> list[str]:
    """Return the modules with a suffix (.py, .pyx), as paths relative to the tree."""
    return sorted(
        path.relative_to(ROOT).as_posix() for path in (ROOT / "converter").rglob(f"*{suffix}")
    )


def mutants(paths: Iterable[str]) -> list[Mutant]:
    """Return all mutants of some modules."""
    found = []
    for path in paths:
        source = (ROOT / path).read_text()
        changes = kernel_mutations(source) if path.endswith(".pyx") else mutations(source)
        found += [Mutant(path, mutation) for mutation in changes]
    return found


def package_of(path: str) -> str:
    """Return the package of a module: "projection", "formats/fxt"; "" of those at the top."""
    parts = path.split("/")[1:-1]
    return "/".join(parts[: 2 if parts[:1] == ["formats"] else 1])


def sample(among: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draw mutants, as many from each package as far as it has them."""
    rng = random.Random(seed)
    by_package: dict[str, list[Mutant]] = {}
    for mutant in among:
        by_package.setdefault(package_of(mutant.path), []).append(mutant)
    for one in by_package.values():
        rng.shuffle(one)
    drawn: list[Mutant] = []
    while len(drawn) < count and any(by_package.values()):
        for one in by_package.values():
            if one and len(drawn) < count:
                drawn.append(one.pop())
    return drawn


class Tests:
    """The tests of each module, nearest first."""

    @cached_property
    def _imports(self) -> dict[str, str]:
        return {
            path.relative_to(ROOT).as_posix(): path.read_text()
            for path in (ROOT / "tests").rglob("test_*.py")
        }

    def of(self, path: str, laws: bool) -> list[str]:
        """Return the files and folders of tests that belong to a module, and those of the laws."""
        parts = Path(path).with_suffix("").parts[1:]
        own = [f"tests/{'/'.join(parts[:-1])}/test_{parts[-1]}.py".replace("//", "/")]
        dotted = ".".join(("converter", *parts))
        pattern = re.compile(
            rf"\b{re.escape(dotted)}\b|from {re.escape('.'.join(('converter', *parts[:-1])))} import .*\b{parts[-1]}\b"
        )
        importing = sorted(
            (name for name, text in self._imports.items() if pattern.search(text)),
            key=lambda name: -_common(Path(name).parts[1:], parts),
        )
        folders = []
        for depth in range(len(parts) - 1, 0, -1):
            folder = f"tests/{'/'.join(parts[:depth])}"
            if (ROOT / folder).is_dir():
                folders.append(folder)
                break
        wanted = [
            *[name for name in own if (ROOT / name).exists()],
            *importing[:NEAREST],
            *folders,
            *(LAWS if laws else ()),
        ]
        return [name for name in dict.fromkeys(wanted) if (ROOT / name).exists()]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of parts that two paths begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, pair in pairs if len(set(pair)) > 1), min(len(one), len(other)))


class Runner:
    """A copy of the tree in which mutants are tried."""

    def __init__(self, folder: Path, laws: bool) -> None:
        self._laws = laws
        self._tree = folder / "tree"
        shutil.copytree(ROOT, self._tree, ignore=_LEFT, symlinks=True)
        self._tests = Tests()
        self._seconds: dict[tuple[str, ...], float] = {}

    def survives(self, mutant: Mutant) -> str | None:
        """Try a mutant; return None if a test noticed it, else the nearest test."""
        tests = self._tests.of(mutant.path, self._laws)
        usual = self._usual(tuple(tests))
        path = self._tree / mutant.path
        source = path.read_text()
        try:
            path.write_text(mutant.mutation.applied(source))
            if path.suffix == ".pyx" and not self._compiles():
                return None  # the compiler noticed it
            return tests[0] if self._passes(tests, max(LEAST, 10 * usual)) else None
        finally:
            path.write_text(source)

    def _usual(self, tests: tuple[str, ...]) -> float:
        """Return the seconds that tests take without a mutation."""
        if tests not in self._seconds:
            started = time.monotonic()
            if not self._passes(list(tests), 3600):
                sys.exit(f"without any change, not all of these pass: {' '.join(tests)}")
            self._seconds[tests] = time.monotonic() - started
        return self._seconds[tests]

    def _passes(self, tests: list[str], seconds: float) -> bool:
        command = [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            *tests,
        ]
        environment = {**os.environ, "PYTHONPATH": str(self._tree)}
        try:
            done = subprocess.run(
                command,
                cwd=self._tree,
                env=environment,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _compiles(self) -> bool:
        command = [
            sys.executable,
            "-c",
            "import setuptools; setuptools.setup()",
            "-q",
            "build_ext",
            "--inplace",
        ]
        return (
            subprocess.run(command, cwd=self._tree, capture_output=True, check=False).returncode
            == 0
        )


def changed(base: str) -> list[str]:
    """Return the modules that differ from a commit."""
    names = subprocess.run(
        ["git", "diff", "--name-only", base, "--", "converter"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [name for name in names if name.endswith((".py", ".pyx")) and (ROOT / name).exists()]


def tell(*lines: str) -> None:
    """Write lines to standard output at once."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def main() -> None:
    """Try mutants, and print the survivors and the score of each package."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--module", action="append", help="all mutants of a module, or of those below a folder"
    )
    parser.add_argument("--changed", metavar="COMMIT", help="mutants of what differs from a commit")
    parser.add_argument(
        "--package", action="append", help="only of this package, such as ir or formats/fxt"
    )
    parser.add_argument(
        "--kernels", action="store_true", help="of Cython modules instead of Python's"
    )
    parser.add_argument(
        "--sample", type=int, metavar="N", help="draw so many, as many from each package"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--own", action="store_true", help="without the tests of the laws")
    parser.add_argument(
        "--list", action="store_true", help="print the mutants, and do not try them"
    )
    options = parser.parse_args()
    paths = modules(".pyx" if options.kernels else ".py")
    if options.module:
        paths = [path for path in paths if path.startswith(tuple(options.module))]
    if options.changed:
        paths = [
            path
            for path in changed(options.changed)
            if path.endswith(".pyx" if options.kernels else ".py")
        ]
    if options.package:
        paths = [path for path in paths if package_of(path) in options.package]
    chosen = mutants(paths)
    if options.sample:
        chosen = sample(chosen, options.sample, options.seed)
    if options.list:
        tell(*map(str, chosen))
        return
    tried: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="traceconv-mutants-") as folder:
        runner = Runner(Path(folder), not options.own)
        for number, mutant in enumerate(chosen, 1):
            nearest = runner.survives(mutant)
            tried[package_of(mutant.path)] += 1
            noticed[package_of(mutant.path)] += nearest is None
            verdict = "noticed" if nearest is None else f"SURVIVES (nearest: {nearest})"
            tell(f"{number}/{len(chosen)} {mutant}: {verdict}")
    for package, count in sorted(tried.items()):
        tell(f"{package or '(top)':<24} {noticed[package]} of {count}")
    tell(f"{'all':<24} {noticed.total()} of {tried.total()}")


if __name__ == "__main__":
    main()

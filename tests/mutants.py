"""Changes the code a little, one change at a time, and shows which changes no test notices.

    python -m tests.mutants --module converter/ir/canonical.py
    python -m tests.mutants --sample 100 --seed 7 [--package projection]
    python -m tests.mutants --changed main
    python -m tests.mutants --kernels --sample 20

Works on a copy of the tree. A mutant is run against the tests that reach its line: those in the folder of the same
name and those that import its module, then those of the laws, the fastest first and `--seconds` of them at most, and
three times as many of the slower ones if none has failed. The first failure ends a run. A mutant that no test notices
survives, and is printed with its line. A run that takes ten times as long as without the change, or waits for ever,
counts as noticed. What tests reach is recorded once and kept in `build/reached`. Kernels are compiled again for each
change, which takes Cython and setuptools.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests")]

from support.mutants.equivalent import why_equivalent  # noqa: E402 - the path is set above
from support.mutants.mutations import Mutation, kernel_mutations, mutations  # noqa: E402
from support.mutants.runs import Group, Reach, Recorded, Trial, import_libraries  # noqa: E402

#: Tests of what must hold whatever a module does, as far as they are fast.
LAWS = (
    "tests/formats/test_conversions.py",
    "tests/formats/test_matrix.py",
    "tests/ir",
    "tests/projection/test_project.py",
    "tests/selection",
    "tests/test_diff.py",
    "tests/jobs/test_splitting.py",
    "tests/viewers/test_pairs.py",
)
#: The test files that are asked first; those that import a module, or are in its folder, may be very many.
NEAREST = 8
_LEFT = shutil.ignore_patterns(
    ".git",
    ".venv",
    "build",
    "__pycache__",
    ".hypothesis",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
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
    """The files of tests of each module, nearest first."""

    @cached_property
    def _files(self) -> dict[str, str]:
        return {
            path.relative_to(ROOT).as_posix(): path.read_text()
            for path in (ROOT / "tests").rglob("test_*.py")
        }

    def of(self, path: str) -> list[str]:
        """Return the files of tests that belong to a module: its own, those that import it, those of its folder."""
        parts = Path(path).with_suffix("").parts[1:]
        own = "/".join(("tests", *parts[:-1], f"test_{parts[-1]}.py"))
        pattern = _importing(path)
        shared = {
            name: _common(Path(name).parts[1:], parts)
            for name, text in self._files.items()
            if pattern.search(text)
        }
        # Those of other packages only if they are few.
        others = [name for name in shared if not shared[name] and name.count("/") > 1]
        importing = sorted(
            shared.keys() - (others if len(others) > NEAREST else ()),
            key=lambda name: (-shared[name], name),
        )
        # Up to the folder of its package.
        least = 2 if parts[0] == "formats" else 1
        folders = (
            "/".join(("tests", *parts[:depth])) for depth in range(len(parts) - 1, least - 1, -1)
        )
        near = [name for name in (own, *importing) if name in self._files]
        return list(dict.fromkeys((*near, *(file for one in folders for file in self.below(one)))))

    def below(self, *names: str) -> list[str]:
        """Return the files that are named, or in a folder that is named."""
        return sorted(
            file
            for file in self._files
            if any(file == name or file.startswith(f"{name}/") for name in names)
        )


def _importing(path: str) -> re.Pattern[str]:
    """Return a pattern of statements that import a module."""
    parts = Path(path.removesuffix("/__init__.py")).with_suffix("").parts
    package, name, whole = ".".join(parts[:-1]), parts[-1], ".".join(parts)
    return re.compile(rf"\b{re.escape(whole)}\b|from {re.escape(package)} import .*\b{name}\b")


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of parts that two paths begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, pair in pairs if len(set(pair)) > 1), min(len(one), len(other)))


class Runner:
    """A copy of the tree in which mutants are tried."""

    def __init__(self, folder: Path, laws: bool, seconds: float) -> None:
        self._seconds = seconds
        self._tree = folder / "tree"
        shutil.copytree(ROOT, self._tree, ignore=_LEFT, symlinks=True)
        self._tests = Tests()
        self._laws = frozenset(self._tests.below(*LAWS) if laws else ())
        self._recorded = Recorded(self._tree, ROOT / "build/reached")
        import_libraries()

    def tried(
        self, path: str, mutants: Sequence[Mutant]
    ) -> Iterator[tuple[Mutant, str | None, int]]:
        """Try mutants of a module; yield each, the test that notices it, and the number of those that reach it."""
        own = self._tests.of(path)
        files = list(dict.fromkeys((*own, *sorted(self._laws))))
        source = (self._tree / path).read_text()
        trials: list[Trial] = []
        # More of them only where the nearest do not reach a line.
        for some in dict.fromkeys((min(NEAREST, len(own)), len(own), len(files))):
            reached = self._recorded.of(files[:some], path)
            trials = [self._trial(mutant, source, reached) for mutant in mutants]
            if all(trial.tests for trial in trials):
                break
        group = Group(self._tree, path)
        noticed = group.noticed(trials)
        # Those that nobody has noticed are tried with all tests of the package, the slower ones, too.
        late = [n for n, test in enumerate(noticed) if test is None and trials[n].tests]
        reached = self._recorded.of(own, path) if late else {}
        slower = [self._trial(mutants[n], source, reached, after=trials[n].tests) for n in late]
        for n, test in zip(late, group.noticed(slower), strict=True):
            noticed[n] = test
        count = Counter({n: len(trial.tests) for n, trial in enumerate(trials)})
        count.update({n: len(trial.tests) for n, trial in zip(late, slower, strict=True)})
        for n, mutant in enumerate(mutants):
            yield mutant, noticed[n], count[n]

    def _trial(
        self,
        mutant: Mutant,
        source: str,
        reached: dict[str, Reach],
        after: Collection[str] = (),
    ) -> Trial:
        """Return a mutant with the tests that reach its line, nearest and fastest first, or those after some."""
        mutation = mutant.mutation
        found: list[tuple[bool, bool, float, str]] = []
        imported = False
        for file, reach in reached.items():
            lines = reach.lines.get(mutant.path, {})
            near = {test for at in mutation.lines for test in lines.get(at, ())}
            imported |= "" in near
            tests = set(near)
            if not mutation.in_function or near == {""}:
                # A constant, or what a function returns to one, may be seen by all tests; those are nearer that reach
                # functions of the module, or of one that imports it.
                tests = set(reach.seconds)
                near = {
                    test
                    for module in (mutant.path, *self._importers(mutant.path))
                    for tests in reach.lines.get(module, {}).values()
                    for test in tests
                }
            found += [
                (file in self._laws, test not in near, reach.seconds[test], test)
                for test in tests - {""}
            ]
        most = self._seconds * (3 if after else 1)
        chosen, seconds = [], 0.0
        for _, _, needs, test in sorted(found):
            if test not in after and (seconds + needs <= most or not (chosen or after)):
                chosen.append(test)
                seconds += needs
        return Trial(mutation.applied(source), tuple(chosen), 30 + 10 * seconds, imported)

    @cache  # noqa: B019 - there is one runner
    def _importers(self, path: str) -> list[str]:
        pattern = _importing(path)
        return [name for name in modules(".py") if pattern.search((ROOT / name).read_text())]


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
        "--seconds", type=float, default=4, help="that the tests of a mutant may take (%(default)s)"
    )
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
    equivalent: Counter[str] = Counter()
    chosen.sort(key=lambda mutant: mutant.path)
    with tempfile.TemporaryDirectory(prefix="traceconv-mutants-") as folder:
        runner = Runner(Path(folder), not options.own, options.seconds)
        for path, group in groupby(chosen, key=lambda mutant: mutant.path):
            package = package_of(path)
            source = (ROOT / path).read_text().splitlines()
            to_try = []
            for mutant in group:
                mutation = mutant.mutation
                reason = why_equivalent(path, source, mutation.line, mutation.what)
                if reason:
                    equivalent[package] += 1
                    tell(f"{mutant}: equivalent: {reason}")
                else:
                    to_try.append(mutant)
            for mutant, test, reaching in runner.tried(path, to_try):
                tried[package] += 1
                noticed[package] += test is not None
                verdict = f"noticed by {test}" if test else f"SURVIVES {reaching} tests"
                tell(f"{mutant}: {verdict}")
    for package, count in sorted(tried.items()):
        tell(
            f"{package or '(top)':<24} {noticed[package]} of {count}, {equivalent[package]} equivalent"
        )
    tell(f"{'all':<24} {noticed.total()} of {tried.total()}, {equivalent.total()} equivalent")


if __name__ == "__main__":
    main()

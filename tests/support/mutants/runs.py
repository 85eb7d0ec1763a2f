"""Runs of the tests that reach a mutation, in processes that have everything imported already.

What tests reach is recorded once a file of tests, by `coverage`, and kept in `build/reached` until the file or a module
changes. The mutants of a module share a process, which collects the tests once and is forked for each of them: in the
fork the code of the mutated functions is exchanged, and tests run until the first failure. A mutation of what runs when
the module is imported, and one that no test notices that way, is tried in a process that imports everything anew.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import inspect
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

import pytest

#: Seconds that the tests of one mutant may take without the change; those that are nearest and fastest are chosen.
BUDGET: Final = 20.0
#: The status of a fork that ends with an exception.
FAILED: Final = 99
#: Memory that a mutant may use.
_MEMORY: Final = 6 << 30
#: After these seconds without any processor time, a mutant waits for what does not come.
_IDLE: Final = 20.0
#: Modules that every run of tests imports, and no mutation changes.
_IMPORTED: Final = ("numpy", "hypothesis", "hypothesis.extra.numpy", "construct", "pyarrow.parquet")


@dataclass
class Reach:
    """What the tests of a file reach."""

    #: The seconds of processor time that each test takes.
    seconds: dict[str, float] = field(default_factory=dict)
    #: By module and line, the tests that reach it.
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    #: The contents of the modules.
    digests: dict[str, str] = field(default_factory=dict)


class Recorded:
    """What files of tests reach, recorded in a tree where it is not known yet."""

    def __init__(self, tree: Path, kept: Path) -> None:
        self._tree = tree
        self._kept = kept
        self._known: dict[str, Reach] = {}

    def of(self, files: Sequence[str], module: str) -> dict[str, Reach]:
        """Return what files of tests reach; it is new enough to know the lines of a module."""
        digest = _digest(self._tree / module)
        paths = {name: self._path(name) for name in files}
        for name, path in paths.items():
            if name not in self._known and path.exists():
                self._known[name] = pickle.loads(path.read_bytes())
        stale = [
            name
            for name in files
            if name not in self._known or self._known[name].digests.get(module, digest) != digest
        ]
        if stale and forked(lambda: self._record(stale), seconds=3600):
            for name in stale:
                if forked(lambda name=name: self._record([name]), seconds=600):
                    sys.stderr.write(f"{name} cannot be recorded\n")
        for name in stale:
            self._known[name] = (
                pickle.loads(paths[name].read_bytes()) if paths[name].exists() else Reach()
            )
        return {name: self._known[name] for name in files}

    def _path(self, name: str) -> Path:
        digest = _digest(self._tree / name)
        return self._kept / f"{name.replace('/', '.')}.{digest}.pickle"

    def _record(self, files: Sequence[str]) -> int:
        from coverage import Coverage

        measured = Coverage(
            data_file=None,
            source=[str(self._tree / "converter")],
            messages=False,
            config_file=False,
        )
        recorder = _Recorder(measured)
        measured.start()
        _pytest(self._tree, files, recorder)
        measured.stop()
        reached = {name: Reach() for name in files}
        for test, seconds in recorder.seconds.items():
            reached[test.partition("::")[0]].seconds[test] = seconds
        data = measured.get_data()
        for path in data.measured_files():
            module = Path(path).relative_to(self._tree).as_posix()
            for reach in reached.values():
                reach.digests[module] = _digest(Path(path))
            for line, tests in data.contexts_by_lineno(path).items():
                for test in tests:
                    # What imports reach has no name, and is the same for all.
                    names = [test.partition("::")[0]] if test in recorder.seconds else []
                    for name in names if test else files:
                        reached[name].lines.setdefault(module, {}).setdefault(line, []).append(test)
        self._kept.mkdir(parents=True, exist_ok=True)
        for name, reach in reached.items():
            self._path(name).write_bytes(pickle.dumps(reach))
        return 0


class _Recorder:
    """Notes which test runs, and the processor time of those that pass."""

    def __init__(self, measured: Any) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._measured.switch_context(item.nodeid)
        self.seconds[item.nodeid] = 0
        started = sum(os.times()[:4])
        result = yield
        if item.nodeid in self.seconds:
            self.seconds[item.nodeid] = sum(os.times()[:4]) - started
        self._measured.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            # One that fails or is skipped without a change notices none.
            self.seconds.pop(report.nodeid, None)


@dataclass(frozen=True)
class Trial:
    """A mutated source of a module, and the tests that are to notice it, in their order."""

    source: str
    tests: tuple[str, ...]
    #: After this time it is noticed.
    seconds: float
    #: True if the mutated line also runs when modules are imported, before a fork could change it.
    alone: bool


class Group:
    """The mutants of one module."""

    def __init__(self, tree: Path, module: str) -> None:
        self._tree = tree
        self._module = module
        self._source = (tree / module).read_text()
        self._note = tree / "noticed"

    def noticed(self, trials: Sequence[Trial]) -> list[str | None]:
        """Return for each mutant the test that notices it, if any does."""
        swaps = [None if trial.alone else self._swap(trial.source) for trial in trials]
        together = [
            number for number, swap in enumerate(swaps) if swap is not None and trials[number].tests
        ]
        found = [
            self._alone(trial) if swap is None and trial.tests else None
            for trial, swap in zip(trials, swaps, strict=True)
        ]
        if together:
            answers = self._tree / "answers"
            answers.unlink(missing_ok=True)

            def each(session: pytest.Session) -> None:
                tried = [self._together(session, trials[at], swaps[at] or {}) for at in together]
                answers.write_text("\n".join(test or "" for test in tried))

            tests = {test for number in together for test in trials[number].tests}
            self._collected(tests, each, sum(trials[number].seconds for number in together))
            if not answers.exists():
                sys.exit(f"the tests of {self._module} cannot be collected: {' '.join(tests)}")
            for number, test in zip(together, answers.read_text().split("\n"), strict=True):
                found[number] = test or None
        return found

    def _alone(self, trial: Trial) -> str | None:
        """Try a mutant in a process that imports everything after the change."""
        self._note.write_text("")
        with self._changed(trial):
            if self._module.endswith(".pyx") and not self._compiles():
                return "the compiler"
            status = self._collected(
                trial.tests, lambda session: self._run(session, trial.tests), trial.seconds
            )
        return self._verdict(status)

    def _compiles(self) -> bool:
        command = "import setuptools; setuptools.setup()"
        return not subprocess.run(
            [sys.executable, "-c", command, "-q", "build_ext", "--inplace"],
            cwd=self._tree,
            # Fast to compile.
            env={**os.environ, "TRACECONV_KERNEL_FLAGS": "-O0"},
            capture_output=True,
            check=False,
        ).returncode

    def _together(
        self, session: pytest.Session, trial: Trial, swap: dict[tuple[str, int], CodeType]
    ) -> str | None:
        """Try a mutant in a fork of this process, with the code of its functions exchanged."""
        self._note.write_text("")
        path = str(self._tree / self._module)

        def run() -> int:
            for one in gc.get_objects():
                # Not isinstance, which asks proxies for the class of what is gone.
                if type(one) is FunctionType and one.__code__.co_filename == path:
                    key = (one.__code__.co_qualname, one.__code__.co_firstlineno)
                    one.__code__ = swap.get(key, one.__code__)
            self._run(session, trial.tests)
            return 0

        with self._changed(trial):
            return self._verdict(forked(run, trial.seconds))

    def _collected(
        self, tests: Collection[str], run: Callable[[pytest.Session], None], seconds: float
    ) -> int:
        """Run something in a process where tests are collected."""
        files = sorted({test.partition("::")[0] for test in tests})
        return forked(lambda: _pytest(self._tree, files, _Loop(run)), seconds)

    def _run(self, session: pytest.Session, tests: Sequence[str]) -> None:
        """Run tests until one fails, and note it."""
        items = {item.nodeid: item for item in session.items}
        chosen = [items[test] for test in tests if test in items]
        # Not collected: the module cannot be imported, or there are other tests than before.
        if len(chosen) < len(tests):
            self._note.write_text("the collection of tests")
            return
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                self._note.write_text(item.nodeid)
                return

    def _verdict(self, status: int) -> str | None:
        if status == FAILED:
            sys.exit(f"a mutant of {self._module} cannot be tried: see TRACECONV_MUTANTS_LOG")
        return self._note.read_text() or (f"status {status}" if status else None)

    @contextlib.contextmanager
    def _changed(self, trial: Trial) -> Iterator[None]:
        """Put the change on the disk, too, for processes that tests start."""
        path = self._tree / self._module
        compiled = path.with_suffix(EXTENSION_SUFFIXES[0])
        # Not in its folder, whose files some tests count.
        kept = [
            (each, each.rename(self._tree / f"{each.name}.kept"))
            for each in (path, compiled)
            if each.exists()
        ]
        path.write_text(trial.source)
        try:
            yield
        finally:
            for each, aside in kept:
                aside.replace(each)

    def _swap(self, source: str) -> dict[tuple[str, int], CodeType] | None:
        """Return the code of changed functions by name and line; None if more than functions is changed."""
        if not self._module.endswith(".py"):
            return None
        path = str(self._tree / self._module)
        try:
            before = _codes(compile(self._source, path, "exec", dont_inherit=True))
            after = _codes(compile(source, path, "exec", dont_inherit=True))
        except (SyntaxError, ValueError):
            return None
        names = [name for name, _ in before]
        if names != [name for name, _ in after]:
            return None
        changed = {
            name: (old, new)
            for (name, old), (_, new) in zip(before, after, strict=True)
            if _own(old) != _own(new)
        }
        is_possible = all(
            old.co_flags & inspect.CO_NEWLOCALS
            and old.co_freevars == new.co_freevars
            and names.count(name) == 1
            for name, (old, new) in changed.items()
        )
        # What is around a function has its code as a constant.
        around = {
            name for name in names if any(one[0].startswith(f"{name[0]}.") for one in changed)
        }
        return (
            {name: new for name, new in after if name in changed or name in around}
            if is_possible
            else None
        )


def _own(code: CodeType) -> tuple[object, ...]:
    """Return what code does itself, without the functions inside."""
    constants = tuple((type(one), one) for one in code.co_consts if not isinstance(one, CodeType))
    return code.co_code, repr(constants), code.co_names, code.co_freevars


def _codes(code: CodeType) -> list[tuple[tuple[str, int], CodeType]]:
    """Return code and that of all functions inside, each with its name and line."""
    found = [((code.co_qualname, code.co_firstlineno), code)]
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found += _codes(one)
    return found


class _Loop:
    """Runs something in place of the collected tests."""

    def __init__(self, run: Callable[[pytest.Session], None]) -> None:
        self._run = run

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._run(session)
        return True


def _pytest(tree: Path, files: Sequence[str], plugin: object) -> int:
    os.chdir(tree)
    sys.path[:0] = [str(tree)]
    os.environ["PYTHONPATH"] = str(tree)
    options = ["-q", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=none"]
    # Libraries are imported already.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *files], plugins=[plugin]))


def import_libraries() -> None:
    """Import what every run needs, so that forks have it."""
    for name in _IMPORTED:
        with contextlib.suppress(ImportError):
            __import__(name)


def forked(run: Callable[[], int], seconds: float) -> int:
    """Run something in a fork, quietly; return its status, which is not 0 if it takes too long or waits for ever.

    The seconds are of processor time; others may use the machine for most of ten times as long.
    """
    child = os.fork()
    if not child:
        status = FAILED
        try:
            os.setsid()
            log = os.open(
                os.environ.get("TRACECONV_MUTANTS_LOG", os.devnull),
                os.O_WRONLY | os.O_CREAT | os.O_APPEND,
            )
            os.dup2(log, 1)
            os.dup2(log, 2)
            # Not its addresses, of which Node reserves many.
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
            status = run()
        finally:
            if status == FAILED:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    ends = time.monotonic() + 10 * seconds
    wait, used, idle_until = 0.002, -1, time.monotonic() + _IDLE
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        now = time.monotonic()
        if done or now > ends:
            break
        if now > idle_until:
            before, used, idle_until = used, _ticks_of(child), now + _IDLE
            if used == before:
                break
        time.sleep(wait)
        wait = min(wait * 1.5, 0.1)
    # What the tests have started ends, too.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not done:
        os.waitpid(child, 0)
        return 98
    return os.waitstatus_to_exitcode(status)


def _ticks_of(process: int) -> int:
    """Return the processor time of a process and of all that it has started."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name may have spaces and parentheses.
            fields = path.read_text().rpartition(")")[2].split()
            one = int(path.parent.name)
            parents[one], ticks[one] = int(fields[1]), int(fields[11]) + int(fields[12])
    family, new = set(), {process}
    while new:
        family |= new
        new = {one for one, parent in parents.items() if parent in new} - family
    return sum(ticks.get(one, 0) for one in family)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]

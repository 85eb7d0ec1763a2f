"""Runs a command on kernels that watch themselves: ``python -m tests.instrumented sanitized pytest tests/formats``.

The tree is copied to ``build/instrumented/KIND``, its kernels are compiled there in another way, and the command, a
module of Python with arguments, is run in the copy:

    bounds      Cython checks each index of a memoryview or buffer, and that it was given a value
    sanitized   AddressSanitizer and UndefinedBehaviorSanitizer watch every access, and edges are counted, which guide
                ``tests.fuzz`` (needs gcc)
    covered     gcov counts lines, see ``tests.reached`` (needs gcc)

Cython and setuptools have to be installed, of the versions that pyproject.toml asks for.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What a copy does not have; compiled modules are its own.
LEFT_OUT = {"build", ".git", "__pycache__", ".hypothesis", ".mypy_cache", ".ruff_cache"}
#: Counts edges of kernels and of Python.
EDGES = "tests/support/fuzzing/edges.c"
#: Refuses memory that kernels ask for by what stands in the header.
ALLOCATIONS = "tests/support/fuzzing/allocations.c"
_REFUSABLE = ("-include", "tests/support/fuzzing/allocations.h")
_DIRECTIVES = "boundscheck=False"


@dataclass(frozen=True, slots=True)
class Kind:
    """How kernels are compiled: directives of Cython, and arguments of the compiler."""

    arguments: tuple[str, ...]
    directives: str = _DIRECTIVES
    #: Libraries of gcc that a program has to load first, and those that are compiled.
    preload: tuple[str, ...] = ()
    watched_by: tuple[str, ...] = ()
    #: What these are told.
    environment: tuple[tuple[str, str], ...] = ()


_SANITIZERS = (
    "-fsanitize=address,undefined,float-cast-overflow",
    # Python has it compiled with -fwrapv, which hides that numbers of an input overflow.
    "-fno-wrapv",
    "-fsanitize-coverage=trace-pc,trace-cmp",
    "-fno-omit-frame-pointer",
)
_ASAN = (
    # What Python keeps to the end is no leak.
    "detect_leaks=0",
    # More memory at once is refused, which is a MemoryError.
    "max_allocation_size_mb=512",
    "allocator_may_return_null=1",
    "quarantine_size_mb=16",
    "malloc_context_size=1",
    "abort_on_error=1",
)
KINDS = {
    "bounds": Kind(arguments=("-O1",), directives="boundscheck=True, initializedcheck=True"),
    "sanitized": Kind(
        arguments=("-O1", "-g1", *_SANITIZERS, *_REFUSABLE),
        preload=("libasan.so", "libubsan.so", "libstdc++.so.6"),
        watched_by=(EDGES, ALLOCATIONS),
        environment=(
            # Every object of Python is its own piece of memory.
            ("PYTHONMALLOC", "malloc"),
            ("ASAN_OPTIONS", ":".join(_ASAN)),
            ("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1:abort_on_error=1"),
        ),
    ),
    "covered": Kind(
        arguments=("-O0", "--coverage", "-fprofile-update=atomic", *_REFUSABLE),
        watched_by=(ALLOCATIONS,),
    ),
}


def mirrored(copy: Path, directives: str) -> None:
    """Bring a copy of the tree up to date; times stay, so that only what has changed is compiled anew."""
    kept = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [each for each in folders if each not in LEFT_OUT]
        links = [each for each in folders if Path(folder, each).is_symlink()]
        for name in (*files, *links):
            source = Path(folder, name)
            relative = source.relative_to(ROOT)
            if source.suffix == ".so":
                continue
            kept.add(relative)
            _mirror(source, copy / relative, directives)
    for folder, folders, files in os.walk(copy):
        folders[:] = [each for each in folders if each not in LEFT_OUT]
        for name in files:
            path = Path(folder, name)
            if path.suffix != ".so" and path.relative_to(copy) not in kept:
                path.unlink()


def _mirror(source: Path, target: Path, directives: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".pyx":
        # What a file says itself counts for more than what the compiler is told.
        head, end, rest = source.read_text().partition("\n")
        text = head.replace(_DIRECTIVES, directives) + end + rest
        if not target.exists() or target.read_text() != text:
            target.write_text(text)
        return
    changed = source.lstat().st_mtime_ns
    if not os.path.lexists(target) or target.lstat().st_mtime_ns != changed:
        target.unlink(missing_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)


def compiled(copy: Path, kind: Kind) -> None:
    """Compile what is stale of a copy's kernels."""
    setup = "from setuptools import setup; setup()"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", setup, "-q", "build_ext", "--inplace"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": ".", "TRACECONV_KERNEL_FLAGS": " ".join(kind.arguments)},
        check=True,
        stdout=sys.stderr,
    )


def library(copy: Path, source: str) -> Path:
    """A library that watches kernels, compiled."""
    made = copy / "build" / Path(source).with_suffix(".so").name
    include = sysconfig.get_path("include")
    made.parent.mkdir(exist_ok=True)
    command = ["gcc", "-O2", "-shared", "-fPIC", "-I", include, "-o", made, copy / source]
    subprocess.run(command, check=True)
    return made


def environment(copy: Path, kind: Kind) -> dict[str, str]:
    """What a program is given that uses the kernels of a copy."""
    found = {**os.environ, "PYTHONPATH": str(copy), **dict(kind.environment)}
    libraries = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in kind.preload
    ]
    libraries += [str(library(copy, source)) for source in kind.watched_by]
    if libraries:
        found["LD_PRELOAD"] = " ".join(libraries)
    return found


def prepared(name: str) -> Path:
    """A copy of the tree with kernels of a kind."""
    copy = ROOT / "build" / "instrumented" / name
    mirrored(copy, KINDS[name].directives)
    compiled(copy, KINDS[name])
    # What the fuzzer keeps is kept for all.
    kept = ROOT / "build" / "fuzz"
    kept.mkdir(exist_ok=True)
    link = copy / "build" / "fuzz"
    if not link.is_symlink():
        link.symlink_to(kept)
    return copy


def main() -> None:
    """Run the command; its end is that of the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a module and its arguments")
    options = parser.parse_args()
    copy = prepared(options.kind)
    if options.command:
        os.chdir(copy)
        given = environment(copy, KINDS[options.kind])
        os.execve(sys.executable, [sys.executable, "-m", *options.command], given)


if __name__ == "__main__":
    main()

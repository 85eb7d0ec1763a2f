"""How the kernels are compiled and distributions put together, by commands that pyproject.toml names; nothing else
imports this.

Each `.pyx` below `converter/` is an extension module of its name. What Cython's memoryviews need stands once, in a
module that the others share. A compiled module stays beside its source: an install, an editable install and the tests
use the same, and compile only what is older than what it is made of.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from Cython.Build import cythonize
from Cython.Build.Dependencies import create_dependency_tree
from setuptools import Extension
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

_SHARED = "converter.kernels.shared"
#: What Cython makes, which is the same for every version of Python.
_TRANSLATED = "build/cython"
#: Modules whose kernels -O3 makes faster by more than it costs.
_O3 = frozenset(
    # JSON is scanned byte by byte: 5 % fewer instructions.
    {"converter.formats.chrome.scan", "converter.formats.chrome.scan_values"}
)
#: What a source distribution has beside what setuptools puts in: all that is kept of the project.
_KEPT = (
    ".ci",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "benchmarks",
    "converter",
    "docs",
    "roundtrip_fixtures",
    "schemas",
    "tests",
)
#: What runs and builds leave in these folders.
_LEFT = ("__pycache__", "*.pyc", "*.so")
#: A link, so that the package is complete in a checkout without an installation.
_SCHEMAS = "converter/schemas"


class BuildKernels(build_ext):
    """Translates and compiles the kernels that need it, as many at a time as there are processors."""

    extensions: list[Extension]
    force: bool

    def initialize_options(self) -> None:
        super().initialize_options()
        self.parallel = True

    def finalize_options(self) -> None:
        shared = _extension(_SHARED, _SHARED.replace(".", "/") + ".c")
        kernels = [
            _extension(".".join(path.with_suffix("").parts), str(path))
            for path in sorted(Path("converter").rglob("*.pyx"))
        ]
        self.distribution.ext_modules = [shared, *kernels]
        super().finalize_options()

    def build_extensions(self) -> None:
        tree = create_dependency_tree(quiet=True)
        everything = self.extensions
        stale = [each for each in everything if self.force or self._is_stale(each, tree)]
        # The largest first, so that no processor is left with one of them at the end.
        stale.sort(key=lambda each: -max(map(_size, each.sources)))
        sources = {
            each.name: each.sources
            for each in cythonize(
                stale,
                nthreads=os.cpu_count() or 1,
                build_dir=_TRANSLATED,
                shared_utility_qualified_name=_SHARED,
                force=True,
                compiler_directives={
                    "language_level": 3,
                    # What kernels do not need, and what a third of their code would be.
                    "auto_pickle": False,
                    "binding": False,
                },
            )
        }
        for each in stale:
            each.sources = sources[each.name]
        self.extensions, self.force = stale, True
        super().build_extensions()
        self.extensions = everything
        for each in self.extensions:
            self._copy_to_build(each)

    def build_extension(self, ext: Extension) -> None:
        print(f"compiling {ext.name}", flush=True)
        super().build_extension(ext)

    def get_ext_fullpath(self, ext_name: str) -> str:
        """The compiled module's place, which is beside its source in any case."""
        return os.path.join(
            *ext_name.split(".")[:-1], os.path.basename(self.get_ext_filename(ext_name))
        )

    def copy_extensions_to_source(self) -> None:
        """Nothing: they are there."""

    def _is_stale(self, extension: Extension, tree: Any) -> bool:
        path = self.get_ext_fullpath(extension.name)
        if not os.path.exists(path):
            return True
        made = os.path.getmtime(path)
        needed = [__file__, *extension.sources]
        for source in extension.sources:
            if source.endswith(".pyx"):
                needed += tree.all_dependencies(source)
        # Cython's own files are as new as the environment of this build.
        own = (each for each in needed if os.path.abspath(each).startswith(os.getcwd() + os.sep))
        return any(os.path.exists(each) and os.path.getmtime(each) > made for each in own)

    def _copy_to_build(self, extension: Extension) -> None:
        target = os.path.join(self.build_lib, self.get_ext_filename(extension.name))
        self.mkpath(os.path.dirname(target))
        self.copy_file(self.get_ext_fullpath(extension.name), target)


class BuildModules(build_py):
    """Leaves out this module, which an installed package has no use for, and what an earlier build has made."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        modules: list[tuple[str, str, str]] = super().find_package_modules(package, package_dir)
        return [each for each in modules if ".".join(each[:2]) != __name__]


class SourceDistribution(sdist):
    """Puts in what is kept of the project, also where no version control says what that is."""

    def make_distribution(self) -> None:
        self.filelist.extend(sorted(_kept_files()))
        self.filelist.remove_duplicates()
        super().make_distribution()

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        if os.path.islink(_SCHEMAS):
            os.symlink(os.readlink(_SCHEMAS), os.path.join(base_dir, _SCHEMAS))


def _kept_files() -> Iterator[str]:
    for name in _KEPT:
        if os.path.isfile(name):
            yield name
        for folder, folders, files in os.walk(name):
            folders[:] = [each for each in folders if not _is_left(each)]
            yield from (os.path.join(folder, each) for each in files if not _is_left(each))


def _is_left(name: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in _LEFT)


def _extension(name: str, source: str) -> Extension:
    level = "-O3" if name in _O3 else "-O2"
    return Extension(name, [source], extra_compile_args=[level, "-g0"])


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else sys.maxsize

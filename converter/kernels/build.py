"""How the kernels are compiled: the build's own `build_ext`, which pyproject.toml names; nothing imports it later.

Each `.pyx` below `converter/` is an extension module of its name. What Cython's memoryviews need stands once, in a
module that the others share. A compiled module stays beside its source: an install, an editable install and the tests
use the same, and compile only what is older than what it is made of.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from Cython.Build import cythonize
from Cython.Build.Dependencies import create_dependency_tree
from setuptools import Extension
from setuptools.command.build_ext import build_ext

_SHARED = "converter.kernels.shared"
#: What Cython makes, which is the same for every version of Python.
_TRANSLATED = "build/cython"
#: Modules whose kernels -O3 makes faster by more than it costs.
_O3 = frozenset(
    # JSON is scanned byte by byte: 5 % fewer instructions.
    {"converter.formats.chrome.scan", "converter.formats.chrome.scan_values"}
)


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


def _extension(name: str, source: str) -> Extension:
    level = "-O3" if name in _O3 else "-O2"
    return Extension(name, [source], extra_compile_args=[level, "-g0"])


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else sys.maxsize

"""The build backend that pyproject.toml names: setuptools' own, with additional commands that compile the kernels and
assemble distributions. Nothing else imports this.

Each `.pyx` below `converter/` is an extension module of its name. The support code of Cython's memoryviews is compiled
once, into a module that the others share. A compiled module is placed next to its source: an install, an editable
install and the tests use the same one, and recompile only modules older than their sources. If no module is out of
date, Cython is not required.
"""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from setuptools import Extension, build_meta
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

_SHARED = "converter.kernels.shared"
#: The output of Cython, which is the same for every version of Python.
_TRANSLATED = "build/cython"
#: Modules whose kernels gain more from -O3 than it costs.
_O3 = frozenset(
    # JSON is scanned byte by byte: 5 % fewer instructions.
    {"converter.formats.chrome.json.scan", "converter.formats.chrome.json.scan_values"}
)
#: Additional options for compiler and linker, for instrumented kernels (`tests/instrumented.py`).
_FLAGS = os.environ.get("TRACECONV_KERNEL_FLAGS", "").split()
#: The contents of a source distribution in addition to setuptools' own selection: all that is kept of the project.
_KEPT = (
    ".ci",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks",
    "converter",
    "docs",
    "roundtrip_fixtures",
    "schemas",
    "share",
    "tests",
)
#: Leftovers of runs and builds in these folders.
_LEFTOVERS = ("__pycache__", "*.pyc", "*.so")
_CYTHON = "Cython>=3.1"
_CIMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+)?cimport\s*\(?\s*([\w.]+|\*)", re.MULTILINE)
#: A link, so that the package is complete in a checkout without an installation.
_SCHEMAS = "converter/schemas"


class BuildKernels(build_ext):
    """Translates and compiles the kernels that need it, in parallel on all processors."""

    extensions: list[Extension]
    force: bool

    def initialize_options(self) -> None:
        super().initialize_options()
        self.parallel = True

    def finalize_options(self) -> None:
        self.distribution.ext_modules = [
            Extension(
                name,
                [source],
                extra_compile_args=["-O3" if name in _O3 else "-O2", "-g0", *_FLAGS],
                extra_link_args=_FLAGS,
            )
            for name, source in _kernels().items()
        ]
        super().finalize_options()

    def build_extensions(self) -> None:
        everything = self.extensions
        stale = [each for each in everything if self.force or _is_stale(each.name)]
        if stale:
            self._build(stale)
        for each in everything:
            self._copy_to_build(each)
        self.extensions = everything

    def _build(self, stale: list[Extension]) -> None:
        from Cython.Build import cythonize

        # The largest first, so that none of them is compiled alone at the end.
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
                    # Kernels are not pickled, nor do they need the attributes of Python functions: less to compile.
                    "auto_pickle": False,
                    "binding": False,
                    # Annotations are for the stubs.
                    "annotation_typing": False,
                },
            )
        }
        for each in stale:
            each.sources = sources[each.name]
        self.extensions, self.force = stale, True
        super().build_extensions()

    def build_extension(self, ext: Extension) -> None:
        print(f"compiling {ext.name}", flush=True)
        super().build_extension(ext)

    def get_ext_fullpath(self, ext_name: str) -> str:
        """Return the path of the compiled module, which is always next to its source."""
        return _compiled(ext_name)

    def copy_extensions_to_source(self) -> None:
        """Do nothing: they are there."""

    def _copy_to_build(self, extension: Extension) -> None:
        target = os.path.join(self.build_lib, self.get_ext_filename(extension.name))
        self.mkpath(os.path.dirname(target))
        self.copy_file(self.get_ext_fullpath(extension.name), target)


class BuildModules(build_py):
    """Excludes this module, which an installed package does not need, and the output of an earlier build."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        modules: list[tuple[str, str, str]] = super().find_package_modules(package, package_dir)
        return [each for each in modules if ".".join(each[:2]) != __name__]


class SourceDistribution(sdist):
    """Includes all that is kept of the project, even without version control to list it."""

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
            folders[:] = [each for each in folders if not _is_leftover(each)]
            yield from (os.path.join(folder, each) for each in files if not _is_leftover(each))


def _is_leftover(name: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in _LEFTOVERS)


@cache
def _kernels() -> dict[str, str]:
    """Return the compiled modules, and the source that each is translated or compiled from."""
    paths = [str(path) for path in sorted(Path("converter").rglob("*.pyx"))]
    shared = _SHARED.replace(".", "/") + ".c"
    return {path.rpartition(".")[0].replace("/", "."): path for path in (shared, *paths)}


def _compiled(name: str) -> str:
    return name.replace(".", "/") + EXTENSION_SUFFIXES[0]


def _is_stale(name: str) -> bool:
    """Return True if a module is not compiled, or older than its sources, including the declarations that
    it cimports.
    """
    path = _compiled(name)
    if not os.path.exists(path):
        return True
    needed = {__file__}
    waiting = [_kernels()[name]]
    while waiting:
        source = waiting.pop()
        if source not in needed and os.path.exists(source):
            needed.add(source)
            waiting += _declarations(source)
    return max(map(os.path.getmtime, needed)) > os.path.getmtime(path)


@cache
def _declarations(source: str) -> list[str]:
    """Return the paths of the declarations that a .pyx or .pxd may refer to: its own, and those that it cimports."""
    found = [source.replace(".pyx", ".pxd")]
    if source.endswith((".pyx", ".pxd")):
        for package, module in _CIMPORT.findall(Path(source).read_text()):
            outer, inner = package.replace(".", "/"), module.replace(".", "/")
            found += [f"{outer}.pxd", f"{outer}/{inner}.pxd", f"{inner}.pxd"]
    return found


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else sys.maxsize


def _get_requires(_settings: dict[str, Any] | None = None) -> list[str]:
    if not any(map(_is_stale, _kernels())):
        return []
    missing = _missing_tool()
    if missing:
        # At once, not after minutes of translation.
        sys.exit(f"traceconv needs {missing} (on Debian: apt install gcc python3-dev), or a wheel")
    return [_CYTHON]


def _missing_tool() -> str | None:
    """Return what compiling a kernel lacks: a C compiler or Python's headers; None if both are there."""
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    # The compiler, and what runs it, such as ccache.
    programs = itertools.takewhile(lambda word: not word.startswith("-"), command)
    if not all(map(shutil.which, programs)):
        return f"a C compiler, and there is no {command[0]!r}"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return None if header.exists() else f"the headers of Python ({header})"


# The hooks of PEP 517 and PEP 660.
get_requires_for_build_wheel = get_requires_for_build_editable = _get_requires
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
build_wheel = build_meta.build_wheel
build_editable = build_meta.build_editable
build_sdist = build_meta.build_sdist

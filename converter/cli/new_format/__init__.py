"""The template of a package with a format of its own: the output of `traceconv new-format`.

It is a complete small format, everything in which may be changed, with the conformance suite as its tests.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from converter.errors import UnsupportedError
from converter.registry import FORMATS
from converter.storage.outputs import open_sink

_TEMPLATE = Path(__file__).parent / "template"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}", re.ASCII)


def modules(name: str, package: str) -> dict[str, str]:
    """Return the modules of a format of this name in that package, by their names."""
    return {
        path.name.removesuffix(".txt"): _filled(path, _words(name, package))
        for path in sorted(_TEMPLATE.glob("*.py.txt"))
    }


def generate(name: str, directory: str | os.PathLike[str] | None = None) -> Path:
    """Make a package with a format of this name: `traceconv-NAME` in the current directory, or in the given one.

    Raises:
        UnsupportedError: there is a format of this name, or the name is not allowed for one.
        OutputError: it exists, or cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise UnsupportedError(
            f"{name!r} cannot name a format: use lower-case letters, digits and _"
        )
    if any(format.name == name for format in FORMATS):
        raise UnsupportedError(f"there is a format called {name}")
    package = f"traceconv_{name}"
    place = Path(f"traceconv-{name.replace('_', '-')}" if directory is None else directory)
    files = {f"src/{package}/{file}": text for file, text in modules(name, package).items()}
    words = _words(name, package)
    files["pyproject.toml"] = _filled(_TEMPLATE / "pyproject.txt", words)
    files["tests/test_format.py"] = _filled(_TEMPLATE / "test_format.txt", words)
    with open_sink(place, directory=True) as sink:
        for file, text in files.items():
            sink.create(file).write(text.encode())
    return place


def _words(name: str, package: str) -> dict[str, str]:
    title = name.replace("_", " ").title().replace(" ", "")
    # Eight bytes, the length of the header's magic number.
    magic = f"{name.upper()[:6]:6}1\\n"
    return {"name": name, "title": title, "magic": magic, "package": package}


def _filled(path: Path, words: Mapping[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda match: words[match[1]], path.read_text(encoding="utf-8"))

"""Which lines of kernels and readers the fuzzer's inputs reach: ``python -m tests.instrumented covered tests.reached``.

Every input that changes start from, and what runs of ``tests.fuzz`` have kept, is read and written; the first changed
ones are read, in part or written, as the fuzzer does it.
Kernels are measured by gcov, modules of Python by what Python says of each line. Lines of kernels that refuse what no
reader gives them are counted apart. ``--missing`` lists the lines that are not reached.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.fuzzing.reached_lines import Reached  # noqa: E402 - the path is set above

REACHED = Reached(ROOT / "converter")
if "--measure" in sys.argv:
    # What modules run when they are imported counts, too.
    REACHED.start()

from fuzz import ALLOCATIONS, KEPT, READ_AS, attempt, numbered, originals, targets  # noqa: E402
from support.fuzzing.corpus import Corpus, packed  # noqa: E402
from support.fuzzing.outputs import ANEW, PART, REPORT, SHOWN  # noqa: E402

from converter.registry import source_format  # noqa: E402

_MARK = re.compile(r'^ +/\* "(converter/[\w/]+\.p(?:yx|xd))":(\d+)$')
#: What kernels raise are errors of Python, or lead to one: of an input that brings one about it is a finding.
_REFUSAL = re.compile(
    r"""(?mx)^\ +(?:
        raise\ \w+Error\b
        | failed\ =\ (?:i|True)\n\ +break$
        | (?:return|\S+\ =)\ (?:failed\(to,\ )?(?:S_)?(?:BAD_COLUMN|OUT_OF_RANGE)\b.*
        | fail\(.*\ BAD_COLUMN\)
    )""",
)
#: Each input is read in part, shown, reported, written in its own format and in every so manieth of the others.
SHARE = 8
#: How many requests for memory are refused, of those of one of the ways in which an input is used.
REFUSED = 12
#: Lines of a file, and whether each is reached.
Lines = dict[str, dict[int, bool]]


def readers(format: str) -> Iterator[Path]:
    """The modules of a format that its reader is made of."""
    package = source_format(format)[0].modules
    waiting, found = [f"{package}.reading"], set()
    while waiting:
        module = waiting.pop()
        path = ROOT / f"{module.replace('.', '/')}.py"
        if not path.exists():
            path = ROOT / module.replace(".", "/") / "__init__.py"
        if module in found or not path.exists():
            continue
        found.add(module)
        yield path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
                waiting += [node.module or "", *(f"{node.module}.{n.name}" for n in node.names)]


def read_and_write(names: list[str], kept: Path, changed: int) -> Lines:
    """Read and write the inputs of formats; the lines of their readers."""
    for name in names:
        # Here already, as what is made only once is made with the first of the inputs.
        REACHED.start()
        corpus = Corpus(originals(name), kept / name)
        corpus.load()
        own = [target for target in targets() if target.startswith(name.partition("+")[0])]
        ways = (REPORT, PART, SHOWN, *([ANEW, *own] if source_format(name)[0].writable else []))
        for number, entry in enumerate(corpus.entries):
            data = packed(entry.files)
            for target in (*ways, *targets()[number % SHARE :: SHARE]):
                REACHED.start()
                with contextlib.suppress(Exception):  # that is the fuzzer's part
                    attempt(name, data, target, lossless=bool(number & 1))
            REACHED.stop()
            every = (*ways[:3], *targets())
            refuse(name, data, every[number % len(every)])
        for number in range(changed):
            files, target, lossless = numbered(name, number, corpus)
            REACHED.start()
            with contextlib.suppress(Exception):
                attempt(name, packed(files), target, lossless)
        sys.stderr.write(f"{name}: {len(corpus.entries)} inputs, {changed} changed\n")
    REACHED.stop()
    paths = {path for name in names for path in readers(name)}
    return {str(path.relative_to(ROOT)): REACHED.lines(path) for path in sorted(paths)}


def refuse(name: str, data: bytes, target: str) -> None:
    """Refuse kernels what they ask memory for: one request each time, the first ones and some of the others."""
    if not ALLOCATIONS.are_counted:
        return
    with contextlib.suppress(Exception):
        attempt(name, data, f"{target}@-1", lossless=False)
    count = ALLOCATIONS.count
    for granted in {*range(min(count, 4)), *range(4, count, count // REFUSED + 1)}:
        with contextlib.suppress(Exception):
            attempt(name, data, f"{target}@{granted}", lossless=False)


def kernels() -> Lines:
    """The lines of kernels and their declarations that gcov found reached."""
    found: Lines = defaultdict(dict)
    for counts in sorted((ROOT / "build").glob("temp.*/**/*.gcno")):
        told = subprocess.run(
            ["gcov", "--json-format", "--stdout", counts],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for line in told.splitlines():
            for file in json.loads(line)["files"]:
                path = ROOT / file["file"]
                if path.suffix == ".c" and path.is_relative_to(ROOT / "build" / "cython"):
                    reached = {each["line_number"]: each["count"] > 0 for each in file["lines"]}
                    for name, number, is_reached in _marked(path, reached):
                        lines = found[name]
                        lines[number] = lines.get(number, False) or is_reached
    # What Cython makes of all kernels for them to share has no file.
    return {name: lines for name, lines in sorted(found.items()) if (ROOT / name).exists()}


def refusals(path: Path) -> set[int]:
    """The lines of a kernel that raise errors, or only lead to where one is raised."""
    text = path.read_text()
    found: set[int] = set()
    for match in _REFUSAL.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        last = text.count("\n", 0, match.end()) + 1
        found.update(range(first, last + 1))
    return found


def _marked(path: Path, reached: dict[int, bool]) -> Iterator[tuple[str, int, bool]]:
    """The lines of a kernel, by the first line of C that each has become."""
    place: tuple[str, int] | None = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := _MARK.match(line):
            place = match[1], int(match[2])
        elif line.startswith("}") or "/* function exit code */" in line:
            # What a function does at its end stands by its first line.
            place = None
        elif place is not None and number in reached:
            yield *place, reached[number]
            place = None


def report(lines: Lines, missing: bool) -> None:
    """Print what share of each module is reached, and of all."""
    total = met = refusing = 0
    for name, every in lines.items():
        refused = set() if name.endswith(".py") else refusals(ROOT / name) & every.keys()
        refusing += len(refused)
        found = {number: is_met for number, is_met in every.items() if number not in refused}
        count = sum(found.values())
        total, met = total + len(found), met + count
        if found:
            sys.stdout.write(f"{name}: {count} of {len(found)} lines, {count / len(found):.1%}\n")
        if missing and count < len(found):
            sys.stdout.write(
                "    "
                + ", ".join(str(n) for n, is_met in sorted(found.items()) if not is_met)
                + "\n"
            )
    sys.stdout.write(f"all: {met} of {total} lines, {met / max(total, 1):.1%}\n")
    if refusing:
        sys.stdout.write(f"{refusing} more lines refuse what no reader gives\n")


def main() -> None:
    """Measure, in a process of its own, because gcov counts when that ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missing", action="store_true", help="list lines that are not reached")
    parser.add_argument("--kept", type=Path, default=KEPT, help="what runs of the fuzzer have kept")
    parser.add_argument("--format", choices=READ_AS, action="append", help="whose inputs")
    parser.add_argument("--changed", type=int, default=2000, help="changed inputs of each format")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        options.measure.write_text(
            json.dumps(read_and_write(options.format or READ_AS, options.kept, options.changed))
        )
        return
    for counts in (ROOT / "build").glob("temp.*/**/*.gcda"):
        counts.unlink()
    told = ROOT / "build" / "reached.json"
    command = [sys.executable, "-m", "tests.reached", "--measure", told, "--kept", options.kept]
    command += ["--changed", str(options.changed)]
    command += [f"--format={name}" for name in options.format or READ_AS]
    subprocess.run(command, cwd=ROOT, check=True)
    report(kernels(), options.missing)
    report(json.loads(told.read_text(), object_hook=_numbers), options.missing)


def _numbers(found: dict[str, Any]) -> dict[Any, Any]:
    return {int(key) if key.isdigit() else key: value for key, value in found.items()}


if __name__ == "__main__":
    main()

"""No module imports what lies above it, and no modules import each other in a circle.

What is read is the text: imports inside functions and those that only type checkers follow count like all others. What
is found by name (`import_module` in `converter.formats.descriptor` and `converter.formats.table`) is no import: so the
table of formats, on the floor below them, refers to each format without knowing any.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "converter"

#: The floors, from the top to the bottom, each with its rooms: folders with all that is in them, or modules. A module
#: may import what is in its own room, and what is on a lower floor; not what is in another room of its own floor.
FLOORS = [
    ["converter.__main__"],
    # Ways in: the command, the fixture of pytest, and the names of the API.
    ["converter.cli", "converter.pytest_plugin", "converter.testing", "converter"],
    ["converter.fixtures", "converter.cli.new_format"],
    # Whole jobs.
    ["converter.jobs"],
    ["converter.jobs.joining_by_workers", "converter.jobs.splitting_by_workers"],
    ["converter.jobs.round_trips", "converter.scheduling", "converter.jobs.splitting"],
    ["converter.jobs.comparison"],
    ["converter.jobs.comparing", "converter.jobs.conversion"],
    ["converter.jobs.reading", "converter.jobs.transcription"],
    # Formats are looked up there; what none of them knows has a hint.
    ["converter.registry"],
    ["converter.unrecognised"],
    [
        "converter.formats.aix",
        "converter.formats.columnar.arrow",
        "converter.formats.chrome",
        "converter.formats.ctf",
        "converter.formats.ftrace_text",
        "converter.formats.fxt",
        "converter.formats.lttng_legacy",
        "converter.formats.columnar.parquet",
        "converter.formats.perf.data",
        "converter.formats.perf.script",
        "converter.formats.perfetto",
        "converter.formats.profiles.cpuprofile",
        "converter.formats.profiles.folded",
        "converter.formats.profiles.pprof",
        "converter.formats.profiles.gecko",
        "converter.formats.profiles.simpleperf",
        "converter.formats.profiles.speedscope",
        "converter.formats.trace_cmd",
        "converter.formats.uftrace",
    ],
    # Linux ftrace, no format of its own: what trace.dat and uftrace store of it.
    ["converter.formats.elf", "converter.formats.ftrace"],
    # Rows of events, in files of Arrow's formats; what is no event is in them as a file of the representation.
    # Samples of call stacks, as formats of profiles have them. perf's names and numbers.
    # Values of events as JSON.
    [
        "converter.formats.columnar",
        "converter.formats.json_values",
        "converter.formats.perf",
        "converter.formats.profiles",
    ],
    # What travels is encoded as a file of the representation is.
    ["converter.formats.lossless"],
    ["converter.formats.ir"],
    # What all formats have: a descriptor, a place in the table.
    ["converter.formats"],
    ["converter.merging"],
    ["converter.analysis.tables"],
    ["converter.analysis.viewing"],
    # What other programs take a trace as.
    ["converter.analysis"],
    ["converter.analysis.arrow", "converter.analysis.scheduling", "converter.analysis.statistics"],
    ["converter.analysis.building", "converter.analysis.columns"],
    ["converter.selection"],
    ["converter.projection"],
    ["converter.streaming"],
    ["converter.storage"],
    ["converter.printing"],
    ["converter.ir"],
    ["converter.kernels"],
    ["converter.errors.guarding"],
    ["converter.errors", "converter.ir.hooks", "converter.storage.interrupts", "converter.schemas"],
    # Errors name what raises a limit, and reach terminals.
    ["converter.limits", "converter.errors.terminal"],
    # They name options as the caller does.
    ["converter.errors.advice"],
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
#: A module below a room's folder that no floor lists belongs to that room; these folders hold rooms and modules of
#: their own, so that what is new in them has to be listed.
HALLS = {"converter", "converter.analysis", "converter.formats", "converter.jobs"}
#: The most entries of a folder.
MOST_ENTRIES = 24
#: The modules that lie loose in them, and why each is no room: names of the API, or what all rooms below share.
LOOSE = {
    "converter.formats": {
        "descriptor",
        "embedding",
        "json_embedding",
        "plugins",
        "side_table",
        "structures",
        "table",
    }
}

SUFFIXES = (".py", ".pyx", ".pxd", ".pyi")
_CYTHON_FROM = re.compile(
    r"^[ \t]*from[ \t]+([\w.]+)[ \t]+(c?)import[ \t]+(\([^)]*\)|[^\n#]*)", re.MULTILINE
)
_CYTHON_IMPORT = re.compile(r"^[ \t]*(c?)import[ \t]+([^\n#]+)", re.MULTILINE)
_CYTHON_NAME = re.compile(r"(\w[\w.]*)(?:[ \t]+as[ \t]+\w+)?")


def dotted(path: Path) -> str:
    """The module that a file belongs to."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def files() -> dict[Path, str]:
    """The files with imports, and what each is a part of.

    A .pxd is a header: who cimports it depends on what it declares, not on the .pyx beside it. So it is a module of its
    own here, and the .pyx beside it depends on it.
    """
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*")):
        # `schemas` is a link to the data beside the package.
        if path.suffix in SUFFIXES and "schemas" not in path.parts:
            found[path] = dotted(path) + (".pxd" if path.suffix == ".pxd" else "")
    return found


@cache
def modules() -> frozenset[str]:
    return frozenset({*files().values(), "converter.schemas"})


def imported(module: str, name: str, *, declared: bool = False) -> str:
    """What `from module import name` depends on: the module of that name, where it is one."""
    suffix = ".pxd" if declared else ""
    for found in (f"{module}.{name}{suffix}", f"{module}{suffix}"):
        if found in modules():
            return found
    return module


def statements(text: str) -> Iterator[ast.AST]:
    """The statements of a module, without their expressions: most of what `ast.walk` goes through."""
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, block, ())


def python_imports(text: str) -> set[str]:
    found = set()
    for node in statements(text):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole path"
            assert node.module is not None
            found |= {imported(node.module, alias.name) for alias in node.names}
    return found


def cython_imports(text: str) -> set[str]:
    found = set()
    for module, declared, names in _CYTHON_FROM.findall(text.replace("\\\n", " ")):
        for name in _CYTHON_NAME.findall(re.sub(r"#.*", "", names)):
            found.add(imported(module, name, declared=bool(declared)))
    for declared, names in _CYTHON_IMPORT.findall(text):
        for name in _CYTHON_NAME.findall(names):
            found.add(f"{name}.pxd" if declared and f"{name}.pxd" in modules() else name)
    return found


@cache
def graph() -> dict[str, set[str]]:
    """What each module of the package imports of it."""
    found: dict[str, set[str]] = {module: set() for module in modules()}
    for path, module in files().items():
        text = path.read_text()
        names = python_imports(text) if path.suffix in (".py", ".pyi") else cython_imports(text)
        ours = {name for name in names if name.partition(".")[0] == PACKAGE}
        assert ours <= modules(), f"{path} imports what is not there: {ours - modules()}"
        found[module] |= ours - {module}
        if path.suffix == ".pyx" and f"{module}.pxd" in modules():
            found[module].add(f"{module}.pxd")
    return found


def room_of(module: str) -> str | None:
    """The room that a module is in: the innermost that is listed; None for what lies where a room should be."""
    module = module.removesuffix(".pxd")
    if module in FLOOR:
        return module
    outer, _, name = module.rpartition(".")
    while outer not in FLOOR:
        outer, _, name = outer.rpartition(".")
    if outer in HALLS and name not in LOOSE.get(outer, set()):
        return None
    return outer


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_ones: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        open_ones.append(module)
        for other in sorted(edges[module]):
            if other not in order:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in open_ones:
                lowest[module] = min(lowest[module], order[other])
        if lowest[module] == order[module]:
            start = open_ones.index(module)
            if len(open_ones) - start > 1:
                found.append(sorted(open_ones[start:]))
            del open_ones[start:]

    for module in sorted(edges):
        if module not in order:
            visit(module)
    return found


def reached(start: str, within: str) -> set[str]:
    """The modules of a room that a module imports, directly or not."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = {each for each in graph()[waiting.pop()] if each.startswith(f"{within}.")} - found
        found |= new
        waiting += new
    return found


def entries(folder: Path) -> int:
    """The folders and files in a folder, but for those that a build or a run leaves there."""
    left = {"__pycache__"}
    return sum(
        path.name not in left and path.suffix not in (".so", ".pyd") for path in folder.iterdir()
    )


def test_a_folder_is_seen_at_a_glance():
    helpers = (ROOT / "tests/support").rglob("*.py")
    folders = {path.parent for path in (*files(), *helpers)}
    full = {str(folder): entries(folder) for folder in folders if entries(folder) > MOST_ENTRIES}
    assert not full, "group what belongs together"


def test_every_module_has_a_room():
    homeless = sorted(module for module in modules() if room_of(module) is None)
    assert not homeless, (
        f"{', '.join(homeless)}: put it into the room that it belongs to, or list it in FLOORS above all that it "
        "imports and below all that import it. Loose at the top are only ways in, whole jobs, the registry and errors"
    )
    gone = sorted(room for room in FLOOR if room not in modules())
    assert not gone, f"no longer there: {gone}"


def test_imports_go_down():
    wrong = [
        f"{module} (floor of {one}) imports {other} ({another})"
        for module, others in sorted(graph().items())
        for other in sorted(others)
        if (one := room_of(module)) and (another := room_of(other))
        if one != another and FLOOR[one] >= FLOOR[another]
    ]
    assert not wrong, "\n".join(wrong)


def test_no_modules_import_each_other_in_a_circle():
    assert circles(graph()) == []


def test_a_circle_is_found():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert circles(edges) == [["d", "e"], ["a", "b", "c"]]


def test_no_imports_are_overlooked():
    text = """
    from os import path
    from converter.kernels.tables.strings cimport Entry, StringTable  # two
    from converter.kernels.batches cimport columns, gather
    from converter.kernels.batches.order import (
        a,  # one
        b,
    )
    cimport converter.kernels.tables.tasks
    import converter.errors, sys
"""
    assert cython_imports(text) == {
        "os",
        "sys",
        "converter.errors",
        "converter.kernels.batches.columns.pxd",
        "converter.kernels.batches.gather.pxd",
        "converter.kernels.batches.order",
        "converter.kernels.tables.strings.pxd",
        "converter.kernels.tables.tasks.pxd",
    }
    text = "if False:\n import converter.errors\ndef f():\n from converter import registry, read\n"
    assert python_imports(text) == {"converter.errors", "converter.registry", "converter"}


FORMATS = sorted(
    room
    for room in FLOOR
    if room.startswith("converter.formats.")
    and room.rpartition(".")[2]
    not in {
        "columnar",
        "elf",
        "ftrace",
        "json_values",
        "lossless",
        "perf",
        "profiles",
    }
)


@pytest.mark.parametrize("room", FORMATS)
def test_reading_and_writing_of_a_format_know_nothing_of_each_other(room):
    """Neither folder imports from the other, not even through modules that both use."""
    for one, other in (("reading", "writing"), ("writing", "reading")):
        for module in in_folder(room, one):
            assert not reached(module, room) & in_folder(room, other), module


def in_folder(room: str, folder: str) -> set[str]:
    """The modules of a format in one of its folders."""
    inside = f"{room}.{folder}"
    return {module for module in modules() if f"{module}.".startswith(f"{inside}.")}


@pytest.mark.parametrize("room", FORMATS)
def test_a_format_imports_no_other(room):
    others = {
        another
        for module, imports in graph().items()
        if room_of(module) == room
        for another in map(room_of, imports)
        if another in FORMATS and another != room
    }
    assert others == set()


#: Names of formats, which their own code alone may know; those that are words of others are left out.
NAMES = {room.rpartition(".")[2] for room in FORMATS} - {"ir", "data"}
#: Modules that name formats and decide nothing by it: lists of what there is, and defaults of commands.
NAMING = {
    "converter.cli.actions.opening",
    "converter.fixtures.defects",
    "converter.fixtures.generation",
    "converter.fixtures.recordings",
    "converter.formats.table",
    "converter.pytest_plugin",
}


def foreign_names(module: str, text: str) -> list[str]:
    """The names of other formats that code has as texts; not docstrings and comments, nor arguments of errors."""
    own = (room_of(module) or "").rpartition(".")[2]
    if not any(f'"{name}"' in text for name in NAMES - {own}):
        return []
    tree = ast.parse(text)
    harmless = {
        id(node)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in ("format", "needs")
        for node in ast.walk(keyword.value)
    }
    return [
        f"{module}:{node.lineno}: {node.value!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and node.value in NAMES - {own}
        and id(node) not in harmless
    ]


def test_no_code_decides_by_the_name_of_another_format():
    """What a source means, it states in `Trace.semantics`; what a target's viewers do, in its capabilities."""
    found = [
        name
        for path, module in files().items()
        if path.suffix == ".py" and module not in NAMING and "template" not in path.parts
        for name in foreign_names(module, path.read_text())
    ]
    assert not found, "\n".join(found)


def test_a_name_of_another_format_is_found():
    text = '"""Of chrome."""\nif source.format == "chrome": pass\nTraceError(format="fxt")\n'
    assert foreign_names("converter.formats.fxt.mapping", text) == [
        "converter.formats.fxt.mapping:2: 'chrome'"
    ]
    assert foreign_names("converter.formats.chrome.mapping", text) == []
    assert foreign_names("converter.projection.project", text) != []

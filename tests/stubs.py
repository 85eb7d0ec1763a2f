"""The type stubs of kernels, generated from their sources: ``python -m tests.stubs --write`` writes them.

A parameter has the type of its C declaration, or of the annotation after it. Everything else is in comments that begin
with a line ``# Stub:``: imports, described constants and aliases before the module's code, attributes and methods in
the body of a class.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent
KERNELS = sorted((ROOT / "converter").rglob("*.pyx"))

_COLUMNS = 100
_MARKER = "# Stub:"
_INTEGERS = re.compile(
    r"(?:unsigned |signed )?(?:u?int(?:8|16|32|64)_t|int|long|short|char|size_t|Py_ssize_t)$"
)
_TYPES = {
    "bint": "bool",
    "double": "float",
    "float": "float",
    "list": "list[Any]",
    "dict": "dict[Any, Any]",
    "tuple": "tuple[Any, ...]",
    "set": "set[Any]",
    "object": "Any",
    "": "Any",
}
_ELEMENTS = {"double": "float64", "float": "float32", "int": "int32", "long": "int64"}
_BYTES = "memoryview | bytes | NDArray[uint8]"
_HEAD = re.compile(r"^( *)(?:cdef class|class|def|cpdef)\b", re.MULTILINE)
_CLASS = re.compile(r"(?:cdef )?class (\w+)(\([\w., ]*\))?")
_FUNCTION = re.compile(r"(def|cpdef)\b([^(\n:=]*?)(\w+)\s*\(")
_PARAMETER = re.compile(
    r"(?:((?:const )?(?:unsigned )?[\w.]+(?: ?\[[^\]]*\])?) )?(\*{0,2}\w+)(?: not None| or None)?(?=$|[:= ])"
)
_ENUM = re.compile(r"^cpdef enum[^:\n]*:\n((?:    [^\n]*\n|\n)+)", re.MULTILINE)
_MEMBER = re.compile(r"^    (\w+)(?= = | *#|$)", re.MULTILINE)
_CONSTANTS = re.compile(r"^([A-Z]\w*(?:, [A-Z]\w*)*) = [\w ,.+*|<-]+$", re.MULTILINE)
_HIDDEN = {"__dealloc__", "__getbuffer__", "__releasebuffer__"}


@dataclass
class Function:
    """A function as the source has it; positions are in its text."""

    name: str
    #: The return type of a `cpdef` function in C.
    c_type: str | None
    decorators: list[str]
    #: Each parameter's text, and where it is.
    parameters: list[tuple[str, int, int]]
    returns: str | None
    #: Where the parameters end, and the whole head.
    closes: int
    ends: int
    indent: int


@dataclass
class Class:
    """A class as the source has it, or the module."""

    name: str
    bases: str
    ends: int
    indent: int
    raw: list[str] = field(default_factory=list)
    members: list[Function | Class] = field(default_factory=list)


def split_parameters(text: str, start: int) -> tuple[list[tuple[str, int, int]], int]:
    """Return the parameters after an opening bracket, and the index of the closing one."""
    found, depth, first, at = [], 1, start, start
    while depth:
        if text[at] == "#":
            at = text.index("\n", at)
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 or (depth == 1 and text[at] == ","):
            part = text[first:at]
            if part.strip():
                begin = first + len(part) - len(part.lstrip())
                found.append((part.strip(), begin, begin + len(part.strip())))
            first = at + 1
        at += 1
    return found, at - 1


def parse(text: str) -> Class:
    """Return the module of a source, with the classes and functions that its users see."""
    module = Class("", "", 0, -4)
    scope = module
    for match in _HEAD.finditer(text):
        indent, at = len(match[1]), match.end(1)
        if indent == 0:
            scope = module
        if indent != scope.indent + 4:
            continue
        found = _CLASS.match(text, at)
        if found:
            made = Class(found[1], found[2] or "", text.index(":\n", at), indent)
            scope.members.append(made)
            scope = made
            continue
        found = _FUNCTION.match(text, at)
        if found is None:
            continue
        parameters, closes = split_parameters(text, found.end())
        ends = text.index(":", _end_of_head(text, closes + 1))
        said = re.search(r"->\s*(.+)$", text[closes + 1 : ends], re.DOTALL)
        decorators = []
        for line in reversed(text[: match.start()].rstrip("\n").split("\n")):
            if not line.strip().startswith("@") or len(line) - len(line.lstrip()) != indent:
                break
            decorators.insert(0, line.strip())
        c_type = found[2].strip() if found[1] == "cpdef" else None
        returns = " ".join(said[1].split()) if said else None
        scope.members.append(
            Function(found[3], c_type, decorators, parameters, returns, closes, ends, indent)
        )
    for scope in (module, *(one for one in module.members if isinstance(one, Class))):
        scope.raw = _raw(text, scope)
    return module


def _end_of_head(text: str, at: int) -> int:
    """Return the index of the colon that ends a head, after the brackets of a return type."""
    depth = 0
    while text[at] != ":" or depth:
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return at


def _raw(text: str, scope: Class) -> list[str]:
    """Return the lines of the comment of a scope that begins with the marker."""
    prefix = " " * (scope.indent + 4)
    at = text.find(f"\n{prefix}{_MARKER}\n", scope.ends)
    if at < 0:
        return []
    if scope.name and _HEAD.search(text, scope.ends + 1, at + 1):
        return []
    lines = []
    for line in text[at + 1 :].split("\n")[1:]:
        if not line.startswith(f"{prefix}#"):
            break
        lines.append(line[len(prefix) + 1 :].removeprefix(" "))
    return lines


def type_of(declared: str, *, nullable: bool) -> str:
    """Return the Python type of a C declaration."""
    declared = " ".join(declared.split())
    view = re.match(r"(const )?(\w+) ?\[(.*)\]$", declared)
    if view:
        element = _ELEMENTS.get(view[2], view[2].removesuffix("_t"))
        found = f"NDArray[{element}]"
        if view[1] and element == "uint8" and "," not in view[3]:
            found = _BYTES
        return f"{found} | None" if nullable else found
    if _INTEGERS.match(declared):
        return "int"
    found = _TYPES.get(declared, declared)
    return f"{found} | None" if nullable and found != "Any" else found


def parameter_of(text: str) -> tuple[str, str | None, str | None, str | None]:
    """Return the name of a parameter, its type in C or None, its annotation and its default."""
    text = " ".join(re.sub(r"#[^\n]*", "", text).split())
    head = _PARAMETER.match(text)
    assert head, text
    rest = text[head.end() :].strip()
    annotation = default = None
    if rest.startswith(":"):
        annotation, equals, default_text = _split_default(rest[1:])
        default = default_text if equals else None
    elif rest.startswith("="):
        default = rest[1:].strip()
    return head[2], head[1], annotation, default


def _split_default(text: str) -> tuple[str, bool, str]:
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "=" and not depth:
            return text[:at].strip(), True, text[at + 1 :].strip()
    return text.strip(), False, ""


def _parameter(text: str) -> str:
    if text in ("self", "cls", "*", "/"):
        return text
    name, declared, annotation, default = parameter_of(text)
    if annotation is None:
        annotation = "Any" if declared is None else type_of(declared, nullable=default == "None")
    if default is None:
        return f"{name}: {annotation}"
    shown = (
        default if re.fullmatch(r"-?\w+|b?\"[^\"]*\"|\(\)|\((?:None, )+None\)", default) else "..."
    )
    return f"{name}: {annotation} = {shown}"


def _returns(one: Function) -> str:
    if one.returns is not None:
        return one.returns
    if one.name in ("__init__", "__cinit__") or any(
        at.endswith(".setter") for at in one.decorators
    ):
        return "None"
    if one.c_type is not None:
        return type_of(one.c_type, nullable=False)
    return "Any"


def _function(one: Function, indent: int) -> list[str]:
    space = " " * indent
    name = "__init__" if one.name == "__cinit__" else one.name
    given = [_parameter(text) for text, _, _ in one.parameters]
    end = f") -> {_returns(one)}: ..."
    lines = [space + decorator for decorator in one.decorators if "cython" not in decorator]
    whole = f"{space}def {name}({', '.join(given)}{end}"
    if len(whole) <= _COLUMNS:
        return [*lines, whole]
    inside = f"{space}    {', '.join(given)}"
    if len(inside) <= _COLUMNS:
        return [*lines, f"{space}def {name}(", inside, space + end]
    return [*lines, f"{space}def {name}(", *(f"{space}    {each}," for each in given), space + end]


def _is_shown(one: Function | Class, names: set[str]) -> bool:
    if one.name in names or one.name in _HIDDEN:
        return False
    if isinstance(one, Function) and one.name == "__cinit__" and "__init__" in names:
        return False
    return not one.name.startswith("_") or one.name.endswith("__")


def _names(lines: list[str]) -> set[str]:
    """Return the names that lines of a stub define."""
    found = set()
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found


def _class(one: Class) -> list[str]:
    bases = "" if one.bases in ("", "()") else one.bases
    names = _names(one.raw)
    has_init = {each.name for each in one.members if isinstance(each, Function)}
    if "__init__" in has_init:
        names.add("__cinit__")
    body = [f"    {line}".rstrip() for line in one.raw]
    for each in one.members:
        if isinstance(each, Function) and _is_shown(each, names):
            body += _function(each, 4)
    if not body:
        return [f"class {one.name}{bases}: ..."]
    return [f"class {one.name}{bases}:", *body]


def _imports(lines: list[str], body: str) -> tuple[list[str], list[str]]:
    """Return the import lines of the comment and of the types, and the other lines of the comment."""
    tree = ast.parse("\n".join(lines))
    plain: set[str] = set()
    names: dict[str, set[str]] = {}
    taken: set[int] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            plain |= {
                f"import {one.name}" + (f" as {one.asname}" if one.asname else "")
                for one in node.names
            }
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            names.setdefault(node.module, set()).update(one.name for one in node.names)
        else:
            continue
        taken.update(range(node.lineno - 1, node.end_lineno or node.lineno))
    others = [line for number, line in enumerate(lines) if number not in taken]
    text = re.sub(r"#[^\n]*", "", "\n".join([body, *others]))
    used = set(re.findall(r"(?<![\w.])(?:u?int(?:8|16|32|64)|float(?:32|64))(?=\b)(?!_t)", text))
    if used:
        names.setdefault("numpy", set()).update(used)
    for module, name in (("numpy.typing", "NDArray"), ("typing", "Any")):
        if re.search(rf"\b{name}\b", text):
            names.setdefault(module, set()).add(name)
    groups: tuple[list[str], list[str], list[str]] = ([], [], [])
    for line in sorted(plain):
        groups[_group(line.split()[1])].append(line)
    for module in sorted(names):
        groups[_group(module)].append(_import_line(module, names[module]))
    made = []
    for group in groups:
        made += [*group, ""] if group else []
    return made[:-1], others


def _import_line(module: str, names: set[str]) -> str:
    shown = sorted(names, key=_order)
    line = f"from {module} import {', '.join(shown)}"
    if len(line) <= _COLUMNS:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in shown) + ")"


def _order(name: str) -> tuple[bool, bool, list[int | str]]:
    """Return the sort key of an imported name: constants, classes, others; digits compare as numbers."""
    parts = [f"{int(part):09}" if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    return not name.isupper(), not name[:1].isupper(), [*parts]


def _group(module: str) -> int:
    top = module.partition(".")[0]
    return 0 if top in sys.stdlib_module_names else 2 if top == "converter" else 1


def constants(source: str) -> list[str]:
    """Return the names of a source's constants: members of enumerations, and assigned ones."""
    found = [name for enum in _ENUM.findall(source) for name in _MEMBER.findall(enum)]
    for names in _CONSTANTS.findall(source):
        found += names.split(", ")
    return [*dict.fromkeys(found)]


def stub(source: str, declarations: str = "") -> str:
    """Return the stub of a kernel, given its source and the declarations in its .pxd."""
    module = parse(source)
    names = _names(module.raw)
    derived = [f"{name}: int" for name in constants(declarations + source) if name not in names]
    blocks = []
    for one in module.members:
        if _is_shown(one, names):
            lines = _class(one) if isinstance(one, Class) else _function(one, 0)
            blocks.append((isinstance(one, Class) and len(lines) > 1, lines))
    body = ""
    was_class = False
    for is_class, lines in blocks:
        if body and (is_class or was_class):
            body += "\n"
        body += "\n".join(lines) + "\n"
        was_class = is_class
    imports, others = _imports(module.raw, body)
    while others and not others[0].strip():
        others.pop(0)
    head = "\n".join(others).strip("\n")
    parts = ["\n".join(imports), head, "\n".join(derived), body.strip("\n")]
    return "\n\n".join(part for part in parts if part) + "\n"


def stub_of(kernel: Path) -> str:
    """Return the stub of the kernel at a path."""
    declarations = kernel.with_suffix(".pxd")
    return stub(kernel.read_text(), declarations.read_text() if declarations.exists() else "")


def is_same(stub: str, other: str) -> bool:
    """Return True if two stubs differ only in their layout."""
    return ast.dump(ast.parse(stub)) == ast.dump(ast.parse(other))


def main(arguments: list[str]) -> int:
    """Write the stubs, or list those that differ."""
    differing = []
    for kernel in KERNELS:
        made = stub_of(kernel)
        path = kernel.with_suffix(".pyi")
        if not path.exists() or not is_same(path.read_text(), made):
            differing.append(path)
            if "--write" in arguments:
                path.write_text(made)
    if differing and "--write" in arguments:
        subprocess.run([sys.executable, "-m", "ruff", "format", "-q", *differing], check=True)
    for path in differing:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    return bool(differing) and "--write" not in arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What is public says what it takes, and what it raises."""

import ast
import builtins
import inspect
import re
import sys
from functools import cache

import pytest

import converter
from converter import errors

FAMILY = {
    name
    for name, one in vars(errors).items()
    if inspect.isclass(one) and issubclass(one, errors.TraceError | ValueError)
}
#: What a text refers to.
NAMED = re.compile(r"`(\w+)(?:\.(\w+))?`")


def public():
    """Functions and methods by name, with the texts that document them."""
    found = {}
    for name in converter.__all__:
        one = getattr(converter, name)
        if inspect.isfunction(one):
            found[name] = (inspect.unwrap(one), [inspect.getdoc(one) or ""])
            continue
        if not inspect.isclass(one) or one.__module__ == "builtins":
            continue
        for base in reversed(one.__mro__):
            if not base.__module__.startswith("converter."):
                continue
            for member, value in vars(base).items():
                function = value.fget if isinstance(value, property) else value
                function = getattr(function, "__func__", function)
                if member.startswith("_") or not inspect.isfunction(function):
                    continue
                texts = [inspect.getdoc(function) or "", inspect.getdoc(one) or ""]
                found[f"{name}.{member}"] = (function, texts)
    return found


PUBLIC = public()


def texts_of(name):
    """What documents a function: its own text, and those of functions that this refers to."""
    _, texts = PUBLIC[name]
    own = name.rpartition(".")[0]
    for first, second in NAMED.findall(texts[0]):
        for other in (f"{first}.{second}", first, f"{own}.{first}"):
            if other in PUBLIC and other != name:
                texts = [*texts, *PUBLIC[other][1][:1]]
    return "\n".join(texts)


@pytest.mark.parametrize("name", PUBLIC)
def test_it_says_what_it_is(name):
    assert PUBLIC[name][1][0]


@pytest.mark.parametrize("name", PUBLIC)
def test_it_says_what_it_takes(name):
    function, _ = PUBLIC[name]
    known = texts_of(name)
    for parameter in inspect.signature(function).parameters:
        if parameter not in ("self", "cls"):
            assert re.search(rf"\b{parameter}\b", known), f"{name} says nothing of {parameter}"


@pytest.mark.parametrize("name", PUBLIC)
def test_it_says_what_it_raises(name):
    known = texts_of(name)
    # An error is one of those that it is derived from, too.
    for error in raised(PUBLIC[name][0]):
        kind = getattr(errors, error, None) or getattr(builtins, error)
        names = [one.__name__ for one in kind.__mro__ if one not in (Exception, BaseException)]
        assert any(re.search(rf"\b{one}\b", known) for one in names), f"{name} raises {error}"


def test_what_is_raised_is_found():
    assert raised(converter.split) == {"UnsupportedError"}
    assert raised(converter.TraceBuilder.end) == {"ArgumentError"}
    assert raised(converter.Trace.thread) == {"LookupError"}


def raised(function):
    """The errors that a function raises, or what it calls of its own module."""
    module = sys.modules[function.__module__]
    functions = functions_of(module)
    found, seen, left = set(), set(), [function.__name__]
    while left:
        name = left.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        for node in ast.walk(functions[name]):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                error = name_of(node.exc.func)
                if error in FAMILY or error in ("LookupError", "ValueError", "KeyError"):
                    found.add(error)
            elif isinstance(node, ast.Call):
                left.append(name_of(node.func))
    return found


@cache
def functions_of(module):
    tree = ast.parse(inspect.getsource(module))
    return {
        node.name: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def name_of(node):
    return getattr(node, "attr", None) or getattr(node, "id", "")

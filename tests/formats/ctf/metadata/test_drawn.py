"""Metadata of every clause, changed in one place: what is forbidden is refused, and Babeltrace agrees."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.ctf.every_property import FRAGMENTS, TSDL, by

from converter.errors import TraceError
from converter.formats.ctf.metadata.files import parse_metadata

Place = tuple[str | int, ...]


#: Objects whose names and values are the user's; of mappings and flags only the names are.
FREE = {"attributes", "environment"}
NAMED = {"mappings", "flags"}


def places(node: Any, at: Place = ()) -> Iterator[Place]:
    """Where there is something, but for what is free."""
    if at:
        yield at
    items: Any = ()
    if isinstance(node, dict | list):
        items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, inner in items:
        if not FREE & {*at, key}:
            yield from places(inner, (*at, key))


def held(node: Any, at: Place) -> Any:
    for key in at:
        node = node[key]
    return node


def changed(at: Place, value: Any) -> list[dict[str, Any]]:
    fragments = copy.deepcopy(FRAGMENTS)
    held(fragments, at[:-1])[at[-1]] = value
    return fragments


def text_of(fragments: list[dict[str, Any]]) -> bytes:
    return "".join(f"\x1e{json.dumps(fragment)}\n" for fragment in fragments).encode()


def is_refused(metadata: bytes) -> bool:
    try:
        parse_metadata(metadata)
    except TraceError:
        return True
    return False


def test_all_properties_are_accepted() -> None:
    assert not is_refused(text_of(FRAGMENTS))


def properties() -> dict[tuple[str, str], Place]:
    """A place of each property of each type of object."""
    found: dict[tuple[str, str], Place] = {}
    for at in places(FRAGMENTS):
        if isinstance(at[-1], str) and at[-2] not in NAMED:
            owner = held(FRAGMENTS, at[:-1])
            names = [key for key in at[:-1] if isinstance(key, str)]
            found.setdefault((owner.get("type") or names[-1], at[-1]), at)
    return found


def test_a_property_that_there_is_not_is_refused() -> None:
    owners = {kind: at[:-1] for (kind, _), at in properties().items()}
    assert len(owners) > 25
    for kind, at in owners.items():
        assert is_refused(text_of(changed((*at, "unknown"), 1))), kind


#: For a value of one of JSON's types: others, none of which can stand where that does.
OTHERS: dict[type, tuple[Any, ...]] = {
    str: (None, True, 1, -1.5, [], ["x"], {"x": 1}),
    int: (None, "1", -1.5, [], [1], {"x": 1}),
    list: (None, True, 1, "x", {"x": 1}),
    dict: (None, True, 1, [], [1]),
}


def test_a_value_of_another_type_is_refused() -> None:
    for number, (kind, at) in enumerate(properties().items()):
        others = OTHERS[type(held(FRAGMENTS, at))]
        other = others[number % len(others)]
        assert is_refused(text_of(changed(at, other))), (kind, other)


_BITS_NEED = {"length", "byte-order"}
#: What objects need; fragments and field classes need their type besides.
NEEDED = {
    "preamble": {"version"},
    "field-class-alias": {"name", "field-class"},
    "clock-class": {"id", "frequency"},
    "origin": {"name", "uid"},
    "member-classes": {"name", "field-class"},
    "fixed-length-unsigned-integer": _BITS_NEED,
    "fixed-length-signed-integer": _BITS_NEED,
    "fixed-length-bit-array": _BITS_NEED,
    "fixed-length-bit-map": _BITS_NEED | {"flags"},
    "fixed-length-boolean": _BITS_NEED,
    "fixed-length-floating-point-number": _BITS_NEED,
    "static-length-string": {"length"},
    "dynamic-length-string": {"length-field-location"},
    "static-length-blob": {"length"},
    "dynamic-length-blob": {"length-field-location"},
    "static-length-array": {"length", "element-field-class"},
    "dynamic-length-array": {"length-field-location", "element-field-class"},
    "length-field-location": {"path"},
    "selector-field-location": {"path"},
    "optional": {"selector-field-location", "field-class"},
    "variant": {"selector-field-location", "options"},
    "options": {"selector-field-ranges", "field-class"},
}
#: What can be left out though something else of these fragments refers to it.
REFERRED = {"uuid", "id", "default-clock-class-id", "data-stream-class-id", "origin"}


def test_what_is_needed_is_missed() -> None:
    for (kind, name), at in properties().items():
        fragments = copy.deepcopy(FRAGMENTS)
        del held(fragments, at[:-1])[name]
        refused = is_refused(text_of(fragments))
        if name == "type" or name in NEEDED.get(kind, ()):
            assert refused, (kind, name)
        elif name not in REFERRED and not name.endswith(("field-class", "-classes", "-ranges")):
            assert not refused, (kind, name)


@pytest.mark.skipif(shutil.which("babeltrace2-2.1") is None, reason="needs Babeltrace 2.1")
def test_babeltrace_agrees_on_fragments(tmp_path: Path) -> None:
    values = (None, True, 0, 3, 65, "x", [], [[2, 1]], {}, by("nothing"), by("text"))
    drawn = [(at, value) for at in places(FRAGMENTS) for value in values]
    # Babeltrace takes true for an alignment of 1.
    for at, value in drawn[11 :: len(drawn) // 12]:
        if value is True and at[-1] in ("alignment", "minimum-alignment"):
            continue
        metadata = text_of(changed(at, value))
        (tmp_path / "metadata").write_bytes(metadata)
        done = subprocess.run(["babeltrace2-2.1", str(tmp_path)], capture_output=True, check=False)
        assert is_refused(metadata) == (done.returncode != 0), (at, value, done.stderr[-500:])


#: Every block and every form of a type.
_TOKEN = re.compile(r'/\*.*?\*/|"[^"]*"|\.\.\.|:=|\w+|\s+|.', re.DOTALL)


def without_a_token() -> list[bytes]:
    tokens = _TOKEN.findall(TSDL)
    return [
        "".join([*tokens[:i], " ", *tokens[i + 1 :]]).encode()
        for i, token in enumerate(tokens)
        # Whether an event needs a name, and a clock its rate, Babeltrace sees in another way.
        if not token.isspace() and "".join(tokens[i - 3 : i]).strip() not in ("event {", "freq")
    ]


def test_the_declarations_are_accepted() -> None:
    assert not is_refused(TSDL.encode())


@pytest.mark.parametrize("program", ["babeltrace2", "babeltrace2-2.1"])
def test_babeltrace_agrees_on_declarations(program: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    drawn = without_a_token()
    verdicts = set()
    for metadata in [TSDL.encode(), *drawn[7 :: len(drawn) // 12]]:
        (tmp_path / "metadata").write_bytes(metadata)
        done = subprocess.run([program, str(tmp_path)], capture_output=True, check=False)
        verdicts.add(done.returncode)
        assert is_refused(metadata) == (done.returncode != 0), (metadata, done.stderr[-500:])
    assert len(verdicts) > 1

"""Mutants of CTF: of metadata as JSON, as words of TSDL and as bytes, and of data streams."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from typing import Any

#: What stands in for a property of the metadata.
_ODD: list[Any] = [
    None, True, 0, -1, 64, 1 << 63, 1 << 64, 1.5, "", "n", [], [0], [None], {}, {"a": 1}, [[1, 0]],
    {"path": ["n"]}, {"origin": [], "path": [None, "a"]}, "structure", "optional", "variant",
    "fixed-length-boolean", "dynamic-length-array", ["default-clock-timestamp"],
    ["packet-total-length"], "unix-epoch", "big-endian",
]  # fmt: skip
_WORDS = [
    "struct", "variant", "enum", "integer", "string", "{", "}", "[", "]", "<", ">", ";", ":=", "=",
    "align", "size", "0", "-1", "64", "18446744073709551616", '"', "stream.event.header", "env",
    ".", ",", "...", "typealias", "typedef", "trace", "event", "clock",
]  # fmt: skip
_TOKEN = re.compile(r'\s+|\w+|"[^"]*"|.', re.DOTALL)


def mutant(source: random.Random, metadata: bytes, stream: bytes) -> tuple[bytes, bytes]:
    """A trace that is another in its metadata or its data stream, or in both."""
    if source.random() < 0.7:
        if source.random() < 0.1:
            metadata = _bytes(source, metadata)
        elif metadata.startswith(b"\x1e"):
            metadata = _json(source, metadata)
        else:
            metadata = _words(source, metadata)
    if source.random() < 0.4:
        stream = _bytes(source, stream)
    return metadata, stream


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from _places(value[name], (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _places(item, (*path, number))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


def _json(source: random.Random, metadata: bytes) -> bytes:
    fragments = [json.loads(part) for part in metadata.split(b"\x1e")[1:]]
    for _ in range(source.randint(1, 3)):
        number = source.randrange(len(fragments))
        places = list(_places(fragments[number]))
        path = source.choice(places)
        odd = copy.deepcopy(source.choice(_ODD))
        if not path:
            fragments[number] = odd
            continue
        held = _at(fragments[number], path[:-1])
        match source.randrange(3):
            case 0:
                held[path[-1]] = odd
            case 1:
                del held[path[-1]]
            case _:
                held[path[-1]] = copy.deepcopy(_at(fragments[number], source.choice(places)))
    return b"".join(b"\x1e" + json.dumps(fragment).encode() + b"\n" for fragment in fragments)


def _words(source: random.Random, metadata: bytes) -> bytes:
    tokens = _TOKEN.findall(metadata.decode())
    for _ in range(source.randint(1, 3)):
        place = source.randrange(len(tokens))
        match source.randrange(4):
            case 0:
                tokens[place] = ""
            case 1:
                tokens[place] = source.choice(_WORDS)
            case 2:
                tokens.insert(place, f" {source.choice(_WORDS)} ")
            case _:
                other = source.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
    return "".join(tokens).encode()


def _bytes(source: random.Random, data: bytes) -> bytes:
    result = bytearray(data)
    for _ in range(source.randint(1, 4)):
        place = source.randrange(len(result) + 1)
        match source.randrange(4):
            case 0:
                result[place : place + 1] = bytes([source.choice((0, 1, 127, 128, 255))])
            case 1:
                del result[place : place + source.randint(1, 8)]
            case 2:
                result[place:place] = source.randbytes(source.randint(1, 4))
            case _:
                del result[place + 64 :]
    return bytes(result)

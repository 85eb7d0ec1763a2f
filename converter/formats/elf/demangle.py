"""Names of C++ and Rust functions without their arguments, as uftrace shows and matches them (utils/demangle.c).

`_ZNSt6vectorIiSaIiEE9push_backERKi` is "std::vector::push_back": neither template arguments nor function arguments are
part of the name.
"""

from __future__ import annotations

import re

from converter.formats.elf.itanium_names import NameParser, NotMangledError

_LONGEST = 8192

_RUST_HASH = re.compile(r"h[0-9a-f]{16}")
_RUST_ESCAPES = {
    "SP": "@",
    "BP": "*",
    "RF": "&",
    "LT": "<",
    "GT": ">",
    "LP": "(",
    "RP": ")",
    "C": ",",
}


#: What precedes the name of the first function or variable of a file whose static objects a function constructs.
_CONSTRUCTORS = "_GLOBAL__sub_I_"


def demangled(name: str) -> str:
    """Return the name of a symbol; the symbol itself if it is not mangled, or in an unknown way."""
    if name.startswith(f"{_CONSTRUCTORS}_Z"):
        return _CONSTRUCTORS + demangled(name.removeprefix(_CONSTRUCTORS))
    if not name.startswith("_Z") or len(name) > _LONGEST:
        return name
    # Lengths in the symbol count bytes.
    single_bytes = name.encode("utf-8", "surrogateescape").decode("latin-1")
    try:
        parsed = NameParser(single_bytes).encoding()
    except (NotMangledError, IndexError):
        return name
    return _rust(parsed.encode("latin-1").decode("utf-8", "surrogateescape"))


def _rust(name: str) -> str:
    head, _, last = name.rpartition("::")
    if not head or not _RUST_HASH.fullmatch(last):
        return name
    head = re.sub(r"\$(\w+)\$", _rust_character, head)
    return re.sub(r"(^|::)_(?=<)", r"\1", head).replace("..", "::")


def _rust_character(match: re.Match[str]) -> str:
    code = int(match[1][1:], 16) if re.fullmatch(r"u[0-9a-f]{1,4}", match[1]) else None
    if code is None or 0xD800 <= code < 0xE000:
        return _RUST_ESCAPES.get(match[1], match[0])
    return chr(code)

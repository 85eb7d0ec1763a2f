"""The parameters of functions in kernels."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MOST_PARAMETERS = 8

_FUNCTION = re.compile(
    r"^[ \t]*(?:def|(?:cdef|cpdef)(?![ \t]+(?:class|extern|enum|struct|packed|union)\b))\b"
    r"[^\n(=#]*?(\w+)[ \t]*\(",
    re.MULTILINE,
)


def parameters(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the functions of a .pyx or .pxd, each with its parameters without `self`."""
    text = re.sub(r"#[^\n]*", "", text)
    for match in _FUNCTION.finditer(text):
        found, depth, start = [], 1, match.end()
        for at in range(start, len(text)):
            depth += (text[at] in "([{") - (text[at] in ")]}")
            if depth == 0 or (depth == 1 and text[at] == ","):
                found.append(text[start:at].strip())
                start = at + 1
            if depth == 0:
                break
        yield match[1], [one for one in found if one not in ("", "*", "/", "self", "cls")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(self, a, b=(1, 2), *, c):", ["a", "b=(1, 2)", "c"]),
        ("cdef int f(\n    int a,  # and (so on\n    T[:, ::1] b,\n) noexcept nogil:", 2),
        ("cpdef object f(self)", 0),
        ("cdef class F(G):\n    pass", None),
        ("cdef int[4] x = f(1, 2)", None),
    ],
)
def test_parameters_are_found(text: str, expected: list[str] | int | None) -> None:
    found = dict(parameters(text))
    if expected is None:
        assert not found
    else:
        assert found["f"] == expected if isinstance(expected, list) else len(found["f"]) == expected


def test_no_function_of_a_kernel_has_too_many_parameters() -> None:
    paths = sorted(path for one in ("*.pyx", "*.pxd") for path in (ROOT / "converter").rglob(one))
    assert len(paths) > 100
    found = [
        f"{path.relative_to(ROOT)}: {name} has {len(given)}"
        for path in paths
        for name, given in parameters(path.read_text())
        if len(given) > MOST_PARAMETERS
    ]
    assert not found

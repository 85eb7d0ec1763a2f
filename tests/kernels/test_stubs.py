"""The type stubs of kernels are generated from their sources."""

import pytest
from stubs import KERNELS, ROOT, is_same, stub, stub_of, type_of


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.stem)
def test_stubs_are_what_is_generated(kernel):
    committed = kernel.with_suffix(".pyi").read_text()
    assert is_same(committed, stub_of(kernel)), (
        f"the stub of {kernel.relative_to(ROOT)} is out of date: run python -m tests.stubs --write"
    )


@pytest.mark.parametrize(
    ("declared", "nullable", "expected"),
    [
        ("uint32_t", False, "int"),
        ("unsigned long", False, "int"),
        ("bint", False, "bool"),
        ("const int64_t[::1]", False, "NDArray[int64]"),
        ("const int64_t[:]", True, "NDArray[int64] | None"),
        ("int32_t[:, ::1]", False, "NDArray[int32]"),
        ("uint8_t[::1]", False, "NDArray[uint8]"),
        ("const uint8_t[::1]", False, "memoryview | bytes | NDArray[uint8]"),
        ("list", False, "list[Any]"),
        ("StringTable", True, "StringTable | None"),
    ],
)
def test_types_of_declarations(declared, nullable, expected):
    assert type_of(declared, nullable=nullable) == expected


SOURCE = """# cython: language_level=3
\"\"\"A module.\"\"\"

# Stub:
# from collections.abc import Sequence
#
# #: A number.
# OK: int

from libc.stdint cimport int64_t

cpdef enum:
    OK = 0
    BAD = 1  # of two

FULL, DONE = BAD, OK
cdef int HIDDEN = 4


cdef class Thing(Base):
    \"\"\"A class.\"\"\"

    # Stub:
    # size: int

    cdef int _hidden

    def __cinit__(self, StringTable strings not None, *, int bits=8):
        pass

    def __dealloc__(self):
        pass

    @property
    def name(self) -> str | None:
        \"\"\"The name.\"\"\"
        return None

    cdef int own(self, int a) except -1:
        return a

    cpdef bint is_known(self, dict of: dict[int, str], const int64_t[::1] ts=None):
        return True


cdef inline int helper(int a) noexcept nogil:
    return a


def run(
    data: Sequence[int],  # (each one)
    int64_t at,
    **rest: object,
) -> tuple[int, Thing]:
    return at, None
"""
STUB = """from collections.abc import Sequence

from numpy import int64
from numpy.typing import NDArray

#: A number.
OK: int

BAD: int
FULL: int
DONE: int

class Thing(Base):
    size: int
    def __init__(self, strings: StringTable, *, bits: int = 8) -> None: ...
    @property
    def name(self) -> str | None: ...
    def is_known(self, of: dict[int, str], ts: NDArray[int64] | None = None) -> bool: ...

def run(data: Sequence[int], at: int, **rest: object) -> tuple[int, Thing]: ...
"""


def test_a_source_and_its_stub():
    assert stub(SOURCE) == STUB

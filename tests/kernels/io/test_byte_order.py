"""Machines of any byte order, and those that cannot read numbers from any address, read the same.

Bytes of an input are anywhere, and have the input's order: `kernels/io/byte_order.pxd` loads them. Only memory that a
kernel has allocated for numbers, and columns of NumPy, are numbers as they are.
"""

import base64
import re
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from converter.analysis.viewing.packing import Packer
from converter.formats.fxt.reading.columns import _narrow
from converter.formats.ir.messages import Numbers
from converter.formats.ir.numbers import pack
from converter.formats.perfetto.protobuf.descriptors import SCALAR_TYPES, _packed

ROOT = Path(__file__).parents[3] / "converter"
#: A pointer to numbers that are wider than a byte, and what it is made of.
_CAST = re.compile(r"<(?:const )?(?:u?int(?:16|32|64)_t|double|float) ?\*+ ?>\s*([^\s,]+)")
#: Memory that was allocated for numbers: of arrays (`own`), tables (`items`) and the C library.
_ALLOCATED = re.compile(
    r"malloc\(|calloc\(|realloc\(|moved$|counted\(|\w+\.own\(|\(?[\w.]+\.items\b"
)
#: Further memory for numbers, by file.
NUMBERS = {
    "formats/ctf/streams/scan_fields.pxd": {
        "slot.data": "a column, allocated for its width",
        "values": "a column, allocated for its width",
    },
    "formats/ctf/streams/scan_programs.pyx": {"slot.data": "as in scan_fields.pxd"},
    "kernels/protobuf/decode.pyx": {"step.column": "a column of NumPy"},
    "formats/perfetto/protobuf/scan_vectors.pxd": {
        "vector.data": "allocated; a vector has elements of one width"
    },
    "formats/perfetto/reading/kernels/scan_sequences.pyx": {"self._uuids.data": "a vector"},
    "formats/perfetto/reading/kernels/scan_timeline.pyx": {
        "values.data": "a vector",
        "self._parts.tracks.data": "a vector",
        "self._parts.values.data": "a vector",
        "self._parts.annotations.data": "a vector",
        "parts.double_tracks.data": "a vector",
    },
    "kernels/batches/columns.pyx": {"held.buf": "offsets, a column of NumPy"},
    "kernels/batches/gather.pyx": {"to[k]": "a column, allocated for its width"},
    "kernels/batches/union.pyx": {"of.first": "a column of NumPy"},
    "projection/domain/markers.pyx": {"&unsigned[0]": "a column of NumPy"},
    "projection/passes/slices/open_slices.pyx": {
        "of.names.first": "a column of NumPy",
        "of.categories.first": "a column of NumPy",
    },
}


def casts():
    """Yield each cast to wider numbers: the file, the line, and what is cast."""
    for path in sorted(ROOT.rglob("*.p[yx][xd]")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for found in _CAST.finditer(line):
                yield path.relative_to(ROOT).as_posix(), number, found[1]


def test_kernels_read_wide_numbers_only_from_memory_for_numbers():
    used, wrong = set(), []
    for file, number, what in casts():
        if _ALLOCATED.match(what):
            continue
        bare = what.strip("()").partition(")")[0]
        if bare.endswith("]") and bare not in NUMBERS.get(file, ()):
            bare = bare.partition("[")[0]
        if bare not in NUMBERS.get(file, ()):
            wrong.append(f"{file}:{number}: {what}")
        used.add((file, bare))
    assert wrong == [], "load16, load32 and load64 read the bytes of an input"
    named = {(file, what) for file, names in NUMBERS.items() for what in names}
    assert named - used == set(), "named, and no longer there"


def test_whether_to_swap_depends_on_the_machine():
    wrong = re.compile(
        r"swap = [\w.]*big(_endian)?$|\bload\(.*, (self\.)?_?big_endian\)", re.MULTILINE
    )
    found = [path for path in sorted(ROOT.rglob("*.p[yx][xd]")) if wrong.search(path.read_text())]
    assert found == [], "a file's order is compared with HOST_IS_BIG"


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.int32, np.uint64, np.bool_])
def test_the_low_bytes_of_words(kind):
    rows = np.array([[1, 2**40 + 1], [0, 1]], np.uint64)
    assert _narrow(rows, 1, kind).tolist() == [1 if kind is not np.uint64 else 2**40 + 1, 1]


def test_the_low_bytes_of_words_on_another_machine(monkeypatch):
    """Of the other order are the words and the machine."""
    other = "little" if sys.byteorder == "big" else "big"
    monkeypatch.setattr(sys, "byteorder", other)
    rows = np.array([[7, 9]], np.uint64).byteswap()
    assert _narrow(rows, 1, np.uint8).tolist() == [9]
    assert _narrow(rows, 1, np.uint16).byteswap().tolist() == [9]


def test_packed_fields_of_protobuf_are_little_endian():
    kinds = {kind for kind, scalar in SCALAR_TYPES.items() if str(scalar.field_class) != ""}
    fixed32, double = 7, 1
    assert {fixed32, double} <= kinds
    assert _packed(fixed32, b"\1\0\0\0\2\1\0\0", 0, 8) == [1, 258]
    assert _packed(double, b"\0\0\0\0\0\0\xf0\x3f", 0, 8) == [1.0]


def test_types_of_numbers_in_memory_are_the_machines_own_or_named():
    """What is read from bytes without a byte order is what this machine has written itself."""
    read = re.compile(r"np\.frombuffer\(([^()]|\([^()]*\))*\)")
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        for call in read.finditer(path.read_text()):
            if not re.search(r"newbyteorder|[\"']<|[\"']>|uint8|stored|self\._type", call[0]):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == {
        "analysis/arrow/restored.py",
        "formats/elf/functions.py",
        "formats/perf/data/reading/tasks.py",
        "formats/perf/data/side_table.py",
        "formats/perf/data/writing/frame_addresses.py",
        "formats/perfetto/writing/kernel_stacks.py",
        "formats/perfetto/writing/list_texts.py",
        "formats/profiles/pprof/reading/labels.py",
        "formats/profiles/speedscope/writing.py",
        "projection/engine/texts.py",
    }


def test_numbers_of_a_page_are_little_endian():
    packed = []
    for dtype in ("<u4", ">u4"):
        packer = Packer()
        packer.add(np.array([1, 0x10203], dtype), 4)
        packed.append(zlib.decompress(base64.b64decode(packer.text())))
    assert packed == [bytes([1, 3, 0, 2, 0, 1, 0, 0])] * 2


@pytest.mark.parametrize("low", [0, -(1 << 31)])
def test_numbers_of_the_exact_form_are_little_endian(low):
    message = Numbers()
    pack(np.array([low, low + 0x10203 + (1 << 24)], np.int32), message)
    assert (message.width, message.base) == (4, low)
    assert message.data == bytes([0, 0, 0, 0, 3, 2, 1, 1])

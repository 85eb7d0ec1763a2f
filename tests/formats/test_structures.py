"""Structures are what construct makes of the same declarations."""

import construct
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converter.formats import structures
from converter.formats.trace_cmd.layout import MAGIC, Layouts, header_start

BIG_ENDIAN = [False, True]
OURS = {order: Layouts(structures, big_endian=order) for order in BIG_ENDIAN}
THEIRS = {order: Layouts(construct, big_endian=order) for order in BIG_ENDIAN}
NAMES = sorted(vars(THEIRS[False]))
U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
S64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.binary(max_size=20).map(lambda text: text.replace(b"\0", b""))


def outcome(structure, data, errors):
    """What parsing gives, as plain values; which error, where it gives none."""
    stream_error, any_error = errors
    try:
        found = structure.parse(data)
    except stream_error:
        return "the data ends"
    except any_error:
        return "not this"
    return plain(found)


def plain(value):
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name != "_io"}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def same_outcome(one, other, data):
    ours = outcome(one, data, (structures.StreamError, structures.StructureError))
    theirs = outcome(other, data, (construct.StreamError, construct.ConstructError))
    assert ours == theirs
    return ours


@pytest.mark.parametrize("big_endian", BIG_ENDIAN)
@pytest.mark.parametrize("name", NAMES)
@given(
    data=st.binary(max_size=120) | st.binary(max_size=40).map(lambda start: start.ljust(99, b"\0"))
)
def test_any_bytes_are_parsed_alike(name, big_endian, data):
    one, other = getattr(OURS[big_endian], name), getattr(THEIRS[big_endian], name)
    found = same_outcome(one, other, data)
    if isinstance(found, dict):
        assert one.build(one.parse(data)) == other.build(other.parse(data))


def size(structure, error):
    """How many bytes all values take; None where that differs."""
    try:
        return structure.sizeof()
    except error:
        return None


@pytest.mark.parametrize("name", NAMES)
def test_sizes_are_the_same(name):
    ours = size(getattr(OURS[False], name), structures.StructureError)
    assert ours == size(getattr(THEIRS[False], name), construct.SizeofError)


@pytest.mark.parametrize("big_endian", BIG_ENDIAN)
@given(
    cpus=st.lists(st.fixed_dictionaries({"cpu": U32, "offset": U64, "size": U64}), max_size=4),
    name=TEXT,
    samples=st.lists(st.lists(S64, max_size=3), max_size=3),
    fractions=st.lists(S64, max_size=3),
    end=st.integers(0, 200),
)
def test_values_are_built_alike(big_endian, cpus, name, samples, fractions, end):
    shifts = [{"times": times, "offsets": times, "scalings": times} for times in samples]
    built = {
        "buffer_option": {"offset": 1, "name": name, "clock": b"", "page_size": 4096, "cpus": cpus},
        "time_shift_option": {"peer": 1, "flags": 1, "cpus": shifts, "fractions": fractions},
        "header_info": {"page": name, "event": name * 2},
        "long_text": name,
        "header_end": {
            "page_size": 4096,
            "compression": name,
            "compression_version": b"",
            "options_offset": 2**63,
        },
    }
    for which, value in built.items():
        one, other = getattr(OURS[big_endian], which), getattr(THEIRS[big_endian], which)
        data = one.build(value)
        assert data == other.build(value)
        same_outcome(one, other, data[:end])


@given(st.binary(max_size=12), st.integers(0, 30))
def test_the_start_of_a_file_is_parsed_alike(end, size):
    data = (MAGIC + end)[:size]
    same_outcome(header_start(structures), header_start(construct), data)


@pytest.mark.parametrize(("name", "value"), [("u32", 2**32), ("u32", -1), ("u64", 2**64)])
def test_what_does_not_fit_is_not_built(name, value):
    with pytest.raises(structures.StructureError):
        getattr(OURS[False], name).build(value)
    with pytest.raises(construct.ConstructError):
        getattr(THEIRS[False], name).build(value)

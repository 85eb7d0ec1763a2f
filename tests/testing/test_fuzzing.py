"""What changes inputs, counts what they reach, and compares what programs read: the parts of the search for faults."""

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import zlib
from collections import Counter
from pathlib import Path

import against
import fuzz
import fuzz_kernels
import pytest
from fuzz import fixtures
from instrumented import ALLOCATIONS, EDGES, KINDS, _mirror
from support import samples
from support.fuzzing.corpus import Corpus, packed, size_of
from support.fuzzing.kernel_calls import KERNELS, UNCALLED
from support.fuzzing.mutation import Changes, Part, matched, mended, multiplied, parts, rearranged
from support.inputs.protobuf_fields import sized

from converter.errors import TraceError
from converter.formats.lossless.footer import Footer
from converter.ir.collect import collect
from converter.registry import FORMATS

ROOT = Path(__file__).parents[2]
READABLE = [format.name for format in FORMATS if format.readable]
ZSTD = b"\x28\xb5\x2f\xfd"


@pytest.mark.parametrize("format", READABLE)
def test_pieces_make_the_same_file(format):
    for files in fixtures(format):
        for name, data in files.items():
            if ZSTD not in data:  # which is packed anew
                assert bytes(parts(name, data)) == data


def test_pieces_lie_in_each_other_as_deep_as_they_like():
    data = b'{"a":[' * 3000 + b"1" + b"]}" * 3000
    part = parts("", data)
    whole = Changes(part)
    assert bytes(whole) == data
    while (inside := [one for one in part.pieces if isinstance(one, Part)]) != []:
        part = inside[0]
    place = whole.pieces(part).index(b"1")
    whole.pieces(part)[place] = b"22"
    assert bytes(whole) == data.replace(b"1", b"22")


@pytest.mark.parametrize("ends", [[0], [signal.SIGALRM, 0], [signal.SIGSEGV], [signal.SIGALRM] * 2])
def test_what_has_waited_too_long_is_tried_again(ends, monkeypatch):
    """The machine may have stood still; what waits for ever does so again, and what crashes is kept at once."""
    kept, statuses, ended = [], iter(ends), []

    def forked(_):
        ended.append(next(statuses))
        return ended[-1]

    monkeypatch.setattr(fuzz, "originals", lambda _: [{"": b"[]"}])
    monkeypatch.setattr(fuzz, "large", lambda _: [])
    monkeypatch.setattr(fuzz, "forked", forked)
    # A child that was not ended has read an input.
    monkeypatch.setattr(fuzz.Shared, "told", lambda _: (7 + (not ended[-1]), 0, 0, "chrome ", b""))
    monkeypatch.setattr(fuzz, "keep", lambda *what: kept.append(what))
    assert fuzz.fuzz("chrome", -1, 7) == len(kept) == int(ends[-1] != 0)
    assert next(statuses, None) is None


def depth(data):
    """How deep messages lie in each other; every length is that of what it stands in front of."""
    found = 0
    while data:
        assert data[0] == 0x0A
        size = data[1]
        assert len(data) == 2 + size or data[2 + size] == 0x0A
        found = max(found, 1 + (depth(data[2 : 2 + size]) if data[2:3] == b"\n" else 0))
        data = data[2 + size :]
    return found


def test_lengths_of_protobuf_are_right_after_a_change_inside():
    data = sized(1, sized(1, sized(1, b"abcdef")))
    assert depth(data) == 3
    changed = {rearranged("", data, data, random.Random(number)) for number in range(60)}
    assert len(changed) > 10
    lengths_kept = 0
    for each in changed:
        try:
            lengths_kept += depth(each) > 0
        except (AssertionError, IndexError):
            continue
    assert lengths_kept > len(changed) // 4


def test_numbers_that_were_compared_are_replaced():
    data = b"\0" * 8 + (4711).to_bytes(4, "little") + b"\0" * 8
    found = {matched(data, [(4711, 1 << 20)], random.Random(number)) for number in range(20)}
    assert data.replace((4711).to_bytes(4, "little"), (1 << 20).to_bytes(4, "little")) in found


def test_the_checksum_in_front_of_what_travels_is_mended():
    data = b"changed"
    stale = data + b"frames" + bytes(Footer(len(data), 1, 2)) + b"!"
    right = data + b"frames" + bytes(Footer(len(data), zlib.crc32(data), 2)) + b"!"
    assert mended(stale) == right
    assert mended(data) == data


@pytest.mark.parametrize(
    ("ours", "theirs", "is_warned", "expected"),
    [
        ("ab", "ab", False, "same"),
        ("ab", "a", False, "more"),
        ("a", "ab", True, "less"),
        ("a", "ab", False, "silent"),
        ("aab", "ab", False, "more"),
        ("ac", "ab", False, "other"),
        (None, "a", False, "refused"),
        (None, "", False, "neither"),
    ],
)
def test_outcomes(ours, theirs, is_warned, expected):
    rows = None if ours is None else Counter(ours)
    assert against.outcome(rows, Counter(theirs), is_warned) == expected
    assert against.outcome(rows, "crashed", is_warned) == "crashed"


def test_a_copy_of_a_kernel_checks_bounds(tmp_path):
    source = ROOT / "converter" / "kernels" / "batches" / "order.pyx"
    copy = tmp_path / "order.pyx"
    _mirror(source, copy, KINDS["bounds"].directives)
    head, _, rest = copy.read_text().partition("\n")
    assert "boundscheck=True" in head and "boundscheck=False" not in head
    assert rest == source.read_text().partition("\n")[2]


_COUNTING = """
import ctypes, sys
library = ctypes.PyDLL(sys.argv[1])
def way(which):
    if which:
        which += 1
    return which
def fresh(which):
    library.edges_begin(0, 1)
    way(which)
    return library.edges_end()
print(fresh(0) > 0, fresh(0), fresh(1) > 0, fresh(1))
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_what_was_reached_before_is_nothing_new(tmp_path):
    library = tmp_path / "edges.so"
    include = sysconfig.get_path("include")
    subprocess.run(
        ["gcc", "-O1", "-shared", "-fPIC", "-I", include, "-o", library, ROOT / EDGES], check=True
    )
    told = subprocess.run(
        [sys.executable, "-c", _COUNTING, library], check=True, capture_output=True, text=True
    )
    assert told.stdout.split() == ["True", "0", "True", "0"]


_ASKING = """
#include "allocations.h"
int granted(void) {
    void *first = malloc(1), *second = calloc(1, 1), *third = realloc(NULL, 1);
    int found = (first != NULL) | (second != NULL) << 1 | (third != NULL) << 2;
    free(first);
    free(second);
    free(third);
    return found;
}
"""
_REFUSING = """
import ctypes, sys
from support.fuzzing.allocations import Allocations
allocations, asking = Allocations(), ctypes.CDLL(sys.argv[1])
for which in range(-1, 4):
    with allocations.refusing(which):
        print(asking.granted(), end=" ")
    print(allocations.count, end=" ")
with allocations.refusing(0):
    raise MemoryError
try:
    with allocations.refusing(-1):
        raise MemoryError
except MemoryError:
    print(asking.granted())
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_one_request_for_memory_is_refused(tmp_path):
    folder = (ROOT / ALLOCATIONS).parent
    (tmp_path / "asking.c").write_text(_ASKING)
    made = [tmp_path / "allocations.so", tmp_path / "asking.so"]
    for library, source in zip(made, (ROOT / ALLOCATIONS, tmp_path / "asking.c"), strict=True):
        command = ["gcc", "-shared", "-fPIC", "-I", folder, "-o", library, source]
        subprocess.run(command, check=True)
    told = subprocess.run(
        [sys.executable, "-c", _REFUSING, made[1]],
        env={**os.environ, "LD_PRELOAD": str(made[0]), "PYTHONPATH": str(ROOT / "tests")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout.split() == ["7", "3", "6", "3", "5", "3", "3", "3", "7", "3", "7"]


@pytest.mark.parametrize("format", ["aix", "chrome", "ctf", "fxt", "perfetto", "uftrace"])
def test_pieces_are_multiplied(format):
    """Most of what comes of it can be read, and has very much of something."""
    inputs = sorted(fixtures(format), key=size_of)[:6]
    sizes = Counter()
    for number in range(40):
        rng = random.Random(number)
        files = dict(rng.choice(inputs))
        name = rng.choice([name for name, data in files.items() if data])
        files[name] = multiplied(name, files[name], rng)
        with contextlib.suppress(TraceError):
            trace = collect(fuzz.opened(format, packed(files)))
            sizes["usable"] += 1
            many = max(map(len, trace.batches()), default=0)
            sizes["large"] += max(many, len(trace.threads), len(trace.strings)) > 100
    assert sizes["usable"] > 20
    assert sizes["large"] > 0


def test_copies_have_numbers_of_their_own():
    data = b'{"tid":10,"name":"a"},'
    rng = random.Random(1)
    found = {
        line for _ in range(20) for line in multiplied("x.txt", data + b"\n", rng).split(b"\n")
    }
    assert len(found) > 200


@pytest.mark.parametrize("format", ["fxt", "trace_cmd"])
def test_large_inputs_are_read(format):
    """Each has much of one thing, and changes start from all of them."""
    inputs = fuzz.large(format)
    assert inputs
    corpus = Corpus(fuzz.fixtures(format)[:1] or [{"": b"[]"}], None, inputs[:3])
    rng = random.Random(0)
    chosen = [corpus.chosen(rng) for _ in range(600)]
    assert all(any(one.files is files for one in chosen) for files in inputs[:3])
    for files in inputs[:: max(len(inputs) // 4, 1)]:
        assert fuzz.attempt(format, packed(files), "", lossless=False)


def test_no_kernel_is_forgotten_by_the_search():
    """Calls can be kept of what Python imports; of any other kernel, `UNCALLED` says why not."""
    assert set(UNCALLED) <= KERNELS
    imported = set()
    for folder in (ROOT / "converter", ROOT / "tests" / "support"):
        for path in folder.rglob("*.py"):
            for package, names in re.findall(
                r"from (converter[\w.]*) import (\([^)]*\)|.*)", path.read_text()
            ):
                imported.add(package)
                imported |= {f"{package}.{name}" for name in re.findall(r"\w+", names)}
    assert KERNELS - imported - UNCALLED.keys() == set()


@pytest.mark.parametrize("number", range(len(fuzz_kernels.EXAMPLES)))
def test_examples_of_calls_are_changed(number):
    recording = fuzz_kernels.made(fuzz_kernels.EXAMPLES[number])
    assert len(recording.kernels()) == 1
    rng = random.Random(number)
    for _ in range(100 if recording.inputs else 0):
        step, path, value = rng.choice(recording.inputs)
        recording.again(step, path, fuzz_kernels.changed(value, rng))


@pytest.mark.skipif(not samples.ALL, reason="takes minutes")
def test_every_kernel_is_reached_by_the_search():
    reached = set()
    for format in (*READABLE, fuzz_kernels.OTHERS):
        inputs = [] if format == fuzz_kernels.OTHERS else fuzz.small(format)
        reached |= fuzz_kernels.reached(fuzz_kernels.recordings(format, inputs))
    assert KERNELS - reached - UNCALLED.keys() == set()

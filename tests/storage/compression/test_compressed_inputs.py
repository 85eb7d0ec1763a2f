"""Inputs that are compressed: what they are compressed with is taken off."""

import bz2
import gzip
import lzma
import zlib

import numpy as np
import pytest
import zstandard
from support.inputs.kinds_of_input import KINDS, open_as, whole

from converter.errors import TraceError
from converter.storage.opening import open_source

PLAIN = np.random.default_rng(7).bytes(64) * 8


def compress(compression, data):
    if compression == "gzip":
        return gzip.compress(data, mtime=0)
    if compression == "xz":
        return lzma.compress(data)
    if compression == "bzip2":
        return bz2.compress(data, 1)  # the smallest blocks
    if compression == "lz4":
        return pytest.importorskip("lz4.frame").compress(data, content_checksum=True)
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


@pytest.mark.parametrize("compression", ["gzip", "zstd", "xz", "bzip2", "lz4"])
class TestCompressed:
    @pytest.mark.parametrize("kind", KINDS)
    def test_is_unwrapped(self, compression, kind, tmp_path):
        with open_as(kind, compress(compression, PLAIN), tmp_path) as source:
            assert source.compression == compression
            assert source.size == len(PLAIN)
            assert whole(source) == PLAIN
            assert source.warnings == []

    def test_two_levels_are_unwrapped_and_no_more(self, compression):
        inner = gzip.compress(PLAIN)
        with open_source(compress(compression, inner)) as source:
            assert whole(source) == PLAIN
        with pytest.raises(TraceError, match="at most 2 wrappers"):
            open_source(compress(compression, gzip.compress(inner)))

    def test_members_are_joined(self, compression):
        data = b"".join(compress(compression, part) for part in (b"", b"one", PLAIN, b"", b"two"))
        with open_source(data) as source:
            assert whole(source) == b"one" + PLAIN + b"two"
            assert source.warnings == []

    def test_larger_than_any_buffer(self, compression):
        plain = np.random.default_rng(1).integers(0, 50, 1 << 20, np.uint8).tobytes()
        with open_source(compress(compression, plain) * 2) as source:
            assert source.size == 2 * len(plain)
            assert whole(source) == plain * 2

    def test_truncated_at_every_byte(self, compression):
        first, second = compress(compression, PLAIN), compress(compression, b"second" + PLAIN)
        data = first + second
        sizes = []
        for end in range(6, len(data)):
            with open_source(data[:end]) as source:
                found = whole(source)
                sizes.append(len(found))
                assert (PLAIN + b"second" + PLAIN).startswith(found)
                if end == len(first):
                    assert (found, source.warnings) == (PLAIN, [])
                    continue
                (warning,) = source.warnings
                assert warning.offset == end
                assert "ends early" in str(warning)
        assert sizes == sorted(sizes)
        assert sizes[-1] == 2 * len(PLAIN) + 6  # only the checksum is missing

    def test_damaged_at_every_byte(self, compression):
        """What is before the damage is delivered, and nothing is wrong without a warning (checksums)."""
        data = compress(compression, PLAIN) + compress(compression, b"second" + PLAIN)
        expected = PLAIN + b"second" + PLAIN
        first = len(compress(compression, PLAIN))
        for place in range(6, len(data)):
            damaged = bytearray(data)
            damaged[place] ^= 0xFF
            with open_source(bytes(damaged)) as source:
                found = whole(source)
                if place >= first:
                    assert found.startswith(PLAIN)
                if found != expected:
                    assert source.warnings

    def test_what_precedes_a_wrong_checksum_is_delivered(self, compression):
        data = bytearray(compress(compression, PLAIN))
        data[-1 if compression == "zstd" else -5] ^= 0xFF
        with open_source(bytes(data)) as source:
            assert "damaged" in str(source.warnings[0])
            assert whole(source) == PLAIN[: source.size]
            assert source.size == len(PLAIN)

    def test_damage_far_inside_keeps_what_precedes_it(self, compression):
        plain = np.random.default_rng(1).integers(0, 50, 1 << 20, np.uint8).tobytes()
        data = bytearray(compress(compression, plain))
        middle = len(data) // 2
        data[middle : middle + 1000] = bytes(1000)
        with open_source(bytes(data)) as source:
            assert source.warnings
            found = source.read(0, min(source.size, 1 << 18))
            assert found == plain[: 1 << 18]

    def test_garbage_after_the_end_is_ignored_with_a_warning(self, compression):
        data = compress(compression, PLAIN)
        with open_source(data + b"garbage") as source:
            assert whole(source) == PLAIN
            assert [(w.offset, w.message) for w in source.warnings] == [
                (len(data), f"ignored what follows the {compression} data")
            ]

    def test_highly_compressible_data(self, compression):
        with open_source(compress(compression, bytes(1 << 24))) as source:
            assert source.size == 1 << 24


def test_padding_after_gzip_is_ignored():
    data = gzip.compress(PLAIN)
    with open_source(data + bytes(100_000) + data + bytes(512)) as source:
        assert whole(source) == PLAIN * 2
        assert source.warnings == []


def test_skippable_frames_of_zstd_are_skipped():
    frame = compress("zstd", PLAIN)
    skippable = b"\x53\x2a\x4d\x18\x04\x00\x00\x00user"
    with open_source(frame + skippable + frame) as source:
        assert whole(source) == PLAIN * 2
        assert source.warnings == []


def test_a_window_that_zstd_refuses_is_damage():
    parameters = zstandard.ZstdCompressionParameters(window_log=28, write_content_size=False)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    with open_source(compressor.compress(PLAIN) + compressor.flush()) as source:
        assert source.size == 0
        assert "limits={'zstd-window': '256M'}" in str(source.warnings[0])


@pytest.mark.parametrize(
    "data",
    [b"\x1f", b"\x1f\x8b\x09..", b"\x28\xb5\x2f", zlib.compress(PLAIN), b"\x1f\x9d\x90"],
)
def test_what_only_resembles_a_wrapper_is_left_alone(data):
    with open_source(data) as source:
        assert whole(source) == data
        assert source.compression is None

"""Compressed inputs and outputs: gzip, zstd, LZ4, bzip2, xz."""

"""CTF 2's metadata, a sequence of JSON fragments."""

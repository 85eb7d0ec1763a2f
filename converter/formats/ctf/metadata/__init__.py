"""Metadata of CTF 1.8 (TSDL) and CTF 2 (JSON): one trace class, read and printed."""

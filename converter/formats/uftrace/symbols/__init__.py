"""Symbols of programs: symbol files, debug information, demangled names."""

"""Prints AIX trace files as trcrpt does."""
